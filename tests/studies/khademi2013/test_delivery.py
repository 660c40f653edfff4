"""Tests of studies.khademi2013.captures.delivery: new bytes, and what iperf must have read."""

from ipaddress import IPv4Address
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qdisclab.emulation.captures import frames
from qdisclab.emulation.errors import GuestFailure, TrafficFailure
from studies.khademi2013.captures.delivery import (
    check_iperf,
    delivered_bytes,
    ended_flows,
    new_bytes,
)
from tests.emulation.captures.made import SENDER, table


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
    assert new_bytes(start, size).tolist() == new


def test_bytes_that_iperf_read_otherwise_are_an_error(tmp_path: Path) -> None:
    line = "19700101000000,10.0.1.1,40000,10.0.3.1,5001,1,0.0-10.1,1448,1147"
    (tmp_path / "iperf-receiver1.csv").write_text(line + "\nERROR: expected reverse connect\n")
    flow = (int(IPv4Address(SENDER[0])), SENDER[1])
    check_iperf(tmp_path, {flow: 1448}, {flow})
    with pytest.raises(GuestFailure, match="differ: 1447 and 1448"):
        check_iperf(tmp_path, {flow: 1447}, set())
    with pytest.raises(GuestFailure, match="differ: None and 1448"):
        check_iperf(tmp_path, {}, set())


def test_only_a_flow_that_has_not_ended_may_be_without_a_report(tmp_path: Path) -> None:
    flow = (int(IPv4Address(SENDER[0])), SENDER[1])
    check_iperf(tmp_path, {flow: 1448}, set())
    with pytest.raises(GuestFailure, match="differ: 1448 and None"):
        check_iperf(tmp_path, {flow: 1448}, {flow})


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
    assert ended_flows(sent, {flow: 1448}) == ({flow} if ended else set())


def test_a_flow_whose_every_syn_was_dropped_is_there_and_delivers_nothing() -> None:
    def packet(port: int, then: float, **other: int) -> dict[str, object]:
        about = {"sender": 1, "port": port, "seq": 0, "payload": 0, "flags": frames.SYN}
        return {**about, "time_ns_then": then, "flow": port - 2, **other}

    sent = [packet(2, 5e8), packet(2, 6e8, seq=1, payload=100, flags=16), packet(3, np.nan)]
    packets = pd.DataFrame(sent)
    delivered, totals = delivered_bytes(packets, packets, 0, 10**9, 2)
    assert delivered.tolist() == [[100, 0], [0, 0]]
    assert totals == {(1, 2): 100}
    broken = pd.DataFrame([packet(2, 5e8, payload=100, flags=16)])
    with pytest.raises(TrafficFailure, match="flow 0 has no SYN"):
        delivered_bytes(broken, broken, 0, 10**9, 2)
