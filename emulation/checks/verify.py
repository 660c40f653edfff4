"""Runs done again and compared with the shipped ones: byte for byte, or by their statistics.

Equal identity means equal bytes. Where this machine has another kernel, other tools or newer code
of the guest, other bytes say nothing, and the values are held against the spread over the shipped
seeds; bytes that are equal all the same say more than any statistics.
"""

from __future__ import annotations

import csv
import hashlib
import math
import statistics
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from emulation import datafile
from emulation.captures import places
from emulation.checks import compare
from emulation.config.catalogue import recorded
from emulation.errors import ConfigError, DamagedData
from emulation.host import facts
from emulation.kernel import Kernel
from emulation.machine.rootfs import RootFs
from emulation.model.run import Experiment, Run
from emulation.probes.probe import FOLLOWED, Probe
from emulation.runs.run import execute

#: Seeds that it takes to speak of a spread.
ENOUGH_SEEDS = 3

#: Probability with which a value of the same process lies inside the interval that is allowed.
LEVEL = 0.999

#: A number that a run measured, and its unit.
Measured = Mapping[str, tuple[float, str]]

#: What a run measured, by names. Beside the run it gets the folder of the shipped ones: some
#: numbers are divided by those of other runs.
Measure = Callable[["Shipped", Path], Measured]

#: What is allowed in any case, by unit (share of the value, least difference): with one or two
#: seeds, and where seeds happen to lie closer together than any change of a kernel leaves them.
FEW_SEEDS = {"Mbit/s": (0.05, 0.05), "ms": (0.25, 3.0), "s": (0.25, 0.05), "%": (0.25, 0.5)}
NARROW = {"Mbit/s": (0.01, 0.02), "ms": (0.02, 0.5), "s": (0.02, 0.005), "%": (0.02, 0.1)}
OTHER_FEW, OTHER_NARROW = (0.25, 0.05), (0.02, 0.005)

#: Columns of `data/verified.csv`.
COLUMNS = (
    "date", "cpu_model", "cpus", "host_kernel", "container", "kernel_digest", "rootfs_digest",
    "runs_equal", "runs_compared", "how",
)  # fmt: skip

#: What the parts of an identity are called: (path of keys or its beginning, in words).
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


@dataclass(frozen=True)
class Shipped:
    """A run of the data folder."""

    data: Path
    record: dict[str, Any]

    @classmethod
    def at(cls, provenance: Path) -> Shipped:
        """The run with that provenance; `DamagedData` where it is none."""
        record = datafile.read_json(provenance)
        try:
            _ = str(record["run"]), record["identity"]["kernel"]["series"], record["data_sha256"]
        except (LookupError, TypeError) as error:
            what = f"is no provenance of a run ({type(error).__name__}: {error})"
            raise DamagedData(what, str(provenance), "do the run again") from error
        return cls(datafile.beside(provenance), record)

    @property
    def id(self) -> str:
        """The run's id."""
        return str(self.record["run"])

    @property
    def provenance(self) -> Path:
        """The file that says what the run is made of."""
        return self.data.with_name(f"{self.data.name.partition('.')[0]}.json")

    @property
    def folder(self) -> Path:
        """That of all runs: `data`."""
        return self.data.parents[5]

    @property
    def cell(self) -> Path:
        """The folder of all seeds of the cell."""
        return self.data.parent

    @property
    def series(self) -> str:
        """Of the kernel that it was done with."""
        return str(self.record["identity"]["kernel"]["series"])

    @cached_property
    def damaged(self) -> bool:
        """Whether the data file is missing or not the one that the provenance describes."""
        if not self.data.exists():
            return True
        digest = hashlib.sha256(self.data.read_bytes()).hexdigest()
        return digest != str(self.record["data_sha256"])

    def run(self, known: Mapping[str, Experiment] | None = None) -> Run:
        """The run, from today's studies; `ConfigError` where they do not have it.

        `known`: experiments by id, where somebody has read them already.
        """
        return recorded(self.record, known)


@dataclass
class Verdict:
    """What came of one run. `how`: `bytes`, `statistics` or, where nothing was run, `damaged`."""

    run: str
    how: str
    equal: bool
    notes: list[str] = field(default_factory=list)
    kernel_digest: str = ""
    rootfs_digest: str = ""

    def __str__(self) -> str:
        words = {
            ("bytes", True): "the same bytes",
            ("bytes", False): "NOT REPRODUCED",
            ("statistics", True): "statistically compatible",
            ("statistics", False): "NOT COMPATIBLE",
            ("damaged", False): "DAMAGED DATA",
        }
        return f"{self.run}: {'; '.join([words[self.how, self.equal], *self.notes])}"


def shipped(data: Path) -> list[Shipped]:
    """The runs in the folder `data`, by id; `ConfigError` where there is none."""
    found = []
    for path in sorted(data.glob("*/*/*/*/*/seed-*.json")):
        found.append(Shipped.at(path))
    if not found:
        raise ConfigError("holds no runs", str(data), "name the folder of the data with --data")
    return found


