"""One TCP connection with a fixed window: when each of its packets passed each place.

A packet is seen as it is sent, as it comes to the bottleneck's queue, as it leaves it and as it is
received; an acknowledgment as it is sent and as it arrives.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from emulation.captures import flent, frames, places
from emulation.captures.flent import About
from emulation.captures.follow import follow
from emulation.captures.places import Place
from emulation.errors import GuestFailure

PORT = 5001
DATA_PLACES = ("sent", "queued", "left", "received")
ACK_PLACES = ("sent", "received")


def reduce(out: Path, seen_at: Sequence[Place], about: About, window: int) -> dict[str, Any]:
    """Return the content of a flent data file, from what a guest left in `out`.

    `seen_at` has the places that packets pass, in order. `raw_values` has, for each packet, when it
    passed each place, in ms since the connection began, and its bytes on the wire, and for each
    acknowledgment how many packets it acknowledges. `results` has the number of packets in the
    queue at each step. Raises `GuestFailure` if a packet is lost or belongs to nothing of this.
    """
    began_ns = int(json.loads((out / "window.json").read_text())["began_ns"])
    seen = [frames.read_flows(places.frames(out, place), PORT) for place in seen_at]
    start = int(seen[0].loc[(seen[0]["flags"] & frames.SYN) != 0, "seq"].iloc[0]) + 1
    sent = [table[table["forward"] & (table["payload"] > 0)] for table in seen]
    data = _passing_times(sent, DATA_PLACES, "seq", start, began_ns).assign(
        bytes=lambda packets: packets.pop("length")
    )
    overhead = int((sent[0]["length"] - sent[0]["payload"]).iloc[0])
    data = data[data["sent"] < about.length.ms]
    answers = [table[~table["forward"] & (table["payload"] == 0)] for table in (seen[-1], seen[0])]
    acks = _passing_times(answers, ACK_PLACES, "ack", start, began_ns).drop(columns="length")
    ends = (data.index + data["bytes"].max() - overhead).to_numpy()
    acks["packets"] = np.searchsorted(ends, acks.index.to_numpy(), side="right")
    acks = acks[acks["packets"] > 0].drop_duplicates("packets")
    acks["sent"] = data["received"].to_numpy()[acks["packets"] - 1]
    steps = np.arange(0, about.length.ms, about.step.ms)
    came, left = (
        np.searchsorted(np.sort(data[name]), steps, side="right") for name in ("queued", "left")
    )
    return flent.content(
        about,
        {"Packets that wait": (came - left).tolist()},
        {"window": window},
        raw_values={
            "packets": data.round(6).to_dict("records"),
            "acknowledgments": acks.round(6).to_dict("records"),
        },
    )


def _passing_times(
    seen: list[pd.DataFrame], names: tuple[str, ...], number: str, start: int, began_ns: int
) -> pd.DataFrame:
    """Return when each packet was at each place, and its length, by its offset.

    The offset is its `number` after `start`; of packets with equal numbers, the first counts.
    """
    first, *others = seen
    times = {names[0]: first["time_ns"].to_numpy()}
    for name, other in zip(names[1:], others, strict=True):
        followed = follow(first, other, name)
        if not followed.sent.all():
            raise GuestFailure(
                "a packet was lost where none can be", "captures", "look at the queue"
            )
        times[name] = followed.left_ns
    passed = pd.DataFrame({name: (time_ns - began_ns) / 1e6 for name, time_ns in times.items()})
    passed["length"] = first["length"].to_numpy()
    passed["offset"] = ((first[number] - start) % 2**32).to_numpy()
    return passed.drop_duplicates("offset").set_index("offset").sort_index()
