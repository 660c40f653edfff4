"""Tests of emulation.captures.packets: each packet of a queue, from its entry to its exit."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qdisclab.emulation.captures import packets
from qdisclab.emulation.captures.counters import Totals
from qdisclab.emulation.captures.packets import ENTERED, LEFT, RECORD, REFUSED
from qdisclab.emulation.errors import DamagedData, GuestFailure, TrafficFailure
from tests.emulation.captures.made import ACK, segment
from tests.emulation.captures.passages import MS, NONE, Passage, records, sampled

WHERE = ("router", "r-out")
OTHER = ("10.0.1.1", 40001), ("10.0.3.1", 5001)


def data(number: int, **fields: int) -> bytes:
    return segment(seq=1000 * number, payload=1000, id=number, **fields)


def table(
    folder: Path,
    passages: list[Passage],
    last: Totals,
    root: str = "tbf",
    samples: tuple[Totals, ...] = (NONE,),
    joined: int = 0,
    *,
    fifo: bool = False,
) -> pd.DataFrame:
    """The table of these records, which begin with a sample."""
    path = records(folder / "probe.0.queue", [sampled(0), *passages], joined)
    followed = packets.follow(path, samples, last, root, WHERE, fifo=fifo)
    packets.write(path, followed, root, folder / "table.parquet", {"node": "router"})
    return packets.read(folder / "table.parquet")


def column(rows: pd.DataFrame, name: str, unit: int = 1) -> list[object]:
    return [None if pd.isna(value) else value / unit for value in rows[name]]


def test_a_row_for_each_packet_that_enters(tmp_path: Path) -> None:
    passages = [
        (ENTERED, 1, data(0, ecn=0b10 | 46 << 2), 0),
        (ENTERED, 2, segment(*OTHER, payload=100), 1),
        (LEFT, 11, data(0, ecn=0b11 | 46 << 2), 0),
        (LEFT, 12, segment(*OTHER, payload=100, ttl=63), 0),
    ]
    rows = table(tmp_path, passages, Totals(2, 0, 1, 0))
    assert rows.attrs == {"node": "router"}
    assert list(rows["fate"]) == ["marked", "sent"]
    assert column(rows, "in_ns", MS) == [1, 2]
    assert column(rows, "sojourn_ns", MS) == [10, 10]
    assert column(rows, "flow") == [0, 1]
    assert list(zip(rows["ecn_in"], rows["ecn_out"], rows["dscp"], strict=True)) == [
        (2, 3, 46),
        (0, 0, 0),
    ]
    assert list(rows["queued_packets"]) == [0, 1]
    assert list(rows["length"]) == [1066, 166]
    assert list(rows["source"]) == ["10.0.1.1"] * 2
    assert list(rows["source_port"]) == [40000, 40001]


def test_none_overtakes_equal_ones_in_a_queue_that_keeps_their_order(tmp_path: Path) -> None:
    again = segment(seq=1, id=0)
    passages = [
        (ENTERED, 1, data(1), 0),
        (ENTERED, 2, again, 1),  # dropped from the head
        (ENTERED, 3, data(2), 2),
        (LEFT, 11, data(1), 0),
        (LEFT, 21, data(2), 0),
        (ENTERED, 22, again, 1),
        (ENTERED, 23, again, 2),  # dropped from the head
        (ENTERED, 24, data(3), 3),
        (LEFT, 31, again, 0),
        (LEFT, 41, data(3), 0),
    ]
    taken_in_turn, in_order = [10, 29, 18, None, None, 17], [10, None, 18, 9, None, 17]
    for fifo, expected in ((False, taken_in_turn), (True, in_order)):
        rows = table(tmp_path, passages, Totals(4, 2, 0, 0), "htb", fifo=fifo)
        assert column(rows, "sojourn_ns", MS) == expected


def test_a_syn_ack_that_is_sent_again_is_known_by_its_timestamp(tmp_path: Path) -> None:
    first, again = (
        segment(id=0, flags=0x12) + bytes.fromhex("020405b40402080a") + number.to_bytes(4, "big")
        for number in (1, 1001)
    )
    passages = [
        (ENTERED, 1, data(1), 0),
        (ENTERED, 2, first, 1),  # dropped from the head of its flow
        (ENTERED, 1002, again, 1),
        (LEFT, 1011, data(1), 0),
        (LEFT, 1012, again, 0),
    ]
    rows = table(tmp_path, passages, Totals(2, 1, 0, 0), "htb")
    assert column(rows, "sojourn_ns", MS) == [1010, None, 10]
    assert list(rows["fate"]) == ["sent", "dropped", "sent"]


def test_a_packet_is_refused_as_it_enters_or_dropped_as_its_turn_comes(tmp_path: Path) -> None:
    passages = [
        (ENTERED, 1, data(0), 0),
        (ENTERED, 2, data(1), 1),
        (ENTERED, 3, data(2), 2),
        (ENTERED, 4, data(3), 3),
        (REFUSED, 4, data(3), 0),
        (LEFT, 11, data(0), 0),
        (LEFT, 21, data(2), 0),
    ]
    for root, decided in (("tbf", 11), ("htb", 21)):
        rows = table(tmp_path, passages, Totals(2, 2, 0, 0), root)
        assert list(rows["fate"]) == ["sent", "dropped", "sent", "dropped"]
        assert column(rows, "out_ns", MS) == [11, decided, 21, 4]
        assert column(rows, "sojourn_ns", MS) == [10, None, 18, None]
        assert column(rows, "ecn_out") == [0, None, 0, None]


def test_a_packet_that_finds_the_queue_empty_is_no_earlier_one(tmp_path: Path) -> None:
    same = segment(payload=0, id=0)
    passages = [
        (ENTERED, 1, data(0), 0),
        (ENTERED, 2, same, 1),
        (LEFT, 11, data(0), 0),
        (ENTERED, 100, same, 0),
        (LEFT, 101, same, 0),
    ]
    rows = table(tmp_path, passages, Totals(2, 1, 0, 0))
    assert list(rows["fate"]) == ["sent", "dropped", "sent"]
    assert column(rows, "sojourn_ns", MS) == [10, None, 1]


def test_of_equal_packets_the_one_that_was_refused_did_not_leave(tmp_path: Path) -> None:
    """Acknowledgments of a connection that was closed have the identification 0, all of them."""
    same = segment(payload=0, id=0)
    passages = [
        (ENTERED, 1, data(0), 0),
        *((event, at, same, 1) for at in (2, 274) for event in (ENTERED, REFUSED)),
        (ENTERED, 300, data(1), 1),
        (LEFT, 301, data(0), 0),
        (ENTERED, 834, same, 1),
        (LEFT, 835, data(1), 0),
        (LEFT, 850, same, 0),
    ]
    rows = table(tmp_path, passages, Totals(3, 2, 0, 0))
    assert list(rows["fate"]) == ["sent", "dropped", "dropped", "sent", "sent"]
    assert column(rows, "out_ns", MS) == [301, 2, 274, 835, 850]


def test_what_comes_after_the_counters_were_read_is_left_out(tmp_path: Path) -> None:
    passages = [
        (ENTERED, 1, data(0), 0),
        (ENTERED, 2, data(1), 1),
        (ENTERED, 3, data(2), 2),
        (LEFT, 11, data(0), 0),
        (ENTERED, 12, data(3), 2),
        (LEFT, 21, data(1), 0),
    ]
    rows = table(tmp_path, passages, Totals(1, 0, 0, 3))
    assert list(rows["fate"]) == ["sent", "queued", "queued", "queued"]
    assert column(rows, "out_ns", MS) == [11, None, None, None]


@pytest.mark.parametrize(
    ("last", "what"),
    [
        (Totals(3, 0, 0, 0), "counted 3 packets, 2 were recorded"),
        (Totals(2, 1, 0, 0), "counted 1 drops, 0 were recorded"),
        (Totals(2, 0, 1, 0), "counted 1 marks, 0 were recorded"),
    ],
)
def test_counters_that_differ_fail_the_run(tmp_path: Path, last: Totals, what: str) -> None:
    entered = [(ENTERED, 1.0, data(number), number) for number in (0, 1)]
    passages = [*entered, *((LEFT, 2.0, data(number), 0) for number in (0, 1))]
    table(tmp_path, passages, Totals(2, 0, None, 0))
    with pytest.raises(GuestFailure, match=f"router r-out: the qdisc {what}"):
        table(tmp_path, passages, last)


def test_each_sample_is_compared_with_the_records_so_far(tmp_path: Path) -> None:
    passages = [(ENTERED, 1, data(0), 0), sampled(5), (LEFT, 11, data(0), 0)]
    begun = Totals(100, 7, 0, 0)  # by packets before the probe
    last = Totals(101, 7, 0, 0)
    table(tmp_path, passages, last, samples=(begun, Totals(100, 7, 0, 1)))
    with pytest.raises(GuestFailure, match="counted 1 packets, 0 were recorded"):
        table(tmp_path, passages, last, samples=(begun, Totals(101, 7, 0, 0)))
    with pytest.raises(GuestFailure, match="counted 0 drops, 1 were recorded"):
        table(tmp_path, passages, last, samples=(begun, Totals(100, 7, 0, 0)))
    with pytest.raises(GuestFailure, match="1 samples of counters, 2 in the records"):
        table(tmp_path, passages, last, samples=(begun,))


def test_packets_from_nowhere_fail_the_run(tmp_path: Path) -> None:
    with pytest.raises(GuestFailure, match="did not go in"):
        table(tmp_path, [(LEFT, 1, data(0), 0)], Totals(1, 0, 0, 0))
    path = tmp_path / "short"
    path.write_bytes(bytes(RECORD.itemsize + 1))
    with pytest.raises(GuestFailure, match="97 bytes, which is not a number of records"):
        list(packets.chunks(path))


def test_a_port_that_carries_nothing_fails_the_run(tmp_path: Path) -> None:
    with pytest.raises(TrafficFailure, match="router r-out: no packet came to this port"):
        table(tmp_path, [], NONE)


def test_packets_pass_by_an_empty_root(tmp_path: Path) -> None:
    passages = [
        (LEFT, 1, data(0), 0),
        (ENTERED, 2, data(1), 0),
        (LEFT, 3, data(1), 0),
        (LEFT, 4, data(2), 0),
    ]
    rows = table(tmp_path, passages, Totals(3, 0, 0, 0), root="fq_codel")
    assert column(rows, "sojourn_ns", MS) == [0, 1, 0]


def test_superpackets_are_their_segments(tmp_path: Path) -> None:
    whole = segment(seq=5, payload=2500, id=9, flags=ACK | 8)
    parts = [
        segment(seq=5 + 1000 * n, payload=size, id=9 + n, flags=flags)
        for n, (size, flags) in enumerate([(1000, ACK), (1000, ACK), (500, ACK | 8)])
    ]
    split = [(ENTERED, 1.0, whole, 0), *((LEFT, 2.0 + n, part, 0) for n, part in enumerate(parts))]
    rows = table(tmp_path, split, Totals(3, 0, 0, 0), joined=1000)
    assert column(rows, "sojourn_ns", MS) == [1, 2, 3]
    assert list(rows["payload"]) == [1000, 1000, 500]
    assert list(rows["length"]) == [1066, 1066, 566]
    together = [(ENTERED, 1.0, whole, 0), (LEFT, 2.0, whole, 0)]
    rows = table(tmp_path, together, Totals(3, 0, 0, 0), joined=1000)
    assert column(rows, "sojourn_ns", MS) == [1, 1, 1]


def test_chunks_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.RandomState(1)
    waiting: list[int] = []
    passages: list[Passage] = []
    left = dropped = 0
    for number in range(400):
        if rng.random_sample() < 0.45 and waiting:
            passages.append((LEFT, number, data(waiting.pop(0)), 0))
            left += 1
        else:
            passages.append((ENTERED, number, data(number % 50), len(waiting)))
            if rng.random_sample() < 0.1:
                passages.append((REFUSED, number, data(number % 50), 0))
                dropped += 1
            else:
                waiting.append(number % 50)
    last = Totals(left, dropped, 0, len(waiting))
    whole = table(tmp_path, passages, last)
    assert (whole["fate"] == "dropped").sum() == dropped
    monkeypatch.setattr(packets, "_CHUNK", 7)
    pd.testing.assert_frame_equal(table(tmp_path, passages, last), whole)


def test_another_file_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    with pytest.raises(DamagedData, match="cannot be read"):
        packets.read(path)
    pd.DataFrame({"a": [1]}).to_parquet(path)
    with pytest.raises(DamagedData, match="is not a table of the probe 'packets'"):
        packets.read(path)
