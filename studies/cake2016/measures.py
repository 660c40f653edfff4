"""What a queue of superpackets does: runs with and without them, by qdisc and by pacing.

A superpacket is up to 64 kB of segments that a host sent as one; queues, limits and AQMs take it
for one packet (docs/predictions.md). The sizes are those of what waits to be sent upstream.
"""

from collections.abc import Sequence
from typing import Final

import pandas as pd

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import bench
from qdisclab.analysis.runs.axes import axes
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.analysis.runs.flentfile import read_flent

QUANTITIES: Final = ("icmp_induced_mean_ms", "largest_kb", "marks_and_drops", "up_goodput_mbit_s")
"""Columns of `per_run` that are shown: largest_kb is the greatest mean size of the packets that
waited to go up at one moment, marks_and_drops what the upstream queue marked and dropped, packets.
Most that waits are acknowledgments, whose size a mean over time would tell."""

SIZES: Final = ("single", "superpackets", "large")
"""The words of the study's axis `packets`, from small to large."""


def per_run(runs: Sequence[RunFile]) -> pd.DataFrame:
    """Return one row per run: run, qdisc, packets, pacing (words of the study's axes), seed,
    QUANTITIES.

    The runs have the probe `qdisc` of the upstream queue beside them. Raises DataError where a run
    lacks it or cannot be used.
    """
    return pd.DataFrame([_row(run) for run in runs])


def _row(run: RunFile) -> dict[str, object]:
    flent = read_flent(run.data)
    numbers, window = bench.measure_flent(flent, run), bench.window_of(flent, run)
    inside = upstream(run)
    inside = inside[inside["time_s"].between(*window) & (inside["backlog_packets"] > 0)]
    words = axes(run)
    return {
        "run": run.run,
        "qdisc": run.qdisc,
        "packets": words["packets"],
        "pacing": words["pacing"],
        "seed": run.seed,
        "icmp_induced_mean_ms": numbers["icmp_induced_mean_ms"],
        "largest_kb": (inside["backlog_bytes"] / inside["backlog_packets"]).max() / 1e3,
        "marks_and_drops": numbers["up_marks"] + numbers["up_drops"],
        "up_goodput_mbit_s": numbers["up_goodput_mbit_s"],
    }


def upstream(run: RunFile) -> pd.DataFrame:
    """Return samples of the queue under test towards the server: time_s of flent, backlog_bytes,
    backlog_packets."""
    table = bench.samples(run, "qdisc")
    if table is None:
        todo = "make it with --probe 'qdisc:50ms:box box-delay'"
        raise DataError.of(run.provenance, "no samples of its queues are beside it", todo)
    up = [f"{bench.ROUTER}-{end}" for end, way in bench.TOWARDS.items() if way == "up"]
    queue = table[table["interface"].isin(up) & (table["parent"] != "root")]
    return queue[["time_s", "backlog_bytes", "backlog_packets"]].reset_index(drop=True)


def by_cell(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean, least and greatest of each of QUANTITIES: one row per qdisc, packets, pacing
    and quantity, with n_seeds."""
    long = table.melt(["qdisc", "packets", "pacing", "seed"], list(QUANTITIES), "quantity")
    cells = long.groupby(["qdisc", "packets", "pacing", "quantity"], observed=True, sort=False)
    numbers = cells["value"].agg(n_seeds="size", mean="mean", low="min", high="max")
    return numbers.reset_index()
