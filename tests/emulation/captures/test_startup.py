"""Tests of emulation.captures.startup: packets in steps of time."""

import pandas as pd

from qdisclab.emulation.captures import startup
from qdisclab.emulation.captures.drops import Sent
from qdisclab.emulation.captures.startup import StartupRow
from qdisclab.emulation.model.units import Duration

MS = 10**6
MINUTE = Duration.parse("60 s")


def packets(came_ms: list[float], left_ms: list[float | None], kind: str = "upload") -> Sent:
    """Packets of one kind; None was dropped."""
    left = [-1 if at is None else round(at * MS) for at in left_ms]
    times = {"time_ns": [round(at * MS) for at in came_ms], "left_ns": left, "kind": kind}
    return Sent(pd.DataFrame(times), {})


def rows(sent: Sent, at_head: bool = True) -> list[StartupRow]:
    return list(startup.rows(sent, Duration.parse("13 ms"), at_head, MINUTE))


def test_codel_decides_as_the_packet_before_has_left() -> None:
    sent = packets([0, 1, 2, 3, 50], [10, None, None, 22, 60]).packets
    assert (startup.decided(sent, at_head=True) / MS).tolist() == [0, 10, 10, 10, 50]
    assert (startup.decided(sent, at_head=False) / MS).tolist() == [0, 1, 2, 3, 50]


def test_steps_count_from_the_first_packet_of_the_uploads() -> None:
    sent = packets([5000, 5010, 5020, 5150, 45_000], [5012, 5024, None, None, 45_012])
    found = rows(sent)
    assert [row.from_s for row in found] == [*(number / 10 for number in range(300)), 30]
    first, second, *between, half = found
    assert (first.packets, first.dropped, first.wait_ms, first.shortest_ms) == (3, 1, 13.0, 0.0)
    assert (second.packets, second.dropped, second.wait_ms) == (1, 1, None)
    assert {(row.packets, row.shortest_ms) for row in between} == {(0, None)}
    assert (half.to_s, half.packets, half.wait_ms) == (60, 1, 12.0)
    assert {row.target_ms for row in found} == {13.0}


def test_codel_drops_late_and_pie_as_packets_come() -> None:
    sent = packets([0, 10, 20], [12, 190, None])
    assert [row.dropped for row in rows(sent, at_head=True)[:2]] == [0, 1]
    assert [row.dropped for row in rows(sent, at_head=False)[:2]] == [1, 0]


def test_the_second_half_is_that_of_the_load() -> None:
    assert startup.bounds_ms(Duration.parse("140 s"))[-1] == (70_000, 140_000)


def test_steps_end_where_the_second_half_of_a_short_load_begins() -> None:
    *steps, half = startup.bounds_ms(Duration.parse("20 s"))
    assert (steps[0], steps[-1], half) == ((0, 100), (9_900, 10_000), (10_000, 20_000))
    assert startup.bounds_ms(Duration.parse("350 ms")) == [(0, 100), (175, 350)]


def test_a_flood_of_udp_is_a_load() -> None:
    """Steps count from its first packet, which is 0.1 s after a probe's."""
    parts = packets([0], [1], "probe"), packets([100, 104], [112, None], "flood")
    sent = Sent(pd.concat([part.packets for part in parts], ignore_index=True), {})
    first, *_ = rows(sent)
    assert (first.packets, first.dropped, first.wait_ms) == (2, 1, 12.0)
