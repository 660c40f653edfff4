"""What a testbed had beside its kernel, as switches: a clock of the delay, a send buffer."""

from __future__ import annotations

from typing import Any

import pytest

from emulation.config.catalogue import experiment, select
from emulation.config.job import job_of
from emulation.errors import ConfigError
from emulation.model import era
from emulation.model.era import TESTBED, TICKS

RECOVERY = "2014+fack+no_rack+quickack+no_sack_compression"


def job(eras: str, name: str = "gbw2015/rrul", **chosen: Any) -> dict[str, Any]:
    cell = {"link": "10/10", "qdisc": "codel", "cc": "cubic", **chosen}
    (run,) = select(experiment(name), **cell, seed=1, era=eras)
    return job_of(run)


def kinds(told: dict[str, Any]) -> list[str]:
    return [one["kind"] for wire in told["wires"] for port in wire for one in port["qdiscs"]]


@pytest.mark.parametrize("text", TICKS)
def test_a_clock_takes_the_place_of_netem_with_the_same_mean_delay(text: str) -> None:
    plain, told = job("2014"), job(f"2014+ticks_{text.replace(' ', '')}")
    assert kinds(told) == [{"netem": "ticks"}.get(kind, kind) for kind in kinds(plain)]
    assert kinds(told).count("ticks") == 2
    prefix = "/sys/module/sch_ticks/parameters/"
    values = {name.removeprefix(prefix): int(value) for name, value in told["parameters"].items()
              if name.startswith(prefix)}  # fmt: skip
    assert values["hold_us"] + values["tick_us"] / 2 == 25_000
    assert told["traffic"]["rtt_slack_ms"] == 10
    (host,) = told["traffic"]["hosts"]
    assert host["base_rtt_ms"] == pytest.approx(50 - values["tick_us"] / 1000)
    assert [one["name"] for one in told["modules"]] == ["sch_ticks"]


def test_the_delays_of_a_dumbbell_can_have_a_clock_too() -> None:
    flows = {"qdisc": "codel_5ms", "cc": "reno"}
    plain, told = (job(one, "khademi2013/flows_4", **flows) for one in ("2013", "2013+ticks_4ms"))
    assert told["traffic"]["base_rtt_ms"] == plain["traffic"]["base_rtt_ms"] - 4
    assert kinds(told).count("ticks") == kinds(plain).count("netem") == 2


def test_with_loss_recovery_it_needs_both_modules() -> None:
    modules = job(f"{RECOVERY}+ticks_100us")["modules"]
    assert [one["name"] for one in modules] == ["quickack", "sch_ticks"]


def test_a_send_buffer_changes_nothing_else() -> None:
    plain, told = job("2014"), job("2014+send_buffer")
    for host in ("client", "server"):
        assert told["sysctls"][host].pop("net.ipv4.tcp_wmem") == "4096 16384 2660769"
        assert plain["sysctls"][host].pop("net.ipv4.tcp_wmem") != "4096 16384 2660769"
    assert told["traffic"].pop("title") != plain["traffic"].pop("title")
    assert told == plain


def test_no_era_and_no_ablation_has_what_testbeds_had() -> None:
    names = {switch.name for switch in TESTBED}
    assert not names & {name for of in era.ERAS.values() for name in of}
    assert not names & {switch.name for switch in era.SWITCHES}


@pytest.mark.parametrize(
    ("eras", "name", "chosen", "said"),
    [
        ("2014+ticks_1ms+ticks_4ms", "gbw2015/rrul", {}, "ticks_1ms and ticks_4ms exclude each"),
        ("2014+ticks_1ms", "gbw2015/rtt_fairness", {}, "the rig has none"),
        ("2014+ticks_4ms", "gbw2015/rrul", {"settings": {"rig.base_rtt": ["2 ms"]}},
         "a clock of 4 ms cannot give a delay of 1 ms"),
    ],
)  # fmt: skip
def test_clocks_that_cannot_be(eras: str, name: str, chosen: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        job(eras, name, **chosen)


@pytest.mark.parametrize(("qdisc", "option"), [("sfq", "divisor"), ("fq_codel", "flows")])
def test_more_queues_are_those_of_fair_queueing(qdisc: str, option: str) -> None:
    name = {"sfq": "rtt_fairness_many_queues", "fq_codel": "rrul_many_queues"}[qdisc]
    told = job("2014", f"gbw2015/{name}", link="10/1", qdisc=qdisc)
    found = [one["expect"] for wire in told["wires"] for port in wire for one in port["qdiscs"]
             if one["kind"] == qdisc]  # fmt: skip
    assert [one[option] for one in found] == [65536, 65536]
