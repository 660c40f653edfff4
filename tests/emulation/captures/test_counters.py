"""Tests of emulation.captures.counters: what the qdisc counted is what was captured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emulation.captures import counters
from emulation.captures.counters import Totals
from emulation.captures.follow import Followed, follow
from emulation.errors import GuestFailure
from tests.emulation.captures.made import table

PORT = ("aqm", "aqm-delay")


@pytest.fixture
def queue() -> Followed:
    """Two packets that leave, of which one is marked, and one that does not."""
    before = table((1, 1), (2, 2), (3, 3), length=[1514, 66, 66])
    return follow(before, table((11, 1), (12, 2), length=[1514, 66], ce=[True, False]), "")


BEFORE = {"kind": "codel", "packets": 5, "bytes": 100, "drops": 1, "ecn_mark": 0, "qlen": 0}
AFTER = BEFORE | {"packets": 7, "bytes": 1680, "drops": 2, "ecn_mark": 1}


def test_counters_that_agree_pass(queue: Followed) -> None:
    counters.check([BEFORE, AFTER], queue, PORT)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"packets": 8}, "3 packets, captured 2"),
        ({"bytes": 1681}, "1581 bytes, captured 1580"),
        ({"drops": 3}, "2 drops, captured 1"),
        ({"drops": 1}, "0 drops, captured 1"),
        ({"ecn_mark": 2}, "2 marks, captured 1"),
        ({"qlen": 1}, "0 packets in the queue before and 1 afterwards"),
    ],
)
def test_what_the_qdisc_counted_otherwise_is_an_error(
    queue: Followed, wrong: dict[str, int], what: str
) -> None:
    with pytest.raises(GuestFailure, match=f"codel counted {what}") as raised:
        counters.check([BEFORE, AFTER | wrong], queue, PORT)
    assert raised.value.where == "aqm aqm-delay"


def test_red_has_its_own_word_for_marks() -> None:
    assert counters.marks({"kind": "red", "marked": 7}) == 7
    assert counters.marks({"kind": "fq_codel", "ecn_mark": 3, "ce_mark": 2}) == 5


def test_totals_of_a_port_count_each_drop_once() -> None:
    root = {"kind": "htb", "handle": "1:", "root": True, "packets": 9, "drops": 3, "qlen": 2}
    leaves = [
        {"kind": "codel", "handle": f"{n}0:", "parent": f"1:{n}", "packets": 4, "drops": n,
         "qlen": 1, "ecn_mark": n}
        for n in (1, 2)
    ]  # fmt: skip
    totals = counters.totals([root, *leaves])
    assert totals == Totals(packets=9, drops=3, marks=3, queued=2)
    assert counters.totals([{**root, "drops": 2}, *leaves]).drops == 3  # told later
    assert counters.totals([root]).marks is None  # htb counts none
    assert totals.since(Totals(1, 1, 1, 0)) == Totals(8, 2, 2, 2)


def test_counters_are_those_of_the_qdisc_under_test(tmp_path: Path) -> None:
    qdiscs = [{"handle": "1:", "packets": 9}, {"handle": counters.HANDLE, "packets": 5}]
    sample = {"time_ns": 7, "qdiscs": {"aqm aqm-delay": qdiscs}}
    (tmp_path / "counters.json").write_text(json.dumps([sample]))
    (found,) = counters.read(tmp_path, PORT)
    assert (found["packets"], found["time_ns"]) == (5, 7)
