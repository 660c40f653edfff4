"""How the cost of a guest grows with rate, flows and hosts, from a report of `emulate bench`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pandera.pandas as pa
from scipy.optimize import nnls

from qdisclab.analysis.errors import UNUSABLE, refused

#: Flows of the experiments that do not vary them.
FLOWS: Final = {"scaling_rate": 8, "scaling_packets": 8, "scaling_hosts": 128}

#: Columns that are medians over repeats.
MEDIANS: Final = ("wall_s", "virtual_s", "cpu_s", "packets", "hops", "memory_mib")
SCALING: Final = pa.DataFrameSchema(
    {
        "sweep": pa.Column(str, pa.Check.isin(["rate", "packets", "flows", "hosts"])),
        "rate_mbit_s": pa.Column(float, pa.Check.gt(0)),
        "flows": pa.Column(int, pa.Check.gt(0)),
        "hosts": pa.Column(int, pa.Check.gt(0)),
        "joined": pa.Column(bool),
        **{name: pa.Column(float, pa.Check.gt(0)) for name in ("length_s", *MEDIANS)},
    },
    strict=True,
)
"""One row per cell, medians over its repeats; `joined`: superpackets cross the rig whole."""


@dataclass(frozen=True)
class Cost:
    """CPU seconds of the host."""

    per_run_s: float
    per_flow_s: float
    per_packet_s: float
    worst: float  # relative error of the fit

    def __str__(self) -> str:
        return (
            f"{self.per_run_s:.2f} s a run, {1e3 * self.per_flow_s:.0f} ms a flow and "
            f"{1e6 * self.per_packet_s:.2f} µs a packet-hop (within {self.worst:.0%})"
        )


def read_report(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the table of SCALING and the machine and kernel that were measured.

    The columns `core_factor`, virtual seconds a CPU second (what a guest reaches with a core of its
    own), and `hops_per_cpu_s` are added. Raise DataError for any other file.
    """
    wrong, kinds = "is no report of such a sweep ({})", (*UNUSABLE, pa.errors.SchemaError)
    with refused(path, wrong, _TODO, *kinds):
        report = json.loads(path.read_text(encoding="utf-8"))
        table = SCALING.validate(pd.DataFrame([_row(entry) for entry in report["scenarios"]]))
        about = {
            "CPU": report["machine"]["cpu_model"],
            "CPUs": report["machine"]["cpus"],
            "Kernel": report["kernels"][0]["release"],
        }
    return table.assign(
        core_factor=table["virtual_s"] / table["cpu_s"],
        hops_per_cpu_s=table["hops"] / table["cpu_s"],
    ), about


_TODO: Final = "Write it with emulate bench --json --experiment testbed/scaling_rate and so on"


def _row(entry: dict[str, Any]) -> dict[str, Any]:
    _, _, experiment = entry["experiment"].partition("/")
    axes = entry["axes"]
    return {
        "sweep": experiment.removeprefix("scaling_"),
        "rate_mbit_s": float(axes["link"].partition("/")[0]),
        "flows": int(axes.get("flows") or FLOWS[experiment]),
        "hosts": int(axes.get("hosts") or (8 if experiment == "scaling_flows" else 2)),
        "joined": axes.get("packets") == "joined",
        "length_s": float(entry["length_s"]),
        **{name: float(entry[name]["median"]) for name in MEDIANS},
    }


def provenance(table: pd.DataFrame) -> dict[str, Any]:
    """Return what was measured, as `outputs.Source` has it: a cell per rate."""
    links = sorted({f"{rate:g}/{rate:g}" for rate in table["rate_mbit_s"]})
    cell = {"experiment": "scaling_rate", "era": "modern", "qdisc": "fq_codel", "cc": "cubic"}
    return {
        "cells": [{**cell, "link": link, "seeds": [1]} for link in links],
        "eras": ["modern"],
        "lengths_s": sorted(set(table["length_s"])),
        "virtual_s": float(table["virtual_s"].sum()),
        "wall_s": float(table["wall_s"].sum()),
    }


def fit_cost(table: pd.DataFrame) -> Cost:
    """Fit CPU seconds by least squares of relative errors over the sweeps of rates and flows.

    No cost is negative. Raises ValueError for fewer than three measurements.
    """
    single = table[table["sweep"].isin(["rate", "flows"])]
    if len(single) < 3:
        raise ValueError("a fit needs three measurements")
    # the exchange of scales keeps the solver's tolerances meaningful
    unit = np.array([1.0, 1e-2, 1e-6])
    ones = np.ones(len(single))
    terms = np.column_stack([ones, single["flows"], single["hops"]]) * unit
    cpu_s = single["cpu_s"].to_numpy(dtype=np.float64)
    costs, _ = nnls(terms / cpu_s[:, None], ones)
    worst = float(np.abs(terms @ costs / cpu_s - 1).max())
    per_run, per_flow, per_packet = (float(value) for value in costs * unit)
    return Cost(per_run, per_flow, per_packet, worst)


def where_it_ends(table: pd.DataFrame) -> list[str]:
    """Return sentences: where a guest falls behind real time, and what superpackets change."""
    sentences = []
    for sweep, of, unit in (
        ("rate", "rate_mbit_s", "Mbit/s"),
        ("flows", "flows", "flows"),
        ("hosts", "hosts", "hosts"),
    ):
        rows = table[table["sweep"] == sweep].sort_values(of)
        slow = rows[rows["core_factor"] < 1]
        if not rows.empty:
            row = rows.iloc[-1] if slow.empty else slow.iloc[0]
            sentences.append(
                f"At {row[of]:g} {unit} a guest makes {row['core_factor']:.2g} virtual seconds a "
                f"CPU second and holds {row['memory_mib']:.0f} MiB"
            )
    packets = table[table["sweep"] == "packets"].set_index("joined")
    if {True, False} <= set(packets.index):
        joined, single = packets.loc[True], packets.loc[False]
        sentences.append(
            f"At {joined['rate_mbit_s']:g} Mbit/s superpackets make "
            f"{joined['core_factor'] / single['core_factor']:.1f} times as many virtual seconds, "
            f"with {joined['hops_per_cpu_s']:,.0f} packet-hops a CPU second for "
            f"{single['hops_per_cpu_s']:,.0f}"
        )
    return sentences
