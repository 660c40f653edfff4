"""Latency and goodput under load, as pure functions from tables to tables.

Sections are those of T. Høiland-Jørgensen, P. Hurtig, A. Brunstrom, "The Good, the Bad and the
WiFi: Modern AQMs in a residential setting", Computer Networks 89 (2015),
doi:10.1016/j.comnet.2015.07.014.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from qdisclab.analysis.errors import DataError, require_one
from qdisclab.analysis.measures import agreement
from qdisclab.analysis.runs.dataset import Dataset
from qdisclab.analysis.runs.flentfile import PING_KINDS, TCP_KINDS

Window = Literal["loaded", "full"]
LatencyDefinition = Literal["mean_minus_base", "mean_span"]
GoodputDefinition = Literal["transferred", "step_mean"]
Probe = Literal["ping_icmp", "ping_udp", "all"]
Marker = Literal["median", "mean"]

CELL: Final = ("era", "link", "qdisc", "cc")
RUN: Final = ("run", *CELL, "seed")
GOODPUT: Final = {"download": "goodput_download_mbit_s", "upload": "goodput_upload_mbit_s"}
INDUCED: Final = "induced_latency_ms"
Column = tuple[str, str, str, str]  # column of a table with a row per run, metric, direction, unit
COLUMNS: Final[tuple[Column, ...]] = (
    (INDUCED, "induced_latency", "round_trip", "ms"),
    (GOODPUT["download"], "goodput", "download", "Mbit/s"),
    (GOODPUT["upload"], "goodput", "upload", "Mbit/s"),
)


@dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval; both bounds are NaN when there is no interval."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Ellipse:
    """An ellipse in data coordinates: full axis lengths, and the angle of `width` to x."""

    center: tuple[float, float]
    width: float
    height: float
    angle_deg: float


def run_metrics(
    data: Dataset,
    *,
    window: Window = "full",
    probe: Probe = "all",
    latency: LatencyDefinition = "mean_minus_base",
    goodput: GoodputDefinition = "transferred",
) -> pd.DataFrame:
    """Return one row per run: run, era, link, qdisc, cc, seed, two goodputs in Mbit/s, mean_rtt_ms
    and induced_latency_ms.

    Goodput of a direction is the sum over its flows: the paper plots about 90 Mbit/s for four
    flows on a 100 Mbit/s link . Only TCP payload counts, not the probes (Sec. 3).
    A flow's goodput is the bytes that it moved by its duration (`transferred`), or the mean of
    flent's steps in the window (`step_mean`, what flent's combined plots take for a sum of flows).
    The two differ where a flow reports rarely: on 1 Mbit/s a report spans up to ten seconds, the
    interpolation between reports is not weighted by their length, and the mean comes out as much
    as a third too high.

    Induced latency is the mean over the window of `probe`, minus the base path's round trip (Sec.
    5.1; `mean_minus_base`), or minus the smallest value of the run (`mean_span`, what flent's
    combined plots compute; flent, `combiners.py`). Of `all` probes, UDP and ICMP, it is the mean at
    each of flent's steps that counts, which is its series "Ping (ms) avg".

    `window="full"` takes the whole test with its unloaded seconds at both ends, as the paper and
    flent of its time do (docs/metrics.md); `"loaded"` the samples while TCP flows are meant to run.
    Raises DataError when a run has no sample in the window.
    """
    require_one("latency", latency, get_args(LatencyDefinition))
    require_one("goodput", goodput, get_args(GoodputDefinition))
    samples, flows, runs = data
    table = in_window(samples, runs, window)
    if goodput == "step_mean":
        steps = table[table["kind"].isin(TCP_KINDS)]
        by_flow = steps.groupby(["run", "kind", "series"], observed=True)["goodput_mbit_s"].mean()
    else:
        by_flow = flows.set_index(["run", "kind", "series"])["goodput_mbit_s"]
    total = by_flow.groupby(["run", "kind"], observed=True).sum().unstack("kind")
    rtt = _round_trips(table, probe).groupby("run", observed=True).mean()
    result = runs[[*RUN, "base_rtt_ms", *({"twin"} & {*runs})]].copy()
    for kind, column in zip(TCP_KINDS, GOODPUT.values(), strict=True):
        result[column] = result["run"].map(total[kind]).astype(float)
    result["mean_rtt_ms"] = result["run"].map(rtt).astype(float)
    floor = result["base_rtt_ms"]
    if latency == "mean_span":
        smallest = _round_trips(samples, probe).groupby("run", observed=True).min()
        floor = result["run"].map(smallest).astype(float)
    result[INDUCED] = result["mean_rtt_ms"] - floor
    lacks = result[[*GOODPUT.values(), "mean_rtt_ms"]].isna().any(axis=1)
    for run in result["run"][lacks]:
        raise DataError.of(run, f"no sample in the {window} window", "Run it again with more load")
    return result.drop(columns="base_rtt_ms")


def _round_trips(samples: pd.DataFrame, probe: Probe) -> pd.Series:
    """Return the mean round trip in ms of the probes at each step, by run and time_s."""
    require_one("probe", probe, get_args(Probe))
    wanted = PING_KINDS if probe == "all" else (probe,)
    chosen = samples[samples["kind"].isin(wanted)]
    return chosen.groupby(["run", "time_s"], observed=True)["rtt_ms"].mean()


def in_window(samples: pd.DataFrame, runs: pd.DataFrame, window: Window) -> pd.DataFrame:
    """Return rows of `samples` that lie in the window of their run, ends included; DataError for
    another window."""
    require_one("window", window, get_args(Window))
    if window == "full":
        return samples
    # the position of a run in `runs` for every row of samples, through the category codes
    position = pd.Index(runs["run"]).get_indexer(samples["run"].cat.categories)
    row = position[samples["run"].cat.codes]
    start = runs["delay_s"].to_numpy()[row]
    stop = start + runs["length_s"].to_numpy()[row]
    time_s = samples["time_s"].to_numpy()
    inside: pd.DataFrame = samples[(time_s >= start) & (time_s <= stop)]
    return inside


def confidence_interval(values: ArrayLike) -> Interval:
    """Return the mean of independent runs with Student's t interval of 95 %.

    With one value there is no interval: the bounds are NaN. Raises ValueError for no value.
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.size == 0:
        raise ValueError("a mean of no values")
    mean, half = float(sample.mean()), float("nan")
    if sample.size > 1:
        half = float(scipy.stats.t.ppf(0.975, sample.size - 1) * scipy.stats.sem(sample))
    return Interval(mean, mean - half, mean + half, int(sample.size))


