"""Runs between two gateways: what their queues did (codel2012).

A row of `gateways.read_run` per queue, with what the run varies.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from qdisclab.analysis.runs.axes import axes, packets
from qdisclab.analysis.runs.dataset import RunFile, facts, read_record, twins, usable
from qdisclab.emulation.config import ownfile

from . import gateways

FAMILIES: Final = {"codel": "codel", "red": "red", "pfifo": "tail_drop"}
"""The algorithm of a qdisc -> what the article calls it, whatever its buffer and target."""
ALIKE: Final = {"codel": "codel", "red": "ared", "tail_drop": "pfifo_fast"}
"""A family -> the qdisc of other papers that it is drawn like."""
NAMES: Final = {"codel": "CoDel", "red": "RED", "tail_drop": "Tail Drop"}
SHOWN: Final = {
    "Median delay (ms)": "median_ms",
    "Utilisation (%)": "utilisation_percent",
    "Jain's index of drop shares": "jain",
}


def read_run(file: RunFile) -> list[dict[str, Any]]:
    """Return one row per queue: the columns of dataset.RUNS, load, family of the qdisc, and
    measurements.

    Delays in ms are those of the packets that were sent while the load lasted; dropped_percent is a
    share of those that arrived. Raises DataError if the provenance lacks an entry.
    """
    record = read_record(file)
    with usable(file):
        varied = axes(file)
        link = f"{_bandwidth(_rate(varied['link']))} {varied.get('mtu', '1500')}\xa0B"
        about = {**facts(file, record), "mtu_link": link, "family": family(varied)}
    return [{**about, **queue} for queue in gateways.read_run(file)]


def read_runs(files: Sequence[RunFile]) -> pd.DataFrame:
    """Return the rows of read_run of all `files`, and `twin`: the earlier seed that came out the
    same.

    Raises ValueError for no files.
    """
    if not files:
        raise ValueError("no runs to read")
    table = pd.DataFrame([row for file in files for row in read_run(file)])
    return table.assign(twin=table["run"].map(twins(files)))


def family(run_axes: Mapping[str, str]) -> str:
    """`codel` of `codel_830`; for other qdiscs, and the user's own, their name."""
    qdisc = run_axes["qdisc"]
    return qdisc if qdisc in ownfile.drawn() else FAMILIES.get(run_axes["algorithm"], qdisc)


def overview(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return medians over runs of each quantity by qdisc and the column `by`, of `ticks`, with
    quartiles of the median delay and of utilisation."""

    def quartiles(values: "pd.Series[float]") -> str:
        return " – ".join(f"{value:.3g}" for value in values.quantile([0.25, 0.5, 0.75]))

    of = {title: (name, "median" if name == "jain" else quartiles) for title, name in SHOWN.items()}
    of |= {"Dropped (%)": ("dropped_percent", "median")}
    medians = table.groupby([by, "qdisc"], observed=True).agg(runs=("median_ms", "size"), **of)
    places = {value: place for place, value in enumerate(ticks(table, by)[0])}
    return medians.reset_index().sort_values(
        by, key=lambda column: column.map(places), kind="stable", ignore_index=True
    )


def ticks(table: pd.DataFrame, by: str) -> tuple[dict[object, str], str]:
    """Return the values of the column `by` in order, each with its label, and a title for the axis.

    `mtu_link` is the link and the largest packet.
    """
    if by == "base_rtt_ms":
        rtts = {value: f"{value:g}" for value in sorted(set(table[by]))}
        return rtts, "RTT of the empty path (ms)"
    values = sorted(set(table[by]), key=lambda value: (_rate(value), str(value)))
    if by == "mtu_link":
        return {value: value.replace(" ", "\n") for value in values}, "Bandwidth and MTU"
    return {value: _bandwidth(_rate(value)) for value in values}, "Bandwidth"


def _rate(link: str) -> float:
    """Return a rate in Mbit/s, of `10/10` or of a value of mtu_link."""
    text = str(link)
    if "bit/s" in text:
        return float(text.split("\xa0")[0]) * (1e-3 if "kbit" in text else 1)
    return float(text.partition("/")[0])


def _bandwidth(mbit_s: float) -> str:
    return f"{mbit_s:g}\xa0Mbit/s" if mbit_s >= 1 else f"{1000 * mbit_s:g}\xa0kbit/s"


def by_load(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per load and qdisc: runs, and medians over them."""
    cells = table.rename(columns={"load": "Load"}).groupby(["Load", "qdisc"], observed=True)
    medians = {title: (column, "median") for title, column in SHOWN.items()}
    return cells.agg(Runs=("median_ms", "size"), **medians).reset_index()


def totals(files: Sequence[RunFile], table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per qdisc, means over seeds: n_seeds, delays, kilobytes, utilisation and
    drops."""
    under = {file.run: gateways.below_percent(gateways.steps(file)) for file in files}
    forward = table[table["direction"] == "forward"]
    forward = forward.assign(below_90ms_percent=forward["run"].map(under))
    names = [
        "median_ms", "p75_ms", "p95_ms", "longest_ms", "below_90ms_percent", "kilobytes",
        "utilisation_percent", "dropped_percent",
    ]  # fmt: skip
    grouped = forward.groupby("qdisc", sort=False)
    means = grouped[names].mean()
    means.insert(0, "n_seeds", grouped["seed"].nunique())
    varied = {file.qdisc: axes(file) for file in files}
    order = sorted(means.index, key=lambda name: _in_article(varied[name]))
    return means.loc[order].reset_index()


def _in_article(run_axes: Mapping[str, str]) -> tuple[int, int]:
    """To sort by: the larger buffer first, in each the article's order; then others."""
    article, name = list(NAMES), family(run_axes)
    place = article.index(name) if name in article else len(article)
    return -packets(run_axes), place
