"""The figures of the notebooks `battling` and `battling_settings`."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.measures.flood import LATENCY, SILENT, TOTAL
from analysis.plots.marks import point, points
from analysis.plots.panels import fill_legend, log_axis, name_rows, panels
from analysis.plots.style import Palette
from analysis.runs.order import in_order
from analysis.runs.settings import Setting, of_setting

from .measures import QUANTITIES

Families = Mapping[str, tuple[str, int]]

LINE: Final = 21  # letters of a title that a panel has room for
AXES: Final = {
    LATENCY: "Round trip under load (ms)",
    TOTAL: "Goodput, both directions (Mbit/s)",
    SILENT: "Steps without an answer (%)",
}


def cells(
    table: pd.DataFrame,
    titles: Mapping[str, str],
    shown: Mapping[str, Sequence[str]],
    settings: Sequence[Setting],
    families: Families,
    palette: Palette,
) -> Figure:
    """Draw a column per experiment, a row per quantity: one mark a qdisc with its 95 % interval.

    `table` is from battling.summarised by experiment, era, cc and qdisc; `titles` are those of the
    experiments, `shown` their two quantities, `families` is from battling.families. The first
    setting is filled, others are hollow. Latencies are on a log axis.
    """
    height = 1.3 + 0.34 * table["qdisc"].nunique()
    width = max(5.6, 3.6 * len(titles))
    figure, axes_of = panels(width, 2 * height, 2, len(titles))
    for column, (experiment, title) in enumerate(titles.items()):
        cells = table[table["experiment"] == experiment]
        present = set(cells["qdisc"].astype(str))
        qdiscs = [qdisc for qdisc in in_families(families) if qdisc in present]
        colors = [palette.color(families[qdisc][0]) for qdisc in qdiscs]
        for row, quantity in enumerate(shown[experiment]):
            axes = axes_of[row, column]
            low, high = _limits(table, quantity)
            for place, setting in enumerate(settings):
                values = of_setting(cells[cells["quantity"] == quantity], setting)
                for cell in values.to_dict("records"):
                    y = qdiscs.index(cell["qdisc"]) + 0.22 * place
                    interval = (max(cell["ci_low"], low), cell["ci_high"])
                    known = interval if np.isfinite(cell["ci_low"]) else None
                    point(axes, cell["mean"], y, families[cell["qdisc"]][0], palette,
                          interval=known, filled=place == 0, size=8 - 1.5 * place)  # fmt: skip
            if quantity == LATENCY:
                log_axis(axes.xaxis)
            axes.set_xlim(low, high)
            axes.set_xlabel(AXES[quantity], fontsize=10)
            names = [_named(qdisc, families) if column == 0 else "" for qdisc in qdiscs]
            name_rows(axes, names, palette, colors)
        axes_of[0, column].set_title(title)
    if len(settings) > 1:
        fill_legend(figure, palette, *(setting.title for setting in settings))
    return figure


def _named(qdisc: str, families: Families) -> str:
    family, buffer = families[qdisc]
    return f"{family}, {buffer} packets" if buffer else family


def in_families(families: Families) -> list[str]:
    """Sort families as everywhere, in each the one without a number first, then by buffer."""
    order = in_order({family for family, _ in families.values()})
    return sorted(families, key=lambda name: (order.index(families[name][0]), families[name][1]))


def _limits(table: pd.DataFrame, quantity: str) -> tuple[float, float]:
    """Return the ends of the axis of a quantity; beyond those of a latency an interval may go."""
    chosen = table[table["quantity"] == quantity]
    mean = chosen["mean"]
    if quantity == LATENCY:
        return 0.8 * float(mean.min()), 1.5 * float(mean.max())
    if quantity == SILENT:
        return -4, 100
    ends = pd.concat([mean, chosen["ci_low"], chosen["ci_high"]])
    room = 0.05 * float(ends.max() - ends.min())
    return float(ends.min()) - room, float(ends.max()) + room


def abstract(
    table: pd.DataFrame,
    rows: Sequence[str],
    stated: Mapping[str, tuple[float, float]],
    palette: Palette,
) -> Figure:
    """Draw the abstract's numbers in each setting: a panel per number, a row per setting.

    `table` is from battling.summarised by `row`, the setting's name; the first of `rows` is the one
    whose runs the claims are judged on. The band or line is what the abstract says. Numbers that
    compare with a qdisc of which there are no runs have no panel.
    """
    measured = set(table["quantity"])
    shown = {name: about for name, about in QUANTITIES.items() if name in measured}
    size = (3.1 * len(shown) + 1.2, 1.6 + 0.36 * len(rows))
    figure, axes_of = panels(*size, columns=len(shown), sharey=True)
    for axes, (quantity, (title, unit)) in zip(axes_of[0], shown.items(), strict=True):
        values = table[table["quantity"] == quantity]
        for row, qdisc in zip(rows, ["fq_codel", *["codel"] * len(rows)], strict=False):
            cells = values[values["row"] == row].assign(qdisc=qdisc)
            points(axes, cells, rows, [qdisc], palette, size=8, marker="o")
        name_rows(axes, rows, palette, [palette.soft] * len(rows))
        axes.set_xlim(*_room(values, max(values["mean"].max(), np.nanmax(stated[quantity]))))
        _state(axes, *stated[quantity], palette)
        axes.set_title(_wrapped(title.capitalize()), fontsize=10.5, color=palette.ink)
        axes.set_xlabel(unit, fontsize=10)
    return figure


def _room(values: pd.DataFrame, most: float) -> tuple[float, float]:
    """Return an axis from 0 to beyond `most`, with the intervals of `values` except those of few
    seeds that are wider than all the rest."""
    ends = [1.03 * value for value in values["ci_high"] if value < 2 * most]
    return min(0.0, 1.12 * float(values["mean"].min())), max([1.12 * most, *ends])


def _state(axes: Axes, low: float, high: float, palette: Palette) -> None:
    """Mark what is stated: a line for a number, a band for a range."""
    color = palette.color("ared")
    if low == high:
        axes.axvline(low, color=color, linewidth=2, zorder=1)
        return
    left, right = axes.get_xlim()
    axes.axvspan(
        left if np.isnan(low) else low, right if np.isnan(high) else high,
        color=color, alpha=0.25, linewidth=0, zorder=0,
    )  # fmt: skip
    axes.set_xlim(left, right)


def _wrapped(title: str) -> str:
    """Break a title in two lines, so that those of neighbours keep apart; the second is empty where
    one has room for all."""
    words = title.split()
    least = max(len(title) / 2, min(len(title), LINE))
    half = next(n for n in range(len(words)) if len(" ".join(words[: n + 1])) >= least)
    return " ".join(words[: half + 1]) + "\n" + " ".join(words[half + 1 :])
