"""From a folder of runs to tidy tables.

A run's provenance says what it is; `emulation.runs.index` has those of a whole folder. A run exists
when its provenance does: a data file alone is one that is being written, and is passed over.
"""

import difflib
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from qdisclab.analysis import errors
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs.flentfile import PING_KINDS, RERUN, TCP_KINDS, FlentFile, read_flent
from qdisclab.analysis.runs.study import study_at
from qdisclab.emulation import datafile
from qdisclab.emulation.errors import DamagedData
from qdisclab.emulation.host.pool import mapped
from qdisclab.emulation.model.run import DEFAULT_ERA, era_and_kernel
from qdisclab.emulation.runs.index import (
    Index,
    RunFile as RunFile,
    index,
    indexes,
    run_file as run_file,
)
from qdisclab.emulation.study import studies

#: The values of a column that runs may have: one, several, or any.
Columns = str | Collection[str] | None

IDENTITY: Final = ("run", "paper", "experiment", "era", "link", "qdisc", "cc", "seed")
RUNS: Final = (
    *IDENTITY, "kernel_release", "kernel_digest", "flent_version", "length_s", "delay_s",
    "base_rtt_ms", "virtual_s", "wall_s", "voip_packets", "voip_lost", "pages_failed", "page_ms",
)  # fmt: skip
FLOWS: Final = ("run", "series", "kind", "base_rtt_ms", "goodput_mbit_s")
VALUE: Final = {  # column of the values of a kind of series
    **dict.fromkeys(TCP_KINDS, "goodput_mbit_s"),
    **dict.fromkeys(PING_KINDS, "rtt_ms"),
    "voip": "delay_ms",
    "page": "page_ms",
}


class Dataset(NamedTuple):
    """The tables of a set of runs.

    `samples` has one row per sample: IDENTITY, series, kind, time_s, and one of goodput_mbit_s
    (tcp_*), rtt_ms (ping_*), delay_ms (voip; one way, upstream) and page_ms (how long the page
    took; time_s is when it began); the others are NaN. `flows` has one row per TCP flow, of FLOWS:
    the empty path's round trip, the bytes it moved divided by its duration. `runs` has one row per
    run, of RUNS: what it was, and with which kernel and tools it was made; of a VoIP flow the
    packets sent and how many of them got lost; of a web test the pages that lacked an object and
    the mean of flent's steps of how long one takes. Where seeds came out the same, it has `twin`.
    """

    samples: pd.DataFrame
    flows: pd.DataFrame
    runs: pd.DataFrame


def find_runs(
    root: Path,
    paper: str,
    experiments: str | Iterable[str],
    *,
    eras: Columns = None,
    ccs: Columns = None,
    links: Columns = None,
    qdiscs: Columns | Mapping[str, Collection[str]] = None,
    length: str | Mapping[str, str] = "",
    reduced: bool = False,
) -> list[RunFile]:
    """Return the runs of a study below `root` that have these values, None standing for any.

    They come by experiment, congestion control and era in the order given, and then by their paths.
    `length` is that of the load, empty for the experiment's own; it and `qdiscs` are mappings where
    experiments differ. With `reduced`, also runs without their data are returned. What has no run
    is left out. Raises DataError where there is none at all, for a value that no run has and the
    study does not know, and for a file that is no provenance; OnlyMeasures where a cell has no run
    with its data, unless `reduced`.
    """
    names = [experiments] if isinstance(experiments, str) else [*experiments]
    errors.require_kind("paper", paper, "…")
    errors.require_kind("length", length, "20s")
    errors.require_texts("experiments", names)
    if isinstance(qdiscs, Mapping):
        errors.require_several("experiments", names, qdiscs)
    every = index_of(root, paper)
    chosen: list[RunFile] = []
    missing: list[tuple[str, str]] = []  # what there is no run of, and the command to make them
    asked_for: dict[tuple[str, str], list[str]] = {}  # the experiments of each value of an axis
    for name in names:
        of = qdiscs[name] if isinstance(qdiscs, Mapping) else qdiscs
        span = length.get(name, "") if isinstance(length, Mapping) else length
        wanted = {"length": [span]} | {
            axis: _texts(f"{axis}s", values)
            for axis, values in (("cc", ccs), ("link", links), ("qdisc", of), ("era", eras))
        }
        here = [run for run in every if run.experiment == name]
        runs = _with_values(here, wanted)
        chosen += runs
        for axis, texts in wanted.items():
            for text in texts or ():
                asked_for.setdefault((axis, text), []).append(name)
        if not runs:
            values = [text for texts in wanted.values() for text in texts or ()]
            asked = " ".join(filter(None, (name, *values)))
            wrong = f"no run of {asked}{_instead(name, here, every, wanted)}"
            missing.append((wrong, _command(paper, name, wanted)))
    if not chosen:
        wrong, command = (*missing, ("no link, qdisc or experiment is asked for", ""))[0]
        remedy = "Emulate the cells that the figure needs" + (f": `{command}`" if command else "")
        raise DataError.of(root / paper, wrong, remedy)
    given = [*names, *(name for of in (qdiscs, length) if isinstance(of, Mapping) for name in of)]
    _require_known(root / paper, every, given, asked_for)
    return chosen if reduced else _whole(chosen)


