"""Tests of what the study adds to packets that were followed, and of its captures as pcap files."""

from __future__ import annotations

from pathlib import Path

from emulation.captures import frames, pcap
from emulation.captures.follow import follow
from studies.khademi2013.captures import flows
from studies.khademi2013.captures.ring import to_pcap
from tests.emulation.captures.made import RECEIVER, SENDER, echo, ring, segment, table


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


def test_a_capture_becomes_a_pcap_file_that_is_decoded_alike(tmp_path: Path) -> None:
    packets = [
        (3 * 10**9 + 7, segment(id=9, seq=5, ack=6, payload=100, ecn=3)),
        (4 * 10**9, segment(RECEIVER, SENDER, seq=6, ack=105)),
        (6 * 10**9, echo(3)),
    ]
    path, there = ring(tmp_path / "one.frames.gz", packets), tmp_path / "one.pcap.gz"
    to_pcap(frames.read(path), there)
    first, *_ = pcap.read(there)
    assert (first.time_ns, first.length, len(first.content)) == (3_000_000_007, 166, 62)
    assert "10.0.1.1.40000 > 10.0.3.1.5001 TCP [.] seq 5 ack 6" in str(first)
    before, after = (frames.decode(frames.read(file)) for file in (path, there))
    assert before.equals(after)
