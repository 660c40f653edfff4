"""Tests of emulation.captures.drops: packets of a queue, by kind and fate."""

from collections.abc import Sequence
from ipaddress import IPv4Address

import numpy as np
import pandas as pd

from qdisclab.emulation.captures import drops, frames
from qdisclab.emulation.captures.drops import DropsRow, Sent
from qdisclab.emulation.captures.follow import follow, in_order
from qdisclab.emulation.model.units import Duration
from tests.emulation.captures.made import ACK, datagram, echo, length, segment

MS = 10**6
CLIENT, SERVER = "10.0.1.1", "10.0.4.2"
RTTS = {SERVER: Duration.parse("50 ms")}
UPLOAD = ((CLIENT, 5000), (SERVER, 12865))
PAGE = ((CLIENT, 6000), (SERVER, 80))

Packets = Sequence[tuple[float, bytes]]  # at ms


def read(before: Packets, behind: Packets, answers: Packets = ()) -> Sent:
    """What is made of packets that enter and leave a queue, and that come back."""
    entered, left, came = (decoded(packets) for packets in (before, behind, answers))
    followed = follow(entered, left, "the queue", in_order)
    return drops.of_flows(followed.before.assign(left_ns=followed.left_ns), came, RTTS)


def decoded(packets: Packets) -> pd.DataFrame:
    """Decode packets, with addresses as text."""
    content = np.array(
        [
            np.frombuffer(one[: frames.LOOKED_AT].ljust(frames.LOOKED_AT, b"\0"), np.uint8)
            for _, one in packets
        ]
    ).reshape(-1, frames.LOOKED_AT)
    times = np.array([round(at * MS) for at, _ in packets], dtype=np.int64)
    sizes = np.array([length(one) for _, one in packets], dtype=np.int64)
    table = frames.decode(frames.Frames(times, sizes, content))
    dotted = {int(IPv4Address(address)): address for address in (CLIENT, SERVER)}
    return table.assign(**{name: table[name].map(dotted) for name in ("source", "target")})


def rows(sent: Sent) -> dict[str, DropsRow]:
    return {row.kind: row for row in drops.rows(sent, RTTS)}


def upload(number: int, **fields: int) -> bytes:
    """One of a hundred segments of an upload, as a hop later."""
    return segment(*UPLOAD, seq=1448 * number, payload=1448, id=number, **fields)


def test_a_packet_that_does_not_leave_was_dropped() -> None:
    before = [(number, upload(number)) for number in range(100)]
    behind = [
        (number + 20, upload(number, ttl=63)) for number in range(100) if number not in (3, 4, 90)
    ]
    found = rows(read(before, behind))
    assert list(found) == ["upload"]
    row = found["upload"]
    assert (row.flows, row.packets, row.dropped) == (1, 100, 3)
    assert (row.bursts, row.longest_burst, row.events, row.first_series) == (2, 2, 2, 2)
    assert (row.wait_ms, row.longest_wait_ms, row.timeouts) == (20.0, 20.0, 0)


def test_a_flow_is_what_it_sends() -> None:
    def to(port: int, number: int, protocol: int = 17) -> bytes:
        return datagram((CLIENT, 7000 + port), (SERVER, port), 60, number)

    packets = [
        *(segment((CLIENT, 1), (SERVER, 1), ack=number, id=number) for number in range(101)),
        segment((CLIENT, 2), (SERVER, 2)),
        segment(*PAGE, flags=frames.SYN),
        segment(*PAGE, seq=1, payload=300),
        *(to(port, 1) for port in (53, 9001, 5001, 2112)),
    ]
    ping = echo(1).replace(bytes((10, 0, 3, 1)), bytes((10, 0, 4, 2)))
    sent: Packets = list(enumerate([*packets, ping]))
    found = rows(read(sent, [(at + 1, one) for at, one in sent]))
    assert {kind: row.packets for kind, row in found.items()} == {
        "acknowledgment": 101, "control": 1, "syn": 1, "web": 1, "name": 1, "voip": 1, "flood": 1,
        "probe": 2,
    }  # fmt: skip
    assert (found["probe"].flows, found["syn"].connections) == (2, 1)
    assert found["syn"].late_connections == 0


def test_a_connection_whose_first_syn_is_dropped_is_late() -> None:
    syns = [segment(*PAGE, flags=frames.SYN, id=number) for number in (1, 2)]
    found = rows(read([(0, syns[0]), (1000, syns[1])], [(1010, syns[1])]))
    assert (found["syn"].connections, found["syn"].late_connections) == (1, 1)


def test_a_timeout_is_told_by_what_was_answered() -> None:
    lost = (100.5, upload(99))
    again = (500, segment(*UPLOAD, seq=1448 * 99, payload=1448, id=200))
    before = [*((number, upload(number)) for number in range(99)), lost, again]
    answer = (160, segment(*UPLOAD[::-1], ack=1448 * 99, flags=ACK))
    behind = [(at + 1, one) for at, one in before if one != lost[1]]
    assert rows(read(before, behind, [answer]))["upload"].timeouts == 1


def test_only_the_retransmission_timer_counts() -> None:
    def sent(at_ms: int, seq: int) -> tuple[int, int, int]:
        return at_ms * MS, seq, 1000

    base = 50 * MS
    acked = [(60 * MS, 1000)]
    lost = [sent(0, 0), sent(1, 1000)]
    by_answer = [*lost, sent(320, 1000)]
    assert drops.timeouts(by_answer, [*acked, (320 * MS, 1000)], base) == (0, 0)
    assert drops.timeouts([*lost, sent(150, 1000)], acked, base) == (0, 0)  # RACK, or a probe
    assert drops.timeouts([*lost, sent(320, 1000)], acked, base) == (1, 1)
    again = [*lost, sent(320, 1000), sent(840, 1000)]
    assert drops.timeouts(again, acked, base) == (2, 2)
    later = [*again, sent(901, 2000), sent(1200, 2000)]
    assert drops.timeouts(later, [*acked, (900 * MS, 2000)], base) == (3, 2)
    assert drops.timeouts([], [], base) == (0, 0)


def test_sequence_numbers_wrap() -> None:
    packets = [(0, 2**32 - 500, 500), (MS, 0, 500), (400 * MS, 0, 500)]
    assert drops.timeouts(packets, [(60 * MS, 0)], 50 * MS) == (1, 1)


def test_drops_within_a_round_trip_are_one_event() -> None:
    assert drops.events([0, 10 * MS, 50 * MS, 51 * MS, 200 * MS], 50 * MS) == 3
    assert drops.events([], 50 * MS) == 0


def test_a_series_ends_where_a_flow_has_time_to_recover() -> None:
    dropped = [0, 10 * MS, 60 * MS, 240 * MS, 450 * MS, 460 * MS]
    assert drops.first_series(dropped, 50 * MS) == 3  # 0 and 10 are one event
    assert drops.first_series(dropped, 100 * MS) == 3  # so are 0 to 60
    assert drops.first_series([], 50 * MS) == 0


def test_full_packets_that_leave_meanwhile_go_ahead() -> None:
    full = [10, 20, 30, 40]
    assert drops.behind([(10, 30)], full) == 1  # neither the one that left as it came nor after
    assert drops.behind([(5, 45)] * 2 + [(1, 2)] * 98, full) == 4
    assert drops.behind([(5, 45)] + [(1, 2)] * 99, full) == 0  # the 99th of 100
    assert drops.behind([], full) == 0
