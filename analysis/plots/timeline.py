"""Runs over time, side by side."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from qdisclab.analysis.errors import require_positive, require_several
from qdisclab.analysis.measures import measured, timeline
from qdisclab.analysis.plots.marks import DASHED
from qdisclab.analysis.plots.panels import log_axis, panels
from qdisclab.analysis.plots.style import Palette
from qdisclab.analysis.runs.dataset import RunFile

PANEL_INCH: Final = (3.2, 1.9)
ACROSS: Final = 4  # runs side by side: a page shrinks what is wider
STEPS: Final = 150  # of a curve in a page
WIDE: Final = 10  # largest by smallest round trip: on a linear axis short ones would lie on it

LABELS: Final = {
    "goodput_mbit_s": "Goodput (Mbit/s)",
    "rtt_ms": "RTT of pings (ms)",
    "cwnd_packets": "Window (packets)",
    "inflight_packets": "In flight (packets)",
    "srtt_ms": "Smoothed RTT (ms)",
    "sojourn_ms": "Sojourn time (ms)",
    "sent_mbit_s": "Left the queue (Mbit/s)",
}
"""Quantities that can be drawn over time."""


def over_time(
    runs: Mapping[str, RunFile],
    quantities: Sequence[str],
    palette: Palette,
    until_s: float | None = None,
) -> Figure:
    """Draw a column per run, by its name, and a row per quantity of LABELS.

    Of more runs than ACROSS some are below the others, with the same axes. What a testbed did not
    measure is left out.

    Connections of one congestion control at one host are one line: the sum of their goodputs in
    each half second, the mean of their windows. Packets of a queue are a line per class. The dashed
    line is the link's rate, where a program changes it. `until_s` ends the axis of time. Raise
    DataError for another quantity.
    """
    require_several("quantities", quantities, LABELS)
    if until_s is not None:
        require_positive("until_s", until_s)
    colors = (palette.ink, palette.color("codel"), palette.color("pie"), palette.soft)
    blocks = -(-len(runs) // ACROSS)
    across, rows = -(-len(runs) // blocks), blocks * len(quantities)
    size = (1 + PANEL_INCH[0] * across, 0.7 + PANEL_INCH[1] * rows)
    figure, grid = panels(*size, rows, across, sharex=True, sharey="row")
    blocks_of = grid.reshape(blocks, len(quantities), across)
    for place, (name, run) in enumerate(runs.items()):
        block, column = divmod(place, across)
        link = timeline.link(run)
        blocks_of[block, 0, column].set_title(name)
        for axes, quantity in zip(blocks_of[block, :, column], quantities, strict=True):
            lines = _lines(run, quantity)
            for (label, values), color in zip(lines.items(), cycle(colors), strict=False):
                axes.plot(values.index, values, color=color, linewidth=0.9, label=label)
            if quantity == "goodput_mbit_s" and len(link):
                rate = link.set_index("time_s")["rate_mbit_s"]
                end_s = max(timeline.pings(run)["time_s"].max(), rate.index[-1])
                rate[end_s] = rate.iloc[-1]  # which holds until then
                axes.step(rate.index, rate, where="post", color=palette.soft, linestyle=DASHED,
                          linewidth=0.8, zorder=1)  # fmt: skip
            axes.set_xlim(0, until_s)
        blocks_of[block, -1, column].set_xlabel("Time (s)")
        blocks_of[block, -1, column].tick_params(labelbottom=True)
    for axes in blocks_of[-1, :, column + 1 :].flat:  # behind the last run
        axes.set_visible(False)
    for row, quantity in enumerate(quantities):
        shown = blocks_of[:, row].flatten()
        top = max(axes.get_ylim()[1] for axes in shown)  # once all of it is drawn
        least = min(axes.dataLim.y0 for axes in shown)
        wide = quantity == "rtt_ms" and top > WIDE * least
        for axes in blocks_of[:, row, 0]:
            if wide:
                log_axis(axes.yaxis, (1, 2, 5))
            axes.set_ylim(least / 1.5 if wide else 0, top)
            axes.set_ylabel(LABELS[quantity], fontsize=10)
        first = blocks_of[0, row, 0]
        if len(first.get_legend_handles_labels()[1]) > 1:
            first.legend(fontsize=8, frameon=False, loc="best")
    return figure


def curves(runs: Mapping[str, RunFile], quantities: Sequence[str]) -> pd.DataFrame:
    """Return what `over_time` draws, as means in at most STEPS steps: what, line, quantity,
    time_s, mean. Raise DataError for another quantity."""
    require_several("quantities", quantities, LABELS)
    parts = []
    for what, run in runs.items():
        for quantity in quantities:
            for line, values in _lines(run, quantity).items():
                step_s = max(0.05, float(f"{values.index.max() / STEPS:.1g}"))
                means = values.groupby(values.index // step_s * step_s).mean()
                about = {"what": what, "line": line, "quantity": LABELS[quantity]}
                parts.append(pd.DataFrame({**about, "time_s": means.index, "mean": means.values}))
    return pd.concat(parts)


def _lines(run: RunFile, quantity: str) -> dict[str, pd.Series]:
    if measured.is_testbed(run):
        return timeline.reported(run, quantity)
    if quantity == "rtt_ms":
        series = timeline.pings(run).set_index("time_s").groupby("program")[quantity]
        return {str(program): values for program, values in series}
    if quantity in ("sojourn_ms", "sent_mbit_s"):
        return timeline.queue(run, quantity)
    return _connections(timeline.connections(run), quantity)


def _connections(flows: pd.DataFrame, quantity: str) -> dict[str, pd.Series]:
    """Return a quantity of connections over time, by congestion control, and node where two have
    the same: the sum of goodputs in bins, the mean of anything else at each sample."""
    lines = {}
    groups = {(str(node), str(cc)): flow for (node, cc), flow in flows.groupby(["node", "cc"])}
    ccs = [cc for _, cc in groups]
    for (node, cc), flow in groups.items():
        if quantity == "goodput_mbit_s":
            bins = (flow["time_s"] // timeline.BIN_S + 0.5) * timeline.BIN_S
            means = flow.groupby(["local_port", bins])[quantity].mean()
            values = means.groupby(level="time_s").sum()
        else:
            values = flow.groupby("time_s")[quantity].mean()
        lines[cc if ccs.count(cc) == 1 else f"{cc} from {node}"] = values
    return lines
