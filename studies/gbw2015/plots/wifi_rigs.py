"""The figure of the notebook `wifi_rigs`: RRUL over WiFi links that differ in one thing."""

from collections.abc import Sequence

import pandas as pd

from analysis.measures.metrics import GOODPUT, INDUCED


def describe_rigs(table: pd.DataFrame, names: Sequence[str]) -> str:
    """The text that stands for rigs: means of latency and goodput of each rig and qdisc."""
    wide = table.pivot_table(index=["rig", "qdisc"], columns="quantity", values="mean", sort=False)
    parts = []
    for name in names:
        of = [
            f"{qdisc} {row[INDUCED]:.3g} ms, {row[GOODPUT['download']]:.3g} Mbit/s down, "
            f"{row[GOODPUT['upload']]:.3g} up"
            for qdisc, row in wide.loc[name].iterrows()
        ]
        parts.append(f"{name}: {'; '.join(of)}")
    return f"RRUL over WiFi links, a row per link, a marker a qdisc. {'. '.join(parts)}."
