"""The kernel settings that a study may set on a node: those of the network, `net.*`.

A node is a network namespace and has its own copy of most of `net.*`. Other settings affect the
whole guest, including the rig, or name a program for the kernel to start (`kernel.core_pattern`):
no study has a use for them.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from qdisclab.emulation.model import era as eras

#: The setting that the axis `cc` varies.
CONTROL = "net.ipv4.tcp_congestion_control"

#: Values of `tcp_ecn` by which a host asks for ECN where it connects, and those that are AccECN
#: (linux, Documentation/networking/ip-sysctl.rst, from 7.0 on).
ECN, ASKS_FOR_ECN, ACCURATE_ECN = "net.ipv4.tcp_ecn", ("1", "3", "4"), ("3", "4", "5")
#: Setting -> the releases that have it, where not all do.
SINCE = {
    "net.ipv4.tcp_ecn_option": "7.0..",
    "net.ipv4.tcp_ecn_option_beacon": "7.0..",
    "net.ipv4.tcp_syn_linear_timeouts": "6.5..",
}

LONGEST = 200  # characters of a name or a value; buffers are three numbers
_NAME = re.compile(r"net(\.[A-Za-z0-9_-]+){2,}")  # no slash, which sysctl takes for a dot


def flaw(name: str, value: str) -> tuple[str, str] | None:
    """Return what is wrong with a setting and what to do; None where it is valid."""
    if not _NAME.fullmatch(name) or len(name) > LONGEST:
        return "is not a setting of the network", "write one of net.*, e.g. net.ipv4.tcp_ecn"
    if not value.isprintable() or len(value) > LONGEST:
        return f"{value[:40]!r} is not the value of a setting", "write numbers or a word"
    return None


def releases(name: str, value: str) -> str:
    """Return the range of releases that take the setting: `7.0..`; `..` for all."""
    if name == ECN and value in ACCURATE_ECN:
        return "7.0.."
    return SINCE.get(name, "..")


@cache
def _known() -> frozenset[str]:
    """Return the settings that are known to affect results: those of `sysctls.toml` and of eras."""
    text = Path(__file__).with_name("sysctls.toml").read_text(encoding="utf-8")
    of_eras = (name for switch in eras.SWITCHES for name, _ in switch.sysctls)
    return frozenset(tomllib.loads(text)).union(of_eras)


def notes(*settings: Iterable[tuple[str, str]] | Mapping[str, str]) -> Iterator[str]:
    """Yield notes for the user on the settings of a rig and of its nodes."""
    for several in settings:
        for name in dict(several):
            if name not in _known():
                yield f"{name} is none of the settings that are known to affect results"
