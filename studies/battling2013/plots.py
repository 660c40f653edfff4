"""The figures of the notebooks `battling` and `battling_settings`."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from qdisclab.analysis.measures.flood import LATENCY, SILENT, TOTAL
from qdisclab.analysis.plots.rows import dots
from qdisclab.analysis.plots.style import Palette
from qdisclab.analysis.runs.order import in_order
from qdisclab.analysis.runs.settings import Setting, in_headers, of_setting

from .measures import QUANTITIES

Families = Mapping[str, tuple[str, int]]

AXES: Final = {
    LATENCY: "Round trip under load (ms)",
    TOTAL: "Goodput, both directions (Mbit/s)",
    SILENT: "Steps without an answer (%)",
}
ABSTRACT: Final = "the abstract"


def cells(
    table: pd.DataFrame,
    titles: Mapping[str, str],
    shown: Mapping[str, Sequence[str]],
    settings: Sequence[Setting],
    families: Families,
    palette: Palette,
) -> Figure:
    """Draw two panels per experiment, its two quantities, in each a row per qdisc.

    `table` is from metrics.means by experiment, era, cc and qdisc; `titles` are those of the
    experiments, `shown` their quantities, `families` is from battling.families. The first setting
    is filled, others are hollow. Latencies are on a log axis.
    """
    names = {
        qdisc: ", ".join([family, *([f"{buffer} packets"] if buffer else [])])
        for qdisc in in_families(families)
        for family, buffer in [families[qdisc]]
    }
    panels = [(experiment, shown[experiment][place]) for place in (0, 1) for experiment in titles]
    labels = {f"{where} {of}": f"{titles[where]}\n{AXES[of]}" for where, of in panels}
    parts = [of_setting(table, of).assign(filled=of == settings[0]) for of in settings]
    drawn = pd.concat(parts).astype({"experiment": str, "qdisc": str})
    drawn = drawn.assign(
        row=drawn["qdisc"].map(names),
        qdisc=drawn["qdisc"].map(lambda qdisc: families[qdisc][0]),
        quantity=drawn["experiment"] + " " + drawn["quantity"],
    )
    return dots(
        drawn, [*names.values()], [*labels], palette, labels,
        least={name: 1.0 for name in labels if LATENCY in name},
        zoomed=[name for name in labels if TOTAL in name],
        about=[in_headers(of.title) for of in settings] if len(settings) > 1 else (),
    )  # fmt: skip


def in_families(families: Families) -> list[str]:
    """Sort families as everywhere, in each the one without a number first, then by buffer."""
    order = in_order({family for family, _ in families.values()})
    return sorted(families, key=lambda name: (order.index(families[name][0]), families[name][1]))


def abstract(
    table: pd.DataFrame,
    rows: Sequence[str],
    stated: Mapping[str, tuple[float, float]],
    palette: Palette,
) -> Figure:
    """Draw the abstract's numbers in each setting: a panel per number, a row per setting.

    `table` is from metrics.means by `row`, the setting's name. The hollow marker and its range are
    what the abstract says. Numbers that compare with a qdisc of which there are no runs have no
    panel.
    """
    measured = set(table["quantity"])
    labels = {
        name: f"{title.capitalize()} ({unit})"
        for name, (title, unit) in QUANTITIES.items()
        if name in measured
    }
    claimed = [(ABSTRACT, name, np.nanmean(stated[name]), *stated[name]) for name in labels]
    printed = pd.DataFrame(claimed, columns=["row", "quantity", "mean", "ci_low", "ci_high"])
    ends = printed.fillna({"ci_low": 0, "ci_high": np.inf}).assign(filled=False)
    drawn = pd.concat([ends, table.assign(filled=True)]).assign(qdisc="fq_codel")
    names = [ABSTRACT, *rows]
    return dots(drawn, names, [*labels], palette, labels, about=("ours", "printed"))
