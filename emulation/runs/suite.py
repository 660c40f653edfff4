"""Tests that others wrote, in virtual time: packetdrill's, and the kernel's own.

All tests of a suite share a guest (`guest/suite.py`). Where one hangs it, or ends it, the others go
on in another guest.
"""

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qdisclab.emulation.errors import ConfigError, EmulationError, GuestFailure, GuestHung
from qdisclab.emulation.machine import guestcode
from qdisclab.emulation.programs.taken import TakenFile
from qdisclab.emulation.runs.execution import NAME, Execution, Outcome

_IPV4 = (
    *("--local_ip=192.168.0.1", "--gateway_ip=192.168.0.1", "--netmask_ip=255.255.0.0"),
    *("--remote_ip=192.0.2.1", "-DCODE=host_unreachable"),
    *("-DTFO_COOKIE=3021b9d889017eeb", "-DTFO_COOKIE_ZERO=b7c12350a90dc8f5"),
)
_SOL_IPV6 = ("-DCMSG_LEVEL_IP=SOL_IPV6", "-DCMSG_TYPE_RECVERR=IPV6_RECVERR")

#: Addresses and words of packetdrill's tests, by version of IP; those of its own `run_all.py` and
#: of the kernel's runner.
VARIANTS: dict[str, tuple[str, ...]] = {
    "ipv4": (
        *("--ip_version=ipv4", *_IPV4),
        *("-DCMSG_LEVEL_IP=SOL_IP", "-DCMSG_TYPE_RECVERR=IP_RECVERR"),
    ),
    "ipv6": (
        *("--ip_version=ipv6", "--mtu=1520", "--local_ip=fd3d:0a0b:17d6::1"),
        *("--gateway_ip=fd3d:0a0b:17d6:8888::1", "--remote_ip=fd3d:fa7b:d17d::1"),
        *("-DTFO_COOKIE=c1d1e9742a47a9bc", "-DTFO_COOKIE_ZERO=82af1a8f9a205c34", *_SOL_IPV6),
    ),
    "ipv4-mapped-ipv6": ("--ip_version=ipv4-mapped-ipv6", *_IPV4, *_SOL_IPV6),
}

#: Exit status of a test of the kernel that lacks something.
SKIPPED = 4

#: What the Makefile of a folder of the kernel's selftests says that they include.
_INCLUDES = re.compile(r"^TEST_INCLUDES\s*[:+]?=(.*)$", re.MULTILINE)

#: What a test of packetdrill says that is for one version of IP.
_VERSION = re.compile(r"^--ip_version=(\w+)$", re.MULTILINE)

_TAP = re.compile(r"^\s*(ok|not ok) (\d+)\b[ -]*(.*)$", re.MULTILINE)
_PLAN = re.compile(r"^1\.\.(\d{1,9})\s*(#.*)?$", re.MULTILINE)
_NOISE = re.compile(r"cannot stat")  # packetdrill, of a folder of /proc that not all kernels have


@dataclass(frozen=True)
class SuiteCase:
    """A test: a program that ends, and what it says of its parts."""

    name: str
    command: tuple[str, ...]
    folder: str  # in which it runs, below the current one


@dataclass(frozen=True)
class SuiteRow:
    """The outcome of a test, or of a part of one."""

    test: str
    part: str  # empty where it has none
    outcome: str  # ok, not ok, skipped, late or hung
    seconds: float | None  # virtual ones, of the whole test
    note: str

    @property
    def name(self) -> str:
        """Return the name of the test, with that of its part."""
        return f"{self.test}: {self.part}" if self.part else self.test


def cases(paths: Iterable[str], packetdrill: str, variants: Sequence[str]) -> Iterator[SuiteCase]:
    """Yield the tests in files, or in folders of packetdrill's, below the current folder.

    By their ends: `.pkt` is for `packetdrill`, `.json` for the `tdc.py` above it, and all else is a
    program of its own. Raises `ConfigError` for a path without a test.
    """
    for path in map(Path, paths):
        files = sorted(path.rglob("*.pkt")) if path.is_dir() else [path]
        if not files or not path.exists():
            what = "there is no test" if path.is_dir() else "there is no such file"
            raise ConfigError(what, str(path), "name a test, or a folder with files .pkt")
        for file in files:
            if file.suffix == ".pkt":
                yield from _packetdrill(file, packetdrill, variants)
            elif file.suffix == ".json":
                yield _tdc(file)
            else:
                yield SuiteCase(str(file), (f"./{file.name}",), str(file.parent))


def includes(tests: Iterable[SuiteCase]) -> list[str]:
    """Return the files that the kernel's selftests among `tests` include, by their Makefiles."""
    names = set()
    own = (test for test in tests if test.command[0] == f"./{Path(test.name).name}")
    for folder in {Path(test.folder) for test in own}:
        if (makefile := folder / "Makefile").is_file():
            text = makefile.read_text(errors="replace").replace("\\\n", " ")
            words = " ".join(_INCLUDES.findall(text)).replace("$(wildcard", " ")
            for pattern in re.findall(r"[^\s()]+", words):
                names |= {os.path.relpath(name) for name in folder.glob(pattern)}
    return sorted(names)


