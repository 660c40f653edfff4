"""The figures of the notebooks `battling` and `battling_settings`."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from analysis.measures.flood import LATENCY, SILENT, TOTAL
from analysis.plots.style import Palette, look
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
    """A column per experiment, a row per quantity: one mark a qdisc with its 95 % interval.

    `table` is from battling.summarised by experiment, era, cc and qdisc; `titles` are those of the
    experiments, `shown` their two quantities, `families` is from battling.families. The first
    setting is filled, others are hollow. Latencies are on a log axis.
    """
    height = 1.3 + 0.34 * table["qdisc"].nunique()
    width = max(5.6, 3.6 * len(titles))
    figure = Figure(figsize=(width, 2 * height), layout="constrained")
    panels = figure.subplots(2, len(titles), squeeze=False)
    for column, (experiment, title) in enumerate(titles.items()):
        here = table[table["experiment"] == experiment]
        shown_here = set(here["qdisc"].astype(str))
        qdiscs = [one for one in in_families(families) if one in shown_here][::-1]
        for row, quantity in enumerate(shown[experiment]):
            axes = panels[row][column]
            values = here[here["quantity"] == quantity]
            axes.set_xlim(*_limits(table, quantity))
            if quantity == LATENCY:
                axes.set_xscale("log")
                axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
                axes.xaxis.set_minor_formatter(NullFormatter())
            for place, setting in enumerate(settings):
                _marks(axes, of_setting(values, setting), qdiscs, families, palette, place)
            axes.set_xlabel(AXES[quantity], fontsize=10)
            axes.set_ylim(-0.6, len(qdiscs) - 0.4)
            names = [_named(qdisc, families) for qdisc in qdiscs]
            axes.set_yticks(range(len(qdiscs)), names if column == 0 else [])
            for tick, name in zip(axes.get_yticklabels(), qdiscs, strict=False):
                tick.set_color(palette.color(families[name][0]))
            axes.tick_params(axis="y", length=0)
        panels[0][column].set_title(title, fontsize=11, color=palette.soft, loc="left")
    if len(settings) > 1:
        handles = [_mark("o", palette.soft, palette, place) for place in range(len(settings))]
        names = [one.title for one in settings]
        figure.legend(handles, names, loc="outside lower left", ncols=len(names))
    return figure


def _named(qdisc: str, families: Families) -> str:
    family, buffer = families[qdisc]
    return f"{family}, {buffer} packets" if buffer else family


def in_families(families: Families) -> list[str]:
    """Families as everywhere, in each the one without a number first, then by buffer."""
    order = in_order({family for family, _ in families.values()})
    return sorted(families, key=lambda name: (order.index(families[name][0]), families[name][1]))


def _limits(table: pd.DataFrame, quantity: str) -> tuple[float, float]:
    """Of the axis of a quantity, the same in all panels; of a latency an interval may go beyond."""
    chosen = table[table["quantity"] == quantity]
    mean = chosen["mean"]
    if quantity == LATENCY:
        return 0.8 * float(mean.min()), 1.5 * float(mean.max())
    if quantity == SILENT:
        return -4, 100
    ends = pd.concat([mean, chosen["ci_low"], chosen["ci_high"]])
    room = 0.05 * float(ends.max() - ends.min())
    return float(ends.min()) - room, float(ends.max()) + room


def _marks(
    axes: Axes,
    values: pd.DataFrame,
    qdiscs: Sequence[str],
    families: Families,
    palette: Palette,
    place: int,
) -> None:
    """The mark and the interval of each qdisc, those of a further setting a little lower."""
    for _, one in values.iterrows():
        y = qdiscs.index(str(one["qdisc"])) - 0.22 * place
        family, _ = families[str(one["qdisc"])]
        color = palette.color(family)
        if np.isfinite(one["ci_low"]):
            low = max(float(one["ci_low"]), axes.get_xlim()[0])
            axes.plot([low, one["ci_high"]], [y, y], color=color, linewidth=1.4, zorder=2)
        mark = _mark(look(family).marker, color, palette, place)
        mark.set_data([one["mean"]], [y])
        axes.add_line(mark)


def _mark(marker: str, color: str, palette: Palette, place: int) -> Line2D:
    return Line2D(
        [], [], marker=marker, markersize=8 if place == 0 else 6.5, linestyle="none",
        markerfacecolor=color if place == 0 else palette.paper,
        markeredgecolor=palette.paper if place == 0 else color,
        markeredgewidth=0.7 if place == 0 else 1.3, zorder=3,
    )  # fmt: skip


def abstract(
    table: pd.DataFrame,
    rows: Sequence[str],
    stated: Mapping[str, tuple[float, float]],
    palette: Palette,
) -> Figure:
    """What the abstract's numbers are in each setting: a panel per number, a line per setting.

    `table` is from battling.summarised by `row`, the setting's name; the first of `rows` is the one
    whose runs the claims are judged on. The band or line is what the abstract says. Numbers that
    compare with a qdisc of which there are no runs have no panel.
    """
    shown = {one: about for one, about in QUANTITIES.items() if one in set(table["quantity"])}
    figure = Figure(figsize=(3.1 * len(shown) + 1.2, 1.6 + 0.36 * len(rows)), layout="constrained")
    panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    order = list(rows)[::-1]
    for axes, (quantity, (title, unit)) in zip(panels, shown.items(), strict=True):
        values = table[table["quantity"] == quantity]
        for _, one in values.iterrows():
            y = order.index(str(one["row"]))
            color = palette.color("fq_codel") if one["row"] == rows[0] else palette.color("codel")
            if np.isfinite(one["ci_low"]):
                axes.plot([one["ci_low"], one["ci_high"]], [y, y], color=color, linewidth=1.5)
            axes.plot(
                one["mean"], y, marker="o", markersize=8, color=color, linestyle="none",
                markeredgecolor=palette.paper, markeredgewidth=0.7, zorder=3,
            )  # fmt: skip
        axes.set_xlim(*_room(values, max(values["mean"].max(), np.nanmax(stated[quantity]))))
        _said(axes, *stated[quantity], palette)
        axes.set_title(_wrapped(title.capitalize()), fontsize=10.5, color=palette.ink, loc="left")
        axes.set_xlabel(unit, fontsize=10)
        axes.set_ylim(-0.6, len(order) - 0.4)
        axes.set_yticks(range(len(order)), order, fontsize=10)
        axes.tick_params(axis="y", length=0)
    return figure


def _room(values: pd.DataFrame, most: float) -> tuple[float, float]:
    """An axis from 0 to beyond `most`, with the intervals of `values` but those of few seeds that
    are wider than all the rest."""
    ends = [1.03 * value for value in values["ci_high"] if value < 2 * most]
    return min(0.0, 1.12 * float(values["mean"].min())), max([1.12 * most, *ends])


def _said(axes: Axes, low: float, high: float, palette: Palette) -> None:
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
    """In two lines, so that titles of neighbours keep apart; the second is empty where one has room
    for all."""
    words = title.split()
    least = max(len(title) / 2, min(len(title), LINE))
    half = next(n for n in range(len(words)) if len(" ".join(words[: n + 1])) >= least)
    return " ".join(words[: half + 1]) + "\n" + " ".join(words[half + 1 :])


def describe_cells(table: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """The text that stands for cells; `table` has one setting."""
    parts = []
    for experiment, title in titles.items():
        here = table[(table["experiment"] == experiment) & (table["quantity"] == LATENCY)]
        of = [f"{row.qdisc} {row.mean:.3g} ms" for row in here.itertuples(index=False)]
        parts.append(f"{title}: {', '.join(of)}")
    return f"Marks of latency and throughput by test and qdisc. Latencies: {'; '.join(parts)}."


def describe_abstract(table: pd.DataFrame, rows: Sequence[str]) -> str:
    """The text that stands for abstract."""
    parts = []
    for row in rows:
        here = table[table["row"] == row]
        of = [f"{one.mean:.3g}" for one in here.itertuples(index=False)]
        parts.append(f"{row}: {', '.join(of)}")
    names = ", ".join(f"{title} in {unit}" for title, unit in QUANTITIES.values())
    return f"Four numbers by setting: {names}. {'; '.join(parts)}."
