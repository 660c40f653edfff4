"""What is measured of two flows: rates from 10 s on, marks in a round trip, what a step does."""

from types import ModuleType

import pandas as pd
import pytest

from qdisclab.analysis.runs.study import study_at


@pytest.fixture(name="own")
def fixture_own() -> ModuleType:
    return study_at("l4s").module("measures")


def table(seconds: int, **columns: list[float]) -> pd.DataFrame:
    """A sample a second of one connection, beside one that carries netperf's own talk."""
    flow = pd.DataFrame(
        {
            "time_ns": [int(1e9) * second for second in range(seconds)],
            "local_port": 5,
            "state": "ESTAB",
            **columns,
        }
    )
    return pd.concat([flow, flow.assign(local_port=6, bytes_acked=900)], ignore_index=True)


def test_a_rate_is_that_from_10_s_on(own: ModuleType) -> None:
    acked = [1e6 * second if second < 10 else 1e7 + 5e5 * (second - 10) for second in range(15)]
    flow = own._load(table(15, bytes_acked=acked))
    assert set(flow["local_port"]) == {5}
    assert own._rate(flow) == pytest.approx(4)  # 500 kB a second


def test_a_flow_that_carries_nothing_is_none(own: ModuleType) -> None:
    assert own._load(table(15, bytes_acked=[100.0] * 15)).empty


def test_marks_are_counted_by_round_trips(own: ModuleType) -> None:
    marks = [0.0] * 10 + [10.0 * second for second in range(5)]
    acked, rtt = [1e6 * second for second in range(15)], [50_000.0] * 15
    flow = own._load(table(15, bytes_acked=acked, delivered_ce_packets=marks, srtt_us=rtt))
    assert own._marks(flow) == pytest.approx(0.5)  # 10 a second, 20 round trips a second


def test_a_step_is_measured_from_its_moment_on(own: ModuleType) -> None:
    rtt = [80_000.0] * 20
    rtt[12], rtt[16], rtt[17], rtt[18] = 300_000, 180_000, 101_000, 99_000
    acked = [1e6 * second for second in range(20)]
    flow = own._load(table(20, bytes_acked=acked, srtt_us=rtt, min_rtt_us=[80_000.0] * 20))
    assert own._spike(flow) == {"l4s_spike_ms": 100, "l4s_spike_s": 2}  # beyond 20 ms
