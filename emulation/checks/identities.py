"""Guest code that gives the same bytes as the code that runs were made with.

Data are not made again where the guest's code is only tidied up. Runs of each digest that
provenances record are repeated with today's code; where all give the same bytes, `identities.csv`,
in the folder of the data, says that the two digests are equivalent.
"""

import csv
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from qdisclab.emulation import datafile
from qdisclab.emulation.checks.verify import Repetition, Shipped
from qdisclab.emulation.config.job import jobs_of
from qdisclab.emulation.config.request import run_of
from qdisclab.emulation.errors import ConfigError, DamagedData
from qdisclab.emulation.machine import provenance, rootfs
from qdisclab.emulation.model.run import Experiment

FILE = "identities.csv"
COLUMNS = ("part", "recorded", "today", "runs_repeated", "runs_equal", "date")
PART = "guest"  # of an identity; only the guest's code has such rows

#: The digest of code that a provenance records, and that of today's code for the same job.
Pair = tuple[str, str]


def read(data: Path) -> frozenset[Pair]:
    """Return the pairs of digests whose runs gave the same bytes; empty where none is recorded."""
    file = data / FILE
    if not file.exists():
        return frozenset()
    rows = csv.DictReader(datafile.read(file).decode(errors="replace").splitlines())
    try:
        return frozenset(
            (row["recorded"], row["today"])
            for row in rows
            if row["part"] == PART and int(row["runs_repeated"]) == int(row["runs_equal"]) > 0
        )
    except (KeyError, TypeError, ValueError) as error:
        what = f"is not a table of {', '.join(COLUMNS)}"
        raise DamagedData(what, str(file), "restore the file") from error


def changed(
    runs: Iterable[Shipped],
    by_id: Mapping[str, Experiment],
    kernels: Mapping[str, str],
    root: rootfs.RootFs,
) -> dict[Pair, list[Shipped]]:
    """Return the runs whose code in the guest has changed and nothing else, by pair of digests.

    `kernels` maps series to the identities of their kernels here. Pairs that are recorded already
    are left out. Short runs come first, one of each cell before a second one.
    """
    cells: dict[tuple[str, ...], list[Shipped]] = {}
    for shipped in runs:
        cells.setdefault(shipped.file.cell, []).append(shipped)
    pairs: dict[Pair, list[tuple[int, float, str, Shipped]]] = {}
    for cell in cells.values():
        done = read(cell[0].file.root)
        try:
            run = run_of(cell[0].record, by_id)
        except ConfigError:
            continue
        jobs = jobs_of(run, (shipped.record["seed"] for shipped in cell))
        for shipped, job in zip(cell, jobs, strict=True):
            identity = shipped.record["identity"]
            pair = (identity[PART], provenance.guest_code_digest(job))
            rest = identity["kernel"]["digest"], identity["root"]["digest"], identity["job"]
            today = kernels.get(shipped.series), root.digest, provenance.job_digest(job)
            if pair[0] != pair[1] and pair not in done and rest == today:
                seconds = float(shipped.record.get("cpu_s", 0))
                others = (entry[-1].file.cell for entry in pairs.get(pair, ()))
                turn = sum(other == shipped.file.cell for other in others)
                pairs.setdefault(pair, []).append((turn, seconds, shipped.id, shipped))
    return {pair: [entry[-1] for entry in sorted(group)] for pair, group in sorted(pairs.items())}


def add(data: Path, repetitions: Iterable[Repetition], least: int, of: Mapping[Pair, int]) -> int:
    """Append a row for each pair whose repetitions all gave the same bytes; return their number.

    `least` runs have to be repeated, or all that there are, as `of` counts them.
    """
    groups: dict[Pair, list[bool]] = {}
    for repetition in repetitions:
        if repetition.guest is not None:
            is_equal = repetition.how == "bytes" and repetition.equal
            groups.setdefault(repetition.guest, []).append(is_equal)
    rows: list[tuple[object, ...]] = [
        (PART, *pair, len(equal), sum(equal), datetime.now(UTC).date().isoformat())
        for pair, equal in sorted(groups.items())
        if all(equal) and len(equal) >= min(least, of.get(pair, least))
    ]
    file = data / FILE
    is_new = not file.exists()
    with file.open("a", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([COLUMNS, *rows] if is_new else rows)
    return len(rows)
