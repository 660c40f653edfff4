"""The figure of the notebook `drops`: what the upload's queue drops."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.plots.panels import qdisc_ticks
from analysis.plots.style import Palette
from analysis.runs.order import in_order

from ..measures.drops import SHOWN, UPLOAD, panel

SIZE_INCH: Final = (11.4, 12.2)
HEADROOM: Final = 1.25  # times the highest bar, for the legend
NAMES: Final = {
    "acknowledgment": "ACKs of downloads",
    "upload": "uploads",
    "web_small_1up": "beside one upload",
    "web_small_rrul": "beside RRUL",
    "wait_ms": "all",
    "longest_wait_ms": "the slowest",
}
TITLES: Final = {
    "acks": "RRUL: what is dropped upstream",
    "syn": "The small page: connections that begin late",
    "timeouts": "Four uploads: timeouts of each",
    "row": "Four uploads: timeouts without progress between",
    "together": "Four uploads: losses that come together",
    "probes": "RRUL: probes upstream, and hash collisions",
}


def drops(table: pd.DataFrame, palette: Palette) -> Figure:
    """Six panels, a group of bars a qdisc; `table` is from drops.read_drops, of one link."""
    figure = Figure(figsize=SIZE_INCH, layout="constrained")
    for axes, name in zip(figure.subplots(3, 2).flat, SHOWN, strict=True):
        _bars(axes, panel(table, name), palette)
        axes.set_title(TITLES[name], fontsize=11, color=palette.soft, loc="left")
        label = SHOWN[name].label
        axes.set_ylabel(label[:1].upper() + label[1:], fontsize=10)
    return figure


def _bars(axes: Axes, cells: pd.DataFrame, palette: Palette) -> None:
    qdiscs = in_order(list(cells["qdisc"]))
    groups = sorted(set(cells["group"]), key=_order)
    width = 0.84 / max(1, len(groups))
    shades = np.linspace(0.3, 0.95, max(2, len(groups)))[: len(groups)]
    known = {(row.qdisc, row.group): row for row in cells.itertuples(index=False)}
    for place, qdisc in enumerate(qdiscs):
        color = palette.color(qdisc)
        for number, group in enumerate(groups):
            one = known.get((qdisc, group))
            if one is None:
                continue
            x = place + width * (number - (len(groups) - 1) / 2)
            mean, std = float(str(one.mean)), float(str(one.std))
            face = (color, float(shades[number]))
            axes.bar(x, mean, 0.92 * width, color=face, edgecolor=color, linewidth=0.7)
            if np.isfinite(std):
                axes.errorbar(
                    x, mean, [[min(std, mean)], [std]], color=palette.ink, linewidth=1, capsize=2
                )
    qdisc_ticks(axes, qdiscs, palette)
    axes.set_ylim(0, HEADROOM * axes.get_ylim()[1])
    handles = [
        Patch(facecolor=(palette.soft, float(shade)), edgecolor=palette.soft) for shade in shades
    ]
    axes.legend(
        handles, [_title(group) for group in groups], fontsize=9, loc="upper right",
        ncols=2 if len(groups) > 2 else 1,  # no higher than the room for it
    )  # fmt: skip


def _title(group: str) -> str:
    return NAMES.get(group, group.removeprefix(UPLOAD))


def _order(group: str) -> tuple[float, str]:
    """Round trips by length, anything else by name."""
    words = group.removeprefix(UPLOAD).split()
    return (float(words[0]) if words[0].isdigit() else 0.0, group)


def describe_drops(table: pd.DataFrame, qdiscs: Sequence[str] = ("pfifo_fast", "ared")) -> str:
    """The text that stands for drops."""
    parts = []
    for name in SHOWN:
        cells = panel(table, name)
        values = [
            f"{row.qdisc} {_title(str(row.group))} {row.mean:.3g}"
            for row in cells[cells["qdisc"].isin(qdiscs)].itertuples(index=False)
        ]
        parts.append(f"{SHOWN[name].label}: {', '.join(values)}")
    return f"Six bar charts of what the upload's queue drops. {'; '.join(parts)}."
