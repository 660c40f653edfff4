"""How the cost of a guest grows with rate, flows and guests, from a table of measurements."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pandera.pandas as pa
from scipy.optimize import nnls

from qdisclab.analysis.runs.published import read_table

_MACHINE: Final = ["cpu_model", "cpus", "kernel"]
QUIET_CPUS: Final = 0.5  # CPUs busy with something else; above that, wall times say little

SCALING: Final = pa.DataFrameSchema(
    {
        "cpu_model": pa.Column(str),
        "cpus": pa.Column(int, pa.Check.gt(0)),
        "kernel": pa.Column(str),
        "sweep": pa.Column(str, pa.Check.isin(["rate", "flows", "hosts", "guests"])),
        "rate_mbit_s": pa.Column(float, pa.Check.gt(0)),
        "flows": pa.Column(int, pa.Check.gt(0)),
        "guests": pa.Column(int, pa.Check.gt(0)),
        "hosts": pa.Column(int, pa.Check.gt(0)),
        "guest_memory_mib": pa.Column(int),
        "length_s": pa.Column(float),
        **{
            name: pa.Column(float, nullable=True)
            for name in ("virtual_s", "wall_s", "cpu_s", "packets", "carried_mbit", "memory_mib",
                         "others_cpus")
        },
        "problem": pa.Column(str, nullable=True),
    },
    strict=True,
)  # fmt: skip
"""One row per measurement, sums over its guests; `problem` says why a guest ended early."""


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
            f"{1e6 * self.per_packet_s:.2f} µs a packet (within {self.worst:.0%})"
        )


def read_scaling(path: Path) -> pd.DataFrame:
    """Return the table of SCALING with the columns `factor` (virtual by wall seconds),
    `core_factor` (virtual by CPU seconds: a core of its own) and `quiet`, of the machine and kernel
    measured last; raise DataError for any other file."""
    table = read_table(path, SCALING, "measurements").fillna({"problem": ""})
    last = table[_MACHINE].iloc[-1]
    table = table[(table[_MACHINE] == last).all(axis=1)].reset_index(drop=True)
    return table.assign(
        factor=table["virtual_s"] / table["wall_s"],
        core_factor=table["virtual_s"] / table["cpu_s"],
        quiet=table["others_cpus"] <= QUIET_CPUS,
    )


def provenance(table: pd.DataFrame) -> dict[str, Any]:
    """Return what was measured, as `outputs.Source` has it: a cell per rate, a seed per guest."""
    seeds = list(range(1, int(table["guests"].max()) + 1))
    links = sorted({f"{rate:g}/{rate:g}" for rate in table["rate_mbit_s"]})
    cell = {"experiment": "scaling_rate", "era": "modern", "qdisc": "fq_codel", "cc": "cubic"}
    return {
        "cells": [{**cell, "link": link, "seeds": seeds} for link in links],
        "eras": ["modern"],
        "lengths_s": sorted(set(table["length_s"])),
        "virtual_s": float(table["virtual_s"].sum()),
        "wall_s": float(table["wall_s"].sum()),
    }


def fit_cost(table: pd.DataFrame) -> Cost:
    """Least squares of relative errors over single guests with two hosts; no cost is negative.

    Raises ValueError for fewer than three measurements.
    """
    chain = table["sweep"] != "hosts"
    single = table[chain & (table["guests"] == 1) & (table["problem"] == "")]
    if len(single) < 3:
        raise ValueError("a fit needs three measurements")
    # the exchange of scales keeps the solver's tolerances meaningful
    unit = np.array([1.0, 1e-2, 1e-6])
    ones = np.ones(len(single))
    terms = np.column_stack([ones, single["flows"], single["packets"]]) * unit
    cpu_s = single["cpu_s"].to_numpy(dtype=np.float64)
    costs, _ = nnls(terms / cpu_s[:, None], ones)
    worst = float(np.abs(terms @ costs / cpu_s - 1).max())
    per_run, per_flow, per_packet = (float(value) for value in costs * unit)
    return Cost(per_run, per_flow, per_packet, worst)


def where_it_ends(table: pd.DataFrame) -> list[str]:
    """Sentences: where a guest falls behind real time, and where a guest could not run."""
    sentences = []
    for sweep, of, unit in (
        ("rate", "rate_mbit_s", "Mbit/s"),
        ("flows", "flows", "flows"),
        ("hosts", "hosts", "hosts"),
    ):
        rows = table[(table["sweep"] == sweep) & (table["problem"] == "")].sort_values(of)
        slow = rows[rows["core_factor"] < 1]
        if not rows.empty:
            row = rows.iloc[-1] if slow.empty else slow.iloc[0]
            sentences.append(
                f"At {row[of]:g} {unit} a guest makes {row['core_factor']:.2g} virtual seconds a "
                f"CPU second and holds {row['memory_mib']:.0f} MiB"
            )
    failed = table.loc[table["problem"] != "", ["flows", "guest_memory_mib", "problem"]]
    for flows, memory_mib, problem in failed.to_numpy().tolist():
        sentences.append(f"{flows} flows do not run in a guest of {memory_mib} MiB: {problem}")
    return sentences
