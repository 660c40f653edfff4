"""Tests of emulation.captures.follow: packets that leave, are dropped, marked, or equal."""

import pandas as pd
import pytest

from qdisclab.emulation.captures.follow import Followed, follow, in_order
from qdisclab.emulation.errors import GuestFailure
from tests.emulation.captures.made import table


def left(followed: Followed) -> list[int]:
    return followed.left_ns.tolist()


def test_packets_are_followed_and_the_dropped_ones_are_left() -> None:
    seen = follow(table((10, 1), (20, 2), (30, 3)), table((15, 1), (45, 3)), "the queue")
    assert left(seen) == [15, -1, 45]
    assert seen.sent.tolist() == [True, False, True]
    assert seen.delay_ns.tolist() == [5, -1, 15]


def test_a_queue_may_send_in_another_order() -> None:
    seen = follow(table((10, 1), (20, 2), (30, 3)), table((35, 3), (45, 1), (50, 2)), "the queue")
    assert left(seen) == [45, 50, 35]


def test_times_stay_whole_numbers_where_nothing_was_dropped() -> None:
    exact = 1_420_070_400_000_000_001  # as a floating-point number 1_420_070_400_000_000_000
    seen = follow(table((10, 1)), table((exact, 1)), "the queue")
    assert seen.delay_ns.tolist() == [exact - 10]


def test_labels_of_rows_do_not_matter() -> None:
    before = pd.concat([table((10, 1)), table((12, 2))])  # both have the label 0
    assert left(follow(before, table((20, 2)), "the queue")) == [-1, 20]


def test_a_mark_is_one_that_was_set_in_between() -> None:
    before = table((10, 1), (20, 2), (30, 3), ce=[False, True, False])
    seen = follow(before, table((15, 1), (25, 2), ce=True), "the queue")
    assert seen.marked.tolist() == [True, False, False]


@pytest.mark.parametrize("came_out", [table((15, 2)), table((15, 1), (16, 1)), table((15, 0))])
def test_a_packet_from_nowhere_is_an_error(came_out: pd.DataFrame) -> None:
    with pytest.raises(GuestFailure, match="packets come out that did not go in"):
        follow(table((10, 1)), came_out, "the queue")


def test_a_packet_that_leaves_before_it_arrives_is_an_error() -> None:
    with pytest.raises(GuestFailure, match="leave before they arrive"):
        follow(table((10, 1)), table((9, 1)), "the queue")


@pytest.mark.parametrize(
    ("out", "then"),
    [
        ([25], [-1, 25, -1]),  # the first was dropped
        ([15, 25], [15, 25, -1]),
        ([40, 41], [-1, 40, 41]),
        ([15, 40], [15, -1, 40]),
    ],
)
def test_of_equal_packets_the_latest_is_taken(out: list[int], then: list[int]) -> None:
    """Segments of no socket have the identification 0: a second SYN-ACK equals the first."""
    twins, came_out = table((10, 0), (20, 0), (30, 0)), table(*((time, 0) for time in out))
    assert left(follow(twins, came_out, "the queue")) == then


def test_equal_packets_are_sorted_by_their_times() -> None:
    twins = pd.concat([table((30, 0)), table((10, 0))])
    assert left(follow(twins, table((40, 0), (15, 0)), "the queue")) == [40, 15]


def test_equal_packets_can_be_taken_in_order() -> None:
    twins = table((10, 0), (20, 0), (30, 0))
    assert left(follow(twins, table((40, 0), (41, 0)), "the queue", in_order)) == [40, 41, -1]
    with pytest.raises(GuestFailure, match="did not go in"):
        follow(twins, table(*((time, 0) for time in (40, 41, 42, 43))), "the queue", in_order)
    with pytest.raises(GuestFailure, match="did not go in"):
        follow(twins, table((5, 0)), "the queue")
