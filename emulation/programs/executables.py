"""Whether a guest can start a program, and the files that this takes: scripts and ELF files."""

import os
import re
import shlex
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerDefSection, GNUVerNeedSection
from elftools.elf.segments import InterpSegment

from qdisclab.emulation.errors import MissingTool
from qdisclab.emulation.host.cache import until_changed
from qdisclab.emulation.programs.guest_root import COMMANDS, GuestRoot

#: What pyelftools raises for bytes that no compiler has written.
_BROKEN = (ELFError, OSError, ValueError, LookupError, OverflowError, MemoryError, zlib.error)
_ANOTHER = "build it for Linux on x86-64, statically or on Debian 12"
_PACKAGE = "with --package, in a study under 'packages'"
_LIBRARIES = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib", "/usr/lib")
_NAMES = {"DT_NEEDED": "needed", "DT_RUNPATH": "runpath", "DT_RPATH": "rpath"}
_KERNEL_READS = 256  # bytes of a script's first line


@dataclass(frozen=True)
class Elf:
    """What the dynamic loader needs to know of an ELF file."""

    machine: str
    loader: str | None  # its path; None if static, or a library
    needed: tuple[str, ...]  # names of libraries
    places: tuple[str, ...]  # folders of its RUNPATH or RPATH
    wants: dict[str, frozenset[str]]  # versions of symbols that it needs, by library
    has: frozenset[str]  # versions of symbols that it defines


@contextmanager
def elf_of(path: Path) -> Iterator[ELFFile | None]:
    """Open the ELF file at `path`, or yield None; raise `MissingTool` if it is broken."""
    with path.open("rb") as stream:
        if stream.read(4) != b"\x7fELF":
            yield None
            return
        try:
            yield ELFFile(stream)
        except _BROKEN as error:
            raise MissingTool(f"is a broken ELF file: {error}", str(path), _ANOTHER) from error


@until_changed  # all runs of a campaign have the same programs and libraries
def read_elf(path: Path) -> Elf | None:
    """Read the ELF file at `path`, or return None; raise `MissingTool` if it is broken."""
    with elf_of(path) as elf:
        return None if elf is None else _needs(elf)


def _needs(elf: ELFFile) -> Elf:
    loader: str | None = None
    needed: list[str] = []
    places: list[str] = []
    for segment in elf.iter_segments():
        if isinstance(segment, InterpSegment):
            loader = segment.get_interp_name()
        for tag in segment.iter_tags() if isinstance(segment, DynamicSegment) else ():
            name = _NAMES.get(tag.entry.d_tag)  # pyelftools sets an attribute of this name
            values = [] if name is None else str(getattr(tag, name)).split(":")
            (needed if name == "needed" else places).extend(values)
    wants: dict[str, frozenset[str]] = {}
    has: set[str] = set()
    for section in elf.iter_sections():
        if isinstance(section, GNUVerNeedSection):
            for library, versions in section.iter_versions():
                wants[str(library.name)] = frozenset(version.name for version in versions)
        elif isinstance(section, GNUVerDefSection):
            for _, names in section.iter_versions():
                has.update(str(name.name) for name in names)
    machine = str(elf.header.e_machine)
    if (bits := elf.elfclass) != 64:
        machine += f" of {bits} bits"
    return Elf(machine, loader, tuple(needed), tuple(places), wants, frozenset(has))


class _Loop(MissingTool):
    """A script is its own interpreter."""