def _packetdrill(file: Path, binary: str, variants: Sequence[str]) -> Iterator[SuiteCase]:
    program = os.path.join(_from(file.parent), binary)  # noqa: PTH118  # keeps the "./"
    only = _VERSION.search(file.read_text(errors="replace"))
    for variant in variants:
        other = "v4" if variant == "ipv6" else "v6"
        if not file.stem.endswith(other) and (only is None or only[1] == variant):
            words = (program, "--send_omit_free", *VARIANTS[variant], file.name)
            yield SuiteCase(f"{file} {variant}", words, str(file.parent))


def _tdc(file: Path) -> SuiteCase:
    if (folder := next((up for up in file.parents if (up / "tdc.py").is_file()), None)) is None:
        raise ConfigError("there is no tdc.py above it", str(file), "name a file of tc-testing")
    return SuiteCase(
        str(file), ("python3", "tdc.py", "-f", str(file.relative_to(folder))), str(folder)
    )


def _from(folder: Path) -> Path:
    """Return the way from a folder below the current one to that."""
    return Path(*[".."] * len(folder.parts)) if folder.parts else Path()


def run(
    suite: Sequence[SuiteCase],
    wanted: Execution,
    timeout_s: float,
    scratch: Path,
    execute: Callable[[Execution, Path], Outcome],
    keep: Path,
) -> Iterator[SuiteRow]:
    """Yield the outcomes of the tests of `suite`, whose files are those of `wanted`.

    `execute` does an execution in a new folder; where it fails, what was printed is in `keep`.
    """
    rest, number = list(suite), 0
    while rest:
        number += 1
        plan = scratch / f"suite-{number}.json"
        about = [{"command": test.command, "folder": test.folder} for test in rest]
        plan.write_text(json.dumps({"timeout_s": timeout_s, "tests": about}))
        program = TakenFile("suite.py", guestcode.FOLDER / "suite.py", 0o644)
        files = (*wanted.files, program, TakenFile("suite.json", plan, 0o644))
        this = replace(wanted, command=("python3", "suite.py"), files=files)
        printed, error = "", None
        try:
            printed = (execute(this, scratch / f"guest-{number}").folder / "stdout").read_text()
        except (GuestHung, GuestFailure) as failure:
            error = failure
            output = keep / "job" / "out" / "programs" / NAME / "stdout"
            printed = output.read_text() if output.exists() else ""
        ended = [line for line in map(_line, printed.splitlines()) if "ends" in line]
        for line in ended:
            yield from rows(rest[line["ends"]], line)
        if error is None and len(ended) < len(rest):
            error = GuestFailure("the guest's program of the suite ended", "suite.py")
        if len(ended) < len(rest):
            if '"begins"' not in printed:  # no test is to blame
                raise error or EmulationError("the suite did not start")
            yield SuiteRow(rest[len(ended)].name, "", "hung", None, error.what if error else "")
        rest = rest[len(ended) + 1 :]


def _line(text: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except ValueError:  # cut off where the guest ended
        return {}


def rows(test: SuiteCase, ending: dict[str, Any]) -> Iterator[SuiteRow]:
    """Yield the outcomes of a test, by its lines of TAP if it printed some."""
    status, seconds = ending["status"], ending["seconds"]
    lines = [text.strip() for text in ending["errors"].splitlines() if not _NOISE.search(text)]
    note = " | ".join(filter(None, lines))
    parts = [match.groups() for match in _TAP.finditer(ending["output"])]
    for result, number, text in parts:
        what, _, directive = text.partition("#")
        about = directive.strip()
        outcome = "skipped" if about.upper().startswith("SKIP") else result
        if outcome == "not ok":
            about = " | ".join(filter(None, (about, note)))
        yield SuiteRow(test.name, what.strip() or number, outcome, seconds, about)
    if status is None:
        yield SuiteRow(test.name, "", "late", seconds, note or "it did not end in time")
    elif status == 0 and (plan := _PLAN.search(ending["output"])) and int(plan[1]) > len(parts):
        what = f"{len(parts)} of the {plan[1]} that it plans have an outcome"
        yield SuiteRow(test.name, "", "not ok", seconds, what)
    elif not parts or (status not in (0, SKIPPED) and all(part[0] == "ok" for part in parts)):
        outcome = {0: "ok", SKIPPED: "skipped"}.get(status, "not ok")
        last = ending["output"].strip().splitlines()[-1:]
        yield SuiteRow(
            test.name, "", outcome, seconds, note or ("" if status == 0 else " ".join(last))
        )


def write(table: Sequence[SuiteRow], folder: Path) -> None:
    """Write `results.csv` and `results.tap` into `folder`."""
    with (folder / "results.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["test", "part", "outcome", "virtual_s", "note"])
        for row in table:
            time = "" if row.seconds is None else f"{row.seconds:.6f}"
            writer.writerow([row.test, row.part, row.outcome, time, row.note])
    lines = ["TAP version 13", f"1..{len(table)}"]
    for number, row in enumerate(table, start=1):
        result = "ok" if row.outcome in ("ok", "skipped") else "not ok"
        directive = " # SKIP" if row.outcome == "skipped" else ""
        lines.append(f"{result} {number} - {row.name.replace('#', '')}{directive}")
        lines += [f"# {row.outcome}: {row.note}"] if result != "ok" else []
    (folder / "results.tap").write_text("\n".join(lines) + "\n")
