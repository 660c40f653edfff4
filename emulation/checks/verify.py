"""Repeat shipped runs and compare the results: byte for byte, or by their statistics.

Equal identity means equal bytes. If this machine has another kernel, other tools or newer guest
code, differing bytes say nothing, and the values are compared with the spread over the shipped
seeds; bytes that are equal all the same say more than any statistics.
"""

import csv
import math
import runpy
import statistics
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from qdisclab.emulation import datafile
from qdisclab.emulation.captures import places
from qdisclab.emulation.checks import compare
from qdisclab.emulation.config.request import run_of
from qdisclab.emulation.errors import (
    ConfigError,
    DamagedData,
    EmulationError,
    NotCompatible,
    NotReproduced,
)
from qdisclab.emulation.host import facts
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.kernel import Kernel
from qdisclab.emulation.kinds.probes import KINDS, probe
from qdisclab.emulation.machine import guestcode
from qdisclab.emulation.machine.rootfs import RootFs
from qdisclab.emulation.model.run import Experiment, Run
from qdisclab.emulation.runs.index import RunFile, index, indexes, run_file
from qdisclab.emulation.runs.run import execute

#: Least number of seeds from which a spread is estimated.
ENOUGH_SEEDS = 3

#: Probability that a value of the same process lies inside the allowed interval.
LEVEL = 0.999

#: A number that a run measured, and its unit.
Measured = Mapping[str, tuple[float, str]]

#: Returns what a run measured, by name; some numbers are divided by those of runs below its `root`.
Measure = Callable[[RunFile], Measured]

#: Differences that are always allowed, by unit (fraction of the value, absolute difference): with
#: one or two seeds, and with more seeds that lie closer together than any change of kernel leaves
#: them.
FEW_SEEDS = {"Mbit/s": (0.05, 0.05), "ms": (0.25, 3.0), "s": (0.25, 0.05), "%": (0.25, 0.5)}
NARROW = {"Mbit/s": (0.01, 0.02), "ms": (0.02, 0.5), "s": (0.02, 0.005), "%": (0.02, 0.1)}
OTHER_FEW, OTHER_NARROW = (0.25, 0.05), (0.02, 0.005)

#: Columns of `data/verified.csv`.
COLUMNS = (
    "date", "cpu_model", "cpus", "host_kernel", "container", "kernel_digest", "rootfs_digest",
    "runs_equal", "runs_compared", "how",
)  # fmt: skip

#: Names of the parts of an identity: (beginning of the path of keys, name).
_NOUNS = (
    ("kernel", "kernel"),
    ("root.tools", "tools"),
    ("root", "root file system"),
    ("guest", "code in the guest"),
    ("modules", "module of the kernel"),
    ("job", "job"),
    ("boot.memory_mib", "memory in MiB"),
    ("boot.seed", "seed of the random numbers"),
    ("boot", "command line of the kernel"),
)


#: How runs are compared.
COMPARED = ("bytes", "statistics")


@dataclass(frozen=True)
class Shipped:
    """A run of the data folder."""

    file: RunFile
    record: dict[str, Any]

    @classmethod
    def at(cls, file: RunFile) -> Self:
        """Return the run with its provenance; raise `DamagedData` if that is not one."""
        record = datafile.read_json(file.provenance)
        try:
            _ = record["identity"]["kernel"]["series"], record["data_sha256"]
        except (LookupError, TypeError) as error:
            what = f"is not the provenance of a run ({type(error).__name__}: {error})"
            raise DamagedData(what, str(file.provenance), "do the run again") from error
        return cls(file, record)

    @property
    def id(self) -> str:
        """Return the run's id."""
        return self.file.run

    @property
    def data(self) -> Path:
        """Return the path of its data, which need not be there."""
        return self.file.data

    @property
    def raw(self) -> Path:
        """Return the path of what flent wrote, which need not be there."""
        return self.beside(datafile.RAW)

    def beside(self, end: str) -> Path:
        """Return the path of the file of the run whose name ends so."""
        return self.file.provenance.with_suffix(end)

    @property
    def series(self) -> str:
        """Return the series of the kernel that the run was made with."""
        return str(self.record["identity"]["kernel"]["series"])

    @cached_property
    def damaged(self) -> bool:
        """Return whether the data file is missing or not the one that the provenance describes."""
        if not self.data.exists():
            return not self.file.is_reduced
        return sha256(self.data) != str(self.record["data_sha256"])

    def run(self, by_id: Mapping[str, Experiment] | None = None) -> Run:
        """Return the run from today's studies; raise `ConfigError` if they do not have it.

        `by_id` has experiments that have been read already.
        """
        return run_of(self.record, by_id)