def check(root: GuestRoot, name: str, scripts: tuple[str, ...] = ()) -> tuple[Path, ...]:
    """Raise `MissingTool` unless a guest with `root` can start the command `name`.

    Returns the program and the libraries that it needs, as files of the host; for a script, also
    those of its interpreter. `scripts` are those whose interpreter `name` is.
    """
    if name in scripts:
        raise _Loop("is its own interpreter", name, "name a program on its first line")
    if name in COMMANDS:
        return ()
    guest_path = root.program(name)
    path = None if guest_path is None else root.find(guest_path)
    if guest_path is None or path is None:
        what, todo = "is neither in the guest nor among the files for it", _todo(name)
        if "/" not in name and (places := root.outside_path(name)):
            what, todo = "is not where a shell looks for it", f"write {' or '.join(places)}"
        raise MissingTool(what, name, todo)
    if not path.stat().st_mode & 0o100:
        todo = f"chmod +x {name}" + (f", or run python3 {name}" if name.endswith(".py") else "")
        raise MissingTool("is not executable", name, todo)
    if (elf := read_elf(path)) is not None:
        return tuple(dict.fromkeys([path, *_libraries(root, root.real(guest_path), elf)]))
    with path.open("rb") as stream:
        first = stream.read(_KERNEL_READS).split(b"\n")[0]
    if not first.startswith(b"#!"):
        what = "is neither an ELF file nor a script with '#!' on its first line"
        raise MissingTool(what, name, "add '#!/bin/sh', or name the program that runs it")
    if first.endswith(b"\r"):  # which Linux takes for a part of the name
        raise MissingTool(
            "its lines end as on Windows", name, f"sed -i 's/\\r$//' {shlex.quote(name)}"
        )
    words = first[2:].decode(errors="replace").split()
    return (path, *_interpreter(root, name, words, (*scripts, name)))


def _interpreter(
    root: GuestRoot, name: str, words: list[str], scripts: tuple[str, ...]
) -> tuple[Path, ...]:
    """Check the interpreter on the first line of the script `name`, and return its files."""
    is_env = bool(words) and PurePosixPath(words[0]).name == "env"
    operands = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    for interpreter in (words[:1] + (operands[:1] if is_env else [])) or [""]:
        try:
            files = check(root, interpreter, scripts)
        except _Loop:
            raise
        except MissingTool as error:
            what = f"its first line asks for {interpreter or 'nothing'}, which the guest lacks"
            todo = f"add the package that has it {_PACKAGE}"
            if (python := re.search(r"python(2?)[.\d]*$", interpreter)) is not None:
                todo = f"run python{python[1] or 3} {name}"
            raise MissingTool(what, name, todo) from error
    return files


def _libraries(root: GuestRoot, guest_path: str, elf: Elf) -> Iterator[Path]:
    """Yield the libraries that a program needs, directly or not; raises what `check` raises."""
    _check_machine(guest_path, elf)
    if elf.loader is not None and root.find(elf.loader) is None:
        what = f"its dynamic loader {elf.loader} is not in the guest"
        raise MissingTool(what, guest_path, _ANOTHER)
    waiting, seen = [(guest_path, elf)], set[str]()
    while waiting:
        user, user_elf = waiting.pop()
        for library in user_elf.needed:
            place = _place(root, user, user_elf, library)
            path = None if place is None else root.find(place)
            library_elf = None if path is None else read_elf(path)
            if place is None or path is None or library_elf is None:
                todo = f"name its package {_PACKAGE}, or the file with --file and an rpath"
                raise MissingTool(f"needs the library {library}, which the guest lacks", user, todo)
            _check_machine(place, library_elf)
            if missing := user_elf.wants.get(library, frozenset()) - library_elf.has:
                names = ", ".join(sorted(missing))
                what = f"needs {names} of {library}, which is older in the guest"
                raise MissingTool(what, user, _ANOTHER)
            if place not in seen:
                seen.add(place)
                waiting.append((place, library_elf))
                yield path


def _check_machine(name: str, elf: Elf) -> None:
    if elf.machine != "EM_X86_64":
        raise MissingTool(f"is for another processor ({elf.machine})", name, _ANOTHER)


def _place(root: GuestRoot, user: str, elf: Elf, library: str) -> str | None:
    """Return the path in the guest at which the loader finds `library` for the file `user`."""
    if "/" in library:
        return library if root.find(library) else None
    origin = str(PurePosixPath(user).parent)
    own = [place.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", origin) for place in elf.places]
    paths = [f"{folder}/{library}" for folder in (*own, *_LIBRARIES)]
    return next((path for path in paths if root.find(path) is not None), None)


def _todo(name: str) -> str:
    # `os.path`, as a name that is too long is not an error there.
    if "/" not in name and os.path.isfile(name):  # noqa: PTH113
        return f"to run the file of this folder, write ./{name}"
    if name.startswith("/") and os.path.exists(name):  # noqa: PTH110
        return "the guest does not see the host's files: copy it below the current folder"
    return f"name the package that has it {_PACKAGE}"
