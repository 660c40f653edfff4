"""What the upload's queue drops: packets followed through it, and what the table of them shows."""

import socket
import struct
from pathlib import Path

import pandas as pd
import pytest

from analysis import drops, figures_drops, style
from analysis.claims.settled import settled_by
from analysis.errors import DataError
from emulation.capture import Packet
from workflow import drops as followed
from workflow.drops import Answer, Sent

CLIENT, SERVER = "10.0.1.1", "10.0.4.2"
FLOW = (6, SERVER, 5000, 12865)
PUBLISHED = Path(__file__).parents[1] / "data" / "published"
MS = 1_000_000


def sent(at_ms: float, seq: int = 0, payload: int = 1000, key: bytes = b"") -> Sent:
    return Sent(round(at_ms * MS), FLOW, False, seq, payload, key or bytes([seq // 1000 % 256]))


def frame(seq: int, payload: int, ttl: int = 64, source: str = CLIENT) -> bytes:
    """An Ethernet frame with IPv4 and TCP, cut after the headers as captures are."""
    ip = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, 40 + payload, 7, 0, ttl, 6, ttl,
        socket.inet_aton(source), socket.inet_aton(SERVER),
    )  # fmt: skip
    return (
        b"\0" * 12
        + b"\x08\0"
        + ip
        + struct.pack("!HHIIBBHHH", 5000, 12865, seq, 0, 0x50, 2, 0, 0, 0)
    )


def test_packets_are_read_from_a_capture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    packets = [
        Packet(5, 1054, frame(1000, 1000)),
        Packet(6, 1054, frame(1000, 1000, source="10.0.9.9")),
        Packet(7, 60, b"\0" * 12 + b"\x08\x06" + b"\0" * 46),  # ARP
    ]
    monkeypatch.setattr("emulation.capture.read", lambda path: iter(packets))
    (one,) = followed.sent_by(tmp_path, CLIENT)
    assert (one.time_ns, one.flow, one.syn, one.seq, one.payload) == (5, FLOW, True, 1000, 1000)


def test_a_hop_changes_nothing_that_tells_packets_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    packets = [Packet(5, 1054, frame(1000, 1000, ttl=ttl)) for ttl in (64, 63)]
    monkeypatch.setattr("emulation.capture.read", lambda path: iter(packets))
    first, second = followed.sent_by(tmp_path, CLIENT)
    assert first.key == second.key


def test_what_does_not_leave_was_dropped() -> None:
    before = [sent(0, 0), sent(1, 1000), sent(2, 2000), sent(3, 1000)]
    behind = [sent(5, 0), sent(6, 1000)]
    assert followed.fates(before, behind) == [5 * MS, 6 * MS, None, None]
    with pytest.raises(ValueError, match="did not send"):
        followed.fates(before, [sent(1, 9000)])


def test_only_the_retransmission_timer_counts() -> None:
    base = 50 * MS
    acked = [Answer(60 * MS, 1000)]
    lost = [sent(0, 0), sent(1, 1000)]
    by_answer = [*lost, sent(320, 1000)]
    assert followed.timeouts(by_answer, [*acked, Answer(320 * MS, 1000)], base) == (0, 0)
    assert followed.timeouts([*lost, sent(150, 1000)], acked, base) == (0, 0)  # RACK, or a probe
    assert followed.timeouts([*lost, sent(320, 1000)], acked, base) == (1, 1)
    again = [*lost, sent(320, 1000), sent(840, 1000)]
    assert followed.timeouts(again, acked, base) == (2, 2)
    between = [*acked, Answer(900 * MS, 2000)]
    later = [*again, sent(901, 2000), sent(1200, 2000)]
    assert followed.timeouts(later, between, base) == (3, 2)


def test_sequence_numbers_wrap() -> None:
    top = 2**32 - 500
    packets = [sent(0, top, 500), sent(1, 0, 500), sent(400, 0, 500)]
    acked = [Answer(60 * MS, 0)]
    assert followed.timeouts(packets, acked, 50 * MS) == (1, 1)


def test_drops_within_a_round_trip_are_one_event() -> None:
    assert followed.events([0, 10 * MS, 50 * MS, 51 * MS, 200 * MS], 50 * MS) == 3
    assert followed.events([], 50 * MS) == 0


def test_a_series_ends_where_a_flow_has_time_to_recover() -> None:
    dropped = [0, 10 * MS, 60 * MS, 240 * MS, 450 * MS, 460 * MS]
    assert followed.first_series(dropped, 50 * MS) == 3  # 0 and 10 are one event
    assert followed.first_series(dropped, 100 * MS) == 3  # so are 0 to 60
    assert followed.first_series([], 50 * MS) == 0


def test_full_packets_that_leave_meanwhile_go_ahead() -> None:
    full = [10, 20, 30, 40]
    assert followed.behind([(10, 30)], full) == 1  # neither the one that left as it came nor after
    assert followed.behind([(5, 45)] * 2 + [(1, 2)] * 98, full) == 4
    assert followed.behind([(5, 45)] + [(1, 2)] * 99, full) == 0  # the 99th of 100
    assert followed.behind([], full) == 0


def row(**changes: object) -> dict[str, object]:
    one: dict[str, object] = {
        "experiment": "rrul", "era": "2014", "link": "10/1", "qdisc": "ared", "cc": "cubic",
        "seed": 1, "length_s": 60.0, "kind": "acknowledgment", "flows": 4, "packets": 200,
        "dropped": 50, "bursts": 20, "longest_burst": 5, "events": 25, "wait_ms": 4.0,
        "longest_wait_ms": 5.0, "timeouts": 0, "timeouts_in_a_row": 0, "connections": 0,
        "late_connections": 0, "behind_packets": 0.0, "first_series": 0,
    }  # fmt: skip
    return one | changes


@pytest.fixture
def table(tmp_path: Path) -> Path:
    probes = {"kind": "probe", "flows": 4, "dropped": 0, "bursts": 0, "events": 0}
    upload = {"experiment": "rtt_fairness", "flows": 1, "length_s": 600.0}
    rows = [
        row(),
        row(seed=2, dropped=60),
        row(qdisc="fq_codel", **probes, wait_ms=8.0, longest_wait_ms=40.0),
        row(qdisc="fq_codel", **probes, seed=2, wait_ms=8.0, longest_wait_ms=9.0),
        *(
            row(**upload, kind="upload, 10 ms", timeouts=600, timeouts_in_a_row=3 + seed, seed=seed)
            for seed in (1, 2, 3)
        ),
        row(
            experiment="web_small_1up", kind="syn", connections=80, late_connections=20, dropped=20
        ),
    ]
    path = tmp_path / "captures" / "gbw2015.csv"
    path.parent.mkdir()
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def test_shares_and_rates(table: Path) -> None:
    read = drops.read_drops(table, "10/1")
    assert drops.panel(read, "acks").set_index("group")["mean"]["acknowledgment"] == 27.5
    assert drops.panel(read, "syn")["mean"].tolist() == [25.0]
    assert drops.panel(read, "timeouts")["mean"].tolist() == [60.0]
    assert drops.panel(read, "together")["mean"].tolist() == [2.0]
    assert drops.read_drops(table, "10/10").empty


def test_a_probe_that_waits_longer_shares_its_queue(table: Path) -> None:
    found = drops.collisions(drops.read_drops(table))
    assert found[["qdisc", "seed", "runs"]].to_numpy().tolist() == [["fq_codel", 1, 2]]


def test_claims_take_the_table(table: Path) -> None:
    measured = drops.measured(table)
    assert set(measured["metric"]) == {
        "ack_drops_percent", "timeouts_10ms", "timeouts_10ms_in_a_row", "late_syn_percent",
        "probe_behind_packets", "departure_interval_ms", "first_congestions_10ms",
    }  # fmt: skip
    intervals = measured[measured["metric"] == "departure_interval_ms"]
    assert set(intervals["experiment"]) == {"web_small_1up"}
    judged = settled_by(measured, "gbw2015", PUBLISHED).set_index("Claim")["Verdict"]
    assert judged["g152"] == "agrees"  # 4, 5 and 6 in a row
    assert drops.measured(table.with_name("none.csv")).empty


def test_another_table_is_refused(table: Path) -> None:
    pd.read_csv(table).drop(columns="timeouts").to_csv(table, index=False)
    with pytest.raises(DataError, match="not a table of drops"):
        drops.read_drops(table)
    with pytest.raises(DataError, match="no such file"):
        drops.read_drops(table.with_name("none.csv"))


def test_every_panel_has_its_bars(table: Path) -> None:
    read = drops.read_drops(table, "10/1")
    with style.styled() as palette:
        figure = figures_drops.drops(read, palette)
    assert len(figure.axes) == len(drops.SHOWN)
    assert [len(axes.patches) for axes in figure.axes] == [1, 1, 1, 1, 1, 2]
    assert "27.5" in figures_drops.describe_drops(read)
