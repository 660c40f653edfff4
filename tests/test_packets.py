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

from emulation import packets, packets_flight, packets_pings, packets_table
from emulation import packets_frames as frames
from emulation.capture import read as read_pcap
from emulation.errors import GuestFailure, TrafficFailure

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
    packets.check_iperf(tmp_path, {flow: 1448}, {flow})
    with pytest.raises(GuestFailure, match="differ: 1447 and 1448"):
        packets.check_iperf(tmp_path, {flow: 1447}, set())
    with pytest.raises(GuestFailure, match="differ: None and 1448"):
        packets.check_iperf(tmp_path, {}, set())


def test_only_a_flow_that_has_not_ended_may_be_without_a_report(tmp_path: Path) -> None:
    flow = (int.from_bytes(SENDER, "big"), 40000)
    packets.check_iperf(tmp_path, {flow: 1448}, set())
    with pytest.raises(GuestFailure, match="differ: 1448 and None"):
        packets.check_iperf(tmp_path, {flow: 1448}, {flow})


@pytest.mark.parametrize(
    ("seq", "arrives", "ended"),
    [
        (1448 + 1, True, True),
        (1448 + 1, False, False),  # the FIN is lost
        (2896 + 1, True, False),  # it arrives, but not the segment before it
    ],
)
def test_a_flow_ends_with_a_fin_behind_all_its_bytes(seq: int, arrives: bool, ended: bool) -> None:
    sent = table((0, 1), (10, 2), (20, 3)).assign(
        time_ns_then=[100, 110, 120 if arrives else np.nan],
        seq=[0, 1, seq],
        payload=[0, 1448, 0],
        flags=[frames.SYN, 0x10, 0x10 | frames.FIN],
    )
    (row,) = sent[["sender", "port"]].drop_duplicates().itertuples(index=False)
    flow = (int(row.sender), int(row.port))
    assert packets.ended_flows(sent, {flow: 1448}) == ({flow} if ended else set())


def queued(rows: int) -> pd.DataFrame:
    """A table of packets that wait 5 ms; each seventh is dropped."""
    arrived = np.arange(rows) * 12
    return pd.DataFrame(
        {
            "arrived_100us": arrived,
            "left_100us": np.where(np.arange(rows) % 7, arrived + 50.0, np.nan),
            "flow": np.arange(rows) % 4,
            "length": 1514,
            "fate": np.where(np.arange(rows) % 7, 0, 2),
            "elsewhere_100us": np.where(np.arange(rows) % 2, 3.0, np.nan),
        }
    )


def test_a_table_is_written_small_and_equal_tables_equally(tmp_path: Path) -> None:
    written = queued(10_000)
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for file in files:
        packets_table.write(written, file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].stat().st_size < len(written)
    back = packets_table.read(files[0])
    assert list(back) == list(packets_table.COLUMNS)
    pd.testing.assert_frame_equal(back, written, check_dtype=False)


def test_times_are_stored_as_what_they_are_after_the_row_before(tmp_path: Path) -> None:
    packets_table.write(queued(4), tmp_path / "a.parquet")
    stored = pq.read_table(tmp_path / "a.parquet").to_pydict()
    assert stored["arrived_after_100us"] == [0, 12, 12, 12]
    assert stored["left_after_100us"] == [None, 62, 12, 12]  # the first was dropped


def test_a_table_of_stations_has_whole_ms_and_directions(tmp_path: Path) -> None:
    written = queued(10_000)
    written[["arrived_100us", "left_100us"]] //= 10
    written[["arrived_100us", "left_100us"]] *= 10
    written["elsewhere_100us"] = written["arrived_100us"] % 1370 // 10 * 10 - 10
    written.loc[1::2, "elsewhere_100us"] = np.nan
    packets_table.write(written, tmp_path / "a.parquet", downloads=3)
    stored = pq.read_table(tmp_path / "a.parquet")
    assert stored.schema.names == packets_table.SCHEMA_STATIONS.names
    back = packets_table.read(tmp_path / "a.parquet")
    assert back["up"].tolist() == (written["flow"] == 3).tolist()
    same = ["arrived_100us", "left_100us", "length", "fate"]
    pd.testing.assert_frame_equal(back[same], written[same], check_dtype=False)
    # Whole ms rounded down are off by half of one on average; so rounded, their truth is between.
    off = back["elsewhere_100us"] - written["elsewhere_100us"]
    assert set(off.dropna()) == {0, 10}
    assert off.isna().tolist() == written["elsewhere_100us"].isna().tolist()


