"""The figures of the notebook `wifi_validation`."""

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from qdisclab.analysis.plots.marks import reference
from qdisclab.analysis.plots.panels import panels
from qdisclab.analysis.plots.style import Palette

from ..kinds.saturation import ALL_SENDERS
from ..measures import wifi
from ..measures.validation import PLACES

#: (backoff, CWmin): label and the qdisc whose colour is borrowed.
_SETTINGS: Final = {
    ("edca", 31): ("EDCA, CWmin 31", "fq_codel"),
    ("edca", 15): ("EDCA, CWmin 15", "codel"),
    ("dcf", 15): ("DCF, CWmin 15", "pie"),
}
_PLACE_COLORS: Final = ("codel", "ared", "fq_codel", "pie", "sfq")
_PLACE_NAMES: Final = dict(
    zip(PLACES, ("qdisc", "driver's queue", "built A-MPDU", "air", "reordering"), strict=True)
)
_BELOW: Final = {
    "2014": "as in 2014",
    "airtime": "5 ms of airtime",
    "bytes": "30 kB",
    "stations": "a queue a station",
}
_STATIONS: Final = {"fast": "fast (130 Mbit/s)", "other_fast": "fast", "slow": "slow (6.5 Mbit/s)"}
_SCHEDULES: Final = {
    "2014": "one queue for all,\nas in 2014",
    "robin": "a queue each,\nin turn",
    "stations": "a queue each,\nequal air time",
}


def validation(compared: pd.DataFrame, palette: Palette) -> Figure:
    """Draw saturation, collisions, a single sender and the anomaly: points measured, lines theory.

    `compared` is from wifi_validation.compare.
    """
    figure, ((goodput, collisions), (single, anomaly)) = panels(7.6, 5.8, 2, 2)
    rows = compared[(compared["set"] == "saturation") & (compared["sender"] == ALL_SENDERS)]
    for axes, quantity, label in (
        (goodput, "goodput_mbit_s", "Goodput of all (Mbit/s)"),
        (collisions, "collision_probability", "Collision probability"),
    ):
        for (backoff, cw_min), (name, color) in _SETTINGS.items():
            same = (rows["quantity"] == quantity) & (rows["backoff"] == backoff)
            points = rows[same & (rows["cw_min"] == cw_min)].sort_values("stations")
            _compared(axes, points["stations"], points, palette.color(color), name)
        _labels(axes, "Saturated stations", label)
    few = [2, 3, 4, 5]
    exact = [wifi.countdown(stations) for stations in few]
    collisions.plot(few, exact, "x", color=palette.ink, markersize=6, label="simulated, CWmin 15")
    collisions.legend(fontsize=8)
    _single(single, compared, palette)
    rows = compared[(compared["set"] == "anomaly") & (compared["sender"] != ALL_SENDERS)]
    for sender, (color, name) in {1: ("codel", "54 Mbit/s"), 2: ("pie", "the other")}.items():
        points = rows[rows["sender"] == sender].sort_values("other_mbit_s")
        _compared(anomaly, points["other_mbit_s"], points, palette.color(color), name)
    anomaly.legend(fontsize=8)
    _labels(anomaly, "Rate of the other station (Mbit/s)", "Goodput of each (Mbit/s)")
    return figure


def waiting(waits: pd.DataFrame, palette: Palette) -> Figure:
    """Draw where a packet of the access point waits, a bar per qdisc and bound of the lower queue.

    `waits` is from wifi_validation.waits; the case of one station and downloads is drawn.
    """
    rows = waits[(waits["stations"] == 1) & (waits["traffic"] == "tcp down")]
    figure, ((axes,),) = panels(7.6, 4.6)
    rows = rows.set_index(rows["qdisc"] + ", " + rows["below"].map(_BELOW))
    places = rows[list(PLACES)].rename(columns=_PLACE_NAMES)
    places.plot.barh(stacked=True, ax=axes, width=0.8, legend=False,
                     color=[palette.color(qdisc) for qdisc in _PLACE_COLORS])  # fmt: skip
    mbit_s = [f" {value:.0f} Mbit/s" for value in rows["goodput_mbit_s"]]
    axes.bar_label(axes.containers[-1], mbit_s, fontsize=8, color=palette.soft)
    axes.margins(x=0.15)
    _labels(axes, "Mean wait of a packet at the access point (ms)", "")
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    figure.legend(fontsize=9, loc="outside upper center", ncols=len(PLACES))
    return figure