def over_seeds(group: pd.DataFrame, column: str) -> Interval:
    """Return the interval of the mean over runs; none where some have an earlier `twin`."""
    over = confidence_interval(group[column].dropna().astype(float))
    if "twin" in group and group["twin"].notna().any():
        return replace(over, low=float("nan"), high=float("nan"))
    return over


def means(
    table: pd.DataFrame,
    by: Sequence[str],
    values: Sequence[str],
    more: Sequence[str | Callable[[pd.Series], float]] = (),
) -> pd.DataFrame:
    """Return one row per group of `by` and column of `values` that it has a number in.

    Columns: those of `by`, quantity (the column's name), n_seeds, mean, `more` that pandas computes
    of a column ("std", or a function), and ci_low and ci_high of the mean (Student's t at 95 %, NaN
    of one, and of runs of which some have an earlier `twin`).
    """
    rows = []
    for key, group in table.groupby(list(by), observed=True, sort=False):
        for name in values:
            numbers = group[name].dropna().astype(float)
            if len(numbers):
                over = over_seeds(group, name)
                also = numbers.agg(list(more)).tolist() if more else []
                rows.append((*key, name, over.n, over.mean, *also, over.low, over.high))
    others = [name if isinstance(name, str) else name.__name__ for name in more]
    names = ["quantity", "n_seeds", "mean", *others, "ci_low", "ci_high"]
    return pd.DataFrame(rows, columns=[*by, *names])


