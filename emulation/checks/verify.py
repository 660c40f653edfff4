"""Runs done again and compared with the shipped ones: byte for byte, or by their statistics.

Equal identity means equal bytes. Where this machine has another kernel, other tools or newer code
of the guest, other bytes say nothing, and the values are held against the spread over the shipped
seeds; bytes that are equal all the same say more than any statistics.
"""

from __future__ import annotations

import csv
import hashlib
import math
import re
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

#: What is allowed in any case (share of the value, least difference): with one or two seeds, and
#: where seeds happen to lie closer together than any change of a kernel would leave them.
FEW_SEEDS = {
    "goodput": (0.05, 0.05),
    "latency": (0.25, 3.0),
    "delay": (0.25, 3.0),
    "fetch": (0.25, 50.0),
}
NARROW = {
    "goodput": (0.01, 0.02),
    "latency": (0.02, 0.5),
    "delay": (0.02, 0.5),
    "fetch": (0.02, 5.0),
}

#: Columns of `data/verified.csv`.
COLUMNS = (
    "date", "cpu_model", "cpus", "host_kernel", "container", "kernel_digest", "rootfs_digest",
    "runs_equal", "runs_compared", "how",
)  # fmt: skip

#: Of a metric's first word.
_UNITS = {"goodput": "Mbit/s", "latency": "ms", "delay": "ms", "fetch": "ms"}

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
    def cell(self) -> Path:
        """The folder of all seeds of the cell."""
        return self.data.parent

    @property
    def series(self) -> str:
        """Of the kernel that it was done with."""
        return str(self.record["identity"]["kernel"]["series"])

    @property
    def base_rtts_ms(self) -> list[float]:
        """Of the empty path to each address of the server; none without a server."""
        several: list[float] = self.record.get("base_rtts_ms", [])
        return several or [self.record[key] for key in ("base_rtt_ms",) if key in self.record]

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
        verdict = judge(one, again)
    verdict.kernel_digest, verdict.rootfs_digest = kernel.digest, root.digest
    return verdict


def judge(old: Shipped, new: Shipped) -> Verdict:
    """Compare two executions of a run."""
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
        equal, notes = compatible(old, new)
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


def metrics(data: Path, base_rtts_ms: list[float]) -> dict[str, float]:
    """What a data file says in few numbers.

    Goodput of each direction (Mbit/s) is the bytes of its flows by their durations. Means under
    load, in ms: induced latency, by ICMP and for each address of the server, is the round trip less
    that of the empty path (gbw2015, Sec. 5.1); the one-way delay of a VoIP flow (Sec. 5.2); the
    time that a page takes (Sec. 5.3). Of a table the mean of its goodputs.
    """
    if data.name.endswith(datafile.ROWS):
        rows = datafile.read_rows(data)
        goodputs = [
            value
            for row in rows
            if row.get("quantity") == "goodput_mbit_s"
            and isinstance(value := row.get("value"), int | float)
        ]
        return {"goodput": statistics.fmean(goodputs)} if goodputs else {}
    content = datafile.read_json(data)
    try:
        return _flent_metrics(content, base_rtts_ms)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"is no flent data file ({type(error).__name__}: {error})"
        raise DamagedData(what, str(data), "do the run again") from error


def _flent_metrics(content: dict[str, Any], base_rtts_ms: list[float]) -> dict[str, float]:
    meta = content["metadata"]
    found: dict[str, float] = {}
    for name, about in meta["SERIES_META"].items():
        flow = re.search(r"TCP (upload|download)", name)
        if flow and "ELAPSED_TIME" in about:
            counter = "BYTES_SENT" if flow[1] == "upload" else "BYTES_RECVD"
            rate = float(about[counter]) * 8e-6 / float(about["ELAPSED_TIME"])
            found[f"goodput {flow[1]}"] = found.get(f"goodput {flow[1]}", 0.0) + rate
    pings = sorted(name for name in content["results"] if name.startswith("Ping (ms) ICMP"))
    for name, base_rtt_ms in zip(pings, base_rtts_ms, strict=bool(pings)):
        address = name.removeprefix("Ping (ms) ICMP")
        found[f"latency induced{address and f' {address}'}"] = _mean(content, name) - base_rtt_ms
    for name, series in (("delay VoIP", "VoIP::delay"), ("fetch page", "HTTP latency")):
        if series in content["results"]:
            found[name] = _mean(content, series)
    return found


def _mean(content: dict[str, Any], series: str) -> float:
    """Mean of a flent series under load."""
    length = float(content["metadata"]["LENGTH"])
    begin = (float(content["metadata"]["TOTAL_LENGTH"]) - length) / 2
    pairs = zip(content["x_values"], content["results"][series], strict=True)
    values = [one for time, one in pairs if one is not None and begin <= time < begin + length]
    return statistics.fmean(values) if values else math.nan


def compatible(old: Shipped, new: Shipped) -> tuple[bool, list[str]]:
    """Whether the values of `new` are ones that the cell of `old` could have given, and why."""
    seeds = [one for one in shipped_cell(old) if not one.damaged]
    known = [metrics(one.data, one.base_rtts_ms) for one in seeds]
    few = len(seeds) < ENOUGH_SEEDS
    notes = [f"{len(seeds)} seed{'s' * (len(seeds) != 1)}, " + (
        "within stated tolerances" if few else f"{LEVEL:.1%} prediction interval"
    )]  # fmt: skip
    fits = bool(known and known[0])  # nothing to compare is no agreement
    for name, value in metrics(new.data, new.base_rtts_ms).items():
        values = [one[name] for one in known]
        centre, slack = interval(name, values)
        inside = abs(value - centre) <= slack
        fits &= inside
        unit = _UNITS[name.split()[0]]
        mark = "" if inside else " OUTSIDE"
        notes.append(f"{name} {value:.3f} {unit}{mark} of {centre:.3f} ± {slack:.3f}")
    return fits, notes


def interval(name: str, values: list[float]) -> tuple[float, float]:
    """Centre and half width of what is allowed for the metric `name`, from the shipped `values`.

    With enough of them, the prediction interval of one more (t (1 + 1/n)^1/2 s).
    """
    kind, centre = name.split()[0], statistics.fmean(values)
    share, least = (FEW_SEEDS if len(values) < ENOUGH_SEEDS else NARROW)[kind]
    slack = max(share * abs(centre), least)
    if len(values) >= ENOUGH_SEEDS:
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