def _require_known(
    folder: Path,
    runs: Sequence[RunFile],
    names: Iterable[str],
    asked_for: Mapping[tuple[str, str], Sequence[str]],
) -> None:
    """Raise DataError for one of the `names` of experiments, or a value that is `asked_for` of
    experiments, which none of the study's `runs` has and its file does not know."""
    if folder.name not in studies.known():
        return
    study, there = study_at(folder.name), {run.experiment for run in runs}
    unseen: list[list[tuple[str, dict[str, str]]]]
    unseen = [[(name, {})] for name in dict.fromkeys(names) if name not in there]
    for (axis, text), experiments in asked_for.items():
        if all(getattr(run, axis) != text for run in runs):
            unseen.append([(name, {axis: text}) for name in experiments])
    for asked in unseen:
        flaws = [flaw for name, values in asked if (flaw := study.flaw(name, **values))]
        if len(flaws) == len(asked):
            raise DataError.of(folder, *flaws[0])


def _command(paper: str, name: str, wanted: Mapping[str, list[str] | None]) -> str:
    """Return the command that makes the runs of an experiment that are `wanted`, of the first era;
    nothing where its study is not known here, or does not know them."""
    if paper not in studies.known():
        return ""
    first = {axis: texts[0] for axis, texts in wanted.items() if texts}
    study = study_at(paper)
    if study.flaw(name, **first):
        return ""
    era, kernel = era_and_kernel(first.get("era", DEFAULT_ERA))
    options = [(axis, text) for axis in ("link", "qdisc", "cc") for text in wanted[axis] or ()]
    options += [("length", first["length"]), ("era", "" if era == DEFAULT_ERA else era)]
    options.append(("kernel", kernel or ""))
    place = paper if study.folder.parent == studies.SHIPPED else str(study.folder)
    words = [word for axis, text in options if text for word in (f"--{axis}", text)]
    return shlex.join(["emulate", "run", f"{place}/{name}", *words])


def _with_values(runs: Iterable[RunFile], wanted: Mapping[str, list[str] | None]) -> list[RunFile]:
    """Return those of `runs` with the wanted values, by congestion control and era as wanted."""
    for axis, texts in wanted.items():
        runs = [run for run in runs if texts is None or getattr(run, axis) in texts]
    ccs, eras = wanted["cc"], wanted["era"]
    return sorted(
        runs, key=lambda run: (ccs.index(run.cc) if ccs else 0, eras.index(run.era) if eras else 0)
    )


def index_of(root: Path, paper: str) -> Sequence[RunFile]:
    """Return all runs of a study below `root`; raise DataError for a file that is none."""
    return _checked(index(root, paper)).runs


def all_runs(root: Path) -> Iterator[RunFile]:
    """Yield all runs below `root`, by study; raise DataError for a file that is none."""
    for study in indexes(root):
        yield from _checked(study).runs


def cells_of(root: Path, paper: str) -> Mapping[tuple[str, ...], Sequence[RunFile]]:
    """Return the same by `RunFile.cell`."""
    return _checked(index(root, paper)).cells


def _checked(entries: Index) -> Index:
    for path, why in entries.damaged:
        raise DataError.of(path, why, RERUN)
    return entries


def runs_in(root: Path, folder: Path) -> list[RunFile]:
    """Return the runs below `root` whose provenances lie in `folder`."""
    return [run_file(root, path) for path in sorted(folder.glob("*.json"))]


