"""The figure of the notebook `spread`: what differs between the seeds of one link."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import blended_transform_factory

from analysis.errors import require_positive
from analysis.plots.style import Palette, look
from analysis.runs.flentfile import Floats
from analysis.runs.order import in_order

SIZE_INCH = (7.6, 5.6)
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
    """Four panels, a row per qdisc: do seeds repeat one trace, do flows go in step, when do they
    start, how far apart are the runs' means.

    The tables are from `spread.pairs`, `lock_step`, `flow_starts` and `spread_of_means`;
    `jitter_ms` is the declared start jitter.
    """
    require_positive("jitter_ms", jitter_ms)
    figure = Figure(figsize=SIZE_INCH, layout="constrained")
    grid = figure.subplots(2, 2)
    qdiscs = in_order(list(means["qdisc"].astype(str)))
    _correlations(grid[0][0], couples, qdiscs, palette)
    _together(grid[0][1], together, qdiscs, palette)
    _means(grid[1][0], means, qdiscs, palette)
    _starts(grid[1][1], starts, palette, jitter_ms)
    return figure


def describe_seed_spread(table: pd.DataFrame, link: str) -> str:
    """The text that stands for the figure; `table` is from spread.summary."""
    lines = [
        f"{row.qdisc} {row.distinct} distinct traces of {row.n_seeds}, median correlation "
        f"{row.correlation:.2f}, standard deviation of the mean latency {row.sd_latency_ms:.3g} ms"
        for row in table.itertuples(index=False)
    ]
    return (
        f"Four panels about the spread over seeds at {link} Mbit/s: correlation of latencies "
        "between seeds, correlation of goodputs between flows, standard deviation of the runs' "
        f"means, start times of flows. {'; '.join(lines)}."
    )


def _correlations(axes: Axes, couples: pd.DataFrame, qdiscs: list[str], palette: Palette) -> None:
    for row, qdisc in enumerate(qdiscs):
        values = couples.loc[couples["qdisc"] == qdisc, "correlation"].dropna().to_numpy()
        axes.plot(
            values, row + _jitter(values.size), linestyle="none", marker=look(qdisc).marker,
            markersize=5, markerfacecolor=(palette.color(qdisc), 0.55), markeredgewidth=0,
        )  # fmt: skip
    _reference(axes, 0, "none", palette)
    _reference(axes, 1, "one trace", palette)
    axes.set_xlim(min(-0.5, couples["correlation"].min() - 0.05), 1.08)
    _rows(axes, qdiscs, palette, "Correlation of latency, pairs of seeds")


def _together(axes: Axes, together: pd.DataFrame, qdiscs: list[str], palette: Palette) -> None:
    for row, qdisc in enumerate(qdiscs):
        color = palette.color(qdisc)
        for kind, shift, face in (
            ("tcp_download", -DODGE, color),
            ("tcp_upload", DODGE, palette.paper),
        ):
            chosen = (together["qdisc"] == qdisc) & (together["kind"] == kind)
            values = together.loc[chosen, "correlation"].dropna().to_numpy()
            axes.plot(
                values, np.full(values.size, row + shift), linestyle="none",
                marker=look(qdisc).marker, markersize=4.5, markerfacecolor=face,
                markeredgecolor=color, markeredgewidth=0.9,
            )  # fmt: skip
    _reference(axes, -1 / 3, "shared", palette)
    _reference(axes, 1, "lock step", palette)
    axes.set_xlim(min(-0.5, together["correlation"].min() - 0.05), 1.08)
    _rows(axes, qdiscs, palette, "Correlation of goodput, flows of a run\n(filled: download)")


def _means(axes: Axes, means: pd.DataFrame, qdiscs: list[str], palette: Palette) -> None:
    known = means[means["sd_latency_ms"] > 0].set_index("qdisc")
    for row, qdisc in enumerate(qdiscs):
        if qdisc not in known.index:
            continue
        names = ("sd_low_ms", "sd_latency_ms", "sd_high_ms")
        low, middle, high = (float(known[name].loc[qdisc]) for name in names)
        color = palette.color(qdisc)
        axes.plot([low, high], [row, row], color=color, linewidth=1.6, solid_capstyle="round")
        axes.plot(
            middle, row, marker=look(qdisc).marker, markersize=7, color=color,
            markeredgecolor=palette.paper, markeredgewidth=0.7,
        )  # fmt: skip
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
        linestyle=(0, (4, 3)),
    )  # fmt: skip
    axes.set_xlim(-0.02 * jitter_ms, max(1.1 * jitter_ms, float(late.max(initial=0)) * 1.05))
    axes.set_ylim(0, 1.03)
    axes.set_ylabel("Share of flows", fontsize=10)
    axes.set_xlabel("Start after the run's first flow (ms)\n(dashed: as declared)", fontsize=10)
    axes.tick_params(labelsize=9)


def _expected_late(x: Floats, flows: int) -> Floats:
    """How many of `flows` uniform starts in [0, 1] are at most `x` after the first: the share."""
    # The first is at 0; another is within x of the least of n uniform values.
    least = np.linspace(0, 1, 400)
    density = flows * (1 - least) ** (flows - 1)
    within = np.minimum(x[:, None], 1 - least) / np.maximum(1 - least, 1e-9)
    others = np.trapezoid(within * density, least, axis=1)
    return np.asarray((1 + (flows - 1) * others) / flows, dtype=np.float64)


def _rows(axes: Axes, qdiscs: list[str], palette: Palette, label: str) -> None:
    axes.set_ylim(len(qdiscs) - 0.5, -0.5)
    axes.set_yticks(range(len(qdiscs)), qdiscs, fontsize=9.5)
    for tick, qdisc in zip(axes.get_yticklabels(), qdiscs, strict=True):
        tick.set_color(palette.color(qdisc))
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=9)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(label, fontsize=10)


def _reference(axes: Axes, x: float, text: str, palette: Palette) -> None:
    axes.axvline(x, color=palette.soft, linewidth=1, linestyle=(0, (4, 3)), zorder=0.5)
    axes.text(
        x, 1.01, text, transform=blended_transform_factory(axes.transData, axes.transAxes),
        ha="center", va="bottom", fontsize=9, color=palette.soft,
    )  # fmt: skip


def _jitter(n: int) -> Floats:
    """The same small offsets for every drawing."""
    return np.asarray(0.22 * np.sin(2.4 * np.arange(n)), dtype=np.float64)
