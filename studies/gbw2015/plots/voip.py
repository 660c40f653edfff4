"""The figure of the notebook `voip`: one-way delay of a VoIP flow."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qdisclab.analysis.errors import require_positive
from qdisclab.analysis.measures.voip import INDUCED
from qdisclab.analysis.plots.marks import line
from qdisclab.analysis.plots.panels import grid, log_axis, qdisc_legend
from qdisclab.analysis.plots.style import Palette
from qdisclab.analysis.runs.order import in_order
from qdisclab.analysis.runs.settings import Setting, of_setting

from ..measures.voip import cumulative

LEAST_MS: Final = 0.02  # where the axis begins


def delay_cdf(
    delays: pd.DataFrame, settings: Sequence[Setting], palette: Palette, *, until_ms: float | None
) -> Figure:
    """Draw the distribution of all samples of all runs: one line per qdisc.

    `delays` is from voip.induced_delays; the axis, logarithmic as qdiscs differ a thousandfold,
    ends at `until_ms`, the paper's, or where 99.5 % of the samples of every qdisc are.
    """
    qdiscs = in_order(list(delays["qdisc"].astype(str)))
    if until_ms is None:
        by = ["era", "cc", "qdisc"]
        until_ms = float(delays.groupby(by, observed=True)[INDUCED].quantile(0.995).max())
    else:
        require_positive("until_ms", until_ms)

    def draw(axes: Axes, setting: Setting) -> None:
        samples = of_setting(delays, setting)
        for place, qdisc in enumerate(qdiscs):
            values = samples.loc[samples["qdisc"] == qdisc, INDUCED].to_numpy()
            if values.size:
                _curve(axes, values, qdisc, palette, place / len(qdiscs))
        log_axis(axes.xaxis)
        axes.set(xlim=(LEAST_MS, until_ms), xlabel="Induced one-way delay (ms)", ylim=(0, 1.01))
        axes.set_ylabel("Cumulative probability")

    figure = grid(settings, delays, draw)
    qdisc_legend(figure, qdiscs, palette)
    return figure


def _curve(axes: Axes, values: np.ndarray, qdisc: str, palette: Palette, offset: float) -> None:
    ms, share = cumulative(values)
    # 400 points of equal steps of probability draw the same line as 20 000 samples
    keep = np.unique(np.linspace(0, ms.size - 1, 400).astype(int))
    every = keep.size / 8  # markers along a curve
    line(
        axes, np.concatenate([[ms[0]], ms[keep], [1e6]]), np.concatenate([[0], share[keep], [1]]),
        qdisc, palette, markevery=(1 + int(every * offset), max(1, round(every))),
    )  # fmt: skip