def _whole(runs: Iterable[RunFile]) -> list[RunFile]:
    """Return those of `runs` that have their data; raise OnlyMeasures for a cell without any."""
    cells: dict[tuple[str, ...], list[RunFile]] = {}
    for run in runs:
        cells.setdefault(run.cell, []).append(run)
    for cell in cells.values():
        if all(run.is_reduced for run in cell):
            wrong = "its runs are here as their measures, without their data"
            todo = "Bring the data back by `emulate run --again`, or leave the cell out"
            raise errors.OnlyMeasures.of(cell[0].provenance.parent, wrong, todo)
    return [run for cell in cells.values() for run in cell if not run.is_reduced]


def _texts(name: str, values: Columns) -> list[str] | None:
    """Return the values of a column as a list; raise DataError for what are no texts."""
    if values is None:
        return None
    texts = [values] if isinstance(values, str) else values
    errors.require_texts(name, texts)
    return list(texts)


def _instead(
    name: str,
    here: Sequence[RunFile],
    every: Sequence[RunFile],
    wanted: Mapping[str, list[str] | None],
) -> str:
    """Return which values the runs `here` have of the first axis of `wanted` that leaves none of
    them; without any, which experiments have a name like it."""
    for axis, texts in wanted.items():
        left = [run for run in here if texts is None or getattr(run, axis) in texts]
        if here and not left:
            instead = dict.fromkeys(getattr(run, axis) for run in here)
            return f"; there is {axis} {', '.join(map(repr, instead))}"
        here = left
    near = difflib.get_close_matches(name, sorted({run.experiment for run in every}), n=3)
    return f"; there is {' or '.join(near)}" if near else ""


def read_runs(
    files: Sequence[RunFile], *, kinds: Collection[str] = tuple(VALUE), jobs: int | None = None
) -> Dataset:
    """Read runs into the tables of a Dataset, in parallel where there are many.

    `kinds` are those of the series to read; `jobs` is the number of processes, by default one a
    core. Raises DataError when any of the runs cannot be used, ValueError for none.
    """
    if not files:
        raise ValueError("no runs to read")
    loaded = mapped(partial(_load, kinds=kinds), files, jobs)
    categories = {name: "category" for name in IDENTITY if name != "seed"}
    counts = dict.fromkeys(("voip_packets", "voip_lost", "pages_failed"), "Int64")
    runs = pd.DataFrame([row for row, _ in loaded], columns=list(RUNS))
    runs = runs.astype({**categories, **counts, "seed": "int32"})
    if same := twins(files):
        runs["twin"] = runs["run"].astype(str).map(same)
    flents = [flent for _, flent in loaded]
    if not any(flent.series for flent in flents):
        remedy = "rows() of analysis.lab has what its programs printed"
        raise DataError.of(files[0].data, "has no series of flent's", remedy)
    samples = _samples_table(runs, flents)
    flows = _flows_table(runs, flents, [row["base_rtts_ms"] for row, _ in loaded])
    return Dataset(samples, flows, runs)


def twins(files: Iterable[RunFile]) -> dict[str, int]:
    """Return which runs gave the result of an earlier seed of their cell, by names, and that seed.

    Of such seeds there is no interval: nothing was random. DataError where one is no run.
    """
    same = datafile.twins((file.cell, file.seed, file.provenance) for file in files)
    return {file.run: same[file.provenance] for file in files if file.provenance in same}


def _load(file: RunFile, kinds: Collection[str]) -> tuple[dict[str, Any], FlentFile]:
    record = read_record(file)
    flent = read_flent(file.data, kinds)
    with usable(file):
        failed = record.get("page_failures")
        row = {
            **facts(file, record),
            "flent_version": flent.flent_version,
            "delay_s": flent.delay_s,
            "voip_packets": flent.loss.packets if flent.loss else None,
            "voip_lost": flent.loss.lost if flent.loss else None,
            # A line that is not indented is a page, those below it are the reasons.
            "pages_failed": None if failed is None else sum(line[:1] == "[" for line in failed),
            "page_ms": flent.page_ms,
            "base_rtts_ms": [float(rtt) for rtt in record.get("base_rtts_ms", [])],
        }
    if row["length_s"] != flent.length_s:
        wrong = f"{row['length_s']:g} s of load here, {flent.length_s:g} s in {file.data.name}"
        raise DataError.of(file.provenance, wrong, RERUN)
    return row, flent


