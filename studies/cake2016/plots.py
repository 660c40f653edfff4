"""The figures of the notebook `superpackets`: what a queue of superpackets does."""

from collections.abc import Mapping
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from qdisclab.analysis.plots.panels import log_axis, panels
from qdisclab.analysis.plots.rows import dots
from qdisclab.analysis.plots.style import Palette

from .measures import QUANTITIES, SIZES

LABELS: Final = {
    "icmp_induced_mean_ms": "Induced latency (ms)",
    "largest_kb": "Largest that waited (kB)",
    "marks_and_drops": "Marked and dropped, packets",
    "up_goodput_mbit_s": "Upload (Mbit/s)",
}


def cells(table: pd.DataFrame, palette: Palette) -> Figure:
    """Draw a panel per quantity, in it a row per size of packets, single ones first.

    `table` is from superpackets.by_cell; lines reach from the least to the greatest of the seeds.
    """
    drawn = table.rename(columns={"packets": "row", "low": "ci_low", "high": "ci_high"})
    drawn = drawn.assign(filled=drawn["pacing"] == "paced")
    about = ("senders that pace", "senders that do not")
    return dots(drawn, SIZES, QUANTITIES, palette, LABELS, about=about)


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
