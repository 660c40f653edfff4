"""What a testbed measured, in `measured/` of a study: beside what its runs give.

    measured/first/10-10/codel/cubic/monday.flent.gz     a data file of flent
    measured/first/10-10/codel/cubic/monday.in.pcap      captures before the queue,
    measured/first/10-10/codel/cubic/monday.out.pcap     and behind it
    measured/first/10-10/codel/cubic/monday.ping.txt     what a program printed, here ping
    measured/measured.csv                                numbers: cell,metric,direction,value

A folder is that of the runs below `data/<study>/`; files that begin alike are one repetition. They
become runs in the cache (`repetitions`), so that whatever measures a run measures them. `cell` in
the table is such a folder, or a cell of a study's predictions.
"""

import gzip
import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pandas as pd
import pandera.pandas as pa

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import metrics
from qdisclab.analysis.runs.dataset import RunFile, read_record, runs_in
from qdisclab.analysis.runs.flentfile import read_flent
from qdisclab.analysis.runs.published import PUBLISHED, read_table
from qdisclab.analysis.runs.study import StudyFolder
from qdisclab.emulation import datafile
from qdisclab.emulation.captures import pair
from qdisclab.emulation.datafile import FLENT, OUTPUT
from qdisclab.emulation.host.cache import cache_dir, digest, state, states
from qdisclab.emulation.model.run import NONE
from qdisclab.emulation.study.schema import unknown

FOLDER: Final = "measured"
TABLE: Final = "measured.csv"
"""Also in the study's folder itself."""
KEYS: Final = ("cell", "metric", "direction")
VALUES: Final = pa.DataFrameSchema(
    {
        "cell": pa.Column(str),
        "metric": pa.Column(str),
        "direction": pa.Column(str, nullable=True),
        "value": pa.Column(float, nullable=True),
    }
)
BASE_RTT: Final = "base_rtt_ms"
"""The metric that says what the empty path took; without it that is what it takes in the rig."""

_PCAPS: Final = (".in.pcap", ".out.pcap")
_PROGRAM: Final = (".txt", ".json", ".csv")
_FORMS: Final = "NAME.flent.gz, NAME.in.pcap and NAME.out.pcap, NAME.PROGRAM.txt or .json"


def values(study: StudyFolder) -> pd.DataFrame:
    """Return the numbers of TABLE: KEYS and `value`; without rows where there is none.

    Raises DataError for another table, and for a value that is no number.
    """
    paths = [folder / TABLE for folder in (study.folder / FOLDER, study.folder)]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        return pd.DataFrame(columns=[*KEYS, "value"])
    table = read_table(path, VALUES, "measured values")[[*KEYS, "value"]]
    return table.dropna(subset="value").fillna({"direction": ""})


def stated(study: StudyFolder, runs: Sequence[RunFile]) -> pd.DataFrame:
    """Return the numbers of TABLE that are of cells of `runs`: `qdisc`, `cc`, `experiment`, `era`,
    `link`, `metric`, `direction`, `value`; and `cell`, with the study's name before it."""
    cells = {str(_cell(run)): run for run in runs}
    names = ["experiment", "era", "link", "qdisc", "cc"]
    rows = [[cell, *(getattr(run, name) for name in names)] for cell, run in cells.items()]
    table = values(study).merge(pd.DataFrame(rows, columns=["cell", *names]), on="cell")
    table["cell"] = f"{study.name}/" + table["cell"]
    return table[["cell", *names, "metric", "direction", "value"]]


def repetitions(study: StudyFolder, runs: Sequence[RunFile]) -> list[RunFile]:
    """Return what the testbed measured of the cells of `runs`, in the form of runs.

    Raises DataError for files that are none of those above, or cannot be read.
    """
    cells = {study.folder / FOLDER / _cell(run): run for run in reversed(runs)}
    there = (item for item in cells.items() if item[0].is_dir())
    return sorted(made for folder, run in there for made in _of_cell(study, folder, run))


def is_testbed(run: RunFile) -> bool:
    """Return whether a run is one of `repetitions`."""
    return "testbed" in read_record(run)


