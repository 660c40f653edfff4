"""The figures of notebooks/timeline.ipynb: runs over time, side by side."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.errors import require_positive, require_several
from analysis.measures import timeline
from analysis.plots.panels import DASHED
from analysis.plots.style import Palette
from analysis.runs.dataset import RunFile

PANEL_INCH: Final = (3.2, 1.9)
ACROSS: Final = 4  # runs side by side: a page shrinks what is wider
BIN_S: Final = 0.5  # of a goodput

LABELS: Final = {
    "goodput_mbit_s": "Goodput (Mbit/s)",
    "rtt_ms": "RTT of pings (ms)",
    "cwnd_packets": "Window (packets)",
    "inflight_packets": "In flight (packets)",
    "srtt_ms": "Smoothed RTT (ms)",
}
"""Quantities that can be drawn over time."""


def over_time(
    runs: Mapping[str, RunFile],
    quantities: Sequence[str],
    palette: Palette,
    until_s: float | None = None,
) -> Figure:
    """A column per run, by its name, and a row per quantity of LABELS; of more runs than ACROSS
    some are below the others, with the same axes.

    Connections of one congestion control at one host are one line: the sum of their goodputs in
    each half second, the mean of their windows. The dashed line is the link's rate, where a program
    changes it. `until_s` ends the axis of time. Raises DataError for another quantity.
    """
    require_several("quantities", quantities, LABELS)
    if until_s is not None:
        require_positive("until_s", until_s)
    blocks = -(-len(runs) // ACROSS)
    across, rows = -(-len(runs) // blocks), blocks * len(quantities)
    size = (1 + PANEL_INCH[0] * across, 0.7 + PANEL_INCH[1] * rows)
    figure = Figure(figsize=size)
    figure.set_layout_engine("constrained", wspace=0.04)  # the ends of two axes are two numbers
    grid = figure.subplots(rows, across, sharex=True, sharey="row", squeeze=False)
    panels = grid.reshape(blocks, len(quantities), across)
    for place, (name, run) in enumerate(runs.items()):
        block, column = divmod(place, across)
        replies, flows, link = timeline.pings(run), timeline.connections(run), timeline.link(run)
        panels[block, 0, column].set_title(name, fontsize=11, color=palette.soft, loc="left")
        for axes, quantity in zip(panels[block, :, column], quantities, strict=True):
            if quantity == "rtt_ms":
                _lines(axes, replies.groupby("program"), quantity, palette, None)
            else:
                _lines(axes, flows.groupby(["node", "cc"]), quantity, palette, _MERGED[quantity])
            if quantity == "goodput_mbit_s" and len(link):
                rate = link.set_index("time_s")["rate_mbit_s"]
                end_s = max(replies["time_s"].max(), rate.index[-1])
                rate[end_s] = rate.iloc[-1]  # which holds until then
                axes.step(
                    rate.index, rate, where="post", color=palette.soft,
                    linestyle=DASHED, linewidth=0.8, zorder=1,
                )  # fmt: skip
            axes.set_xlim(0, until_s)
        panels[block, -1, column].set_xlabel("Time (s)")
        panels[block, -1, column].tick_params(labelbottom=True)
    for axes in panels[-1, :, column + 1 :].flat:  # behind the last run
        axes.set_visible(False)
    for row, quantity in enumerate(quantities):
        top = max(axes.get_ylim()[1] for axes in panels[:, row, 0])  # once all of it is drawn
        for axes in panels[:, row, 0]:
            axes.set_ylim(0, top)
            axes.set_ylabel(LABELS[quantity], fontsize=10)
        first = panels[0, row, 0]
        if len(first.get_legend_handles_labels()[1]) > 1:
            first.legend(fontsize=8, frameon=False, loc="best")
    return figure


Merge = Callable[[pd.DataFrame, str], pd.Series]


def _lines(
    axes: Axes,
    groups: Iterable[tuple[Any, pd.DataFrame]],
    quantity: str,
    palette: Palette,
    merge: Merge | None,
) -> None:
    colors = (palette.ink, palette.color("codel"), palette.color("pie"), palette.soft)
    groups = list(groups)
    ccs = [name[-1] for name, _ in groups if isinstance(name, tuple)]
    for place, (name, table) in enumerate(groups):
        label = str(name)
        if isinstance(name, tuple):  # the node that sends, and its congestion control
            label = name[1] if ccs.count(name[1]) == 1 else f"{name[1]} from {name[0]}"
        line = table.set_index("time_s")[quantity] if merge is None else merge(table, quantity)
        color = colors[place % len(colors)]
        axes.plot(line.index, line, color=color, linewidth=0.9, label=label)


def _sums(flows: pd.DataFrame, quantity: str) -> pd.Series:
    """The sum over connections in bins of BIN_S."""
    bins = (flows["time_s"] // BIN_S) * BIN_S + BIN_S / 2
    means = flows.groupby(["local_port", bins])[quantity].mean()
    return means.groupby(level="time_s").sum()


def _means(flows: pd.DataFrame, quantity: str) -> pd.Series:
    """The mean over connections, at each sample."""
    return flows.groupby("time_s")[quantity].mean()


_MERGED: Final[Mapping[str, Merge]] = {
    "goodput_mbit_s": _sums,
    "cwnd_packets": _means,
    "inflight_packets": _means,
    "srtt_ms": _means,
}


def describe(table: pd.DataFrame) -> str:
    """The figure in sentences; `table` is from timeline.per_run."""
    cells = table.groupby(["experiment", "qdisc", "cc"], sort=False)
    means = cells[["rtt_mean_ms", "flow_rtt_ms", "goodput_mbit_s"]].mean().reset_index()
    parts = [
        f"{of['experiment']} {of['qdisc']} {of['cc']}: pings {of['rtt_mean_ms']:.3g} ms, flows "
        f"{of['flow_rtt_ms']:.3g} ms, {of['goodput_mbit_s']:.3g} Mbit/s"
        for of in means.to_dict("records")
    ]
    return f"{'; '.join(parts)}."
