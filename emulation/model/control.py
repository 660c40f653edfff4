"""Congestion controls: those that hosts may have, and one of the user's own from a module."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from qdisclab.emulation.model.qdisc import ModuleSource

#: The kernel's, in the order in which it lists them (linux, net/ipv4/Makefile; reno registers
#: first). Modules come after them.
_ORDER = (
    "reno", "bbr", "bic", "cdg", "cubic", "dctcp", "westwood", "highspeed", "hybla", "htcp",
    "vegas", "nv", "veno", "scalable", "lp", "yeah", "illinois",
)  # fmt: skip

#: Those that any network namespace may have as its default.
_FREE = frozenset({"reno", "cubic", "bbr"})

#: Those that ask for ECN whatever the host's `tcp_ecn` says (TCP_CONG_NEEDS_ECN).
SENDS_ECT = frozenset({"dctcp"})

_ALLOWED = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"


def of_linux(name: str) -> str:
    """Return the file of Linux with a congestion control; empty for one that is not Linux's."""
    return f"net/ipv4/tcp_{name}.c" if name in _ORDER[1:] else ""


def allowed(built_in: Iterable[str], modules: Sequence[str] = ()) -> dict[str, str]:
    """Return the setting by which a network namespace may have congestion controls.

    It maps a file to its text, and is empty where nothing has to be allowed. `modules` are those
    that are loaded, in that order. The guest compares the text with what the kernel then lists, so
    that its order matters.
    """
    wanted = set(built_in)
    if wanted <= _FREE and not modules:
        return {}
    return {_ALLOWED: " ".join([*(name for name in _ORDER if name in wanted | _FREE), *modules])}


@dataclass(frozen=True)
class Control:
    """A congestion control of a study, and the parameters of its module."""

    name: str  # as the module registers it: `aimd`
    module: ModuleSource
    parameters: tuple[tuple[str, str], ...] = ()

    def files(self) -> dict[str, str]:
        """Map files of the guest's kernel to the text of each parameter."""
        folder = f"/sys/module/{self.module.name}/parameters"
        return {f"{folder}/{name}": value for name, value in self.parameters}
