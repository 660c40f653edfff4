"""Whether the spread over seeds is real: distinct runs, no lock step, spread of the runs' means.

Figure 2 of gbw2015 draws 1-sigma ellipses of 30 repetitions. Where nothing is random, repetitions
would be one trace repeated, and flows that start together would stay together. These functions
measure how far that is from what a set of runs shows.
"""

import hashlib
from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np
import pandas as pd
import scipy

from qdisclab.analysis.errors import UNUSABLE, refused
from qdisclab.analysis.measures.metrics import CELL, GOODPUT, INDUCED, covariance_ellipse
from qdisclab.analysis.runs.dataset import Dataset, RunFile
from qdisclab.analysis.runs.flentfile import (
    PING_KINDS,
    RERUN,
    TCP_KINDS,
    Floats,
    flows_began_s,
    kind_of,
)
from qdisclab.emulation.datafile import read_json

STARTUP_S: Final = 20.0  # of the load, not compared: slow start looks the same in every run
WINDOW_S: Final = 5.0  # over which traces are compared while they part
PARTED: Final = 0.5  # correlation below which two traces count as parted


def latency_traces(data: Dataset) -> pd.DataFrame:
    """Return round trips in ms: a row per step, counted in s from the start of the load, a column
    per run.

    Missing samples are interpolated; the columns are in the order of `data.runs`.
    """
    samples, _, runs = data
    chosen = samples[samples["kind"] == "ping_icmp"]
    wide = chosen.pivot_table(
        index="time_s", columns="run", values="rtt_ms", aggfunc="mean", observed=True
    )
    delay_s = float(runs["delay_s"].iloc[0])
    inside = (wide.index >= delay_s) & (wide.index <= delay_s + float(runs["length_s"].min()))
    wide = wide[inside].interpolate(limit_direction="both")
    wide.index = np.round(wide.index - delay_s, 6)
    return wide[list(runs["run"])]


def pairs(data: Dataset) -> pd.DataFrame:
    """Return one row per pair of runs of a cell: CELL, seed_a, seed_b, correlation (Pearson's, of
    the latencies after STARTUP_S, or half, of the load), apart_s (see `parts_after`) and same (all
    latencies equal)."""
    traces = latency_traces(data)
    startup_s = min(STARTUP_S, float(traces.index[-1]) / 2)
    steady = traces[traces.index >= startup_s]
    rows = []
    for cell, group in data.runs.groupby(list(CELL), observed=True, sort=False):
        members = group[["run", "seed"]].itertuples(index=False)
        for (run_a, seed_a), (run_b, seed_b) in combinations(members, 2):
            a, b = traces[run_a], traces[run_b]
            correlation = _correlation(steady[run_a].to_numpy(), steady[run_b].to_numpy())
            apart = parts_after(a.to_numpy(), b.to_numpy(), traces.index.to_numpy())
            rows.append((*cell, seed_a, seed_b, correlation, apart, bool(a.equals(b))))
    return pd.DataFrame(rows, columns=[*CELL, "seed_a", "seed_b", "correlation", "apart_s", "same"])


def parts_after(a: Floats, b: Floats, time_s: Floats) -> float:
    """Return when two traces part: the end of the first window in which they correlate less than
    PARTED.

    NaN where they never do. The least possible value is WINDOW_S.
    """
    length = max(3, int(np.searchsorted(time_s - time_s[0], WINDOW_S)) + 1)
    for start in range(len(time_s) - length + 1):
        part = slice(start, start + length)
        if _correlation(a[part], b[part]) < PARTED:
            return float(time_s[start + length - 1])
    return float("nan")


def distinct_traces(data: Dataset) -> pd.DataFrame:
    """Return one row per cell: CELL, n_seeds, distinct (latency traces that no other equals)."""
    traces = latency_traces(data)
    digests = {
        run: hashlib.sha256(traces[run].to_numpy().tobytes()).hexdigest() for run in traces.columns
    }
    table = data.runs[[*CELL, "run"]].assign(digest=data.runs["run"].astype(str).map(digests))
    grouped = table.groupby(list(CELL), observed=True, sort=False)["digest"]
    return grouped.agg(n_seeds="count", distinct="nunique").reset_index()


def lock_step(data: Dataset) -> pd.DataFrame:
    """Return one row per run and direction: run, CELL, seed, kind, correlation.

    The correlation is the mean over the pairs of flows of that of their goodputs after STARTUP_S
    of load: 1 in lock step, 0 for flows that know nothing of each other, and -1/(n-1) for n flows
    that share a link which is always full.
    """
    samples, _, runs = data
    rows = []
    for run in runs.itertuples(index=False):
        of_run = samples[(samples["run"] == run.run) & samples["kind"].isin(TCP_KINDS)]
        delay_s, length_s = float(str(run.delay_s)), float(str(run.length_s))
        begin = delay_s + min(STARTUP_S, length_s / 2)
        inside = of_run["time_s"].between(begin, delay_s + length_s)
        for kind in TCP_KINDS:
            flows = of_run[inside & (of_run["kind"] == kind)]
            wide = flows.pivot_table(
                index="time_s", columns="series", values="goodput_mbit_s", observed=True
            ).dropna()
            matrix = np.corrcoef(wide.to_numpy(), rowvar=False)
            upper = matrix[np.triu_indices_from(matrix, k=1)]
            cell = [getattr(run, name) for name in ("run", *CELL, "seed")]
            rows.append((*cell, kind, float(np.nanmean(upper))))
    return pd.DataFrame(rows, columns=["run", *CELL, "seed", "kind", "correlation"])