@dataclass
class Repetition:
    """The result for one run. `how` is one of `COMPARED` or, if it was not run, `damaged`, or
    `gone` where the studies do not have it any more."""

    run: str
    how: str
    equal: bool
    notes: list[str] = field(default_factory=list)
    kernel_digest: str = ""
    rootfs_digest: str = ""
    guest: tuple[str, str] | None = None  # as `other_code` returns it

    def __str__(self) -> str:
        words = {
            ("bytes", True): "the same bytes",
            ("bytes", False): "NOT REPRODUCED",
            ("statistics", True): "statistically compatible",
            ("statistics", False): "NOT COMPATIBLE",
            ("damaged", False): "DAMAGED DATA",
            ("gone", False): "NOT RUN",
        }
        return f"{self.run}: {'; '.join([words[self.how, self.equal], *self.notes])}"


def shipped(data: Path) -> list[Shipped]:
    """Return the runs in the folder `data`, sorted by id; raise `ConfigError` if there is none."""
    runs: list[Shipped] = []
    for study in indexes(data):
        for path, why in study.damaged:
            raise DamagedData(why, str(path), "do the run again")
        runs += map(Shipped.at, study.runs)
    if not runs:
        raise ConfigError("holds no runs", str(data), "name the folder of the data with --data")
    return runs


def repeatable(runs: list[Shipped], digests: Mapping[str, str], root: RootFs) -> list[Shipped]:
    """Return those of `runs` that have kernel and guest in common with this machine.

    `digests` are the identities of its kernels by series. Only these can give the same bytes; all
    of `runs` where there is none.
    """
    here = []
    for run in runs:
        identity = run.record["identity"]
        same_kernel = identity["kernel"]["digest"] == digests.get(run.series)
        if same_kernel and identity["root"]["digest"] == root.digest:
            here.append(run)
    return here or runs


