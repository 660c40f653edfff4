"""From a tree of runs to tidy tables, checked against schemas.

A run is `<root>/<paper>/<experiment>/<link>/<qdisc>/<cc>/seed-NNN.flent.gz` with its provenance,
`seed-NNN.json`, beside it. A run exists when its `.json` does: a data file alone is one that is
being written, and is passed over.
"""

import json
import os
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import pandera.pandas as pa

from analysis.errors import DataError
from analysis.flentfile import KINDS, RERUN, TCP_KINDS, FlentFile, read_flent

FEW_RUNS: Final = 8  # below this, starting processes costs more than it saves


@dataclass(frozen=True, order=True)
class RunFile:
    """Where one run lies, and what its path says about it."""

    paper: str
    experiment: str
    link: str  # download/upload in Mbit/s, "10/1"
    qdisc: str
    cc: str  # TCP congestion control
    seed: int
    data: Path
    provenance: Path

    @property
    def run(self) -> str:
        """The run's id: `gbw2015/rrul/10-1/codel/cubic/seed-001`."""
        link = self.link.replace("/", "-")
        cell = f"{self.paper}/{self.experiment}/{link}/{self.qdisc}/{self.cc}"
        return f"{cell}/seed-{self.seed:03d}"


class Dataset(NamedTuple):
    """The tables of a set of runs; SAMPLES, FLOWS and RUNS are their schemas."""

    samples: pd.DataFrame
    flows: pd.DataFrame
    runs: pd.DataFrame


_IDENTITY: Final = {
    "run": pa.Column("category"),
    "paper": pa.Column("category"),
    "experiment": pa.Column("category"),
    "era": pa.Column("category"),
    "link": pa.Column("category", pa.Check.str_matches(r"^[0-9.]+/[0-9.]+$")),
    "qdisc": pa.Column("category"),
    "cc": pa.Column("category"),
    "seed": pa.Column("int32", pa.Check.ge(0)),
}
IDENTITY: Final = tuple(_IDENTITY)

SAMPLES: Final = pa.DataFrameSchema(
    {
        **{name: _IDENTITY[name] for name in IDENTITY if name != "link"},
        "link": pa.Column("category"),
        "series": pa.Column("category"),
        "kind": pa.Column("category", pa.Check.isin(list(KINDS))),
        "time_s": pa.Column("float64", pa.Check.ge(0)),
        "goodput_mbit_s": pa.Column("float64", pa.Check.ge(0), nullable=True),
        "rtt_ms": pa.Column("float64", pa.Check.gt(0), nullable=True),
    },
    checks=pa.Check(
        lambda table: table["goodput_mbit_s"].isna() != table["rtt_ms"].isna(),
        error="exactly one of goodput_mbit_s and rtt_ms holds a value",
    ),
    strict=True,
)
"""One row a sample. tcp_* rows carry goodput_mbit_s, ping_* rows carry rtt_ms."""

FLOWS: Final = pa.DataFrameSchema(
    {
        "run": pa.Column("category"),
        "series": pa.Column("category"),
        "kind": pa.Column("category", pa.Check.isin(list(TCP_KINDS))),
        "goodput_mbit_s": pa.Column("float64", pa.Check.gt(0)),
    },
    unique=["run", "series"],
    strict=True,
)
"""One row a TCP flow: the bytes that it moved, divided by its duration."""

RUNS: Final = pa.DataFrameSchema(
    {
        **_IDENTITY,
        "kernel_release": pa.Column(str),
        "kernel_digest": pa.Column(str),
        "flent_version": pa.Column(str),
        "length_s": pa.Column(float, pa.Check.gt(0)),
        "delay_s": pa.Column(float, pa.Check.ge(0)),
        "base_rtt_ms": pa.Column(float, pa.Check.gt(0)),
        "virtual_s": pa.Column(float, pa.Check.ge(0)),
        "wall_s": pa.Column(float, pa.Check.ge(0)),
    },
    unique=["run"],
    strict=True,
)
"""One row a run: what it was, and with which kernel and tools it was made."""


def find_runs(
    root: Path,
    paper: str,
    experiment: str,
    *,
    link: str | None = None,
    qdiscs: Collection[str] | None = None,
    cc: str | None = None,
) -> list[RunFile]:
    """Runs below `root` in the order of their ids.

    `link` is "10/1" (not the path's "10-1"). Raises DataError when there is none, and for a file
    whose name is not that of a run.
    """
    base = root / paper / experiment
    found = []
    for provenance in sorted(base.glob("*/*/*/*.json")):
        link_part, qdisc, run_cc = provenance.relative_to(base).parts[:3]
        seed = provenance.stem.removeprefix("seed-")
        if seed == provenance.stem or not seed.isdigit():
            raise DataError.of(
                provenance, "not named seed-NNN.json, as a run is", "Move it out of this folder"
            )
        one = RunFile(
            paper=paper,
            experiment=experiment,
            link=link_part.replace("-", "/"),
            qdisc=qdisc,
            cc=run_cc,
            seed=int(seed),
            data=provenance.with_name(f"{provenance.stem}.flent.gz"),
            provenance=provenance,
        )
        wanted = (
            link in (None, one.link)
            and (qdiscs is None or one.qdisc in qdiscs)
            and cc in (None, one.cc)
        )
        if wanted:
            found.append(one)
    if not found:
        which = " ".join(filter(None, (link, *sorted(qdiscs or ()), cc))) or "any cell"
        raise DataError.of(base, f"no run of {which}", "Emulate the cells that the figure needs")
    return found


