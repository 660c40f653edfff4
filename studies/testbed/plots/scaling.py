"""The figure of the notebook `scaling`: where a guest falls behind real time."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qdisclab.analysis.plots.marks import DASHED, reference
from qdisclab.analysis.plots.panels import panels
from qdisclab.analysis.plots.style import Palette

from ..measures.scaling import Cost


def scaling(table: pd.DataFrame, cost: Cost, palette: Palette) -> Figure:
    """Draw real-time factors against rate, flows, hosts and guests, memory against flows and hosts.

    `table` is from scaling.read_scaling, `cost` from scaling.fit_cost: the dashed lines.
    """
    figure, axes_of = panels(7.6, 8.2, 3, 2)
    (rate, flows), (guests, hosts), (memory, hosts_memory) = axes_of
    good = table[table["problem"] == ""]
    label = "Virtual by CPU seconds"
    for axes, sweep, of, name in (
        (rate, "rate", "rate_mbit_s", "Rate (Mbit/s, both ways)"),
        (flows, "flows", "flows", "Flows (uploads, 100 Mbit/s)"),
    ):
        rows = good[good["sweep"] == sweep].sort_values(of)
        _line(axes, rows[of], rows["core_factor"], palette.color("codel"))
        cpu_s = (
            cost.per_run_s + cost.per_flow_s * rows["flows"] + cost.per_packet_s * rows["packets"]
        )
        axes.plot(rows[of], rows["virtual_s"] / cpu_s, color=palette.soft, linestyle=DASHED)
        reference(axes, 1, palette)
        axes.set_xscale("log")
        _labels(axes, name, label)
    for value, color in ((10.0, "codel"), (100.0, "pie")):
        rows = good[(good["sweep"] == "guests") & (good["rate_mbit_s"] == value)]
        rows = rows.sort_values("guests")
        _line(guests, rows["guests"], rows["factor"], palette.color(color), f"{value:g} Mbit/s")
    guests.set_xticks(sorted(set(good["guests"])))
    if guests.lines:
        guests.legend(fontsize=9)
    _labels(guests, "Guests side by side", "Virtual by wall seconds,\nall guests together")
    rows = good[good["sweep"] == "hosts"].sort_values("hosts")
    for axes, of in ((hosts, "core_factor"), (hosts_memory, "memory_mib")):
        _line(
            axes, rows["hosts"], rows[of], palette.color("codel" if axes is hosts else "fq_codel")
        )
        axes.set_xscale("log", base=2)
        axes.set_xticks(list(rows["hosts"]), [f"{row:d}" for row in rows["hosts"]])
    reference(hosts, 1, palette)
    rate.set_title("one measurement of each")
    _labels(hosts, "Hosts (32 flows, 100 Mbit/s)", label)
    _labels(hosts_memory, "Hosts (32 flows, 100 Mbit/s)", "Memory of the guest (MiB)")
    rows = good[good["sweep"] == "flows"].sort_values("flows")
    _line(memory, rows["flows"], rows["memory_mib"], palette.color("fq_codel"))
    memory.set_xscale("log")
    _labels(memory, "Flows (uploads, 100 Mbit/s)", "Memory of the guest (MiB)")
    return figure


def _line(axes: Axes, x: pd.Series, y: pd.Series, color: str, label: str = "") -> None:
    axes.plot(x, y, color=color, marker="o", markersize=5, linewidth=1.7, label=label or None)


def _labels(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x, fontsize=10)
    axes.set_ylabel(y, fontsize=10)
    axes.set_ylim(0, 1.05 * axes.dataLim.ymax)  # the highest mark whole
    axes.tick_params(labelsize=9)