def sample(runs: list[Shipped], number: int) -> list[Shipped]:
    """Return `number` of `runs`, spread evenly over their cells; the same runs each time."""
    by_cell: dict[tuple[str, ...], list[Shipped]] = {}
    for run in runs:
        by_cell.setdefault(run.file.cell, []).append(run)
    cells = list(by_cell.values())
    if number >= len(cells):  # in each round, one seed of each cell in turn
        rounds = max(len(cell) for cell in cells)
        turns = [cell[turn] for turn in range(rounds) for cell in cells if turn < len(cell)]
        return turns[:number]
    places = [index * len(cells) // number for index in range(number)]
    return [cells[place][index % len(cells[place])] for index, place in enumerate(places)]


def verify(
    old: Shipped, kernel: Kernel, root: RootFs, measure: Measure, probing: bool = True
) -> Repetition:
    """Repeat the run `old` in a scratch folder and compare the two.

    Tables of probes are made and compared only if `probing`: they are no part of the data.
    """
    if old.damaged or not follows_from_raw(old):
        other = "has another SHA-256" if old.damaged else f"is not what {old.raw.name} gives"
        return Repetition(old.id, "damaged", False, [f"{old.data.name} {other}"])
    try:
        run = old.run()
    except ConfigError as error:
        return Repetition(old.id, "gone", False, [error.what, error.todo])
    with tempfile.TemporaryDirectory(prefix="verify-") as scratch:
        probes = tuple(probe.Probe(kind) for kind, _ in tables(old)) if probing else ()
        result = execute(run, kernel, root, Path(scratch), probes=probes)
        again = Shipped.at(run_file(Path(scratch), result.provenance))
        verdict = judge(old, again, measure, probing)
        verdict.notes += result.ending.notes if result.ending else []
        verdict.guest = other_code(old.record["identity"], again.record["identity"])
    if old.raw.exists():
        verdict.notes.append(f"its data follow from {old.raw.name}")
    verdict.kernel_digest, verdict.rootfs_digest = kernel.digest, root.digest
    return verdict


def follows_from_raw(run: Shipped) -> bool:
    """Return whether the data are what flent wrote, reduced; true where flent's file was not kept.

    Unpacked texts are compared: another zlib compresses differently.
    """
    if not run.raw.exists():
        return True
    with tempfile.TemporaryDirectory(prefix="verify-") as scratch:
        reduced = Path(scratch, "reduced")
        try:
            runpy.run_path(str(guestcode.FOLDER / "flentdata.py"))["reduce"](run.raw, reduced)
        except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError):
            return False
        return datafile.read(reduced) == datafile.read(run.data)


def judge(old: Shipped, new: Shipped, measure: Measure, probing: bool = True) -> Repetition:
    """Compare two executions of a run; `measure` gives the numbers if bytes say nothing."""
    reasons = ", ".join(other_identity(old.record["identity"], new.record["identity"]))
    if old.file.is_reduced:
        return _judge_reduced(old, new, reasons, measure, probing)
    comparison = compare.compare(compare.load(old.data), compare.load(new.data))
    made = tables(new)
    probed = tables(old) if probing else []
    differ = [f"another table of {kind}" for kind, text in probed if (kind, text) not in made]
    if not same_packets(old, new):
        differ.append("another table of packets")
    if not same_output(old, new):
        differ.append("another output of programs")
    same = comparison.equal and not differ
    if reasons and same:
        return Repetition(old.id, "bytes", True, [f"in spite of a different {reasons}"])
    if reasons:
        return _judge_values(old, new, reasons, measure)
    notes = differ
    if not comparison.equal:
        first = (comparison.sample, comparison.metadata, *comparison.counters[:1])
        notes = [str(difference) for difference in first if difference][:1]
    return Repetition(old.id, "bytes", same, notes)


def _judge_values(old: Shipped, new: Shipped, reasons: str, measure: Measure) -> Repetition:
    """Compare what two runs measured, as bytes say nothing for these `reasons`."""
    equal, notes = compatible(old, new, measure)
    how = f"different {reasons}: comparing statistically"
    return Repetition(old.id, "statistics", equal, [how, *notes])


def _judge_reduced(
    old: Shipped, new: Shipped, reasons: str, measure: Measure, probing: bool
) -> Repetition:
    """Compare a run whose data are not shipped by their digest, and by what it measured."""
    notes = ["by the SHA-256 of its data"]
    left, right = (
        (run.record.get("data_sha256"), run.record.get("qdiscs"), tables(run) if probing else [])
        for run in (old, new)
    )
    same = left == right
    if reasons and not same:
        return _judge_values(old, new, reasons, measure)
    if reasons:
        notes.append(f"in spite of a different {reasons}")
    if same:
        recorded = measure(old.file)
        differ = [
            f"{name} measured as {value!r}, recorded as {recorded.get(name, (None, ''))[0]!r}"
            for name, (value, _) in beside(new, old, measure).items()
            if recorded.get(name, (None, ""))[0] != value
        ]
        same, notes = not differ, notes + differ[:1]
    return Repetition(old.id, "bytes", same, notes)


