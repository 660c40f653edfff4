"""Captures of one TCP connection with a fixed window, reduced to when each packet passed where.

Each packet is told by its sequence number and seen at four places: sent, come to the bottleneck's
queue, gone from it, received; each acknowledgment where it is sent and where it arrives.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from emulation import packets_frames as frames
from emulation.errors import GuestFailure
from emulation.model import Run
from emulation.window import places

PORT = 5001
DATA_PLACES = ("sent", "queued", "left", "received")
ACK_PLACES = ("sent", "received")


def reduce(run: Run, out: Path) -> dict[str, Any]:
    """A flent data file's content of what a guest left in `out`.

    Of each packet `raw_values` has the moments at which it passed, in ms since the connection
    began, and its bytes on the wire; of each acknowledgment for how many packets it is. `results`
    has the packets that wait in the queue, each `step`. Raises `GuestFailure` where a packet got
    lost, or something else came by.
    """
    length, step = run.length, run.experiment.traffic.step
    began_ns = int(json.loads((out / "window.json").read_text())["began_ns"])
    seen = [
        frames.read(out / f"{node}.{interface}{frames.SUFFIX}", PORT)
        for node, interface in places(run.topology)
    ]
    start = int(seen[0].loc[(seen[0]["flags"] & frames.SYN) != 0, "seq"].iloc[0]) + 1
    data = _joined([_data(table, start, began_ns) for table in seen], DATA_PLACES)
    data = data[data["sent"] < length.ms]
    acks = _joined([_acks(table, start, began_ns) for table in (seen[3], seen[0])], ACK_PLACES)
    ends = (data.index + data["bytes"].max() - _overhead(seen[0])).to_numpy()
    acks["packets"] = np.searchsorted(ends, acks.index.to_numpy(), side="right")
    acks = acks[acks["packets"] > 0].drop_duplicates("packets")
    acks["sent"] = data["received"].to_numpy()[acks["packets"] - 1]
    steps = np.arange(0, length.ms, step.ms)
    waiting = np.searchsorted(np.sort(data["queued"]), steps, side="right") - np.searchsorted(
        np.sort(data["left"]), steps, side="right"
    )
    return {
        "version": 4,
        "x_values": [round(one / 1000, 6) for one in steps],
        "results": {"Packets that wait": [int(one) for one in waiting]},
        "raw_values": {
            "packets": data.round(6).to_dict("records"),
            "acknowledgments": acks.round(6).to_dict("records"),
        },
        "metadata": {
            "NAME": "window",
            "TITLE": run.id,
            "DATA_FILENAME": f"{run.id.replace('/', '_')}.flent.gz",
            "FLENT_VERSION": "2.1.1",
            "LENGTH": length.seconds,
            "TOTAL_LENGTH": length.seconds,
            "STEP_SIZE": step.seconds,
            "TEST_PARAMETERS": {"window": run.experiment.traffic.window},
            "SERIES_META": {},
        },
    }


def _data(table: pd.DataFrame, start: int, began_ns: int) -> pd.DataFrame:
    """By offset of the first byte: when a packet with data was first seen, and its bytes."""
    chosen = table[table["forward"] & (table["payload"] > 0)]
    offset = (chosen["seq"] - start) % 2**32
    return _first(offset, chosen, began_ns).assign(bytes=lambda one: one["length"])


def _acks(table: pd.DataFrame, start: int, began_ns: int) -> pd.DataFrame:
    """By offset up to which all is acknowledged: when that was first seen."""
    chosen = table[~table["forward"] & (table["payload"] == 0)]
    return _first((chosen["ack"] - start) % 2**32, chosen, began_ns)


def _first(offset: pd.Series, chosen: pd.DataFrame, began_ns: int) -> pd.DataFrame:
    seen = pd.DataFrame(
        {
            "at": (chosen["time_ns"] - began_ns) / 1e6,
            "length": chosen["length"],
            "offset": offset,
        }
    )
    return seen.drop_duplicates("offset").set_index("offset")


def _joined(tables: list[pd.DataFrame], names: tuple[str, ...]) -> pd.DataFrame:
    """One row a packet that was seen at the first place, in order: when it was at each."""
    first, *others = tables
    found = pd.DataFrame({names[0]: first["at"]})
    for name, other in zip(names[1:], others, strict=True):
        found[name] = other["at"]
    if "bytes" in first:
        found["bytes"] = first["bytes"]
    if found.isna().any(axis=None):
        raise GuestFailure("a packet got lost where none can", "captures", "look at the queue")
    return found.sort_index()


def _overhead(table: pd.DataFrame) -> int:
    """Bytes of a data packet that are not payload."""
    one = table[table["payload"] > 0].iloc[0]
    return int(one["length"] - one["payload"])