def as_published(cells: pd.DataFrame, table: pd.DataFrame, figure: str) -> pd.DataFrame:
    """Return what a testbed measured in the place of what a paper prints: a table of PUBLISHED.

    `cells` is from `metrics.cell_metrics`, of `repetitions`; half of its interval is how exact a
    value is. `table` is from `stated`, with the names of columns of `metrics.run_metrics`.
    """
    reach = (cells["ci_high"] - cells["ci_low"]) / 2
    parts = [cells.assign(value=cells["median"], reading_error=reach)]
    for column, metric, direction, unit in metrics.COLUMNS:
        rows = table[table["metric"] == column]
        if len(rows):
            named = rows.assign(metric=metric, direction=direction, unit=unit)
            parts.append(named.assign(reading_error=0.0))
    both = pd.concat(parts, ignore_index=True).assign(figure=figure)
    keys = ["link", "qdisc", "metric", "direction"]
    return both.drop_duplicates(keys)[list(PUBLISHED.columns)].reset_index(drop=True)


def faults(study: StudyFolder) -> Iterator[str]:
    """Yield the folders that are of no experiment of the study."""
    folder, names = study.folder / FOLDER, list(study.experiments)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        starts = tuple(f"{name}{sign}" for name in names for sign in "@,")
        if path.is_dir() and path.name not in names and not path.name.startswith(starts):
            what, todo = unknown("experiment", path.name, names)
            yield f"{path}: {what}; {todo}"


def _cell(run: RunFile) -> Path:
    return Path(run.run).parent.relative_to(run.paper)


def _of_cell(study: StudyFolder, folder: Path, run: RunFile) -> list[RunFile]:
    base = stated(study, [run]).query("metric == @BASE_RTT")["value"]
    texts = [*states(folder), state(run.provenance), *map(str, base), str(folder.resolve())]
    root = cache_dir("testbed") / digest(texts)[:16]
    if not root.is_dir():
        with tempfile.TemporaryDirectory(dir=root.parent) as scratch:
            made = Path(scratch) / "runs"
            made.mkdir()
            for number, files in enumerate(_repetitions(folder), 1):
                _make(made, number, files, run, *base[:1])
            made.rename(root)
    return runs_in(root, (root / run.run).parent)


def _repetitions(folder: Path) -> list[dict[str, Path]]:
    """Return the files of each repetition, by what follows its name; raise DataError for others."""
    names: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.iterdir()):
        name, dot, end = path.name.removesuffix(".gz").partition(".")
        end = dot + end
        if end not in (".flent", *_PCAPS) and not end.endswith(_PROGRAM):
            raise DataError.of(path, "is not a measurement of a testbed", f"Name it {_FORMS}")
        names.setdefault(name, {})[end] = path
    for files in names.values():
        ends = [end for end in _PCAPS if end in files]
        if len(ends) == 1:
            what = "a queue has two captures, before and behind it"
            raise DataError.of(files[ends[0]], what, f"Add NAME{' or NAME'.join(_PCAPS)}")
    return list(names.values())


def _make(
    root: Path, number: int, files: dict[str, Path], like: RunFile, base_rtt_ms: float | None = None
) -> None:
    """Make a run of `files` below `root`, of the cell of the run `like`."""
    record = read_record(like)
    name = f"{Path(like.run).parent}/seed-{number:03d}"
    path = root / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if ".flent" in files:
        read_flent(files[".flent"])  # which says what is wrong with it
        content = files[".flent"].read_bytes()
        content = content if content[:2] == b"\x1f\x8b" else gzip.compress(content, mtime=0)
        path.with_suffix(FLENT).write_bytes(content)
        record["data_sha256"] = hashlib.sha256(content).hexdigest()
    if _PCAPS[0] in files:
        target = path.with_suffix(".testbed.queue.packets.parquet")
        mbit_s = 0.0 if like.link == NONE else float(like.link.split("/")[-1])
        pair.write(files[_PCAPS[0]], files[_PCAPS[1]], target, round(mbit_s * 1e6))
    if printed := {end: file for end, file in files.items() if end.endswith(_PROGRAM)}:
        _archive(printed, path.with_suffix(OUTPUT))
    record["testbed"] = sorted(path.name for path in files.values())
    for of_emulation in ("measured_pairs", "measured_base_rtts_ms"):
        record.pop(of_emulation, None)
    record |= {"run": name, "seed": number, "qdiscs": {}, "programs": {}}
    if base_rtt_ms is not None:
        record |= {BASE_RTT: base_rtt_ms, "base_rtts_ms": [base_rtt_ms]}
    path.write_text(json.dumps(record))


def _archive(printed: dict[str, Path], path: Path) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for end, file in printed.items():
            content = datafile.read(file, todo="name what the program printed")
            if not content.strip():
                raise DataError.of(file, "is empty", "Write there what the program printed")
            about = tarfile.TarInfo(f"{end.split('.')[1]}/stdout")
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
