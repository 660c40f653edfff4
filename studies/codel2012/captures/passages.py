"""The packets that came to a queue between the gateways, from the table of the probe `packets`."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from qdisclab.emulation.captures import frames, packets
from qdisclab.emulation.captures.places import Place
from qdisclab.emulation.errors import GuestFailure
from qdisclab.emulation.model.run import Run

from ..kinds.gateways import LEFT, RIGHT

DIRECTIONS = {LEFT: "forward", RIGHT: "reverse"}
PROGRAM = "link_left"  # says when the load begins
BULK_PORT, WEB_PORT, UPLOAD_PORT, CBR_PORT = 5001, 80, 9, 4000


@dataclass(frozen=True)
class PlacePassages:
    """Packets in order of arrival.

    `table` has one row per packet of TCP and UDP: `arrived_ns` and `left_ns` since the load began,
    `delay_ns` (-1 of a dropped packet, whose `left_ns` is when it arrived), `length` in bytes of
    the frame and `source`: `bulk 0`, `web`, `cbr 1`, `upload` or `other`.
    """

    table: pd.DataFrame
    load: str
    direction: str
    length_ns: int
    capacity_bits: float  # what the link could carry meanwhile

    def within(self) -> pd.DataFrame:
        """Return the packets that left, or were dropped, while the load lasted."""
        left_ns = self.table["left_ns"]
        return self.table[(left_ns >= 0) & (left_ns < self.length_ns)]


def read(run: Run, place: Place, path: Path) -> PlacePassages:
    """Return the packets of the table at `path`, made at `place`.

    Packets that still waited when the run ended are left out. Raises `GuestFailure` where the
    program of the link has not said when the load began.
    """
    try:
        printed = (path.parent / "programs" / PROGRAM / "stdout").read_text().splitlines()
        about, *changes = map(json.loads, printed)
        began_ns, load = int(about["began_ns"]), str(about["load"])
        rates = [(float(row["time_s"]), float(row["rate_mbit_s"])) for row in changes]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise GuestFailure(f"has not said when the load began ({error!r})", PROGRAM) from error
    table = packets.read(path)
    table = table[table["protocol"].isin((frames.TCP, frames.UDP)) & (table["fate"] != "queued")]
    arrived = table["in_ns"].to_numpy(np.int64) - began_ns
    delay = table["sojourn_ns"].fillna(-1).to_numpy(np.int64)
    return PlacePassages(
        pd.DataFrame(
            {
                "arrived_ns": arrived,
                "left_ns": arrived + np.maximum(delay, 0),
                "delay_ns": delay,
                "length": table["length"].to_numpy(np.int64),
                "source": _sources(table),
            }
        ),
        load,
        DIRECTIONS[place],
        run.length.nanoseconds,
        _capacity_bits(run, place, rates),
    )


def _capacity_bits(run: Run, place: Place, changes: list[tuple[float, float]]) -> float:
    """Return what the link can carry in the time of the load; `changes`: second, Mbit/s."""
    first = run.link.up if place == LEFT else run.link.down
    rates = [(0.0, first.mbit_per_s), *changes]
    ends = [*(second for second, _ in changes), run.length.seconds]
    return sum(
        1e6 * mbit_s * (end - begin) for (begin, mbit_s), end in zip(rates, ends, strict=True)
    )


def _sources(table: pd.DataFrame) -> NDArray[np.object_]:
    """Return the name of each packet's source: its flow; all web connections are one source."""
    names = np.full(len(table), "other", dtype=object)
    tcp = (table["protocol"] == frames.TCP).to_numpy(bool)
    source, target = (table[f"{end}_port"].to_numpy(np.int64) for end in ("source", "target"))
    bulk = tcp & (target == BULK_PORT)
    names[bulk] = [f"bulk {number}" for number in pd.factorize(table["flow"].to_numpy()[bulk])[0]]
    names[tcp & (source == WEB_PORT)] = "web"
    names[tcp & (target == UPLOAD_PORT)] = "upload"
    names[~tcp] = [f"cbr {number}" for number in target[~tcp] - CBR_PORT]
    return names
