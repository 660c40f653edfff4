"""Tests of emulation.guest.readback on what `tc -j` prints."""

from typing import Any

import pytest

from tests.emulation.kinds.qdiscs.guest import readback

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


def test_netem_in_si_units() -> None:
    seen = {"kind": "netem", "options": {"delay": {"delay": 0.025}, "rate": {"rate": 125000000}}}
    values, _ = readback.in_si(seen)
    assert values["delay_us"] == pytest.approx(25000)
    assert values["rate_bit_s"] == 10**9


def reported(rate: int, burst: int, limit: int = 12_500_000) -> dict[str, int]:
    """The options of a tbf as the kernel keeps them (sch_tbf.c) and tc shows them (q_tbf.c)."""
    ticks = burst * 10**9 // rate // 64  # psched_l2t_ns, PSCHED_NS2TICKS
    time_us = int(ticks / 15.625)  # tc_core_tick2time
    latency_us = int(limit / rate * 1e6 - time_us)
    return {"rate": rate, "burst": int(rate * time_us / 1e6), "lat": latency_us}


def of_tbf(mbit: float, burst: int, asked: int) -> list[str]:
    expect = {"kind": "tbf", "rate_bit_s": mbit * 1e6, "burst": asked, "limit": 12_500_000}
    seen = {**TBF, "options": reported(round(mbit * 125_000), burst)}
    found: list[str] = readback.compare_qdisc("r", {**ASKED_TBF, "expect": expect}, seen)
    return found


def test_what_tc_shows_of_a_bucket_is_what_it_showed() -> None:
    assert reported(1_250_000, 1514) == TBF["options"]
    assert reported(375_000, 1514)["burst"] == 1513


@pytest.mark.parametrize("mbit", [0.1, 0.3, 0.7, 1, 3, 7, 10, 30, 54, 100, 300, 1000])
def test_a_bucket_is_accepted_at_every_rate_and_no_other_one(mbit: float) -> None:
    assert of_tbf(mbit, 1514, 1514) == []
    unit = 1.1e-6 * mbit * 125_000 + 1
    other = 1514 + int(2 * unit) + 2
    assert any(f"not {other}" in problem for problem in of_tbf(mbit, 1514, other))


PRIO = {"kind": "prio", "handle": "1:", "root": True, "options": {"bands": 2, "priomap": [1, 2]}}
NETEM = {
    "kind": "netem",
    "handle": "10:",
    "parent": "1:1",
    "options": {"limit": 100, "delay": {"delay": 0.005}, "rate": {"rate": 125_000_000}},
}


def delayed(*seen: dict[str, Any]) -> list[str]:
    """What is wrong with `seen` where addresses should be delayed by 5 and 25 ms."""
    root = {
        "handle": "1:",
        "parent": "root",
        "kind": "prio",
        "expect": {"kind": "prio", "bands": 2},
    }
    bands = [
        {
            "handle": f"{band}0:",
            "parent": f"1:{band}",
            "kind": "netem",
            "expect": {"kind": "netem", "delay_us": delay, "rate_bit_s": 10**9, "limit": 100},
        }
        for band, delay in ((1, 5000), (2, 25000))
    ]
    port = {"txqueuelen": 100, "qdiscs": [root, *bands]}
    told = {"qdiscs": list(seen), "offloads_on": [], "txqueuelen": 100}
    found: list[str] = readback.compare({("d", "eth"): port}, {"d eth": told})
    return found


def test_a_band_an_address() -> None:
    options: dict[str, Any] = NETEM["options"]  # type: ignore[assignment]
    second = {
        **NETEM,
        "handle": "20:",
        "parent": "1:2",
        "options": {**options, "delay": {"delay": 0.025}},
    }
    assert delayed(PRIO, NETEM, second) == []
    assert delayed(PRIO, NETEM) == ["d eth 20:: netem is not installed"]
    assert delayed(PRIO, NETEM, {**second, "parent": "1:1"}) == [
        "d eth 20:: parent is 1:1, not 1:2"
    ]
    slow = {**second, "options": {**options, "delay": {"delay": 0.0251}}}
    (said,) = delayed(PRIO, NETEM, slow)
    assert said.startswith("d eth 20:: netem has delay_us 25100")
    three = {**PRIO, "options": {"bands": 3}}
    assert delayed(three, NETEM, second) == ["d eth 1:: prio has bands 3, not 2"]


HTB_CLASS = "class htb 1:1 root leaf 10: prio 0 rate {rate} ceil 10Mbit burst 1600b cburst 1600b \n"
ASKED_CLASS = {
    "parent": "1:", "classid": "1:1", "kind": "htb", "rate_bit_s": 10_000_000, "burst": 1600
}  # fmt: skip


def compare_classes(text: str) -> list[str]:
    port = {"txqueuelen": 1000, "qdiscs": [], "classes": [ASKED_CLASS]}
    seen = {
        "qdiscs": [],
        "offloads_on": [],
        "txqueuelen": 1000,
        "classes": readback.classes(text),
    }
    found: list[str] = readback.compare({("r", "eth"): port}, {"r eth": seen})
    return found


def test_a_class_is_read_from_the_text_of_tc() -> None:
    assert compare_classes(HTB_CLASS.format(rate="10Mbit")) == []
    assert readback.number("9999Kbit", "bit") == 9_999_000
    assert readback.number("15Kb", "b") == 15360
    assert readback.number("10Mbit", "b") is None


def test_a_class_of_another_rate_or_none_is_refused() -> None:
    (problem,) = compare_classes(HTB_CLASS.format(rate="9Mbit"))
    assert problem == "r eth: class 1:1 has rate 9000000.0, not 10000000"
    assert compare_classes("") == ["r eth: class 1:1 is not installed"]


def test_offloads_have_to_be_as_the_rig_asks() -> None:
    everything = {"offloads_on": ["tso", "gso", "gro"]}
    assert readback.compare_offloads("r eth", everything, asked=True) == []
    assert readback.compare_offloads("r eth", {"offloads_on": ["tso", "gso"]}, asked=True) == [
        "r eth: offload gro is off, not on"
    ]
    assert readback.compare_offloads("r eth", {"offloads_on": ["gro"]}) == [
        "r eth: offload gro is on, not off"
    ]
