"""Readers against files that somebody has damaged or made to harm: `python -m tests.fuzz`.

`python -m tests.fuzz --reader flent --count 100000` reads so many mutations of real files and
prints a line per reader: only the error that the reader documents may come of one, within SECONDS,
and in a process that cannot have more than MEMORY. Equal seeds give equal mutations. Exit status 1
where one crashed, and the inputs are in `--keep`.
"""

import argparse
import contextlib
import gzip
import io
import json
import multiprocessing
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qdisclab.analysis.measures.lint import lint
from qdisclab.analysis.runs import recorded
from qdisclab.analysis.runs.dataset import RunFile, facts, read_record, usable
from qdisclab.analysis.runs.flentfile import read_flent, read_series
from qdisclab.analysis.runs.published import read_facts, read_published
from qdisclab.analysis.runs.rigrecord import read_rig
from qdisclab.analysis.site import inventory
from qdisclab.analysis.site.figurefile import read_figure
from qdisclab.analysis.site.outputs import read_summary
from qdisclab.emulate import cli
from qdisclab.emulation import datafile
from qdisclab.emulation.captures import pcap
from qdisclab.emulation.checks.compare import compare, load
from qdisclab.emulation.checks.verify import Shipped
from qdisclab.emulation.errors import ConfigError, EmulationError
from qdisclab.emulation.study import template
from qdisclab.emulation.study.source import ParsedFile
from studies.gbw2015.measures import drops
from studies.gbw2015.measures.spread import flow_starts
from studies.khademi2013.captures import table
from tests import ROOT

MEMORY = 3 << 30  # bytes of address space; the libraries' own code and threads take 2 GiB of it
SECONDS = 20  # of one input: a study file of the greatest size takes a few
FLENT, ROWS, FIGURE = "seed-001.flent.gz", "seed-001.rows.jsonl.gz", "mine/figures/x.yaml"
RUN = "mine/x/10-1/codel/cubic/seed-001"
LARGEST = 1 << 20  # bytes of a mutation, before it is packed
TOKENS = (
    b"null", b"NaN", b"Infinity", b"-1", b"0", b"1e999", b"9" * 30, b"9" * 5000, b"[]", b"{}",
    b'""', b'"<script>"', b"[" * 2000, b'{"a":' * 500, b"true", b"../../etc/passwd", b"\x00",
    b"\xff\xfe", b"\x1b[2J", b"*a", b"&a", b"!!python/object:os.system", b"<<: ", b"- ", b": ",
    b"\n", b"\t", b"? ", b"|", b">", b"%", b"@", b"10 Mbit/s", b"programs", b"1/1", b"rig.x",
)  # fmt: skip
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 10**18, 10**400, 1e308, "", "x", "<b>", [], {}, [[]], {"a": {}},
    "9" * 400, "../..", "10 ms",
)  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """What reads a file, and real ones to begin with."""

    read: Callable[[Path], object]
    name: str  # of the file that it is given: readers go by the ends of names
    corpus: Callable[[], list[bytes]]  # unpacked
    packed: bool = False
    structure: Callable[[bytes], Any] | None = None  # that `json.dumps` makes a text of again
    text: Callable[[Any], bytes] = field(default=lambda value: json.dumps(value).encode())


# --- the readers ----------------------------------------------------------------------------------