def read_record(file: RunFile) -> dict[str, Any]:
    """Return the provenance of a run; raise DataError where it is none, or that of another run."""
    wrong = "not the provenance of a run"
    with errors.refused(file.provenance, wrong, RERUN, DamagedData, KeyError):
        record = datafile.read_json(file.provenance)
        named = record["run"]
    if named != file.run:
        wrong, todo = f"describes the run {named!r}", f"Move it to its place, not {file.run}"
        raise DataError.of(file.provenance, wrong, todo)
    return record


def usable(file: RunFile) -> AbstractContextManager[None]:
    """Inside, an entry that the provenance of `file` lacks, or that is of another kind, raises
    DataError."""
    wrong = "provenance without a usable entry ({1}: {0})"
    return errors.refused(file.provenance, wrong, RERUN, *errors.UNUSABLE)


def facts(file: RunFile, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what RUNS has of every run; `record` is its provenance. For use within `usable`."""
    if "base_rtt_ms" not in record:
        wrong = "its rig states no base RTT, which induced latency is counted from"
        raise DataError.of(file.provenance, wrong, "rows() of analysis.lab has what programs left")
    kernel = record["identity"]["kernel"]
    numbers = ("length_s", "base_rtt_ms", "virtual_s", "wall_s")
    return {
        **{name: getattr(file, name) for name in IDENTITY},
        "kernel_release": str(kernel["release"]),
        "kernel_digest": str(kernel["digest"]),
        "flent_version": "–",
        **{name: float(record[name]) for name in numbers},
    }


def read_facts(files: Iterable[RunFile]) -> Dataset:
    """Return runs of which nothing but their provenance is read, for `outputs.publish`; raise
    DataError where that is none. The base RTT of a rig that states none is NaN."""
    rows = []
    for file in files:
        record = {"base_rtt_ms": "nan", **read_record(file)}
        with usable(file):
            rows.append(facts(file, record))
    return Dataset(pd.DataFrame(), pd.DataFrame(), pd.DataFrame(rows))


def _samples_table(runs: pd.DataFrame, files: Sequence[FlentFile]) -> pd.DataFrame:
    """Columns are built from codes and not from strings: millions of rows in tenths of a second."""
    series = [each for file in files for each in file.series]
    rows_of_run = [sum(each.value.size for each in file.series) for file in files]
    rows_of_series = [each.value.size for each in series]
    value = np.concatenate([each.value for each in series])
    kind = _categorical([each.kind for each in series], rows_of_series)
    column = np.asarray([VALUE[name] for name in kind.categories])[kind.codes]
    columns: dict[str, Any] = {name: runs[name].array.repeat(rows_of_run) for name in IDENTITY}
    columns["series"] = _categorical([each.name for each in series], rows_of_series)
    columns["kind"] = kind
    columns["time_s"] = np.concatenate([each.time_s for each in series])
    for name in dict.fromkeys(VALUE.values()):
        columns[name] = np.where(column == name, value, np.nan)
    return pd.DataFrame(columns)


def _flows_table(
    runs: pd.DataFrame, files: Sequence[FlentFile], base_rtts_ms: Sequence[Sequence[float]]
) -> pd.DataFrame:
    rows = [
        (run, each.name, each.kind, _base_rtt_ms(each.name, base, several), each.transferred_mbit_s)
        for run, base, file, several in zip(
            runs["run"], runs["base_rtt_ms"], files, base_rtts_ms, strict=True
        )
        for each in file.series
        if each.kind in TCP_KINDS
    ]
    table = pd.DataFrame(rows, columns=list(FLOWS))
    labels = {"run": runs["run"].dtype, "series": "category", "kind": "category"}
    return table.astype({**labels, "base_rtt_ms": float, "goodput_mbit_s": float})


def _base_rtt_ms(series: str, base_rtt_ms: float, several_ms: Sequence[float]) -> float:
    """Return the base RTT to the address that a flow goes to: "TCP upload BE2 10.0.4.3" to the
    second of several."""
    address = re.fullmatch(r".* BE(\d+) [0-9.]+", series)
    if address is None:
        return base_rtt_ms
    if not 1 <= (number := int(address[1])) <= len(several_ms):
        raise DataError.of(series, f"its rig has {len(several_ms)} addresses", RERUN)
    return several_ms[number - 1]


def _categorical(labels: Sequence[str], repeats: Sequence[int]) -> pd.Categorical:
    codes, categories = pd.factorize(np.asarray(labels, dtype=object), sort=True)
    return pd.Categorical.from_codes(np.repeat(codes, repeats), categories=pd.Index(categories))
