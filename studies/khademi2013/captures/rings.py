"""What a guest leaves where every packet is followed: rings of packets, and counters.

A ring has frames as the kernel filled it: 128 bytes each, the kernel's header (struct tpacket2_hdr,
linux/if_packet.h) and the first bytes of the packet.
"""

import gzip
import json
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from qdisclab.emulation.captures.counters import Counters, marks
from qdisclab.emulation.captures.follow import Followed
from qdisclab.emulation.captures.frames import ICMP, LOOKED_AT, TCP, Frames, decode
from qdisclab.emulation.captures.places import Place
from qdisclab.emulation.errors import GuestFailure
from qdisclab.emulation.model.egress import HANDLE

FRAMES = ".frames.gz"  # how the name of a ring ends
FRAME_BYTES = 128
ECHO_REPLY, ECHO_REQUEST = 0, 8  # types of ICMP
PING = 0  # in place of a port

_RING_HEADER = np.dtype(
    [
        ("status", "<u4"),
        ("length", "<u4"),
        ("captured", "<u4"),
        ("mac", "<u2"),
        ("net", "<u2"),
        ("seconds", "<u4"),
        ("nanoseconds", "<u4"),
    ]
)


def ring(out: Path, place: Place) -> Path:
    """Return the path of the ring at `place` that a guest left in `out`."""
    return out / f"{'.'.join(place)}{FRAMES}"


def read(path: Path) -> Frames:
    """Return the packets of a ring; raise `GuestFailure` if its file is damaged."""
    try:
        raw = np.frombuffer(gzip.decompress(path.read_bytes()), dtype=np.uint8)
    except (OSError, EOFError, zlib.error) as error:
        raise GuestFailure(f"is not a capture: {error}", path.name) from error
    if raw.size % FRAME_BYTES:
        raise GuestFailure(f"has {raw.size} bytes, which is not a number of frames", path.name)
    raw = raw.reshape(-1, FRAME_BYTES)
    header = raw[:, : _RING_HEADER.itemsize].copy().view(_RING_HEADER)[:, 0]
    start = FRAME_BYTES - LOOKED_AT
    if (header["mac"] != start).any():
        raise GuestFailure(f"has packets elsewhere than {start} bytes into a frame", path.name)
    return Frames(
        header["seconds"].astype(np.int64) * 10**9 + header["nanoseconds"],
        header["length"].astype(np.int64),
        raw[:, start:].copy(),
    )


def read_flows(path: Path, service: int, pings: bool = False) -> pd.DataFrame:
    """Return the TCP packets of a capture and, with `pings`, its echoes, decoded as by `decode`.

    `service` is the port that the receivers listen on: packets to it are data, packets from it
    come back. Further columns: `forward` (whether a packet goes to a receiver), `sender` (address
    of the flow's sender) and `port` (of the flow's sender; `PING` of a ping, whose request goes
    forward). Raises `GuestFailure` for any other packet.
    """
    frames = read(path)
    table = decode(frames)
    icmp, kind = table["protocol"] == ICMP, table["flags"]
    forward = (table["target_port"] == service).where(~icmp, kind == ECHO_REQUEST)
    of_tcp = (table["protocol"] == TCP) & (forward != (table["source_port"] == service))
    of_ping = icmp & pings & kind.isin((ECHO_REPLY, ECHO_REQUEST))
    stray = ~(of_tcp | of_ping).to_numpy()
    if stray.any():  # only the qdisc would count it
        example = frames.content[np.flatnonzero(stray)[0], :54].tobytes().hex()
        what = f"{int(stray.sum())} packets are of no flow, the first is {example}"
        raise GuestFailure(what, path.name, "look at what else the guest sends")
    return table.assign(
        forward=forward,
        sender=table["source"].where(forward, table["target"]),
        port=table["source_port"].where(forward, table["target_port"]),
    )


def counters(out: Path, port: Place) -> list[Counters]:
    """Return the counters of the qdisc under test at `port`, each with its `time_ns`.

    The first are from before the load, the last from after it; those between were sampled.
    """
    samples = []
    for sample in json.loads((out / "counters.json").read_text()):
        at_port = sample["qdiscs"][" ".join(port)]
        (counted,) = [qdisc for qdisc in at_port if qdisc["handle"] == HANDLE]
        samples.append({**counted, "time_ns": sample["time_ns"]})
    return samples


def check(samples: list[Counters], queue: Followed, where: Place) -> None:
    """Raise `GuestFailure` unless the counters agree exactly with the captures.

    What counts is the difference between the first and the last of `samples`; the queue must be
    empty at both.
    """
    first, last = samples[0], samples[-1]
    counted = {name: last[name] - first[name] for name in ("packets", "bytes", "drops")}
    counted["marks"] = marks(last) - marks(first)
    captured = {
        "packets": len(queue.behind),
        "bytes": int(queue.behind["length"].sum()),
        "drops": int((~queue.sent).sum()),
        "marks": int(queue.marked.sum()),
    }
    differ = [
        f"{counted[name]} {name}, captured {value}"
        for name, value in captured.items()
        if counted[name] != value
    ]
    if last["qlen"] or first["qlen"]:
        differ.append(f"{first['qlen']} packets in the queue before and {last['qlen']} afterwards")
    if differ:
        raise GuestFailure(f"{last['kind']} counted " + "; ".join(differ), " ".join(where))
