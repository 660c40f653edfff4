"""The figure of the notebook `drops`: what the upload's queue drops."""

from collections.abc import Sequence
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from qdisclab.analysis.plots.marks import bars, shade_handles
from qdisclab.analysis.plots.panels import panels, qdisc_ticks
from qdisclab.analysis.plots.style import Palette
from qdisclab.analysis.runs.order import in_order

from ..measures.drops import SHOWN, UPLOAD, panel

NAMES: Final = {
    "acknowledgment": "ACKs of downloads",
    "upload": "uploads",
    "web_small_1up": "beside one upload",
    "web_small_rrul": "beside RRUL",
    "wait_ms": "all",
    "longest_wait_ms": "the slowest",
}


def drops(table: pd.DataFrame, palette: Palette) -> Figure:
    """Draw six panels, a group of bars per qdisc; `table` is from drops.read_drops, of one link."""
    figure, axes_of = panels(11.4, 12.2, 3, 2)
    for axes, name in zip(axes_of.flat, SHOWN, strict=True):
        cells = panel(table, name)
        groups = sorted(set(cells["group"]), key=_order)
        keys = zip(cells["qdisc"], cells["group"], strict=True)
        values = dict(zip(keys, zip(cells["mean"], cells["std"], strict=True), strict=True))
        qdiscs = in_order(list(cells["qdisc"]))
        bars(axes, values, qdiscs, groups, palette)
        qdisc_ticks(axes, qdiscs, palette)
        axes.set_ylim(0, 1.25 * axes.get_ylim()[1])  # room for the legend
        handles = [*shade_handles(groups, palette).values()]
        axes.legend(
            handles, [_title(group) for group in groups], fontsize=9, loc="upper right",
            ncols=2 if len(groups) > 2 else 1,  # no higher than the room for it
        )  # fmt: skip
        axes.set_title(SHOWN[name].title)
        label = SHOWN[name].label
        axes.set_ylabel(label[:1].upper() + label[1:], fontsize=10)
    return figure


def named(table: pd.DataFrame, qdiscs: Sequence[str] = ("pfifo_fast", "ared")) -> pd.DataFrame:
    """Return what all panels show of some qdiscs, with `label` and `group` as they are printed."""
    cells = [panel(table, name).assign(label=SHOWN[name].label) for name in SHOWN]
    rows = pd.concat(cells, ignore_index=True)
    return rows[rows["qdisc"].isin(qdiscs)].assign(group=rows["group"].map(_title))


def _title(group: str) -> str:
    return NAMES.get(group, group.removeprefix(UPLOAD))


def _order(group: str) -> tuple[float, str]:
    """Return a key that sorts round trips by length, anything else by name."""
    words = group.removeprefix(UPLOAD).split()
    return (float(words[0]) if words[0].isdigit() else 0.0, group)