def test_a_summary_is_of_what_there_is() -> None:
    found = packets_table.summary(np.array([1e6, np.nan, 3e6, 2e6]))
    assert (found["p10"], found["p50"], found["most"]) == (1200, 2000, 3000)
    assert packets_table.summary(np.array([np.nan])) == {}


def test_counters_are_those_of_the_qdisc_under_test(tmp_path: Path) -> None:
    qdiscs = [{"handle": "1:", "packets": 9}, {"handle": packets.HANDLE, "packets": 5}]
    sample = {"time_ns": 7, "qdiscs": {"aqm aqm-delay": qdiscs}}
    (tmp_path / "counters.json").write_text(json.dumps([sample]))
    (found,) = packets.read_counters(tmp_path, "aqm aqm-delay")
    assert (found["packets"], found["time_ns"]) == (5, 7)


def ping_frame(time_ns: int, kind: int, number: int) -> bytes:
    """A frame as the kernel keeps it, of a ping (kind 8) or its answer (0)."""
    ends = (SENDER, RECEIVER) if kind else (RECEIVER, SENDER)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 84, 11, 0, 64, 1, 0, *ends)
    packet = bytes(12) + b"\x08\x00" + ip + struct.pack("!BBHHH", kind, 0, 0, 700, number)
    head = struct.pack("<IIIHHII", 1, 98, 62, MAC_AT, 80, *divmod(time_ns, 10**9))
    return (head.ljust(MAC_AT, b"\0") + packet).ljust(frames.FRAME_BYTES, b"\0")


def test_pings_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    path = capture(tmp_path / "a.frames.gz", ping_frame(5, 8, 3), ping_frame(9, 0, 3), frame(12))
    there, back, other = frames.read(path, packets.SERVICE, pings=True).to_dict("records")
    assert (there["forward"], there["port"], there["seq"], there["payload"]) == (True, 0, 3, 56)
    assert (back["forward"], back["sender"]) == (False, there["sender"])
    assert other["port"] == 40000
    with pytest.raises(GuestFailure, match="2 packets are of no flow"):
        frames.read(path, packets.SERVICE)


def test_what_ping_printed_goes_to_the_requests_that_were_captured(tmp_path: Path) -> None:
    answer = "64 bytes from 10.0.3.1: icmp_seq=2 ttl=62 time=104 ms\n"
    (tmp_path / packets_pings.LOG).write_text("PING 10.0.3.1\n" + answer)
    sent = pd.DataFrame({"seq": [1, 2], "time_ns": [1000, 1100]})
    found = packets_pings.read_pings(tmp_path, sent, began_ns=900)
    assert found["sent_ns"].tolist() == [100, 200]
    assert found["answer_ms"].fillna(-1).tolist() == [-1, 104]
    with pytest.raises(GuestFailure, match="an answer to 2, which was not sent"):
        packets_pings.read_pings(tmp_path, sent[:1], began_ns=900)


def test_in_flight_is_what_is_sent_and_not_acknowledged() -> None:
    def sent(time_ns: int, seq: int, payload: int, flags: int = 0x10) -> dict[str, object]:
        about = {"sender": 1, "port": 2, "time_ns": time_ns}
        return {**about, "seq": seq, "payload": payload, "flags": flags}

    data = pd.DataFrame(
        [sent(0, 99, 0, flags=2), *(sent(10 + step, 100 + 10 * step, 10) for step in range(4))]
    )
    acks = pd.DataFrame({"sender": 1, "port": 2, "time_ns_then": [12.5], "ack": [120]})
    # As each is sent: nothing, 10, 20 and 30; then the first two are acknowledged: 20.
    assert packets_flight.flights(data, acks) == {"p10": 4, "p50": 20, "p90": 26}


def test_a_flow_whose_every_syn_was_dropped_is_there_and_delivers_nothing() -> None:
    def packet(port: int, then: float, **other: int) -> dict[str, object]:
        about = {"sender": 1, "port": port, "seq": 0, "payload": 0, "flags": frames.SYN}
        return {**about, "time_ns_then": then, "flow": port - 2, **other}

    sent = [packet(2, 5e8), packet(2, 6e8, seq=1, payload=100, flags=16), packet(3, np.nan)]
    table = pd.DataFrame(sent)
    delivered, totals = packets.delivered_bytes(table, table, 0, 10**9, 2)
    assert delivered.tolist() == [[100, 0], [0, 0]]
    assert totals == {(1, 2): 100}
    broken = pd.DataFrame([packet(2, 5e8, payload=100, flags=16)])
    with pytest.raises(TrafficFailure, match="flow 0 has no SYN"):
        packets.delivered_bytes(broken, broken, 0, 10**9, 2)