def read_runs(files: Sequence[RunFile], *, jobs: int | None = None) -> Dataset:
    """Read runs into the tables of SAMPLES, FLOWS and RUNS, in parallel where there are many.

    `jobs` is the number of processes, by default one a core. Raises DataError when any of them
    cannot be used, ValueError for none.
    """
    if not files:
        raise ValueError("no runs to read")
    if len(files) < FEW_RUNS or jobs == 1:
        loaded = [_load(file) for file in files]
    else:
        with ProcessPoolExecutor(jobs or len(os.sched_getaffinity(0))) as pool:
            loaded = list(pool.map(_load, files, chunksize=4))
    runs = _runs_table(row for row, _ in loaded)
    flents = [flent for _, flent in loaded]
    samples, flows = _samples_table(runs, flents), _flows_table(runs, flents)
    return Dataset(SAMPLES.validate(samples), FLOWS.validate(flows), RUNS.validate(runs))


def _load(file: RunFile) -> tuple[dict[str, Any], FlentFile]:
    provenance = _provenance(file)
    flent = read_flent(file.data)
    try:
        kernel = provenance["identity"]["kernel"]
        row = {
            **{name: getattr(file, name) for name in IDENTITY if name != "era"},
            "era": str(provenance["era"]),
            "kernel_release": str(kernel["release"]),
            "kernel_digest": str(kernel["digest"]),
            "flent_version": flent.flent_version,
            "length_s": flent.length_s,
            "delay_s": flent.delay_s,
            "base_rtt_ms": float(provenance["base_rtt_ms"]),
            "virtual_s": float(provenance["virtual_s"]),
            "wall_s": float(provenance["wall_s"]),
        }
        same_length = float(provenance["length_s"]) == flent.length_s
    except (KeyError, TypeError, ValueError) as error:
        wrong = f"provenance without a usable entry ({type(error).__name__}: {error})"
        raise DataError.of(file.provenance, wrong, RERUN) from error
    if not same_length:
        wrong = f"{provenance['length_s']} s of load here, {flent.length_s:g} s in {file.data.name}"
        raise DataError.of(file.provenance, wrong, RERUN)
    return row, flent


def _provenance(file: RunFile) -> dict[str, Any]:
    try:
        provenance = json.loads(file.provenance.read_text())
        named = provenance["run"]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError.of(file.provenance, "not the provenance of a run", RERUN) from error
    if named != file.run:
        raise DataError.of(
            file.provenance, f"describes the run {named!r}", f"Move it to its place, not {file.run}"
        )
    return dict(provenance)


def _runs_table(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame(list(rows), columns=list(RUNS.columns))
    categories = {name: "category" for name in IDENTITY if name != "seed"}
    return table.astype({**categories, "seed": "int32"})


def _samples_table(runs: pd.DataFrame, files: Sequence[FlentFile]) -> pd.DataFrame:
    """Columns are built from codes and not from strings: millions of rows in tenths of a second."""
    series = [one for file in files for one in file.series]
    rows_of_run = [sum(one.value.size for one in file.series) for file in files]
    rows_of_series = [one.value.size for one in series]
    time_s = np.concatenate([one.time_s for one in series])
    value = np.concatenate([one.value for one in series])
    kind = _categorical([one.kind for one in series], rows_of_series)
    is_tcp = np.isin(kind.categories, TCP_KINDS)[kind.codes]
    columns: dict[str, Any] = {}
    for name in IDENTITY:
        if name == "seed":
            columns[name] = np.repeat(runs[name].to_numpy(), rows_of_run)
        else:
            columns[name] = pd.Categorical.from_codes(
                np.repeat(runs[name].cat.codes.to_numpy(), rows_of_run),
                categories=runs[name].cat.categories,
            )
    columns["series"] = _categorical([one.name for one in series], rows_of_series)
    columns["kind"] = kind
    columns["time_s"] = time_s
    columns["goodput_mbit_s"] = np.where(is_tcp, value, np.nan)
    columns["rtt_ms"] = np.where(is_tcp, np.nan, value)
    return pd.DataFrame(columns)


def _flows_table(runs: pd.DataFrame, files: Sequence[FlentFile]) -> pd.DataFrame:
    rows = [
        (run, one.name, one.kind, one.transferred_mbit_s)
        for run, file in zip(runs["run"], files, strict=True)
        for one in file.series
        if one.kind in TCP_KINDS
    ]
    table = pd.DataFrame(rows, columns=list(FLOWS.columns))
    labels = {"run": runs["run"].dtype, "series": "category", "kind": "category"}
    return table.astype(labels)


def _categorical(labels: Sequence[str], repeats: Sequence[int]) -> pd.Categorical:
    codes, categories = pd.factorize(np.asarray(labels, dtype=object), sort=True)
    return pd.Categorical.from_codes(np.repeat(codes, repeats), categories=pd.Index(categories))