def sample(runs: list[Shipped], number: int) -> list[Shipped]:
    """`number` of `runs`, spread evenly over their cells; the same ones each time."""
    cells: dict[Path, list[Shipped]] = {}
    for run in runs:
        cells.setdefault(run.cell, []).append(run)
    seeds = list(cells.values())
    if number >= len(seeds):  # each cell in turn, a seed a round
        rounds = max(len(one) for one in seeds)
        turns = [one[turn] for turn in range(rounds) for one in seeds if turn < len(one)]
        return turns[:number]
    places = [index * len(seeds) // number for index in range(number)]
    return [seeds[place][index % len(seeds[place])] for index, place in enumerate(places)]


def verify(
    one: Shipped,
    kernel: Kernel,
    root: RootFs,
    measure: Measure,
    on_step: Callable[[dict[str, Any]], None] = lambda step: None,
) -> Verdict:
    """Do the run of `one` again, in a scratch folder, and compare."""
    if one.damaged:
        return Verdict(one.id, "damaged", False, [f"{one.data.name} has another SHA-256"])
    run = one.run()
    with tempfile.TemporaryDirectory(prefix="verify-") as scratch:
        probes = tuple(Probe(kind) for kind, _ in tables(one))
        result = execute(run, kernel, root, Path(scratch), on_step, probes=probes)
        again = Shipped.at(result.provenance)
        verdict = judge(one, again, measure)
    verdict.kernel_digest, verdict.rootfs_digest = kernel.digest, root.digest
    return verdict


def judge(old: Shipped, new: Shipped, measure: Measure) -> Verdict:
    """Compare two executions of a run; `measure` gives the numbers, where bytes say nothing."""
    reasons = ", ".join(other_identity(old.record["identity"], new.record["identity"]))
    found = compare.compare(compare.load(old.data), compare.load(new.data))
    other = [
        f"another table of {kind}" for kind, text in tables(old) if (kind, text) not in tables(new)
    ]
    if not same_packets(old, new):
        other.append("another table of packets")
    same = found.equal and not other
    if reasons and same:
        return Verdict(old.id, "bytes", True, [f"in spite of a different {reasons}"])
    if reasons:
        equal, notes = compatible(old, new, measure)
        how = f"different {reasons}: comparing statistically"
        return Verdict(old.id, "statistics", equal, [how, *notes])
    notes = other
    if not found.equal:
        notes = [str(one) for one in (found.sample, found.metadata, *found.counters[:1]) if one][:1]
    return Verdict(old.id, "bytes", same, notes)


def tables(one: Shipped) -> list[tuple[str, str]]:
    """The tables that probes left beside a run: (probe, text)."""
    stem = one.data.name.partition(".")[0]
    paths = ((kind, one.data.with_name(f"{stem}.{kind}.csv")) for kind in FOLLOWED)
    return [(kind, path.read_text()) for kind, path in paths if path.exists()]


def same_packets(old: Shipped, new: Shipped) -> bool:
    """Whether the tables of packets of two runs, where they have them, hold the same.

    Their bytes depend on the library that wrote them, too; then what is in them decides.
    """
    digests = [one.record.get("packets_sha256") for one in (old, new)]
    if digests[0] == digests[1]:
        return True
    if None in digests:
        return False
    from emulation.captures import table  # pyarrow takes a second to import

    name = old.data.name.removesuffix(".flent.gz") + places.TABLE
    one, other = (table.read(run.data.with_name(name)) for run in (old, new))
    return one.equals(other)


def other_identity(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What the two are made of that is not the same, in words.

    A digest is named only where nothing that says more differs beside it.
    """
    found: dict[str, dict[str, str]] = {}  # part -> {path: in words}
    for difference in compare.differences(old, new):
        path = difference.where
        part = path.partition(".")[0]
        noun = next((noun for start, noun in _NOUNS if path.startswith(start)), path)
        if path.startswith("root.tools."):
            noun += f" {path.removeprefix('root.tools.')}"
        found.setdefault(part, {})[path] = f"{noun} ({difference.left} against {difference.right})"
    for part, words in found.items():
        if len(words) > 1:
            words.pop(f"{part}.digest", None)
        if "kernel.release" in words:
            words.pop("kernel.series", None)
    return [text for words in found.values() for text in words.values()]


def compatible(old: Shipped, new: Shipped, measure: Measure) -> tuple[bool, list[str]]:
    """Whether the values of `new` are ones that the cell of `old` could have given, and why."""
    seeds = [one for one in shipped_cell(old) if not one.damaged]
    known = [measure(one, old.folder) for one in seeds]
    found = measure(new, old.folder)
    if not (known and found):
        return False, ["nothing to compare: its experiment names no measure"]
    few = len(seeds) < ENOUGH_SEEDS
    notes = [f"{len(seeds)} seed{'s' * (len(seeds) != 1)}, " + (
        "within stated tolerances" if few else f"{LEVEL:.1%} prediction interval"
    )]  # fmt: skip
    fits = True
    for name, (value, unit) in found.items():
        values = [one[name][0] for one in known if name in one]
        if not values:
            fits = False
            notes.append(f"{name} {value:.3f} {unit} OUTSIDE: no shipped seed has it")
            continue
        centre, slack = interval(unit, values)
        inside = abs(value - centre) <= slack
        fits &= inside
        mark = "" if inside else " OUTSIDE"
        notes.append(f"{name} {value:.3f} {unit}{mark} of {centre:.3f} ± {slack:.3f}")
    return fits, notes


def interval(unit: str, values: list[float]) -> tuple[float, float]:
    """Centre and half width of what is allowed for a number, from the shipped `values`.

    With enough of them, the prediction interval of one more (t (1 + 1/n)^1/2 s).
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


def shipped_cell(one: Shipped) -> list[Shipped]:
    """All seeds of the cell of `one`."""
    found = []
    for path in sorted(one.cell.glob("seed-*.json")):
        found.append(Shipped.at(path))
    return found


def add_evidence(file: Path, verdicts: Iterable[Verdict]) -> None:
    """Append a line per kernel and way of comparing to `file`; damaged data is no evidence."""
    groups: dict[tuple[str, str, str], list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.how != "damaged":
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
                    "runs_equal": sum(one.equal for one in group),
                    "runs_compared": len(group),
                    "how": how,
                }
            )