def tables(run: Shipped) -> list[tuple[str, str]]:
    """Return (probe, text) of the tables that probes left with a run."""
    kinds = [kind for kind in KINDS.values() if kind.write is not None]
    paths = ((kind.name, run.beside(kind.end())) for kind in kinds)
    return [(name, _text(path)) for name, path in paths if path.exists()]


def _text(table: Path) -> str:
    """Return the content of a table as CSV: the bytes of Parquet depend on the library, too."""
    if table.suffix == ".csv":
        return datafile.read(table).decode()
    import pandas as pd  # takes a second to import

    return pd.read_parquet(table).to_csv(index=False)


def same_packets(old: Shipped, new: Shipped) -> bool:
    """Return whether two runs have equal tables of packets, or none.

    The bytes also depend on the library that wrote them; if they differ, the contents decide.
    """
    left, right = (run.record.get("packets_sha256") for run in (old, new))
    if left == right or None in (left, right):
        return bool(left == right)
    return _text(old.beside(places.TABLE)) == _text(new.beside(places.TABLE))


def same_output(old: Shipped, new: Shipped) -> bool:
    """Return whether programs printed and left the same again, or `old` has nothing of them.

    Unpacked archives are compared: another zlib compresses differently.
    """
    left, right = (run.beside(datafile.OUTPUT) for run in (old, new))
    if not left.exists():
        return True
    return right.exists() and datafile.read(left) == datafile.read(right)


