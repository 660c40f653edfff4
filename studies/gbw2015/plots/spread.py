"""The figure of the notebook `spread`: what differs between the seeds of one link."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qdisclab.analysis.errors import require_positive
from qdisclab.analysis.plots.marks import DASHED, point, reference
from qdisclab.analysis.plots.panels import name_rows, panels
from qdisclab.analysis.plots.style import Palette
from qdisclab.analysis.runs.flentfile import Floats
from qdisclab.analysis.runs.order import in_order

DODGE = 0.16  # of the two directions, in rows


def seed_spread(
    couples: pd.DataFrame,
    together: pd.DataFrame,
    starts: pd.DataFrame,
    means: pd.DataFrame,
    palette: Palette,
    *,
    jitter_ms: float,
) -> Figure:
    """Draw whether seeds repeat one trace, whether flows go in step, when they start, and how far
    apart the means of runs are; a row per qdisc.

    The tables are from `spread.pairs`, `lock_step`, `flow_starts` and `spread_of_means`;
    `jitter_ms` is the declared start jitter.
    """
    require_positive("jitter_ms", jitter_ms)
    figure, grid = panels(7.6, 5.6, 2, 2)
    qdiscs = in_order(list(means["qdisc"].astype(str)))
    _correlations(grid[0][0], couples, qdiscs, palette)
    _together(grid[0][1], together, qdiscs, palette)
    _means(grid[1][0], means, qdiscs, palette)
    _starts(grid[1][1], starts, palette, jitter_ms)
    return figure


def _correlations(axes: Axes, couples: pd.DataFrame, qdiscs: list[str], palette: Palette) -> None:
    for row, qdisc in enumerate(qdiscs):
        values = couples.loc[couples["qdisc"] == qdisc, "correlation"].dropna().to_numpy()
        # the same small offsets for every drawing
        offsets = 0.22 * np.sin(2.4 * np.arange(values.size))
        point(axes, values, row + offsets, qdisc, palette, size=5, alpha=0.55)
    _from_to(axes, couples, {0: "none", 1: "one trace"}, palette)
    _rows(axes, qdiscs, palette, "Correlation of latency, pairs of seeds")


def _together(axes: Axes, together: pd.DataFrame, qdiscs: list[str], palette: Palette) -> None:
    for (qdisc, kind), part in together.groupby(["qdisc", "kind"], observed=True):
        down = kind == "tcp_download"
        values = part["correlation"].dropna().to_numpy()
        rows = np.full(values.size, qdiscs.index(str(qdisc)) + (-DODGE if down else DODGE))
        point(axes, values, rows, str(qdisc), palette, filled=down, size=4.5)
    _from_to(axes, together, {-1 / 3: "shared", 1: "lock step"}, palette)
    _rows(axes, qdiscs, palette, "Correlation of goodput, flows of a run\n(filled: download)")


def _means(axes: Axes, means: pd.DataFrame, qdiscs: list[str], palette: Palette) -> None:
    for cell in means[means["sd_latency_ms"] > 0].to_dict("records"):
        interval = (cell["sd_low_ms"], cell["sd_high_ms"])
        row = qdiscs.index(cell["qdisc"])
        point(axes, cell["sd_latency_ms"], row, cell["qdisc"], palette, interval=interval)
    axes.set_xscale("log")
    axes.grid(visible=False, which="minor")
    label = "Standard deviation of mean latency (ms)\nwith its 95 % interval"
    _rows(axes, qdiscs, palette, label)


def _starts(axes: Axes, starts: pd.DataFrame, palette: Palette, jitter_ms: float) -> None:
    late = np.sort(starts["late_ms"].to_numpy(dtype=np.float64))
    share = np.arange(1, late.size + 1) / max(late.size, 1)
    axes.step(late, share, where="post", color=palette.color("codel"), linewidth=1.8)
    flows = starts.groupby("run", observed=True)["late_ms"].size().median()
    axis = np.linspace(0, jitter_ms, 100)
    axes.plot(
        axis, _expected_late(axis / jitter_ms, int(flows)), color=palette.soft, linewidth=1.2,
        linestyle=DASHED,
    )  # fmt: skip
    axes.set_xlim(-0.02 * jitter_ms, max(1.1 * jitter_ms, float(late.max(initial=0)) * 1.05))
    axes.set_ylim(0, 1.03)
    axes.set_ylabel("Share of flows", fontsize=10)
    axes.set_xlabel("Start after the run's first flow (ms)\n(dashed: as declared)", fontsize=10)
    axes.tick_params(labelsize=9)


def _expected_late(x: Floats, flows: int) -> Floats:
    """Return the share of `flows` uniform starts in [0, 1] that are at most `x` after the first."""
    # The first is at 0; another is within x of the least of n uniform values.
    least = np.linspace(0, 1, 400)
    density = flows * (1 - least) ** (flows - 1)
    within = np.minimum(x[:, None], 1 - least) / np.maximum(1 - least, 1e-9)
    others = np.trapezoid(within * density, least, axis=1)
    return np.asarray((1 + (flows - 1) * others) / flows, dtype=np.float64)


def _rows(axes: Axes, qdiscs: list[str], palette: Palette, label: str) -> None:
    name_rows(axes, qdiscs, palette, [palette.color(qdisc) for qdisc in qdiscs])
    axes.tick_params(axis="x", labelsize=9)
    axes.set_xlabel(label, fontsize=10)


def _from_to(axes: Axes, table: pd.DataFrame, marks: Mapping[float, str], palette: Palette) -> None:
    """Draw the axis of correlations, with values to compare with and what they are above it."""
    axes.set_xlim(min(-0.5, table["correlation"].min() - 0.05), 1.08)
    for x, text in marks.items():
        reference(axes, x, palette, upright=True)
        axes.annotate(text, (x, 1.01), xycoords=("data", "axes fraction"), ha="center",
                      va="bottom", fontsize=9, color=palette.soft)  # fmt: skip
