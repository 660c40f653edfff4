"""Tests of emulation.packets_queue on captures of a few packets, made by hand."""

from __future__ import annotations

import gzip
import json
import struct
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulation import config, packets_queue
from emulation.config import select
from emulation.errors import GuestFailure, RigMismatch
from emulation.load import ports_of, queues
from emulation.model import Run
from emulation.packets_queue import Passage, check_counters, follow, series, summarise

BEGAN_NS = 10**18
MS = 10**6
BULK = (0x0A010102, 0x0A020102, 40000, 5001)  # sender1 to receiver1
WEB = (0x0A010502, 0x0A020502, 80, 50000)  # servers to clients

experiment = cache(config.experiment)  # reading the files takes a while


def run(name: str = "edge", link: str = "1.5/1.5", qdisc: str = "codel") -> Run:
    return select(experiment(f"codel2012/{name}"), link=link, qdisc=qdisc, cc="cubic", seed=1)[0]


def frame(at_ms: float, flow: tuple[int, int, int, int], seq: int, ident: int = 0) -> bytes:
    """A TCP segment of 1000 bytes as the guest keeps it."""
    source, target, port, service = flow
    nanoseconds = BEGAN_NS + round(at_ms * MS)
    header = struct.pack("<IIIHHII", 1, 1014, 62, 66, 80, nanoseconds // 10**9, nanoseconds % 10**9)
    ethernet = bytes(12) + b"\x08\x00"
    ip = struct.pack("!BBHHHBBHII", 0x45, 0, 1000, ident, 0x4000, 64, 6, 0, source, target)
    tcp = struct.pack("!HHIIBBHHH", port, service, seq, 1, 0x80, 0x10, 500, 0, 0)
    return (header.ljust(66, b"\0") + ethernet + ip + tcp).ljust(128, b"\0")


def captured(out: Path, arrived: dict[str, list[bytes]], left: list[bytes]) -> None:
    """Lay down what the ports of the left gateway saw."""
    behind, *before = ports_of(queues(run().load)["forward"], run().topology)
    for node, interface in before:
        content = b"".join(arrived.get(interface, []))
        (out / f"{node}.{interface}.frames.gz").write_bytes(gzip.compress(content))
    (out / f"{behind[0]}.{behind[1]}.frames.gz").write_bytes(gzip.compress(b"".join(left)))


def test_each_packet_is_followed_through_the_queue(tmp_path: Path) -> None:
    captured(
        tmp_path,
        {
            "left-1": [frame(1, BULK, 1, 1), frame(2, BULK, 1001, 2), frame(3, BULK, 2001, 3)],
            "left-5": [frame(2.5, WEB, 1, 1)],
        },
        [frame(1, BULK, 1, 1), frame(9, WEB, 1, 1), frame(15, BULK, 2001, 3)],
    )
    passage = follow(run(), tmp_path, "forward", BEGAN_NS)
    assert passage.arrived_ns.tolist() == [1 * MS, 2 * MS, 2.5 * MS, 3 * MS]
    assert passage.delay_ns.tolist() == [0, -1, 6.5 * MS, 12 * MS]  # the second is dropped
    assert passage.source.tolist() == ["bulk a010102:40000"] * 2 + ["web", "bulk a010102:40000"]


def test_of_two_equal_packets_the_later_one_came_out(tmp_path: Path) -> None:
    twins = [frame(1, WEB, 1), frame(5, WEB, 1)]
    captured(tmp_path, {"left-5": twins}, [frame(8, WEB, 1)])
    assert follow(run(), tmp_path, "forward", BEGAN_NS).delay_ns.tolist() == [-1, 3 * MS]


def test_a_packet_from_nowhere_is_an_error(tmp_path: Path) -> None:
    captured(tmp_path, {"left-1": [frame(1, BULK, 1, 1)]}, [frame(2, BULK, 5001, 9)])
    with pytest.raises(GuestFailure, match="did not go in"):
        follow(run(), tmp_path, "forward", BEGAN_NS)


def test_a_packet_of_nobody_is_an_error(tmp_path: Path) -> None:
    stray = bytearray(frame(1, BULK, 1, 1))
    stray[66 + 23] = 1  # ICMP
    captured(tmp_path, {"left-1": [bytes(stray)]}, [])
    with pytest.raises(GuestFailure, match="of no flow"):
        follow(run(), tmp_path, "forward", BEGAN_NS)


def passage() -> Passage:
    """Four packets of 1000 bytes: 0, 2 and 4 ms of delay, and one dropped."""
    return Passage(
        np.array([0, 10, 20, 30]) * MS,
        np.array([0, 2 * MS, -1, 4 * MS]),
        np.full(4, 1000),
        np.array(["bulk a", "web", "bulk a", "web"], dtype=object),
    )


def test_a_summary_has_delays_utilisation_and_drops_by_source() -> None:
    told = summarise(passage(), 100 * MS, [(0, 10**6), (50 * MS, 2 * 10**6)])
    assert (told["sent"], told["dropped"], told["bytes"]) == (3, 1, 3000)
    assert told["delay_ms"]["p50"] == 2
    assert told["delay_ms"]["p100"] == 4
    assert told["mean_delay_ms"] == 2
    # 50 ms of 1 Mbit/s and 50 ms of 2 Mbit/s are 150,000 bits.
    assert told["utilisation"] == pytest.approx(24_000 / 150_000)
    assert told["sources"]["bulk a"] == {"packets": 2, "dropped": 1}
    assert told["sources"]["web"] == {"packets": 2, "dropped": 0}


def test_series_have_a_packet_in_the_step_in_which_it_left() -> None:
    found = series(passage(), 40 * MS, 10 * MS)
    assert found["Queue delay (ms) longest"] == [None, 0, 2, None, 4]
    assert found["Sent (Mbit/s)"] == [None, 0.8, 0.8, 0, 0.8]
    assert found["Dropped (packets)"] == [None, 0, 0, 1, 0]


def counters(**after: int) -> list[dict[str, Any]]:
    empty = {"handle": "10:", "kind": "codel", "packets": 5, "bytes": 500, "drops": 0, "qlen": 0}
    told = {**empty, "packets": 8, "bytes": 3500, "drops": 1, **after}
    return [{"qdiscs": {"left left-right": [one]}} for one in (empty, told)]


def test_what_the_queue_counted_has_to_be_what_was_captured() -> None:
    check_counters(counters(), "left left-right", passage())
    with pytest.raises(GuestFailure, match="2 drops, captured 1"):
        check_counters(counters(drops=2), "left left-right", passage())
    with pytest.raises(GuestFailure, match="in the queue"):
        check_counters(counters(qlen=1), "left left-right", passage())


def test_a_late_change_of_the_rate_is_an_error() -> None:
    change = {
        "at_s": 50.0, "node": "left", "interface": "left-right", "rate_bit_s": 10**7,
        "since_ns": BEGAN_NS + 50 * 10**9 + 500, "until_ns": BEGAN_NS + 50 * 10**9 + 1500,
    }  # fmt: skip
    assert packets_queue._told(change, BEGAN_NS)["late_ns"] == [500, 1500]
    with pytest.raises(RigMismatch, match="after 50 s"):
        packets_queue._told({**change, "until_ns": BEGAN_NS + 51 * 10**9}, BEGAN_NS)


def test_equal_content_gives_equal_files(tmp_path: Path) -> None:
    content = {"results": {"a": [1, 2]}}
    for name in ("one", "two"):
        packets_queue.write(content, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert json.loads(gzip.decompress((tmp_path / "one").read_bytes())) == content
