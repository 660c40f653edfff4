"""Tests of emulation.guest.readback on what `tc -j` and `ethtool -k` print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "emulation" / "guest"))
import readback

TBF = {
    "kind": "tbf",
    "handle": "1:",
    "root": True,
    "options": {"burst": 1513, "lat": 9998789, "rate": 1250000},
}
CODEL = {
    "kind": "codel",
    "handle": "10:",
    "parent": "1:1",
    "options": {"interval": 99999, "limit": 1000, "target": 4999},
}
ASKED_TBF = {
    "handle": "1:",
    "parent": "root",
    "kind": "tbf",
    "expect": {"kind": "tbf", "rate_bit_s": 10_000_000, "burst": 1514, "limit": 12_500_000},
}
ASKED_CODEL = {
    "handle": "10:",
    "parent": "1:1",
    "kind": "codel",
    "expect": {"kind": "codel", "interval_us": 100000, "limit": 1000, "ecn": False,
               "target_us": 5000},
}  # fmt: skip
ETHTOOL = """\
Features for r1-delay:
tcp-segmentation-offload: off
\ttx-tcp-segmentation: off
generic-segmentation-offload: {gso}
generic-receive-offload: off [fixed]
"""


def compare(**changes: Any) -> list[str]:
    port = {"txqueuelen": 100, "qdiscs": [ASKED_TBF, ASKED_CODEL]}
    seen = {"qdiscs": [TBF, CODEL], "offloads_on": [], "txqueuelen": 100, **changes}
    found: list[str] = readback.compare({("r", "eth"): port}, {"r eth": seen})
    return found


def test_what_was_asked_for_is_accepted_with_the_roundings_of_tc() -> None:
    assert compare() == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": 13000}, "codel has target_us 13000, not 5000"),
        ({"target": 4997}, "codel has target_us 4997, not 5000"),
        ({"limit": 1001}, "codel has limit 1001, not 1000"),
        ({"ecn": True}, "codel has ecn True, not False"),
    ],
)
def test_another_value_is_named(options: dict[str, Any], message: str) -> None:
    other = {**CODEL, "options": {**CODEL["options"], **options}}  # type: ignore[dict-item]
    assert compare(qdiscs=[TBF, other]) == [f"r eth 10:: {message}"]


def test_a_qdisc_that_did_not_install_is_named() -> None:
    assert compare(qdiscs=[TBF]) == ["r eth 10:: codel is not installed"]
    other = {**CODEL, "kind": "pfifo"}
    assert compare(qdiscs=[TBF, other]) == ["r eth 10:: pfifo is installed, not codel"]
    extra = {**CODEL, "handle": "20:"}
    assert compare(qdiscs=[TBF, CODEL, extra]) == [
        "r eth 20:: codel is installed, nobody asked for it"
    ]


def test_another_rate_queue_length_or_offload_is_named() -> None:
    slow = {**TBF, "options": {"burst": 1513, "lat": 99998789, "rate": 125000}}
    assert any("rate_bit_s 1000000, not 10000000" in one for one in compare(qdiscs=[slow, CODEL]))
    assert compare(txqueuelen=1000) == ["r eth: txqueuelen is 1000, not 100"]
    assert compare(offloads_on=["gso"]) == ["r eth: offload gso is on, not off"]


def test_offloads() -> None:
    assert readback.offloads_on(ETHTOOL.format(gso="off")) == []
    assert readback.offloads_on(ETHTOOL.format(gso="on")) == ["gso"]
    assert readback.offloads_on("") == ["tso", "gso", "gro"]  # not known to be off


def test_netem_in_si_units() -> None:
    seen = {"kind": "netem", "options": {"delay": {"delay": 0.025}, "rate": {"rate": 125000000}}}
    values, _ = readback.in_si(seen)
    assert values["delay_us"] == pytest.approx(25000)
    assert values["rate_bit_s"] == 10**9
