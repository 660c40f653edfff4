"""Tests of emulation.captures.counters."""

from qdisclab.emulation.captures import counters
from qdisclab.emulation.captures.counters import Totals


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
