"""The figure of the notebook `scaling`: where a guest falls behind real time."""

import pandas as pd
from matplotlib.figure import Figure

from qdisclab.analysis.plots.marks import DASHED, reference
from qdisclab.analysis.plots.panels import panels
from qdisclab.analysis.plots.style import Palette

from ..measures.scaling import Cost

#: Sweep -> column along the axis, and its label.
ALONG = {
    "rate": ("rate_mbit_s", "Rate (Mbit/s, both ways)"),
    "flows": ("flows", "Flows (8 hosts, 100 Mbit/s)"),
    "hosts": ("hosts", "Hosts (128 flows, 100 Mbit/s)"),
}


def scaling(table: pd.DataFrame, cost: Cost, palette: Palette) -> Figure:
    """Draw real-time factors and memory against rate, flows and hosts.

    `table` is from scaling.read_report, `cost` from scaling.fit_cost: the dashed lines.
    """
    figure, rows_of_axes = panels(7.6, 8.2, 3, 2)
    for (sweep, (of, name)), (speed, memory) in zip(ALONG.items(), rows_of_axes, strict=True):
        rows = table[table["sweep"] == sweep].sort_values(of)
        for axes, column, color, label in (
            (speed, "core_factor", "codel", "Virtual seconds per CPU second"),
            (memory, "memory_mib", "fq_codel", "Memory of the guest (MiB)"),
        ):
            axes.plot(
                rows[of], rows[column], color=palette.color(color), marker="o", markersize=5,
                linewidth=1.7,
            )  # fmt: skip
            axes.set_xscale("log")
            axes.set_xlabel(name, fontsize=10)
            axes.set_ylabel(label, fontsize=10)
            axes.tick_params(labelsize=9)
            axes.set_ylim(0, 1.05 * axes.dataLim.ymax)  # the highest mark whole
        if sweep != "hosts":
            cpu_s = (
                cost.per_run_s + cost.per_flow_s * rows["flows"] + cost.per_packet_s * rows["hops"]
            )
            speed.plot(rows[of], rows["virtual_s"] / cpu_s, color=palette.soft, linestyle=DASHED)
        reference(speed, 1, palette)
    rows_of_axes[0][0].set_title("one measurement of each")
    return figure
