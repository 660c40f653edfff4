"""The lock: what the bytes of runs depend on, by version and digest (`qdisc/LOCK.toml`).

It builds the same guest years later, and on machines without Debian.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from qdisclab.emulation import project
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.host import apt
from qdisclab.emulation.host.debs import Deb, Sources

FILE = project.folder("qdisc") / "LOCK.toml"

_HEADER = """\
# What the bytes of runs depend on: the guest's packages, those that commands of the user's have
# besides (system), the tools that make its files, and the kernels' sources (the first of a series
# is preferred; the digests of the others are known, too).
# `emulate lock` compares it with the cache; `emulate lock --update` moves it to what mirrors have.
# A package comes from the mirrors of /etc/apt, or else from these; then from the archive of old
# packages; then from the folder or address of .deb files that QDISC_LAB_PACKAGES names.
"""


@dataclass(frozen=True)
class Lock:
    """Packages and sources by digest.

    `guest`: the packages of the root file system; `system`: those of the layer that commands of the
    user's have over it; `tools`: those that only the making of its files takes; `kernels`: sources
    by series, first choice first; `mirrors` and `archive`: as in `Sources`.
    """

    guest: tuple[Deb, ...]
    system: tuple[Deb, ...]
    tools: tuple[Deb, ...]
    kernels: Mapping[str, tuple[Deb, ...]]
    mirrors: tuple[str, ...]
    archive: str

    def sources(self) -> Sources:
        """Return where packages are looked for on this machine."""
        return Sources(apt.mirrors() or self.mirrors, self.archive)


def load(file: Path | None = None) -> Lock:
    """Return the lock; raise `ConfigError` if it cannot be read."""
    file = file or FILE
    try:
        return _parsed(file.read_text())
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ConfigError(f"cannot be read: {error}", str(file), "restore it from git") from error


@lru_cache(maxsize=2)  # a run asks for it three times
def _parsed(text: str) -> Lock:
    table = tomllib.loads(text)
    return Lock(
        guest=tuple(Deb(name, **entry) for name, entry in table["guest"].items()),
        system=tuple(Deb(name, **entry) for name, entry in table["system"].items()),
        tools=tuple(Deb(name, **entry) for name, entry in table["tools"].items()),
        kernels={
            series: tuple(Deb(**entry) for entry in entries)
            for series, entries in table["kernel"].items()
        },
        mirrors=tuple(table["sources"]["mirrors"]),
        archive=str(table["sources"]["archive"]),
    )


def save(lock: Lock, file: Path | None = None) -> None:
    """Write the lock; the same lock gives the same text."""
    lines = [_HEADER, "[sources]", f"mirrors = {json.dumps(lock.mirrors)}"]
    lines += [f"archive = {json.dumps(lock.archive)}", "", "[kernel]"]
    for series, debs in lock.kernels.items():
        entries = (_entry(deb, ("package", "version", "sha256", "path")) for deb in debs)
        lines += [f'"{series}" = [', *(f"    {entry}," for entry in entries), "]"]
    for part, debs in (("tools", lock.tools), ("system", lock.system), ("guest", lock.guest)):
        lines += ["", f"[{part}]"]
        for deb in sorted(debs, key=lambda deb: deb.package):
            lines.append(f'"{deb.package}" = {_entry(deb, ("version", "sha256", "path"))}')
    (file or FILE).write_text("\n".join(lines) + "\n")


def _entry(deb: Deb, names: tuple[str, ...]) -> str:
    values = ((name, getattr(deb, name)) for name in names)
    return "{ " + ", ".join(f"{name} = {json.dumps(text)}" for name, text in values if text) + " }"
