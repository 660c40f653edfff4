"""What flows deliver: the bytes that are new to the receiver, and how many of them iperf read."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from qdisclab.emulation.captures import frames
from qdisclab.emulation.errors import GuestFailure, TrafficFailure

Flow = tuple[int, int]  # address and port of its sender


def new_bytes(start: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many bytes of each segment had not arrived before.

    Segments are in the order of their arrival; `start` is the offset of a segment's first byte in
    the stream, `size` its length in bytes.
    """
    new = np.zeros(len(start), dtype=np.int64)
    top, holes = 0, []  # bytes from `top` on, and those in a hole, have not arrived
    for row, (first, end) in enumerate(zip(start.tolist(), (start + size).tolist(), strict=True)):
        if end > top:
            if first > top:
                holes.append((top, first))
            new[row] = end - max(first, top)
            top = end
        if first < top and holes:
            filled = [(max(a, first), min(b, end)) for a, b in holes if a < end and first < b]
            if filled:
                new[row] += sum(b - a for a, b in filled)
                holes = [
                    piece
                    for a, b in holes
                    for piece in ((a, min(b, first)), (max(a, end), b))
                    if piece[0] < piece[1]
                ]
    return new


def delivered_bytes(
    data: pd.DataFrame, offered: pd.DataFrame, began_ns: int, step_ns: int, steps: int
) -> tuple[NDArray[np.int64], dict[Flow, int]]:
    """Return new payload bytes by [flow, step], and the total of each flow by address and port.

    A flow none of whose packets reached its receiver has no total.
    """
    named = offered.drop_duplicates("flow")[["sender", "port", "flow"]].to_numpy().tolist()
    numbers = {(sender, port): flow for sender, port, flow in named}
    delivered = np.zeros((len(numbers), steps), dtype=np.int64)
    totals: dict[Flow, int] = {}
    arrived = data.dropna(subset="time_ns_then").sort_values("time_ns_then", kind="stable")
    for (sender, port), number in numbers.items():
        packets = arrived[(arrived["sender"] == sender) & (arrived["port"] == port)]
        begin = packets.loc[(packets["flags"] & frames.SYN) != 0, "seq"]
        if begin.empty and packets.empty:
            continue  # the queue dropped each of its SYNs
        if begin.empty:
            raise TrafficFailure(f"flow {number} has no SYN", "captures", "look at iperf-*.log")
        with_data = packets[packets["payload"] > 0]
        offset = ((with_data["seq"] - begin.iloc[0] - 1) % 2**32).to_numpy()
        new = new_bytes(offset, with_data["payload"].to_numpy())
        step = ((with_data["time_ns_then"].to_numpy() - began_ns) // step_ns).astype(int)
        inside = step < steps
        np.add.at(delivered[number], step[inside], new[inside])
        totals[sender, port] = int(new.sum())
    return delivered, totals


def ended_flows(data: pd.DataFrame, totals: dict[Flow, int]) -> set[Flow]:
    """Return the flows of `totals` whose end has arrived: a FIN after all their bytes."""
    arrived = data.dropna(subset="time_ns_then")
    ended = set()
    for flow, total in totals.items():
        packets = arrived[(arrived["sender"] == flow[0]) & (arrived["port"] == flow[1])]
        begin = packets.loc[(packets["flags"] & frames.SYN) != 0, "seq"]
        last = packets[(packets["flags"] & frames.FIN) != 0]
        if begin.empty or last.empty:
            continue
        bytes_before = (last["seq"] + last["payload"] - begin.iloc[0] - 1) % 2**32
        if (bytes_before == total).any():
            ended.add(flow)
    return ended


def check_iperf(out: Path, totals: dict[Flow, int], ended: set[Flow]) -> None:
    """Raise `GuestFailure` unless iperf's servers have read exactly what was delivered.

    `totals` has the bytes by address (as a number) and port of the sender. A server reports a flow
    when it ends, so a flow that is not in `ended` need not have been reported: where even its FIN
    is lost again and again, the run is over first.
    """
    read = read_iperf(out)
    differ = [
        f"{totals.get(flow)} and {read.get(flow)}"
        for flow in sorted(totals | read)
        if totals.get(flow) != read.get(flow) and (flow in read or flow in ended)
    ]
    if differ:
        raise GuestFailure(
            "bytes delivered and read by iperf differ: " + "; ".join(differ), "iperf"
        )


def read_iperf(out: Path) -> dict[Flow, int]:
    """Return the bytes of each flow that iperf's servers reported to have read, at its end."""
    read = {}
    for path in sorted(out.glob("iperf-*.csv")):
        for line in path.read_text().splitlines():
            words = line.split(",")
            if len(words) < 8:  # iperf's message that no further flow comes
                continue
            address = int.from_bytes(bytes(map(int, words[1].split("."))), "big")
            read[address, int(words[2])] = int(words[7])
    return read
