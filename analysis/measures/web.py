"""How long web pages take, as in Sec. 5.3 of

T. Høiland-Jørgensen, P. Hurtig, A. Brunstrom, "The Good, the Bad and the WiFi: Modern
AQMs in a residential setting", Computer Networks 89 (2015), doi:10.1016/j.comnet.2015.07.014.
"""

from functools import lru_cache
from typing import Final

import pandas as pd

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.metrics import RUN
from qdisclab.analysis.measures.registry import Measure, Metric, unloaded
from qdisclab.analysis.runs.dataset import Dataset, RunFile, read_runs

FETCH: Final = "fetch_s"
NORMALISED: Final = "fetch_normalised"
METRICS: Final = {
    "fetch_time_normalised": Metric("normalised fetch time", ""),
    "fetch_time_sd_s": Metric("standard deviation of the fetch time", "s"),
}


def run_fetch(data: Dataset) -> pd.DataFrame:
    """Return one row per run: RUN, pages, pages_failed, fetch_s (mean time until all objects of a
    page are there) and fetch_sd_s (standard deviation over pages).

    The mean is that of flent's steps over the whole test, as in its `bar_combine` of 2014
    (docs/metrics.md). A page that lacks an object has no time: `pages_failed` counts those. Raises
    DataError for a run whose last page ended before the load began: its mean would be that of
    no load, where the load let no page through.
    """
    samples, _, runs = data
    pages = samples[samples["kind"] == "page"]
    grouped = pages.groupby("run", observed=True)["page_ms"]
    table = runs[[*RUN, "pages_failed"]].copy()
    table["pages"] = table["run"].map(grouped.size()).astype("Int64").fillna(0)
    table[FETCH] = runs["page_ms"] / 1e3
    table["fetch_sd_s"] = table["run"].map(grouped.std()).astype(float) / 1e3
    last_s = (pages["time_s"] + pages["page_ms"] / 1e3).groupby(pages["run"], observed=True).max()
    for run in runs["run"][~(runs["run"].map(last_s).astype(float) > runs["delay_s"])]:
        todo = "Run it for longer, or leave this cell out"
        raise DataError.of(run, "no page was fetched under load", todo)
    return table


def normalised(per_run: pd.DataFrame, unloaded: pd.DataFrame) -> pd.DataFrame:
    """`per_run` with unloaded_s and fetch_normalised: the fetch time divided by that without load.

    Both tables are from run_fetch; the unloaded time is the mean over runs of the same era, link
    and congestion control, whatever their qdisc. Raises DataError where there is none.
    """
    keys = ["era", "link", "cc"]
    texts = dict.fromkeys(keys, str)  # categories of two tables differ, and would not merge
    times = unloaded.groupby(keys, observed=True)[FETCH].mean().rename("unloaded_s").reset_index()
    table = per_run.astype(texts).merge(times.astype(texts), on=keys, how="left")
    alone = table[table["unloaded_s"].isna()]
    if not alone.empty:
        where = "/".join(alone[keys].iloc[0])
        raise DataError.of(where, "no page fetched without load", "Emulate the unloaded cells, too")
    return table.assign(**{NORMALISED: table[FETCH] / table["unloaded_s"]})


def measure(run: RunFile) -> dict[str, float]:
    """Fetch time, normalised to that without load, and where there are several pages their spread.

    Raises DataError where there are no runs without load.
    """
    loaded = run_fetch(read_runs([run], kinds=["page"], jobs=1))
    idle = _idle(tuple((divisor, divisor.data.stat().st_mtime_ns) for divisor in unloaded(run)))
    row = normalised(loaded, idle).iloc[0]
    values = {"fetch_time_normalised": float(row[NORMALISED])}
    if row["pages"] > 1:
        values["fetch_time_sd_s"] = float(row["fetch_sd_s"])
    return values


@lru_cache(maxsize=16)
def _idle(runs: tuple[tuple[RunFile, int], ...]) -> pd.DataFrame:
    """`run_fetch` of runs without load, each with when it changed: those of all qdiscs and seeds
    of a cell's link are compared with the same."""
    return run_fetch(read_runs([run for run, _ in runs], kinds=["page"], jobs=1))


MEASURES: Final = {"web": Measure(measure, traffic="flent", test="http.*", unloaded=True)}
