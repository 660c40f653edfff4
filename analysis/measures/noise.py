"""How much results depend on how exact a testbed's path is: runs whose delay varies, by how much.

A factor is the `noise` of a rig: by how many packet times of the bottleneck a delay varies
(docs/eras.md). Runs of one seed draw the same random numbers with each factor above zero.
"""

from typing import Final

import pandas as pd

from analysis.measures.metrics import GOODPUT, INDUCED, confidence_interval
from analysis.runs.axes import axes

QUANTITIES: Final = {
    INDUCED: "induced_latency",
    GOODPUT["download"]: "goodput",
    GOODPUT["upload"]: "goodput",
}
"""A column of metrics.run_metrics -> the metric of published values that it belongs to."""


def by_factor(per_run: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """One row per qdisc, factor and quantity: n_seeds, mean, ci_low, ci_high (Student's t), and
    published, NaN where nothing is printed.

    `per_run` is from metrics.run_metrics, `published` from runs.published.read_published. A printed
    goodput of either direction stands for both, one of the upload for that alone.
    """
    factors = [float(axes(run)["noise"]) for run in per_run["run"].astype(str)]
    rows = []
    cells = per_run.assign(noise=factors).groupby(["qdisc", "noise"], observed=True, sort=True)
    for (qdisc, factor), runs in cells:
        printed = published[published["qdisc"] == qdisc]
        for quantity, metric in QUANTITIES.items():
            way = quantity.split("_")[1]  # of goodputs: download or upload
            values = printed.loc[
                (printed["metric"] == metric)
                & printed["direction"].isin(["round_trip", "one", way]),
                "value",
            ]
            found = confidence_interval(runs[quantity])
            rows.append(
                (qdisc, factor, quantity, found.n, found.mean, found.low, found.high,
                 float(values.iloc[0]) if len(values) else float("nan"))
            )  # fmt: skip
    columns = ["qdisc", "noise", "quantity", "n_seeds", "mean", "ci_low", "ci_high", "published"]
    return pd.DataFrame(rows, columns=columns)