def airtime(three: pd.DataFrame, palette: Palette) -> Figure:
    """Draw shares of the air time and TCP goodput of two fast stations and a slow one.

    Bars are grouped by what decides whose frames are next; crosses were measured on hardware.
    Their lines end at the least and the greatest seed. `three` is from wifi_validation.three.
    """
    figure, axes_of = panels(7.6, 3.6, columns=2)
    rows = three.set_index(three["below"].map(_SCHEDULES))
    colors: list[Any] = [palette.color(qdisc) for qdisc in ("codel", "fq_codel", "pie")]
    for axes, quantity, scale, label in zip(
        axes_of[0],
        ("_airtime", ""),
        (100, 1),
        ("Share of the air time (%)", "TCP goodput (Mbit/s)"),
        strict=True,
    ):
        names = [f"{name}{quantity}" for name in _STATIONS]
        ends = [[(rows[f"{name}{end}"] - rows[name]).abs() for end in ("_low", "_high")]
                for name in names]  # fmt: skip
        rows[names].mul(scale).set_axis([*_STATIONS.values()], axis=1).plot.bar(
            ax=axes, rot=0, width=0.8, color=colors, legend=False, yerr=scale * np.array(ends),
            error_kw={"ecolor": palette.ink, "elinewidth": 1, "capsize": 2},
        )  # fmt: skip
        _labels(axes, "", label)
        axes.grid(axis="x", visible=False)
        axes.tick_params(axis="x", labelsize=8)  # two lines each, beside each other
    reference(axes_of[0, 0], 100 / len(_STATIONS), palette)
    drawn = [of for of in axes_of[0, 1].containers if isinstance(of, BarContainer)]
    for name, bars in zip(_STATIONS, drawn, strict=True):
        at = [bar.get_x() + bar.get_width() / 2 for bar in bars]
        crosses = axes_of[0, 1].plot(
            at, rows[f"{name}_printed"], "x", color=palette.ink, markersize=6
        )
    handles, names = axes_of[0, 0].get_legend_handles_labels()
    figure.legend([*handles, *crosses], [*names, "ath9k"], fontsize=9, loc="outside upper center",
                  ncols=len(names) + 1)  # fmt: skip
    return figure


def _single(axes: Axes, compared: pd.DataFrame, palette: Palette) -> None:
    rows = compared[
        compared["set"].isin(["single", "goodput"])
        & compared["theory"].notna()
        & (compared["quantity"] == "goodput_mbit_s")
    ]
    for ht, color, name in ((False, "pie", "802.11g"), (True, "codel", "802.11n")):
        points = rows[(rows["rate_mbit_s"] == 0) == ht]
        axes.plot(points["theory"], 100 * points["error"], "o", color=palette.color(color),
                  markersize=4, label=name)  # fmt: skip
    for limit in (-1, 1):
        reference(axes, limit, palette)
    axes.set_xscale("log")
    axes.legend(fontsize=8)
    _labels(axes, "Goodput of a single sender, by formula (Mbit/s)", "Measured less formula (%)")
    axes.set_ylim(-2, 2)


def _compared(axes: Axes, x: pd.Series, rows: pd.DataFrame, color: str, label: str) -> None:
    spread = [rows["median"] - rows["low"], rows["high"] - rows["median"]]
    axes.plot(x, rows["theory"], color=color, linewidth=1.2)
    axes.errorbar(x, rows["median"], yerr=spread, fmt="o", color=color, markersize=3.5,
                  linewidth=1, label=label)  # fmt: skip


def _labels(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x, fontsize=10)
    axes.set_ylabel(y, fontsize=10)
    axes.set_ylim(bottom=0)
    axes.tick_params(labelsize=9)
