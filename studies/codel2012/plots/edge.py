"""The consumer edge of codel2012: delays of both directions as a figure, and its table."""

from typing import Final

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.plots.panels import legend, name_rows, panels
from analysis.plots.style import Palette

from ..measures.dynamic import interval
from ..measures.queues import DIRECTIONS
from .queues import color

NAMES: Final = {
    "codel": "CoDel",
    "tail_drop": "Tail Drop, 1 BDP",
    "tail_drop_8bdp": "Tail Drop, 8 BDP",
}
LINES: Final = {"tail_drop_8bdp": (0, (3, 1.5))}  # dashed; of others solid
WAYS: Final = {"forward": "down", "reverse": "up"}
LEAST_MS: Final = 0.5  # shorter delays are drawn as this


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per link, direction and qdisc: means over the seeds of queues.read_runs.

    Columns: link, direction, qdisc, family, n_seeds, p5_ms to p95_ms, mean_ms, kilobytes,
    dropped_percent and dropped_interval.
    """
    means = ("p25_ms", "median_ms", "p75_ms", "p95_ms", "mean_ms", "kilobytes", "dropped_percent")
    rows = pd.DataFrame(
        {
            "link": link, "direction": way, "qdisc": qdisc, "family": runs["family"].iloc[0],
            "n_seeds": runs["seed"].nunique(), **{name: runs[name].mean() for name in means},
            "dropped_interval": interval(runs["dropped_percent"]),
        }
        for (link, qdisc, way), runs in table.groupby(["link", "qdisc", "direction"])
    )  # fmt: skip
    place = {name: index for index, name in enumerate((*NAMES, *DIRECTIONS))}
    keys = rows[["direction", "qdisc"]].map(lambda name: place.get(name, len(place)))
    rate = rows["link"].str.partition("/")[0].astype(float)
    order = pd.DataFrame({"rate": rate, **keys}).sort_values(["rate", "direction", "qdisc"])
    return rows.loc[order.index].reset_index(drop=True)


def table(edge: pd.DataFrame) -> pd.DataFrame:
    """Return the table as the paper describes it: each direction apart; `edge` is from summary."""
    return pd.DataFrame(
        {
            "link": edge["link"],
            "Direction": edge["direction"].map(WAYS),
            "qdisc": edge["qdisc"].map(lambda name: NAMES.get(name, name)),
            "Dropped (%)": edge["dropped_percent"],
            "interval": edge["dropped_interval"],
            "Median delay (ms)": edge["median_ms"],
            "95th percentile (ms)": edge["p95_ms"],
            "Megabytes": edge["kilobytes"] / 1000,
            "n_seeds": edge["n_seeds"],
        }
    )


def delays(edge: pd.DataFrame, palette: Palette) -> Figure:
    """Draw a line per link, direction and qdisc from the 25th to the 95th percentile of the delay.

    The marker is the median; drops and bytes sent are printed next to it.
    """
    groups = list(dict.fromkeys(edge[["link", "direction"]].itertuples(index=False, name=None)))
    families = dict(zip(edge["qdisc"], edge["family"], strict=True))
    qdiscs = [name for name in (*NAMES, *sorted(families.keys() - NAMES)) if name in families]
    figure, ((axes,),) = panels(8.8, 1.25 * len(groups) + 1.2)
    most = float(edge["p95_ms"].max())
    columns = ((1.10, "dropped"), (1.24, "sent"))  # right of the axes, of their width
    for row, (link, way) in enumerate(groups):
        cells = edge[(edge["link"] == link) & (edge["direction"] == way)]
        for cell in cells.itertuples(index=False):
            y = row + 0.62 * (qdiscs.index(cell.qdisc) / max(1, len(qdiscs) - 1) - 0.5)
            ink = color(cell.family, palette)
            dashed = LINES.get(cell.qdisc, "-")
            ends = [max(LEAST_MS, cell.p25_ms), max(LEAST_MS, cell.p95_ms)]
            axes.plot(ends, [y, y], color=ink, linewidth=3, linestyle=dashed, alpha=0.55)
            axes.plot(max(LEAST_MS, cell.median_ms), y, "o", color=ink, markersize=7)
            texts = (f"{cell.dropped_percent:.1f} %", f"{cell.kilobytes / 1000:.1f} MB")
            for (x, _), text in zip(columns, texts, strict=True):
                axes.text(x, y, text, transform=axes.get_yaxis_transform(), ha="right",
                          va="center", fontsize=9.5, color=ink)  # fmt: skip
    for x, text in columns:
        axes.text(x, -0.68, text, transform=axes.get_yaxis_transform(), ha="right", va="center",
                  fontsize=9.5, color=palette.soft)  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(LEAST_MS / 1.1, 1.3 * most)
    names = [f"{link.partition('/')[0]} Mbit/s\n{WAYS[way]}" for link, way in groups]
    name_rows(axes, names, palette)
    axes.set_ylim(len(groups) - 0.5, -0.8)
    axes.xaxis.set_major_formatter(lambda ms, _: f"{'≤ ' if ms == LEAST_MS else ''}{ms:g}")
    axes.set_xticks([LEAST_MS, 1, 10, 100])
    axes.set_xlabel("Queue delay (ms): 25th percentile, median, 95th percentile")
    handles = {
        NAMES.get(name, name): Line2D(
            [], [], color=color(families[name], palette), linewidth=3, marker="o", alpha=0.8,
            linestyle=LINES.get(name, "-"),
        )
        for name in qdiscs
    }  # fmt: skip
    legend(figure, handles, handlelength=2.6)
    return figure
