"""Tests of what the study adds to packets that were followed."""

from qdisclab.emulation.captures.follow import follow
from studies.khademi2013.captures import flows
from tests.emulation.captures.made import table


def test_dropped_packets_have_no_exit() -> None:
    seen = follow(table((10, 1), (20, 2), (30, 3)), table((15, 1), (45, 3)), "the queue")
    assert flows.with_exits(seen)["time_ns_then"].fillna(-1).tolist() == [15, -1, 45]


def test_times_stay_whole_numbers_where_nothing_was_dropped() -> None:
    exact = 1_420_070_400_000_000_001  # as a floating-point number 1_420_070_400_000_000_000
    seen = follow(table((10, 1)), table((exact, 1)), "the queue")
    assert flows.with_exits(seen)["time_ns_then"].tolist() == [exact]


def test_samples_of_the_load_have_no_settings() -> None:
    samples = [{"time_ns": at, "handle": "10:", "options": {}, "qlen": at} for at in (1, 2, 3)]
    assert flows.during(samples, began_ns=0) == [{"time_s": 0.0, "qlen": 2}]
