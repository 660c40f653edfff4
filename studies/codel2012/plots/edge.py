"""The consumer edge of codel2012: delays of both directions as a figure, and its table."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from qdisclab.analysis.measures.metrics import over_seeds
from qdisclab.analysis.plots.rows import dots
from qdisclab.analysis.plots.style import Palette
from qdisclab.analysis.words import intervals

NAMES: Final = {
    "codel": "CoDel",
    "tail_drop": "Tail Drop, 1 BDP",
    "tail_drop_8bdp": "Tail Drop, 8 BDP",
}
LARGER: Final = "tail_drop_8bdp"
WAYS: Final = {"forward": "down", "reverse": "up"}
MEANS: Final = (
    "p25_ms", "median_ms", "p75_ms", "p95_ms", "mean_ms", "kilobytes", "dropped_percent",
)  # fmt: skip
#: Panel -> what it shows, and the ends of its lines.
SHOWN: Final = {
    "Queue delay (ms): 25th percentile, median, 95th": ("median_ms", "p25_ms", "p95_ms"),
    "Dropped (%)": ("dropped_percent", "none", "none"),
    "Sent (kB)": ("kilobytes", "none", "none"),
}


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per link, direction and qdisc: means over the seeds of queues.read_runs.

    Columns: link, direction, qdisc, family, n_seeds, MEANS and dropped_interval (Student's t at
    95 %; a dash for one seed, and for seeds that came out the same).
    """
    cells = table.groupby(["link", "direction", "qdisc", "family"])
    means = cells[list(MEANS)].mean()
    means.insert(0, "n_seeds", cells["seed"].nunique())
    over = [over_seeds(cell, "dropped_percent") for _, cell in cells]
    means["dropped_interval"] = intervals([each.low for each in over], [each.high for each in over])
    rows = means.reset_index()
    place = rows["qdisc"].map({name: place for place, name in enumerate(NAMES)}).fillna(len(NAMES))
    rate = rows["link"].str.partition("/")[0].astype(float)
    order = pd.DataFrame({"rate": rate, "way": rows["direction"], "place": place})
    return rows.loc[order.sort_values(["rate", "way", "place"]).index].reset_index(drop=True)


def table(edge: pd.DataFrame) -> pd.DataFrame:
    """Return the table as the paper describes it: each direction apart; `edge` is from summary."""
    return pd.DataFrame(
        {
            "link": edge["link"],
            "Direction": edge["direction"].map(WAYS),
            "qdisc": edge["qdisc"].replace(NAMES),
            "Dropped (%)": edge["dropped_percent"],
            "interval": edge["dropped_interval"],
            "Median delay (ms)": edge["median_ms"],
            "95th percentile (ms)": edge["p95_ms"],
            "Megabytes": edge["kilobytes"] / 1000,
            "n_seeds": edge["n_seeds"],
        }
    )


def delays(edge: pd.DataFrame, palette: Palette) -> Figure:
    """Draw a row per link and direction: delays, drops and bytes sent; `edge` is from summary."""
    cells = edge.assign(
        row=edge["link"].str.partition("/")[0] + " Mbit/s, " + edge["direction"].map(WAYS),
        filled=edge["qdisc"] != LARGER,
        qdisc=edge["family"],
        none=np.nan,
    )
    parts = [
        cells.assign(quantity=title, mean=cells[mean], ci_low=cells[low], ci_high=cells[high])
        for title, (mean, low, high) in SHOWN.items()
    ]
    names = cells["row"].unique().tolist()
    return dots(
        pd.concat(parts), names, [*SHOWN], palette, {title: title for title in SHOWN},
        least={next(iter(SHOWN)): 1.0}, about=("CoDel, and 1 BDP of Tail Drop", NAMES[LARGER]),
    )  # fmt: skip
