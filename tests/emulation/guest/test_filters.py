"""Filters of trees: what `tc` shows of them against what was asked for."""

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from qdisclab.emulation.config import remarks
from qdisclab.emulation.machine import guestcode

filters: Any = ModuleType("filters")
exec(guestcode.read(guestcode.FOLDER / "filters.py"), vars(filters))  # noqa: S102

ASKED = [
    "parent 1: protocol ip prio 1 u32 match ip src 10.0.1.1/32 match ip dst 10.0.4.0/24 "
    "flowid 1:10",
    "parent 1: protocol ip prio 2 flower src_ip 10.0.2.1 dst_ip 10.0.5.2/32 classid 1:20",
    "parent 1: protocol ip prio 3 u32 match ip sport 80 0xffff match ip dport 5000 0xffff "
    "flowid 1:20",
    "parent 1: protocol ip prio 4 u32 match ip tos 0xb8 0xfc match ip protocol 17 0xff flowid 1:20",
    "parent 1: protocol ip handle 0x7 fw flowid 1:30",
]
#: Printed by tc of iproute2 6.1.
SHOWN = """\
filter protocol ip pref 1 u32 chain 0
filter protocol ip pref 1 u32 chain 0 fh 800: ht divisor 1
filter protocol ip pref 1 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 *flowid 1:10 not_in_hw
  match 0a000101/ffffffff at 12
  match 0a000400/ffffff00 at 16
filter protocol ip pref 2 flower chain 0
filter protocol ip pref 2 flower chain 0 handle 0x1 classid 1:20
  eth_type ipv4
  dst_ip 10.0.5.2
  src_ip 10.0.2.1
  not_in_hw
filter protocol ip pref 3 u32 chain 0
filter protocol ip pref 3 u32 chain 0 fh 801: ht divisor 1
filter protocol ip pref 3 u32 chain 0 fh 801::800 order 2048 key ht 801 bkt 0 *flowid 1:20 not_in_hw
  match 00501388/ffffffff at 20
filter protocol ip pref 4 u32 chain 0
filter protocol ip pref 4 u32 chain 0 fh 802: ht divisor 1
filter protocol ip pref 4 u32 chain 0 fh 802::800 order 2048 key ht 802 bkt 0 *flowid 1:20 not_in_hw
  match 00b80000/00fc0000 at 0
  match 00110000/00ff0000 at 8
filter protocol ip pref 49152 fw chain 0
filter protocol ip pref 49152 fw chain 0 handle 0x7 classid 1:30
"""
CLASSES = """\
class htb 1:1 root rate 10Mbit ceil 10Mbit burst 1600b cburst 1600b
 Sent 4242 bytes 42 pkt (dropped 0, overlimits 0 requeues 0)
class htb 1:10 parent 1:1 leaf 10: prio 0 rate 4Mbit ceil 10Mbit burst 1600b cburst 1600b
 Sent 4242 bytes 42 pkt (dropped 0, overlimits 0 requeues 0)
class htb 1:20 parent 1:1 leaf 20: prio 0 rate 4Mbit ceil 10Mbit burst 1600b cburst 1600b
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
"""
PORT = {
    "interface": "out",
    "filters": ASKED,
    "qdiscs": [{"parent": "root"}, {"parent": "1:10"}, {"parent": "1:20"}],
    "tree": {"classes": [{"classid": "1:1", "parent": "1:"}, {"classid": "1:10", "parent": "1:1"},
                         {"classid": "1:20", "parent": "1:1"}]},
}  # fmt: skip


def compared(shown: str) -> list[str]:
    """The problems of a port for whose filters `tc` prints `shown`."""
    ports = {("r", "out"): PORT}
    rig = SimpleNamespace(ports=ports, run=lambda node, *words: shown)
    read = filters.reading(lambda rig, statistics: {"r out": {}})
    found: list[str] = filters.comparing(lambda ports, found: [])(ports, read(rig))
    return found


def test_filters_as_asked_for() -> None:
    assert compared(SHOWN) == []


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("0a000101/ffffffff at 12", "0a000102/ffffffff at 12", 0),
        ("0a000400/ffffff00 at 16", "0a000400/ffff0000 at 16", 0),
        ("flowid 1:10", "flowid 1:11", 0),
        ("src_ip 10.0.2.1", "src_ip 10.0.2.9", 1),
        ("protocol ip pref 3", "protocol ipv6 pref 3", 2),
        ("00501388/ffffffff", "00501389/ffffffff", 2),
        ("protocol ip pref 4 u32 chain 0 fh 802::800", "protocol ip pref 5 u32 chain 0 fh 8:8", 3),
        ("handle 0x7 classid 1:30", "handle 0x7 classid 1:31", 4),
    ],
)
def test_another_filter_is_named(old: str, new: str, asked: int) -> None:
    assert SHOWN.count(old) >= 1
    missing, other = compared(SHOWN.replace(old, new))
    assert missing == f"r out: the filter '{ASKED[asked]}' is not installed as asked for"
    assert other.startswith("r out: a filter nobody asked for: filter protocol ip")


def test_a_filter_that_is_not_there() -> None:
    (problem,) = compared(SHOWN[: SHOWN.index("filter protocol ip pref 49152")])
    assert "handle 0x7 fw flowid 1:30' is not installed" in problem


def test_a_class_without_packets_is_named_after_the_run() -> None:
    rig = SimpleNamespace(ports={("r", "out"): PORT}, run=lambda node, *words: CLASSES)
    found = filters.reading(lambda rig, statistics: {"r out": {}})(rig, statistics=True)
    assert found == {"r out": {"idle_classes": {"out": ["1:20"]}}}
    assert list(remarks.of_counters(found)) == [
        "no packet went into class 1:20 of r out: do its filters match what is sent?"
    ]


def test_guests_whose_trees_have_filters_alone_have_it() -> None:
    job = {"traffic": {"tool": "flent", "servers": []}}
    bare = {**PORT, "filters": []}
    qdiscs = {"qdiscs": [{"kind": "htb"}]}
    plain, filtered = (
        guestcode.files({**job, "wires": [[{**port, **qdiscs}]]}) for port in (bare, PORT)
    )
    assert filtered.keys() - plain.keys() == {"filters.py"}
    assert filtered["readback.py"].startswith(plain["readback.py"])


def test_a_band_that_only_a_filter_names_is_named_after_the_run() -> None:
    part = {
        "tree": {"classes": []},
        "qdiscs": [{"parent": "1:2"}],
        "filters": ["parent 1: protocol ip prio 1 u32 match ip dst 10.0.1.1/32 flowid 1:3"],
    }
    assert filters.idle(part, {"1:1": 0, "1:2": 7, "1:3": 0}) == ["1:3"]
    assert filters.idle(part, {"1:1": 0, "1:2": 7, "1:3": 1}) == []
