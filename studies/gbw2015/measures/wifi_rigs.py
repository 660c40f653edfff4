"""RRUL over WiFi links that differ in one thing: what it does to latency, goodput and the link.

gbw2015, Sec. 7.1, finds that the upstream starves and that no qdisc gets hold of the latency; rigs
with one difference each show what either comes from. What happened below the qdisc is in the
driver's counters (docs/wifi.md), which a run's record has of each device.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from qdisclab.analysis.errors import UNUSABLE, refused
from qdisclab.analysis.measures import rrul
from qdisclab.analysis.measures.metrics import COLUMNS, GOODPUT, INDUCED, means, run_metrics
from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs.dataset import Dataset, RunFile
from qdisclab.analysis.runs.flentfile import RERUN
from qdisclab.analysis.runs.order import in_order
from qdisclab.analysis.words import intervals
from qdisclab.emulation.datafile import read_json
from qdisclab.emulation.errors import EmulationError

#: Device -> (port of the record, direction of its counters).
ENDS: Final = {"access point": ("ap1 ap1-client", "down"), "station": ("client client-ap1", "up")}

#: Column of a run -> what it is, with its unit.
QUANTITIES: Final = {
    INDUCED: "Mean induced latency (ms)",
    GOODPUT["download"]: "Download (Mbit/s)",
    GOODPUT["upload"]: "Upload (Mbit/s)",
    "access_point_frames": "Frames a transmission,\naccess point",
    "station_frames": "Frames a transmission,\nstation",
    "station_sent_percent": "Transmissions that are\nthe station's (%)",
    "station_air_percent": "Air time that is\nthe station's (%)",
    "access_point_below_ms": "Wait below the qdisc,\naccess point (ms)",
    "station_below_ms": "Wait below the qdisc,\nstation (ms)",
}

#: What the row of the paper's own values is called, and the halves of them in their order.
PRINTED: Final = "printed"
HALVES: Final = ("fitted", "held out")

_BELOW: Final = ("ring", "aggregation", "air", "reorder")


METRICS: Final = {"below_qdiscs_ms": Metric("wait below the qdiscs", "ms")}


def read_below(run: RunFile) -> dict[str, float]:
    """Return what the counters of both devices of `run` say: the columns of QUANTITIES that are
    theirs.

    Waits are means over packets, from the qdisc to the receiver's stack. Raises DataError where
    the record has no counters, as that of a run over a wire.
    """
    wrong = "no counters of a WiFi link ({})"
    with refused(run.provenance, wrong, RERUN, *UNUSABLE, EmulationError):
        ports: dict[str, Any] = read_json(run.provenance)["qdiscs"]
        counted = {
            end: {
                name.removeprefix(f"{direction}_"): float(value)
                for name, value in ports[port]["wifi"]["counters"].items()
                if name.startswith(f"{direction}_")
            }
            for end, (port, direction) in ENDS.items()
        }
    numbers: dict[str, float] = {}
    for end, counts in counted.items():
        name = end.replace(" ", "_")
        numbers[f"{name}_frames"] = counts["subframes"] / counts["ppdus"]
        waited_ns = sum(counts[f"{place}_ns"] for place in _BELOW)
        numbers[f"{name}_below_ms"] = 1e-6 * waited_ns / counts["packets"]
    for column, counter in (
        ("station_sent_percent", "ppdus"),
        ("station_air_percent", "airtime_ns"),
    ):
        both = sum(counts[counter] for counts in counted.values())
        numbers[column] = 100 * counted["station"][counter] / both
    return numbers


def per_run(data: Dataset, runs: Collection[RunFile], rigs: Mapping[str, str]) -> pd.DataFrame:
    """Return one row per run: `rig` (its name in `rigs`, which has experiments), qdisc, seed and
    the QUANTITIES. `data` is of `runs`."""
    names = {experiment: rig for rig, experiment in rigs.items()}
    below = pd.DataFrame([{"run": run.run, **read_below(run)} for run in runs])
    table = run_metrics(data).astype({"run": str, "qdisc": str}).merge(below, on="run")
    experiment = data.runs.set_index(data.runs["run"].astype(str))["experiment"].astype(str)
    table["rig"] = table["run"].map(experiment).map(names)
    return table[["rig", "qdisc", "seed", *QUANTITIES]]


def cells(runs: pd.DataFrame, quantities: Sequence[str]) -> pd.DataFrame:
    """Return one row per rig, qdisc and quantity: n_seeds, mean, ci_low, ci_high over seeds."""
    return means(runs, ["rig", "qdisc"], quantities)


def overview(table: pd.DataFrame, rigs: Sequence[str], quantities: Sequence[str]) -> pd.DataFrame:
    """`table` (from cells) with one row per rig and qdisc and two columns per quantity."""
    rows = []
    for rig in rigs:
        here = table[table["rig"] == rig]
        for qdisc in in_order(list(here["qdisc"])):
            of_cell = here[here["qdisc"] == qdisc].set_index("quantity").loc[list(quantities)]
            row: dict[str, Any] = {"rig": rig, "qdisc": qdisc}
            row["n_seeds"] = int(of_cell["n_seeds"].iloc[0])
            ranges = intervals(of_cell["ci_low"], of_cell["ci_high"])
            for quantity, mean, between in zip(quantities, of_cell["mean"], ranges, strict=True):
                title = QUANTITIES[quantity].replace("\n", " ")
                row |= {title: float(mean), f"{title}, 95 %": between}
            rows.append(row)
    return pd.DataFrame(rows)


def printed_cells(values: pd.DataFrame) -> pd.DataFrame:
    """Return the values of `read_published` as rows of `cells`: the rig PRINTED, without runs or
    interval."""
    columns = {(metric, direction): column for column, metric, direction, _ in COLUMNS}
    keys = zip(values["metric"], values["direction"], strict=True)
    rows = values[["qdisc"]].assign(quantity=[columns[key] for key in keys], n_seeds=0)
    rows.insert(0, "rig", PRINTED)
    return rows.assign(mean=values["value"], ci_low=np.nan, ci_high=np.nan)


def beside(table: pd.DataFrame, values: pd.DataFrame, rigs: Sequence[str]) -> pd.DataFrame:
    """Return one row per printed value, in the order of its file: its half, the value, and for each
    of `rigs` ours, their ratio and the distance |ln((ours + e) / (printed + e))| for the reading
    error e.

    `table` is from `cells`. A fit sees rows 1, 3, 5, …; the others are held out
    (studies/gbw2015/log/wifi.md).
    """
    printed = printed_cells(values)
    rows = printed[["qdisc"]].assign(
        quantity=printed["quantity"].map(QUANTITIES),
        half=[HALVES[place % 2] for place in range(len(printed))],
        printed=printed["mean"],
    )
    error = values["reading_error"].to_numpy()
    means = table.set_index(["rig", "qdisc", "quantity"])["mean"]
    for rig in rigs:
        keys = [(rig, *key) for key in zip(printed["qdisc"], printed["quantity"], strict=True)]
        ours = means.reindex(keys).to_numpy()
        rows[rig] = ours
        rows[f"{rig}, ratio"] = ours / rows["printed"]
        rows[f"{rig}, distance"] = np.abs(np.log((ours + error) / (rows["printed"] + error)))
    return rows


def distances(compared: pd.DataFrame, rigs: Sequence[str]) -> pd.DataFrame:
    """Return one row per rig: its mean distance (`beside`) from either half of the printed values,
    and how many of all are within 15 %."""
    rows = []
    for rig in rigs:
        of = compared.groupby("half", sort=False)[f"{rig}, distance"].mean()
        near = compared[f"{rig}, ratio"].between(0.85, 1.15).sum()
        rows.append({"rig": rig, **of.to_dict(), "within 15 %": f"{near} of {len(compared)}"})
    return pd.DataFrame(rows)


def measure(run: RunFile) -> dict[str, float]:
    """Return those of `rrul.measure`, and `below_qdiscs_ms`: what a packet to the station and one
    back wait on the mean in drivers, A-MPDUs and on the air. Raises DataError where it cannot."""
    below = read_below(run)
    both = below["access_point_below_ms"] + below["station_below_ms"]
    return {**rrul.measure(run), "below_qdiscs_ms": both}


MEASURES: Final = {"wifi": Measure(measure, traffic="flent", test=rrul.BOTH_WAYS)}
