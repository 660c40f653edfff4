"""The figures of the notebook `superpackets`: what a queue of superpackets does."""

from collections.abc import Mapping
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from analysis.plots.marks import point
from analysis.plots.panels import log_axis, panels
from analysis.plots.style import Palette
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
    """Draw a panel per quantity, in it a line per qdisc and pacing, from single packets on.

    `table` is from superpackets.by_cell. Filled markers have senders that pace, hollow ones senders
    that do not.
    """
    qdiscs = in_order(list(table["qdisc"].unique()))
    figure, axes_of = panels(3.1 * len(QUANTITIES), 3.6, columns=len(QUANTITIES))
    for axes, quantity in zip(axes_of[0], QUANTITIES, strict=True):
        shown = table[table["quantity"] == quantity]
        for (qdisc, pacing), part in shown.groupby(["qdisc", "pacing"], observed=True):
            place = qdiscs.index(str(qdisc)) + (-0.32 if pacing == "paced" else 0.1)
            means = part.set_index("packets")["mean"].reindex(SIZES)
            xs = [place + 0.11 * step for step in range(len(SIZES))]
            axes.plot(xs, means, color=palette.color(str(qdisc)), linewidth=1)
            for x, mean in zip(xs, means, strict=True):
                paced = pacing == "paced"
                point(axes, x, mean, str(qdisc), palette, filled=paced, size=7.5 if paced else 6)
        axes.set_xticks(range(len(qdiscs)), qdiscs, rotation=20)
        axes.set(xlim=(-0.5, len(qdiscs) - 0.5), ylabel=LABELS[quantity])
        axes.set_ylim(0, HEADROOM * float(shown["mean"].max()))
    return figure


def sizes(waiting: Mapping[str, pd.DataFrame], palette: Palette) -> Figure:
    """Draw the mean size of a waiting packet over time, a line per run.

    `waiting` has by a name what superpackets.upstream gives of a run.
    """
    figure, ((axes,),) = panels(7.6, 2.6)
    colors = map(palette.color, ("ared", "fq_codel", "codel"))  # three that differ most
    for (name, table), color in zip(waiting.items(), colors, strict=False):
        busy = table[table["backlog_packets"] > 0]
        size_kb = busy["backlog_bytes"] / busy["backlog_packets"] / 1e3
        axes.plot(busy["time_s"], size_kb, color=color, linewidth=0.7, label=name)
    axes.set(xlabel="Time (s)", ylabel="Size (kB)")
    log_axis(axes.yaxis)
    figure.legend(loc="outside right upper")
    return figure
