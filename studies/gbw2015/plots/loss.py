"""The figure of the notebook `loss`: losses of VoIP calls beside the printed ones."""

from collections.abc import Sequence
from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.plots.marks import points
from analysis.plots.panels import PANEL_INCH, fill_legend, grid, name_rows, qdisc_legend
from analysis.plots.style import Palette
from analysis.runs.order import in_order
from analysis.runs.settings import Setting, of_setting

FEWEST_PERCENT: Final = 0.001  # of loss; less is drawn here, as none


def losses(
    cells: pd.DataFrame, published: pd.DataFrame, settings: Sequence[Setting], palette: Palette
) -> Figure:
    """Draw VoIP loss of every cell, as gbw2015 Table 2, on a logarithmic scale that ends in "none".

    Both tables have beside (the cross traffic), link and qdisc; `cells` (voip.cell_voip) mean,
    ci_low and ci_high in %, `published` loss_percent. A filled marker is ours with its interval, a
    hollow one the printed value.
    """
    qdiscs = in_order(list(published["qdisc"].astype(str)))
    printed = published.assign(mean=published["loss_percent"], ci_low=float("nan"), filled=False)
    printed = _named(printed.assign(ci_high=float("nan")))
    rows = list(dict.fromkeys(printed["row"]))

    def draw(axes: Axes, setting: Setting) -> None:
        ours = _named(of_setting(cells, setting).assign(filled=True))
        for values in (ours[ours["row"].isin(rows) & ours["qdisc"].isin(qdiscs)], printed):
            points(axes, values, rows, qdiscs, palette, least=FEWEST_PERCENT)
        axes.set(xscale="log", xlim=(FEWEST_PERCENT / 1.8, 100), xlabel="VoIP packets lost (%)")
        ticks = [FEWEST_PERCENT, 0.01, 0.1, 1, 10, 100]
        axes.set_xticks(ticks, ["none", *(f"{tick:g}" for tick in ticks[1:])])
        axes.minorticks_off()
        name_rows(axes, rows, palette)

    figure = grid(settings, palette, draw)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, max(1, round(height / PANEL_INCH[1])) * 6.2)
    qdisc_legend(figure, qdiscs, palette)
    fill_legend(figure, palette, "ours, with 95 % interval", "published")
    return figure


def _named(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(row=table["beside"].astype(str) + "\n" + table["link"].astype(str))
