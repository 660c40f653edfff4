"""How near each path brings gbw2015's Figs. 2, 6 and 7: the calibrated testbed of log/fixed.md.

One half of the printed values chooses the path; the other says how good the choice is.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from qdisclab.analysis.measures import metrics
from qdisclab.analysis.measures.table import measure_runs
from qdisclab.analysis.runs.dataset import RunFile, read_runs
from qdisclab.analysis.runs.published import PUBLISHED, read_table

from . import transient
from .fairness import cell_fairness
from .wifi_rigs import HALVES

FAIRNESS: Final = "rtt_fairness"
WIRE: Final = {"98.44/98.44": "100/100"}
"""Link of runs -> that of the paper which it is: 100 Mbit/s Ethernet carries 1514 of 1538 bytes."""
FURTHEST: Final = math.log(2)
"""What a value counts at most: it is twice what is printed, or half of it."""


def half(row: Iterable[str]) -> str:
    """Return the half that a printed value belongs to, by the SHA-256 of what identifies it."""
    digit = hashlib.sha256(",".join(row).encode()).hexdigest()[0]
    return HALVES[int(digit, 16) % 2]


def halves(path: Path) -> list[str]:
    """Return the half of each row of a file of printed values."""
    text = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = text.drop(columns=["value", "unit", "reading_error"]).itertuples(index=False)
    return [half(row) for row in rows]


def beside(rrul: Sequence[RunFile], fairness: Sequence[RunFile], folder: Path) -> pd.DataFrame:
    """Return a row per printed value: figure, link, qdisc, half, published, ours.

    Runs are those of one path and congestion control; RRUL's are whole, of the others measures are
    enough. `folder` has fig2.csv, fig6.csv and fig7.csv. What has no run is left out.
    """
    tables = []
    data = read_runs(rrul)
    per_run = _by_wire(metrics.run_metrics(data, window="full"))
    flows = _by_wire(measure_runs(fairness))
    for name, cells, marker in (
        ("fig2.csv", metrics.cell_metrics(per_run), "median"),
        ("fig6.csv", cell_fairness(flows, [10.0, 50.0, 200.0, 500.0]), "mean"),
    ):
        printed = read_table(folder / name, PUBLISHED, "published values")
        compared = metrics.compare(cells, printed, marker=marker)  # type: ignore[arg-type]
        tables.append(compared.head(len(printed)).assign(half=halves(folder / name)))
    curves = _by_wire(transient.latency_over_time(data.samples))
    printed = read_table(folder / "fig7.csv", transient.CURVES, "values of a curve")
    compared = transient.compare_curves(curves, printed)
    tables.append(compared.assign(half=halves(folder / "fig7.csv")))
    values = pd.concat(tables, ignore_index=True).dropna(subset=["ours"])
    return values[["figure", "link", "qdisc", "half", "published", "ours"]]


def by_era(
    runs: Sequence[RunFile],
    paths: Mapping[str, str],
    stand_ins: Mapping[str, Sequence[str]],
    folder: Path,
) -> dict[str, pd.DataFrame]:
    """Return `beside` of each era of `paths`, which maps it to what it is called.

    Where an era has no flows of unlike round trips over a link, those of the first of its
    `stand_ins` that has some count; an era without runs is left out.
    """
    tables = {}
    for era, name in paths.items():
        flows: list[RunFile] = []
        for of in (era, *stand_ins.get(era, ())):
            links = {run.link for run in flows}
            flows += [run for run in runs if run.experiment == FAIRNESS and run.era == of
                      and run.link not in links]  # fmt: skip
        rrul = [run for run in runs if run.experiment != FAIRNESS and run.era == era]
        if rrul and flows:
            tables[name] = beside([run for run in rrul if not run.is_reduced], flows, folder)
    return tables


def by_path(values: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a row per path, from its values of `beside`: path, fitted (mean of |ln(ours /
    published)|, of which FURTHEST counts at most), as_good, and the median relative errors of the
    values held out, in percent, of each figure and of all.

    As good is a path whose mean is above the least by less than twice the standard error of the
    differences, value by value.
    """
    seen = {}
    for path, table in values.items():
        fitted = table[table["half"] == HALVES[0]]
        ratios = (fitted["ours"] / fitted["published"]).clip(lower=0.5)
        seen[path] = ratios.map(math.log).abs().clip(upper=FURTHEST)
    means = {path: float(distance.mean()) for path, distance in seen.items()}
    best = min(means, key=lambda path: means[path])
    rows = []
    for path, table in values.items():
        more = (seen[path] - seen[best]).dropna()
        held = table[table["half"] == HALVES[1]]
        error = 100 * (held["ours"] / held["published"] - 1).abs()
        parts = error.groupby("Fig. " + held["figure"].str[0]).median()
        as_good = float(more.mean()) <= 2 * float(more.std()) / math.sqrt(len(more))
        about = {"path": path, "fitted": means[path], "as_good": as_good}
        rows.append(about | parts.to_dict() | {"all": error.median()})
    return pd.DataFrame(rows)


def _by_wire(table: pd.DataFrame) -> pd.DataFrame:
    """Return `table` with the paper's links."""
    return table.assign(link=table["link"].astype(str).replace(WIRE))
