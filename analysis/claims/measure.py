"""What each run measured, as numbers with names: one tidy table of all runs of a paper.

How a run becomes numbers depends on its experiment. `MEASURES` names the function, `module:name`;
it takes a `dataset.RunFile` and returns numbers by names that `METRICS` has. A module is imported
when a run of its experiment is there.
"""

import importlib
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pandera.pandas as pa

from analysis.dataset import FEW_RUNS, RunFile, find_runs
from analysis.errors import DataError
from emulation.model import DEFAULT_ERA

Measure = Callable[[RunFile], Mapping[str, float]]


@dataclass(frozen=True)
class Metric:
    """Something that a run has one number of."""

    title: str
    unit: str


METRICS: Final = {
    # RRUL (analysis.claims.rrul)
    "induced_latency_ms": Metric("mean induced latency", "ms"),
    "steady_latency_ms": Metric("induced latency of the second half", "ms"),
    "startup_latency_ms": Metric("induced latency of the first 20 s", "ms"),
    "startup_peak_ms": Metric("peak at start-up", "ms"),
    "control_s": Metric("time to control", "s"),
    "goodput_download_mbit_s": Metric("download goodput", "Mbit/s"),
    "goodput_upload_mbit_s": Metric("upload goodput", "Mbit/s"),
    "drops_download_percent": Metric("packets dropped downstream", "%"),
    "drops_upload_percent": Metric("packets dropped upstream", "%"),
    # VoIP, web and RTT fairness (analysis.claims.traffic)
    "voip_delay_ms": Metric("mean induced one-way delay", "ms"),
    "voip_delay_median_ms": Metric("median induced one-way delay", "ms"),
    "voip_delay_p99_ms": Metric("99th percentile of the induced one-way delay", "ms"),
    "voip_loss_percent": Metric("VoIP loss", "%"),
    "fetch_time_normalised": Metric("normalised fetch time", ""),
    "fetch_time_sd_s": Metric("standard deviation of the fetch time", "s"),
    "jain_index": Metric("Jain's index", ""),
    "goodput_total_mbit_s": Metric("total goodput", "Mbit/s"),
    "goodput_10ms_mbit_s": Metric("goodput of the flow of 10 ms", "Mbit/s"),
    "goodput_50ms_mbit_s": Metric("goodput of the flow of 50 ms", "Mbit/s"),
    "goodput_200ms_mbit_s": Metric("goodput of the flow of 200 ms", "Mbit/s"),
    "goodput_500ms_mbit_s": Metric("goodput of the flow of 500 ms", "Mbit/s"),
}

MEASURES: Final = {
    "rrul": "analysis.claims.rrul:measure",
    "voip_1up": "analysis.claims.traffic:measure_voip",
    "voip_rrul": "analysis.claims.traffic:measure_voip",
    "web_small_1up": "analysis.claims.traffic:measure_web",
    "web_small_rrul": "analysis.claims.traffic:measure_web",
    "web_large_1up": "analysis.claims.traffic:measure_web",
    "web_large_rrul": "analysis.claims.traffic:measure_web",
    "rtt_fairness": "analysis.claims.traffic:measure_fairness",
}
"""Experiment -> the function that measures a run of it."""

NOT_AN_ERA: Final = re.compile(r"@|^linux-|^[0-9.]+(ms|s|min)$")

MEASURED: Final = pa.DataFrameSchema(
    {
        "era": pa.Column(str),
        "experiment": pa.Column(str),
        "link": pa.Column(str, pa.Check.str_matches(r"^[0-9.]+/[0-9.]+$")),
        "qdisc": pa.Column(str),
        "cc": pa.Column(str),
        "seed": pa.Column(int, pa.Check.ge(0)),
        "metric": pa.Column(str, pa.Check.isin(list(METRICS))),
        "value": pa.Column(float),
    },
    unique=["era", "experiment", "link", "qdisc", "cc", "seed", "metric"],
    strict=True,
)
"""One row a run and metric, in the metric's unit."""


def measure_paper(
    data: Path,
    paper: str,
    *,
    experiments: Collection[str] = tuple(MEASURES),
    eras: Collection[str] | None = None,
    ccs: Collection[str] | None = None,
    jobs: int | None = None,
) -> pd.DataFrame:
    """Table of MEASURED of every run of `paper` below `data`, or of some `experiments`, `eras` and
    `ccs` only.

    Runs of another kernel series or length than the experiment's, whose folder says so, and of
    experiments that MEASURES lacks are left out. `jobs` is the number of processes, by default one
    a core. Raises DataError for a run that cannot be read.
    """
    work: list[tuple[str, RunFile]] = []
    for folder in sorted((data / paper).glob("*/")):
        experiment, _, era = folder.name.partition("@")
        if experiment not in MEASURES or NOT_AN_ERA.search(era):
            continue
        era = era or DEFAULT_ERA
        if experiment in experiments and (eras is None or era in eras):
            found = find_runs(data, paper, folder.name)
            work += [(era, run) for run in found if ccs is None or run.cc in ccs]
    if len(work) < FEW_RUNS or jobs == 1:
        rows = [_rows(*one) for one in work]
    else:
        with ProcessPoolExecutor(jobs or len(os.sched_getaffinity(0))) as pool:
            rows = list(pool.map(_rows, *zip(*work, strict=True), chunksize=4))
    table = pd.DataFrame([row for part in rows for row in part], columns=list(MEASURED.columns))
    types = dict.fromkeys(MEASURED.columns, str) | {"seed": int, "value": float}
    return MEASURED.validate(table.astype(types))


def contexts(table: pd.DataFrame) -> Sequence[tuple[str, str]]:
    """The eras and congestion controls that `table` has anything of."""
    pairs = table[["era", "cc"]].drop_duplicates()
    return sorted((str(era), str(cc)) for era, cc in pairs.itertuples(index=False))


def _rows(era: str, run: RunFile) -> list[tuple[Any, ...]]:
    experiment = run.experiment.partition("@")[0]
    cell = (era, experiment, run.link, run.qdisc, run.cc, run.seed)
    values = _function(MEASURES[experiment])(run)
    unknown = sorted(set(values) - set(METRICS))
    if unknown:
        raise DataError.of(
            MEASURES[experiment], f"unknown metric {', '.join(unknown)}", "Add it to METRICS"
        )
    return [(*cell, name, float(value)) for name, value in values.items()]


def _function(where: str) -> Measure:
    module, _, name = where.partition(":")
    found: Measure = getattr(importlib.import_module(module), name)
    return found
