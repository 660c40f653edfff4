"""Tests of emulation.kinds.traffic.mix_queues on captures of a few packets, made by hand."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from emulation.captures import places
from emulation.config import catalogue
from emulation.config.catalogue import select
from emulation.errors import GuestFailure, RigMismatch
from emulation.kinds.traffic import mix_queues
from emulation.kinds.traffic.mix import Mix
from emulation.kinds.traffic.mix_load import Load, ports_of, queues
from emulation.kinds.traffic.mix_queues import Passage, series, summarise
from emulation.model.run import Run
from tests.emulation.captures.made import End, datagram, ring, segment

BEGAN_NS = 10**18
MS = 10**6
BULK = (("10.1.1.2", 40000), ("10.2.1.2", 5001))  # sender1 to receiver1
WEB = (("10.1.5.2", 80), ("10.2.5.2", 50000))  # servers to clients

experiment = cache(catalogue.experiment)  # reading the files takes a while


def run(name: str = "edge", link: str = "1.5/1.5", qdisc: str = "codel") -> Run:
    return select(experiment(f"codel2012/{name}"), link=link, qdisc=qdisc, cc="cubic", seed=1)[0]


def load(run: Run) -> Load:
    assert isinstance(run.traffic, Mix)
    return run.traffic.load(run.seed)


def packet(at_ms: float, flow: tuple[End, End], seq: int, ident: int = 0) -> tuple[int, bytes]:
    """A TCP segment of 1000 bytes, and when it passes."""
    return BEGAN_NS + round(at_ms * MS), segment(*flow, seq=seq, ack=1, id=ident, payload=948)


Packets = list[tuple[int, bytes]]


def passed(out: Path, arrived: dict[str, Packets], left: Packets) -> Passage:
    """What came to the left gateway's queue where its ports saw these packets."""
    port = queues(load(run()))["forward"]
    behind, *before = ports_of(port, run().topology)
    for place in before:
        ring(places.frames(out, place), arrived.get(place[1], []))
    ring(places.frames(out, behind), left)
    return mix_queues.passed(mix_queues.followed(out, run().topology, port, "forward"), BEGAN_NS)


def test_each_packet_is_followed_through_the_queue(tmp_path: Path) -> None:
    passage = passed(
        tmp_path,
        {
            "left-1": [packet(1, BULK, 1, 1), packet(2, BULK, 1001, 2), packet(3, BULK, 2001, 3)],
            "left-5": [packet(2.5, WEB, 1, 1)],
        },
        [packet(1, BULK, 1, 1), packet(9, WEB, 1, 1), packet(15, BULK, 2001, 3)],
    )
    assert passage.arrived_ns.tolist() == [1 * MS, 2 * MS, 2.5 * MS, 3 * MS]
    assert passage.delay_ns.tolist() == [0, -1, 6.5 * MS, 12 * MS]  # the second is dropped
    assert passage.source.tolist() == ["bulk a010102:40000"] * 2 + ["web", "bulk a010102:40000"]


def test_of_two_equal_packets_the_later_one_came_out(tmp_path: Path) -> None:
    twins = [packet(1, WEB, 1), packet(5, WEB, 1)]
    passage = passed(tmp_path, {"left-5": twins}, [packet(8, WEB, 1)])
    assert passage.delay_ns.tolist() == [-1, 3 * MS]


def test_a_packet_of_nobody_is_an_error(tmp_path: Path) -> None:
    ping = datagram(*BULK, 64, 1)
    ping = ping[:23] + b"\1" + ping[24:]  # ICMP
    with pytest.raises(GuestFailure, match="1 packets are of no flow"):
        passed(tmp_path, {"left-1": [(BEGAN_NS, ping)]}, [])


def test_a_source_is_a_flow_or_a_kind_of_traffic(tmp_path: Path) -> None:
    clock = (("10.1.5.2", 4001), ("10.2.5.2", 4001))
    upload = (("10.1.5.2", 6000), ("10.2.5.2", 9))
    other = (("10.1.5.2", 6000), ("10.2.5.2", 22))
    sent = [(BEGAN_NS, datagram(*clock, 64, 1)), packet(1, upload, 1, 1), packet(2, other, 1, 2)]
    assert passed(tmp_path, {"left-5": sent}, sent).source.tolist() == ["cbr 1", "upload", "other"]


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


def test_a_late_change_of_the_rate_is_an_error() -> None:
    change = {
        "at_s": 50.0, "node": "left", "interface": "left-right", "rate_bit_s": 10**7,
        "since_ns": BEGAN_NS + 50 * 10**9 + 500, "until_ns": BEGAN_NS + 50 * 10**9 + 1500,
    }  # fmt: skip
    assert mix_queues.checked_change(change, BEGAN_NS)["late_ns"] == [500, 1500]
    with pytest.raises(RigMismatch, match="after 50 s"):
        mix_queues.checked_change({**change, "until_ns": BEGAN_NS + 51 * 10**9}, BEGAN_NS)