def flow_starts(files: Sequence[RunFile]) -> pd.DataFrame:
    """Return one row per TCP flow: run, CELL, seed, series, kind, late_ms.

    `late_ms` counts from the first flow of the run. Raises DataError for a file that does not say
    when its flows began.
    """
    rows = []
    for file in files:
        with refused(file.data, "no starts of flows ({})", RERUN, *UNUSABLE):
            begins = flows_began_s(read_json(file.data))
            first = min(begins.values())
        rows += [
            (file.run, file.era, file.link, file.qdisc, file.cc, file.seed, name, kind_of(name),
             (begin - first) * 1e3)
            for name, begin in sorted(begins.items())
        ]  # fmt: skip
    return pd.DataFrame(rows, columns=["run", *CELL, "seed", "series", "kind", "late_ms"])


def spread_of_means(per_run: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell: CELL, n_seeds, and how the runs' means spread.

    sd_latency_ms with sd_low_ms and sd_high_ms (chi-square interval, for normal means), sd_goodput
    (download, Mbit/s), major and minor (half axes of the 1-sigma ellipse, latency in ms against
    goodput in Mbit/s) and cv_latency (sd by mean). `per_run` is from metrics.run_metrics; cells of
    fewer than three runs have no ellipse, of one run no sd.
    """
    rows = []
    for cell, group in per_run.groupby(list(CELL), observed=True, sort=False):
        latency, goodput = group[INDUCED], group[GOODPUT["download"]]
        n, sd = len(group), float(latency.std())
        ellipse = covariance_ellipse(latency, goodput)
        axes = (ellipse.width / 2, ellipse.height / 2) if ellipse else (np.nan, np.nan)
        low, high = sd_interval(n)
        sds = (sd, sd * low, sd * high, float(goodput.std()))
        rows.append((*cell, n, *sds, *axes, sd / float(latency.mean())))
    names = ["n_seeds", "sd_latency_ms", "sd_low_ms", "sd_high_ms", "sd_goodput"]
    return pd.DataFrame(rows, columns=[*CELL, *names, "major", "minor", "cv_latency"])


def sd_interval(n: int) -> tuple[float, float]:
    """Return the factors of the sd of `n` normal values for its 95 % interval; NaN for
    one."""
    if n < 2:
        return float("nan"), float("nan")
    tails = scipy.stats.chi2.ppf([0.975, 0.025], n - 1)
    low, high = np.sqrt((n - 1) / tails)
    return float(low), float(high)


def outlier_behind_ellipse(edge: float, usual: float) -> float:
    """Return the value with which one run of 30 extends an ellipse to `edge`, all others at
    `usual`.

    The edge is mean plus one standard deviation.
    """
    return usual + (edge - usual) / (1 / 30 + 1 / float(np.sqrt(30)))


def probe_means(data: Dataset) -> pd.DataFrame:
    """Return one row per run and probe: run, CELL, seed, series, mean_ms, excess.

    Mean of the round trip after STARTUP_S of load, less the base path; `excess` is that by the
    median of the cell's probes. A probe that shares a queue with a bulk flow stands out by it.
    """
    samples, _, runs = data
    about = runs.set_index("run")
    begin = about["delay_s"] + np.minimum(STARTUP_S, about["length_s"] / 2)
    end = about["delay_s"] + about["length_s"]
    chosen = samples[samples["kind"].isin(PING_KINDS)]
    names = chosen["run"].astype(str)
    late = chosen["time_s"] >= names.map(begin.rename(str)).astype(float)
    chosen = chosen[late & (chosen["time_s"] <= names.map(end.rename(str)).astype(float))]
    keys = ["run", *CELL, "seed", "series"]
    table = chosen.groupby(keys, observed=True)["rtt_ms"].mean().rename("mean_ms").reset_index()
    table["mean_ms"] -= table["run"].astype(str).map(about["base_rtt_ms"].rename(str)).astype(float)
    usual = table.groupby(list(CELL), observed=True)["mean_ms"].transform("median")
    return table.assign(excess=table["mean_ms"] / usual)


def summary(data: Dataset, per_run: pd.DataFrame, starts: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell: the numbers behind the figure."""
    by = list(CELL)
    couples = pairs(data)
    grouped = couples.groupby(by, observed=True, sort=False)
    correlated = grouped.agg(
        correlation=("correlation", "median"),
        correlation_max=("correlation", "max"),
        apart_s=("apart_s", "median"),
    )
    flows = lock_step(data).pivot_table(
        index=by, columns="kind", values="correlation", observed=True
    )
    flows = flows.rename(columns={kind: f"{kind}_together" for kind in TCP_KINDS})
    late = starts.groupby(by, observed=True)["late_ms"].max().rename("start_spread_ms")
    excess = probe_means(data).groupby(by, observed=True)["excess"].max().rename("excess_max")
    table, means = distinct_traces(data), spread_of_means(per_run).drop(columns="n_seeds")
    for other in (means.set_index(by), correlated, flows, late, excess):
        table = table.merge(other.reset_index(), on=by, how="left", validate="one_to_one")
    return table.drop(columns=["era", "link", "cc", "sd_low_ms", "sd_high_ms"])


def _correlation(a: Floats, b: Floats) -> float:
    """Return Pearson's correlation; 1 for two equal constants, NaN where one is constant."""
    if np.array_equal(a, b):
        return 1.0
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])