def other_identity(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Describe each difference between two identities.

    A digest is named only if nothing more telling of the same part differs.
    """
    by_part: dict[str, dict[str, str]] = {}  # part -> {path: description}
    for difference in compare.differences(old, new):
        path = difference.where
        part = path.partition(".")[0]
        noun = next((noun for start, noun in _NOUNS if path.startswith(start)), path)
        if path.startswith("root.tools."):
            noun += f" {path.removeprefix('root.tools.')}"
        text = f"{noun} ({difference.left} against {difference.right})"
        by_part.setdefault(part, {})[path] = text
    for part, texts in by_part.items():
        if len(texts) > 1:
            texts.pop(f"{part}.digest", None)
        if "kernel.release" in texts:
            texts.pop("kernel.series", None)
    return [text for texts in by_part.values() for text in texts.values()]


def other_code(old: dict[str, Any], new: dict[str, Any]) -> tuple[str, str] | None:
    """Return the digests of the guest's code where two identities differ in it alone."""
    if old["guest"] == new["guest"] or {**old, "guest": ""} != {**new, "guest": ""}:
        return None
    return old["guest"], new["guest"]


def compatible(old: Shipped, new: Shipped, measure: Measure) -> tuple[bool, list[str]]:
    """Return whether the cell of `old` could have given the values of `new`, and a note on each."""
    cell = index(old.file.root, old.file.paper).cells[old.file.cell]
    seeds = [seed for seed in map(Shipped.at, cell) if not seed.damaged]
    expected = [measure(seed.file) for seed in seeds]
    measured = beside(new, old, measure)
    if not (expected and measured):
        return False, ["nothing to compare: its experiment names no measure"]
    few = len(seeds) < ENOUGH_SEEDS
    how = "within stated tolerances" if few else f"{LEVEL:.1%} prediction interval"
    notes = [f"{len(seeds)} seed{'s' * (len(seeds) != 1)}, {how}"]
    fits = True
    for name, (value, unit) in measured.items():
        if not (values := [numbers[name][0] for numbers in expected if name in numbers]):
            fits = False
            notes.append(f"{name} {value:.3f} {unit} OUTSIDE: no shipped seed has it")
            continue
        centre, slack = interval(unit, values)
        inside = abs(value - centre) <= slack
        fits &= inside
        mark = "" if inside else " OUTSIDE"
        notes.append(f"{name} {value:.3f} {unit}{mark} of {centre:.3f} ± {slack:.3f}")
    return fits, notes


def beside(new: Shipped, old: Shipped, measure: Measure) -> Measured:
    """Return what `new` measured, its numbers divided by those of the runs that `old` lies with."""
    return measure(replace(new.file, root=old.file.root))


def interval(unit: str, values: list[float]) -> tuple[float, float]:
    """Return centre and half width of the allowed interval, from the shipped `values`.

    With enough values it is the prediction interval of one more (t (1 + 1/n)^1/2 s).
    """
    few, centre = len(values) < ENOUGH_SEEDS, statistics.fmean(values)
    share, least = FEW_SEEDS.get(unit, OTHER_FEW) if few else NARROW.get(unit, OTHER_NARROW)
    slack = max(share * abs(centre), least)
    if not few:
        from scipy.stats import t

        count = len(values)
        quantile = float(t.ppf((1 + LEVEL) / 2, count - 1))
        slack = max(slack, quantile * statistics.stdev(values) * math.sqrt(1 + 1 / count))
    return centre, slack


def add_evidence(file: Path, verdicts: Iterable[Repetition]) -> None:
    """Append one line per kernel and way of comparing to `file`, of what was compared."""
    groups: dict[tuple[str, str, str], list[Repetition]] = {}
    for verdict in verdicts:
        if verdict.how in COMPARED:
            key = (verdict.kernel_digest, verdict.rootfs_digest, verdict.how)
            groups.setdefault(key, []).append(verdict)
    about, new = facts.about(), not file.exists()
    with file.open("a", newline="") as stream:
        table = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        if new:
            table.writeheader()
        for (kernel_digest, rootfs_digest, how), group in sorted(groups.items()):
            table.writerow(
                {
                    **about,
                    "date": datetime.now(UTC).date().isoformat(),
                    "container": "yes" if about["container"] else "no",
                    "kernel_digest": kernel_digest,
                    "rootfs_digest": rootfs_digest,
                    "runs_equal": sum(verdict.equal for verdict in group),
                    "runs_compared": len(group),
                    "how": how,
                }
            )


def beginning(runs: list[Shipped], starts: list[str]) -> list[Shipped]:
    """Return those of `runs` whose id begins with one of `starts`, all where there is none.

    Raise `ConfigError` where no run begins with one of them.
    """
    for start in starts:
        if not any(run.id.startswith(start) for run in runs):
            todo = f"runs have names like {runs[0].id}"
            raise ConfigError("no shipped run's name begins like this", f"--only {start}", todo)
    return [run for run in runs if not starts or run.id.startswith(tuple(starts))]


def summary(verdicts: list[Repetition]) -> str:
    """Return how many runs are equal, and how they were compared."""
    words = {"bytes": "the same bytes", "statistics": "statistically compatible"}
    parts = []
    for how, text in (words | {"damaged": "damaged", "gone": "not run"}).items():
        if group := [verdict.equal for verdict in verdicts if verdict.how == how]:
            number = f"{sum(group)} of {len(group)}" if how in COMPARED else f"{len(group)}"
            parts.append(f"{number} {text}")
    return ", ".join(parts)


def worst(verdicts: list[Repetition]) -> EmulationError | None:
    """Return the error that the verdicts amount to, or None."""
    kinds: tuple[tuple[str, type[EmulationError], str, str], ...] = (
        ("damaged", DamagedData, "not the recorded data", "restore the file, or do the run again"),
        ("bytes", NotReproduced, "other bytes from the same inputs", "see 'emulate diff'"),
        ("statistics", NotCompatible, "values outside the spread of the shipped seeds", ""),
        ("gone", ConfigError, "not as the studies have it today", "do it again, or remove it"),
    )
    for how, kind, what, todo in kinds:
        if bad := [of.run for of in verdicts if of.how == how and not of.equal]:
            return kind(what, ", ".join(bad), todo)
    return None