def cell_metrics(per_run: pd.DataFrame, metrics: Sequence[Column] = COLUMNS) -> pd.DataFrame:
    """Return one row per cell and metric: era, link, qdisc, cc, metric, direction, unit, n_seeds,
    median, mean, std, mad, ci_low, ci_high. The median over runs is what a marker shows; `std` is
    the standard deviation of the runs, NaN for one, `mad` what it is of normal values by their
    median distance from the median, which one run that is far off does not change; the interval is
    that of the mean."""

    def mad(values: pd.Series) -> float:
        return float(scipy.stats.median_abs_deviation(values, scale="normal"))

    about = pd.DataFrame(metrics, columns=["quantity", "metric", "direction", "unit"])
    cells = means(per_run, CELL, about["quantity"].tolist(), more=["median", "std", mad])
    names = ["median", "mean", "std", "mad", "ci_low", "ci_high"]
    named = cells.merge(about, on="quantity", how="left")
    return named[[*CELL, *about.columns[1:], "n_seeds", *names]]


def compare(
    cells: pd.DataFrame,
    published: pd.DataFrame,
    unnamed: str = "upload",
    marker: Marker = "median",
) -> pd.DataFrame:
    """Return one row per published value, in its order: ours beside it.

    `cells` is from cell_metrics, of one era and congestion control, `published` from
    published.read_published; `unnamed` is the direction of goodputs whose direction the paper
    does not say, `marker` what its figure draws of the runs. Adds n_seeds, ours (the marker),
    ci_low, ci_high (of the mean), difference (ours - published, same unit), ratio (ours /
    published), allowed and agrees: whether the difference is at most that, the larger of the
    reading error and of the spread that the paper's repetitions would have (agreement.py);
    published_gap and gap, of goodputs the distance from the first qdisc's, theirs and ours. Cells
    without data have n_seeds 0, NaN, and agrees is missing. Qdiscs that the paper does not have
    come last, nothing beside them.
    """
    wanted = published.assign(direction=published["direction"].replace("one", unnamed))
    wanted = pd.concat([wanted, _not_published(cells, wanted)], ignore_index=True)
    keys = ["link", "qdisc", "metric", "direction"]
    merged = wanted.merge(cells.drop(columns="unit"), on=keys, how="left", validate="one_to_many")
    merged = merged.rename(columns={"value": "published", marker: "ours"})
    merged["n_seeds"] = merged["n_seeds"].fillna(0).astype(int)
    scale = merged["mad" if marker == "median" else "std"]
    reach = agreement.spread(scale, merged["n_seeds"], median=marker == "median")
    merged["difference"] = merged["ours"] - merged["published"]
    merged = agreement.judged(merged, reach)
    cell = ["figure", "link", "metric", "direction"]
    for gap, value in (("published_gap", "published"), ("gap", "ours")):
        first = merged.groupby(cell, sort=False, observed=True)[value].transform("first")
        merged[gap] = (merged[value] - first).where(merged["metric"] == "goodput")
    values = ["published", "reading_error", "ours", "difference", "ratio", "unit", "agrees"]
    gaps = ["allowed", "published_gap", "gap"]
    return merged[["figure", *keys, *values, "n_seeds", "ci_low", "ci_high", *gaps]]


def _not_published(cells: pd.DataFrame, wanted: pd.DataFrame) -> pd.DataFrame:
    """Return rows like those of `wanted`, without a value, for each other qdisc of `cells`."""
    kinds = wanted.drop_duplicates(["link", "metric", "direction"])
    other = sorted(set(cells["qdisc"].astype(str)) - set(wanted["qdisc"]))
    rows = [kinds.assign(qdisc=qdisc, value=np.nan, reading_error=np.nan) for qdisc in other]
    return pd.concat(rows) if rows else wanted.iloc[:0]


def covariance_ellipse(x: ArrayLike, y: ArrayLike) -> Ellipse | None:
    """Return the 1-sigma ellipse of the points' covariance around their mean.

    Half axes are the square roots of the covariance's eigenvalues. None for fewer
    than three points, whose covariance has no area.
    """
    points = np.column_stack([np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)])
    if len(points) < 3:
        return None
    values, vectors = np.linalg.eigh(np.cov(points, rowvar=False))
    minor, major = 2 * np.sqrt(np.clip(values, 0, None))
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    center = points.mean(axis=0)
    return Ellipse((float(center[0]), float(center[1])), float(major), float(minor), float(angle))