def _beside(name: str, content: bytes, folder: Path) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _unpacked(pattern: str, number: int) -> list[bytes]:
    paths = sorted((ROOT / "data").glob(pattern))
    chosen = paths[:: max(1, len(paths) // number)][:number]
    return [
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in chosen
    ]


def _run_file(path: Path) -> Any:
    record = path.with_name("seed-001.json")
    return RunFile("mine", "x", "modern", "10/1", "codel", "cubic", 1, path, record, "mine/x")


def _flent(path: Path) -> None:
    file = _run_file(path)
    _each(lambda: read_flent(path), lambda: read_series(path), lambda: flow_starts([file]))


def _compared(path: Path) -> None:
    other = path.with_name("other.flent.gz")
    other.write_bytes(gzip.compress(b'{"results": {"a": [1]}, "x_values": [0], "metadata": {}}'))
    compare(load(path), load(other))


def _provenance(path: Path) -> None:
    file = _run_file(path.with_name("seed-001.flent.gz"))

    def said() -> None:
        record = read_record(file)
        with usable(file):
            facts(file, record)

    _each(lambda: Shipped.at(file).run(), said, lambda: inventory._rows([file], {}))


def _probe(path: Path) -> object:
    text = json.dumps({"run": RUN, "length_s": 10})
    path.with_name("seed-001.json").write_text(text)
    return recorded.read([_run_file(path)], "drops", drops.DROPS)


def _published(path: Path) -> None:
    _each(lambda: read_facts(path), lambda: read_published(path))


def _study(path: Path) -> None:
    for name in ("probe.py", "send.py"):
        path.with_name(name).write_text("")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = cli.main(["check", str(path.parent)])
    if status:
        raise ConfigError(said.getvalue())


def _studies() -> list[bytes]:
    shipped = _of_studies("study.yaml")
    texts = (path.read_text() for path in sorted((ROOT / "tests").rglob("test_*.py")))
    blocks = (block.lstrip("\\\n") for text in texts for block in text.split('"""'))
    found = [block.encode() for block in blocks if block.startswith("format: 1\n")]
    return [*shipped, template.text("study.yaml", "mine").encode(), *found]


def _plain(text: bytes) -> Any:
    return ParsedFile.read(text.decode(errors="replace")).value


def _captures() -> list[bytes]:
    frame = bytes(range(12)) + b"\x08\x00" + b"\x45" + bytes(60)
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 1)
    record = struct.pack("<IIII", 1, 2, len(frame), 1514) + frame
    return [head + record * 20, head, head + record]


def _summaries() -> list[bytes]:
    about = {
        "paper": "mine", "figure": "2a", "title": "x", "caption": "y", "alt": "z", "cells": [],
        "kernels": [{"release": "6.12", "digest": "0"}], "eras": ["modern"],
        "flent_versions": ["2"], "lengths_s": [10.0], "virtual_s": 1.0, "wall_s": 1.0,
    }  # fmt: skip
    return [json.dumps(about).encode()]


def _each(*reads: Callable[[], object]) -> None:
    """Do all of them, and then raise what the last that refused has said."""
    said: Exception | None = None
    for read in reads:
        try:
            read()
        except EmulationError as error:
            said = error
    if said is not None:
        raise said


def _short(text: bytes) -> bytes:
    """A data file with few steps: most of what can be wrong with it has nothing to do with more."""

    def cut(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: cut(one) for key, one in value.items()}
        return [cut(one) for one in value[:40]] if isinstance(value, list) else value

    return json.dumps(cut(json.loads(text))).encode()


READERS: dict[str, Reader] = {
    "flent": Reader(_flent, FLENT, lambda: _flents("*", 24), True, json.loads),
    "lint": Reader(
        lambda path: lint(read_rig(path)), FLENT, lambda: _flents("*", 24), True, json.loads
    ),
    "compare": Reader(_compared, FLENT, lambda: _flents("gbw2015", 12), True, json.loads),
    "provenance": Reader(_provenance, "seed-001.json", lambda: _records(), False, json.loads),
    "rows": Reader(datafile.read_rows, ROWS, lambda: _unpacked("**/*.rows.jsonl.gz", 4), True),
    "packets": Reader(table.read, "seed-001.packets.parquet", lambda: _small_tables()),
    "pcap": Reader(
        lambda path: [*map(str, pcap.read(path))], "client.pcap.gz", lambda: _captures(), True
    ),
    "probe": Reader(_probe, "seed-001.drops.csv", lambda: _unpacked("**/*.drops.csv", 6)),
    "published": Reader(_published, "fig2.csv", lambda: _of_studies("published/*.csv")),
    "figure": Reader(
        lambda path: read_figure(path).cells(),
        *(FIGURE, lambda: _of_studies("figures/*.yaml"), False, _plain),
    ),
    "summary": Reader(read_summary, "summary.json", lambda: _summaries(), False, json.loads),
    "study": Reader(_study, "mine/study.yaml", lambda: _studies(), False, _plain),
}


def _flents(studies: str, number: int) -> list[bytes]:
    """Data files of studies, or of an experiment of one, each with few steps."""
    folders = studies + "/*" * (5 - studies.count("/"))
    return [*map(_short, _unpacked(f"{folders}.flent.gz", number))]


def _records() -> list[bytes]:
    """Provenances, as if they were of the run that `_run_file` is."""
    found = map(json.loads, _unpacked("*/*/*/*/*/*.json", 12))
    return [json.dumps({**one, "run": RUN}).encode() for one in found]


def _of_studies(pattern: str) -> list[bytes]:
    """Files of the shipped studies, as if they were of the study `mine`."""
    found = []
    for path in sorted((ROOT / "studies").glob(f"*/{pattern}")):
        study = path.relative_to(ROOT / "studies").parts[0]
        found.append(path.read_bytes().replace(study.encode(), b"mine"))
    return found


def _small_tables() -> list[bytes]:
    paths = sorted((ROOT / "data").glob("**/*.packets.parquet"), key=lambda one: one.stat().st_size)
    return [path.read_bytes() for path in [*paths[:3], paths[len(paths) // 2]]]


# --- mutations ------------------------------------------------------------------------------------


def mutated(reader: Reader, corpus: list[bytes], rng: random.Random) -> bytes:
    """A mutation of one of the files, packed where the reader's are."""
    text = rng.choice(corpus)
    if reader.structure is not None and rng.random() < 0.5:
        with contextlib.suppress(ValueError):
            text = reader.text(_restructured(reader.structure(text), rng))
    else:
        for _ in range(rng.choice((1, 1, 2, 8))):
            text = rng.choice((_flip, _letters, _cut, _token, _splice, _repeat))(text, corpus, rng)
    text = text[:LARGEST]
    if not reader.packed:
        return text
    packed = gzip.compress(text, 1, mtime=0)
    if rng.random() < 0.2:  # the packing itself
        packed = rng.choice((_flip, _cut, _repeat))(packed, [packed], rng)
    return packed if rng.random() < 0.95 else gzip.compress(packed)


def _flip(text: bytes, corpus: list[bytes], rng: random.Random) -> bytes:
    changed = bytearray(text)
    for _ in range(rng.choice((1, 4, 32)) if text else 0):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _letters(text: bytes, corpus: list[bytes], rng: random.Random) -> bytes:
    """As `_flip`, and text stays text."""
    changed = bytearray(text)
    for _ in range(rng.choice((1, 2, 8)) if text else 0):
        changed[rng.randrange(len(changed))] = rng.choice(b"0123456789.-eE,:;[]{}\"' abcxyz\n")
    return bytes(changed)


def _cut(text: bytes, corpus: list[bytes], rng: random.Random) -> bytes:
    start, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    return text[:start] if rng.random() < 0.5 else text[:start] + text[end:]


def _token(text: bytes, corpus: list[bytes], rng: random.Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(TOKENS) + text[at + rng.choice((0, 1, 4)) :]


def _splice(text: bytes, corpus: list[bytes], rng: random.Random) -> bytes:
    other = rng.choice(corpus)
    return text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other) + 1) :]


def _repeat(text: bytes, corpus: list[bytes], rng: random.Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at : at + rng.randrange(1, 200)] * rng.randrange(2, 50) + text[at:]


def _restructured(value: Any, rng: random.Random) -> Any:
    """`value` with a few of its parts replaced, removed, doubled or exchanged."""
    places = list(_places(value))
    for _ in range(rng.choice((1, 2, 5)) if places else 0):
        holder, key = rng.choice(places)
        try:
            old = holder[key]
            how = rng.randrange(5)
            if how == 0:
                del holder[key]
            elif how == 1:
                holder[key] = [old, old] if rng.random() < 0.5 else {"x": old}
            elif how == 2:
                other, name = rng.choice(places)
                holder[key] = json.loads(json.dumps(other[name]))
            elif how == 3 and isinstance(holder, dict):
                holder[rng.choice(("x", "kind", "", "<<", str(old)[:20]))] = old
            else:
                holder[key] = rng.choice(ODD)
        except (LookupError, TypeError):  # gone with what held it
            continue
    return value


def _places(value: Any) -> Any:
    """(holder, key) of the parts of a value; of long lists a few."""
    if isinstance(value, dict | list):
        several = range(min(len(value), 20)) if isinstance(value, list) else list(value)
        for key in several:
            yield value, key
            yield from _places(value[key])


# --- running --------------------------------------------------------------------------------------


@dataclass
class Result:
    """What came of the inputs of a reader."""

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    memory_mib: int = 0  # of the process at its greatest, libraries included
    crashes: Counter[str] = field(default_factory=Counter)
    kept: dict[str, bytes] = field(default_factory=dict)  # the first input of each


class _Hang(BaseException):
    """An input took too long."""


def fuzz(name: str, count: int, seed: int) -> Result:
    """Read `count` mutations in a process of its own."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(there, name, count, seed))
    process.start()
    there.close()
    try:
        result: Result = here.recv()
    except EOFError:
        result = Result(count)
        process.join()
        result.crashes[f"the process died: {process.exitcode}"] = 1
    process.join()
    return result


def _work(pipe: Any, name: str, count: int, seed: int) -> None:
    warnings.simplefilter("ignore")
    reader, result, rng = READERS[name], Result(), random.Random(seed)
    corpus = reader.corpus()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        os.environ["QDISC_LAB_TRUST"] = scratch
        os.environ["XDG_CACHE_HOME"] = scratch
        path = Path(scratch) / reader.name
        with contextlib.suppress(EmulationError):  # what it loads is there before memory is bounded
            reader.read(_beside(reader.name, reader_input(reader, corpus[0]), Path(scratch)))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.signal(signal.SIGALRM, _hang)
        for number in range(count):
            content = mutated(reader, corpus, rng)
            path.write_bytes(content)
            os.utime(path, ns=(number, number))  # what is remembered by time is of another file
            result.inputs += 1
            began = time.monotonic()
            signal.alarm(SECONDS)
            try:
                reader.read(path)
                result.accepted += 1
            except EmulationError:
                result.refused += 1
            except (Exception, _Hang, SystemExit, RecursionError) as error:
                last = traceback.extract_tb(error.__traceback__)
                ours = [one for one in last if one.filename.startswith(str(ROOT))]
                place = (ours or last)[-1]
                what = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
                result.crashes[what] += 1
                result.kept.setdefault(what, content)
            finally:
                signal.alarm(0)
            result.slowest_s = max(result.slowest_s, time.monotonic() - began)
    result.memory_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    pipe.send(result)


def reader_input(reader: Reader, text: bytes) -> bytes:
    """A file of the corpus as it is read."""
    return gzip.compress(text, 1, mtime=0) if reader.packed else text


def _hang(*_: object) -> None:
    raise _Hang


def main() -> int:
    """The command line; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--reader", action="append", choices=list(READERS), help="default: all")
    parser.add_argument("--count", type=int, default=1000, help="inputs of each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for inputs that crash a reader")
    given = parser.parse_args()
    failed = False
    for name in given.reader or READERS:
        began = time.monotonic()
        found = fuzz(name, given.count, given.seed)
        failed |= bool(found.crashes)
        print(
            f"{name}: {found.inputs} inputs, {found.accepted} accepted, {found.refused} refused, "
            f"{sum(found.crashes.values())} crashes; slowest {found.slowest_s:.2f} s, "
            f"{found.memory_mib} MiB, {time.monotonic() - began:.0f} s in all",
            flush=True,
        )
        for number, (what, times) in enumerate(found.crashes.most_common()):
            print(f"    {times} x {what}", flush=True)
            if given.keep and what in found.kept:
                given.keep.mkdir(parents=True, exist_ok=True)
                (given.keep / f"{name}-{number}").write_bytes(found.kept[what])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
