"""Tests of emulation.packets: following packets, round trips, new bytes, and what must agree."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from emulation import packets
from emulation import packets_frames as frames
from emulation.capture import read as read_pcap
from emulation.errors import GuestFailure

SENDER, RECEIVER = bytes((10, 0, 1, 1)), bytes((10, 0, 3, 1))
MAC_AT = 66  # where the kernel puts the packet into its frame


def frame(time_ns: int, forward: bool = True, *, ecn: int = 0, **fields: int) -> bytes:
    """A frame as the kernel keeps it, of a TCP segment."""
    about = {"id": 1, "seq": 0, "ack": 0, "payload": 1448, "flags": 0x10, "port": 40000} | fields
    length = 52 + about["payload"]
    ports = (about["port"], packets.SERVICE)
    source, target = (SENDER, RECEIVER) if forward else (RECEIVER, SENDER)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, ecn, length, about["id"], 0, 64, 6, 0, source, target)
    tcp = struct.pack(
        "!HHIIBBHHH",
        *(ports if forward else ports[::-1]),
        about["seq"],
        about["ack"],
        8 << 4,
        about["flags"],
        0,
        0,
        0,
    )
    packet = bytes(12) + b"\x08\x00" + ip + tcp
    seconds, nanoseconds = divmod(time_ns, 10**9)
    head = struct.pack("<IIIHHII", 1, length + 14, 62, MAC_AT, 80, seconds, nanoseconds)
    return (head.ljust(MAC_AT, b"\0") + packet).ljust(frames.FRAME_BYTES, b"\0")


def capture(path: Path, *kept: bytes) -> Path:
    path.write_bytes(gzip.compress(b"".join(kept)))
    return path


def test_a_frame_is_read_to_the_nanosecond(tmp_path: Path) -> None:
    path = capture(
        tmp_path / "one.frames.gz",
        frame(3 * 10**9 + 7, id=9, seq=5, ack=6, payload=100, ecn=3),
        frame(4 * 10**9, forward=False, seq=6, ack=105, payload=0),
    )
    there, back = frames.read(path, packets.SERVICE).to_dict("records")
    assert there["time_ns"] == 3_000_000_007
    assert (there["id"], there["seq"], there["ack"], there["payload"]) == (9, 5, 6, 100)
    assert (there["length"], there["forward"], there["ce"]) == (166, True, True)
    assert (back["forward"], back["payload"], back["ce"]) == (False, 0, False)
    assert (there["sender"], there["port"]) == (back["sender"], back["port"])


def test_a_capture_becomes_a_pcap_file(tmp_path: Path) -> None:
    path = capture(tmp_path / "one.frames.gz", frame(3 * 10**9 + 7, seq=5))
    (tmp_path / "one.pcap.gz").write_bytes(frames.to_pcap(path))
    (packet,) = read_pcap(tmp_path / "one.pcap.gz")
    assert (packet.time_ns, packet.length) == (3_000_000_007, 1514)
    assert "10.0.1.1.40000 > 10.0.3.1.5001 TCP [.] seq 5 ack 0" in str(packet)


def test_a_packet_of_no_flow_is_an_error_that_shows_it(tmp_path: Path) -> None:
    arp = bytearray(frame(1))
    arp[MAC_AT + 12 : MAC_AT + 14] = b"\x08\x06"
    path = capture(tmp_path / "one.frames.gz", frame(1), bytes(arp))
    with pytest.raises(GuestFailure, match=r"1 packets are of no flow, the first is 0{24}0806"):
        frames.read(path, packets.SERVICE)


def table(*rows: tuple[int, int], **other: int) -> pd.DataFrame:
    """Packets of one flow: (time_ns, id) each."""
    base = {"sender": 1, "port": 2, "seq": 0, "ack": 0, "payload": 1448, "flags": 16, "ce": False}
    return pd.DataFrame([{**base, **other, "time_ns": time, "id": number} for time, number in rows])


def test_packets_are_followed_and_the_dropped_ones_are_left() -> None:
    seen = packets.follow(table((10, 1), (20, 2), (30, 3)), table((15, 1), (45, 3)), "the queue")
    assert seen["time_ns_then"].fillna(-1).tolist() == [15, -1, 45]


def test_a_packet_from_nowhere_is_an_error() -> None:
    with pytest.raises(GuestFailure, match="packets come out that did not go in"):
        packets.follow(table((10, 1)), table((15, 2)), "the queue")


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
    twins = table((10, 0), (20, 0), (30, 0))
    seen = packets.follow(twins, table(*((time, 0) for time in out)), "the queue")
    assert seen["time_ns_then"].fillna(-1).tolist() == then


def test_a_round_trip_is_without_the_receivers_time_and_of_the_last_packet_before() -> None:
    sent = table((0, 1), (10, 2), (20, 3), (30, 4)).assign(time_ns_then=[100, 110, np.nan, 130])
    back = table((150, 7), (160, 8)).assign(time_ns_then=[190, 200])
    # The reply at 150 follows packet 4, which arrived at 130; that at 160 has none of its own.
    (pair,) = packets.round_trips(sent, back).to_dict("records")
    assert (pair["id"], pair["rtt_ns"]) == (4, (130 - 30) + (190 - 150))
    early = table((105, 6)).assign(time_ns_then=[145])
    (pair,) = packets.round_trips(sent, early).to_dict("records")
    assert (pair["id"], pair["rtt_ns"]) == (1, 100 + 40)


@pytest.mark.parametrize(
    ("segments", "new"),
    [
        ([(0, 10), (10, 10)], [10, 10]),
        ([(0, 10), (0, 10)], [10, 0]),  # sent twice, and arrived twice
        ([(0, 10), (20, 10), (10, 10)], [10, 10, 10]),  # a hole, and what fills it
        ([(0, 10), (20, 10), (5, 20)], [10, 10, 10]),  # overlaps both sides of the hole
        ([(10, 5), (20, 5), (0, 30)], [5, 5, 20]),
        ([(0, 10), (30, 5), (12, 3), (10, 20)], [10, 5, 3, 17]),  # splits it
        ([(0, 10), (5, 10)], [10, 5]),
    ],
)
def test_bytes_that_arrive_again_are_not_new(
    segments: list[tuple[int, int]], new: list[int]
) -> None:
    start, size = (np.array(column, dtype=np.int64) for column in zip(*segments, strict=True))
    assert packets.new_bytes(start, size).tolist() == new


def test_what_the_qdisc_counted_otherwise_is_an_error() -> None:
    before = {"kind": "codel", "packets": 5, "bytes": 100, "drops": 1, "ecn_mark": 0, "qlen": 0}
    left = pd.DataFrame({"length": [1514, 66]})
    after = before | {"packets": 7, "bytes": 1680, "drops": 4, "ecn_mark": 2}
    packets.check_counters([before, after], left, dropped=3, marked=2)
    for wrong in ({"packets": 8}, {"bytes": 1681}, {"drops": 3}, {"ecn_mark": 1}, {"qlen": 1}):
        with pytest.raises(GuestFailure, match="codel counted"):
            packets.check_counters([before, after | wrong], left, dropped=3, marked=2)


def test_red_has_its_own_word_for_marks() -> None:
    assert packets.marks({"kind": "red", "marked": 7}) == 7
    assert packets.marks({"kind": "fq_codel", "ecn_mark": 3}) == 3


def test_bytes_that_iperf_read_otherwise_are_an_error(tmp_path: Path) -> None:
    line = "19700101000000,10.0.1.1,40000,10.0.3.1,5001,1,0.0-10.1,1448,1147"
    (tmp_path / "iperf-receiver1.csv").write_text(line + "\nERROR: expected reverse connect\n")
    flow = (int.from_bytes(SENDER, "big"), 40000)
    packets.check_iperf(tmp_path, {flow: 1448})
    with pytest.raises(GuestFailure, match="differ: 1447 and 1448"):
        packets.check_iperf(tmp_path, {flow: 1447})
    with pytest.raises(GuestFailure, match="differ: None and 1448"):
        packets.check_iperf(tmp_path, {})


def test_a_table_is_written_small_and_equal_tables_equally(tmp_path: Path) -> None:
    rows = 10_000
    written = pd.DataFrame(
        {
            "arrived_ms": np.arange(rows) * 6 // 5,
            "flow": np.arange(rows) % 4,
            "length": 1514,
            "fate": 0,
            "sojourn_us": np.where(np.arange(rows) % 7, 5000.0, np.nan),
            "elsewhere_us": np.nan,
        }
    )
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for file in files:
        packets.write(written, file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].stat().st_size < rows
    back = pq.read_table(files[0]).to_pandas()
    assert list(back) == packets.SCHEMA.names
    pd.testing.assert_frame_equal(back, written, check_dtype=False)


def test_counters_are_those_of_the_qdisc_under_test(tmp_path: Path) -> None:
    qdiscs = [{"handle": "1:", "packets": 9}, {"handle": packets.HANDLE, "packets": 5}]
    sample = {"time_ns": 7, "qdiscs": {"aqm aqm-delay": qdiscs}}
    (tmp_path / "counters.json").write_text(json.dumps([sample]))
    (found,) = packets.read_counters(tmp_path, "aqm aqm-delay")
    assert (found["packets"], found["time_ns"]) == (5, 7)
