"""Tests of analysis.measures.packets, on a table whose numbers are worked out by hand."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import packets
from qdisclab.analysis.measures.registry import metrics
from qdisclab.emulation.captures import packets as captured
from qdisclab.emulation.captures.counters import Totals
from qdisclab.emulation.captures.packets import ENTERED, LEFT, REFUSED
from tests.data import provenances
from tests.emulation.captures.made import segment
from tests.emulation.captures.passages import NONE, Passage, records, sampled

RUNS = ("first", 0), ("second", 5 * 10**9)
FLOWS = (("10.0.1.1", 1), ("10.0.3.1", 5001)), (("10.0.2.1", 2), ("10.0.3.1", 5001))


@pytest.fixture
def table(tmp_path: Path) -> pd.DataFrame:
    """Two flows of packets of 1 kB over 2.5 s: of the second, EF, half are dropped.

    Those of the first wait 100, 200, 300 and 400 ms, and the last leaves with a mark.
    """
    passages: list[Passage] = [sampled(0)]
    for number in range(4):
        first = segment(*FLOWS[0], payload=934, id=number, ecn=2)
        second = segment(*FLOWS[1], payload=934, id=number, ecn=46 << 2)
        at = 600 * number
        left = segment(*FLOWS[0], payload=934, id=number, ecn=3 if number == 3 else 2)
        passages += [(ENTERED, at, first, 0), (LEFT, at + 100 * (number + 1), left, 0)]
        fate = LEFT if number % 2 else REFUSED
        passages += [(ENTERED, at + 1, second, 1), (fate, at + 1, second, 0)]
    path = records(tmp_path / "0.queue", sorted(passages, key=lambda passage: passage[1]))
    followed = captured.follow(path, (NONE,), Totals(6, 2, 1, 0), "tbf", ("a", "b"))
    about = {"node": "a", "interface": "b", "rate_bit_s": "80000"}
    captured.write(path, followed, "tbf", tmp_path / "t.parquet", about)
    return packets.read(tmp_path / "t.parquet")


def test_sojourn_by_class(table: pd.DataFrame) -> None:
    by_class = packets.sojourn(table, by="class")
    assert list(by_class.index) == ["CS0 ECT(0)", "DSCP 46 Not-ECT"]
    first = by_class.loc["CS0 ECT(0)"]
    assert (first["packets"], first["mean"], first["most"], first["p50"]) == (4, 250, 400, 250)
    assert packets.sojourn(table).loc["all", "packets"] == 6
    assert list(packets.sojourn(table, by=["flow", "second"])["packets"]) == [2, 2, 1, 1]


def test_numbers_of_a_run(tmp_path: Path, table: pd.DataFrame) -> None:
    run = provenances.made_up(tmp_path, "links", "lte", link="12/5", qdisc="pie")
    with pytest.raises(DataError, match=r"no packets .* Write probes: \[packets\]"):
        packets.numbers(run)
    path = run.provenance.with_suffix(".a.b.packets.parquet")
    shutil.copy(tmp_path / "t.parquet", path)
    values = packets.by_class(run)
    assert values["dropped_percent"] == 25
    assert values["marked_percent"] == 12.5
    assert values["sojourn_mean_ms[CS0 ECT(0)]"] == 250
    assert values["utilisation_percent"] == pytest.approx(100 * packets.utilisation(table))
    assert values["jain_index"] == pytest.approx(6**2 / (2 * (4**2 + 2**2)))
    assert packets.by_second(run)["sent_mbit_s[second 0]"] == pytest.approx(3 * 8e-3)
    assert packets.by_flow(run)["dropped_percent[flow 1]"] == 50
    shutil.copy(path, path.with_suffix("").with_suffix("").with_suffix(".c.packets.parquet"))
    assert len({name for name in packets.numbers(run) if name.endswith("[a b]")}) > 5
    assert all(name in metrics() for name in packets.by_second(run))
    assert metrics()["dropped_percent[flow 1]"].title == "packets dropped, flow 1"
    assert "dropped_percent[flow" not in metrics()


def test_several_tables_as_one(table: pd.DataFrame) -> None:
    both = pd.concat([table.assign(run=name, in_ns=table["in_ns"] + at) for name, at in RUNS])
    wide = packets.rates(both, by=["run", "flow"])
    assert list(wide["first", 0]) == list(wide["second", 0]) == list(packets.rates(table)[0])


def test_cdf(table: pd.DataFrame) -> None:
    steps = packets.cdf(table, by="flow").query("flow == 0")
    assert list(zip(steps["sojourn_ms"], steps["share"], strict=True)) == [
        (100, 0.25), (200, 0.5), (300, 0.75), (400, 1)
    ]  # fmt: skip


def test_shares(table: pd.DataFrame) -> None:
    by_flow = packets.shares(table, by="flow")
    assert by_flow.to_numpy().tolist() == [[4, 0, 0.25], [4, 0.5, 0]]


def test_rates_and_their_fairness(table: pd.DataFrame) -> None:
    rates = packets.rates(table)
    assert list(rates.index) == [0, 1, 2]
    assert rates[0].tolist() == pytest.approx([0.016, 0.008, 0.008])  # 2, 1 and 1 kB
    assert rates[1].tolist() == pytest.approx([0.008, 0.008, 0])
    assert packets.jain(rates).tolist() == pytest.approx([0.9, 1, 0.5])
    assert packets.rates(table, by=())["length"].tolist() == pytest.approx([0.024, 0.016, 0.008])


def test_utilisation(table: pd.DataFrame) -> None:
    assert packets.utilisation(table) == pytest.approx(48_000 / (80_000 * 2.2))
    assert packets.utilisation(table, 48_000) == pytest.approx(1 / 2.2)
    several = table.assign(run=[*"ab", *"a" * (len(table) - 2)])
    with pytest.raises(DataError, match="is of several queues"):
        packets.utilisation(several)
    table.attrs = {}
    with pytest.raises(DataError, match="no rate of its port"):
        packets.utilisation(table)


def test_unknown_columns_are_refused(table: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="no column 'dcsp'"):
        packets.sojourn(table, by="dcsp")
