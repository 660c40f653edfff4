"""The figures of the notebook `superpackets`: what a queue of superpackets does."""

from collections.abc import Mapping
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from analysis.plots.panels import hollow
from analysis.plots.style import Palette, look
from analysis.runs.order import in_order

from .measures import QUANTITIES, SIZES

HEADROOM: Final = 1.06  # times the highest mean
LABELS: Final = dict(
    zip(
        QUANTITIES,
        (
            "Induced latency (ms)",
            "Largest that waited (kB)",
            "Marked and dropped, packets",
            "Upload (Mbit/s)",
        ),
        strict=True,
    )
)


def cells(table: pd.DataFrame, palette: Palette) -> Figure:
    """A panel per quantity, in it a line per qdisc and pacing, from single packets to large ones.

    `table` is from superpackets.by_cell. Filled markers have senders that pace, hollow ones senders
    that do not.
    """
    qdiscs = in_order(list(table["qdisc"].unique()))
    figure = Figure(figsize=(3.1 * len(QUANTITIES), 3.6), layout="constrained")
    for axes, quantity in zip(figure.subplots(1, len(QUANTITIES)), QUANTITIES, strict=True):
        here = table[table["quantity"] == quantity]
        for (qdisc, pacing), part in here.groupby(["qdisc", "pacing"], observed=True):
            place = qdiscs.index(str(qdisc)) + (-0.32 if pacing == "paced" else 0.1)
            means = part.set_index("packets")["mean"].reindex(SIZES)
            xs = [place + 0.11 * step for step in range(len(SIZES))]
            color, marker = palette.color(str(qdisc)), look(str(qdisc)).marker
            axes.plot(xs, means, color=color, linewidth=1)
            for x, mean in zip(xs, means, strict=True):
                if pacing == "paced":
                    axes.plot(x, mean, color=color, marker=marker, markersize=6)
                else:
                    hollow(axes, x, mean, marker, color, palette)
        axes.set_xticks(range(len(qdiscs)), qdiscs, rotation=20)
        axes.set_xlim(-0.5, len(qdiscs) - 0.5)
        axes.set_ylim(0, HEADROOM * float(here["mean"].max()))
        axes.set_ylabel(LABELS[quantity])
    return figure


def sizes(waiting: Mapping[str, pd.DataFrame], palette: Palette) -> Figure:
    """The mean size of a waiting packet over time, a line per run.

    `waiting` has by a name what superpackets.upstream gives of a run.
    """
    figure = Figure(figsize=(7.6, 2.6), layout="constrained")
    axes = figure.subplots()
    colors = map(palette.color, ("ared", "fq_codel", "codel"))  # three that differ most
    for (name, table), color in zip(waiting.items(), colors, strict=False):
        busy = table[table["backlog_packets"] > 0]
        size_kb = busy["backlog_bytes"] / busy["backlog_packets"] / 1e3
        axes.plot(busy["time_s"], size_kb, color=color, linewidth=0.7, label=name)
    axes.set(xlabel="Time (s)", ylabel="Size (kB)", yscale="log")
    axes.yaxis.set_major_formatter("{x:g}")
    figure.legend(loc="outside right upper")
    return figure


def describe(table: pd.DataFrame) -> str:
    """The figure in sentences."""
    latency = table[table["quantity"] == QUANTITIES[0]]
    parts = [
        f"{row.qdisc}, {row.packets}, {row.pacing} {row.mean_ms:.3g}"
        for row in latency.rename(columns={"mean": "mean_ms"}).itertuples()
    ]
    return f"Induced latency in ms: {'; '.join(parts)}."
