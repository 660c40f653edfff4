"""What a testbed had beside its kernel, as switches: a clock or noise of the delay, a buffer."""

from typing import Any

import pytest

from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.model import era
from qdisclab.emulation.model.era import TESTBED
from tests.emulation.kinds.qdiscs.guest import readback

TICKS = ("20 us", "50 us", "100 us", "250 us", "1 ms", "4 ms")


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


@pytest.mark.parametrize(("name", "gap_us", "link"), [("1g", 50, "1000"), ("100m", 250, "100")])
def test_a_card_takes_the_place_of_netem_too(name: str, gap_us: int, link: str) -> None:
    plain, told = job("2014"), job(f"2014+card_{name}")
    assert kinds(told) == [{"netem": "card"}.get(kind, kind) for kind in kinds(plain)]
    assert kinds(told).count("card") == 2
    prefix = "/sys/module/sch_card/parameters/"
    added = {key: value for key, value in told["parameters"].items()
             if key not in plain["parameters"]}  # fmt: skip
    assert added == {
        f"{prefix}hold_us": str(25_000 - gap_us // 2),
        f"{prefix}gap_us": str(gap_us),
        f"{prefix}link_mbit": link,
    }
    assert [one["name"] for one in told["modules"]] == ["sch_card"]


def test_a_send_buffer_changes_nothing_else() -> None:
    plain, told = job("2014"), job("2014+send_buffer")
    for host in ("client", "server"):
        assert told["sysctls"][host].pop("net.ipv4.tcp_wmem") == "4096 16384 2660769"
        assert plain["sysctls"][host].pop("net.ipv4.tcp_wmem") != "4096 16384 2660769"
    assert told["traffic"].pop("title") != plain["traffic"].pop("title")
    assert told == plain


def test_no_ablation_has_what_testbeds_had() -> None:
    names = {switch.name for switch in TESTBED}
    assert not names & {switch.name for switch in era.SWITCHES}
    buffers = {"2013c": "send_buffer", "2014c": "send_buffer", "2014d": "truesize"}
    for name, switches in era.ERAS.items():
        by_rule = {"host_noise", buffers[name]} if name in buffers else set()
        assert names & set(switches) == by_rule


def netems(told: dict[str, Any]) -> dict[str, list[str]]:
    """The arguments of netem by interface."""
    return {port["interface"]: one["arguments"] for wire in told["wires"] for port in wire
            for one in port["qdiscs"] if one["kind"] == "netem"}  # fmt: skip


@pytest.mark.parametrize("era_name", ["modern", "2014"])
def test_noise_varies_a_delay_by_packet_times_of_what_its_packets_cross(era_name: str) -> None:
    plain, told = (job(era_name, link="10/1", settings={"rig.noise": [n]}) for n in ("0", "0.5"))
    assert plain["wires"] == job(era_name, link="10/1")["wires"]
    # 1514 bytes take 1211.2 us at 10 Mbit/s and ten times as long at 1 Mbit/s.
    assert {name: words[:3] for name, words in netems(told).items()} == {
        "delay-r1": ["delay", "25000us", "303us"],
        "delay-r2": ["delay", "25000us", "3028us"],
    }
    expected = [one["expect"]["jitter_us"] for wire in told["wires"] for port in wire
                for one in port["qdiscs"] if one["kind"] == "netem"]  # fmt: skip
    assert sorted(expected) == [303, 3028]
    (host,) = told["traffic"]["hosts"]
    assert host["base_rtt_ms"] == pytest.approx(50 - 3.331)
    assert told["traffic"]["rtt_slack_ms"] == pytest.approx(10 + 2 * 3.331)


def test_a_rig_overrides_the_noise_of_an_era() -> None:
    quiet = job("2014c", settings={"rig.noise": ["0"]})
    assert netems(quiet) == netems(job("2014"))
    assert netems(job("2014c")) == netems(job("2014", settings={"rig.noise": ["1"]}))
    assert netems(job("2014c-host_noise")) == netems(quiet)


def test_the_noise_of_a_delay_is_read_back() -> None:
    asked = {"kind": "netem", "parent": "root", "expect": {"delay_us": 25000, "jitter_us": 606}}
    seen: dict[str, Any] = {"kind": "netem", "root": True, "options": {"rate": {"rate": 125e6}}}
    for jitter, wrong in ((0.000605, 0), (0, 1)):
        seen["options"]["delay"] = {"delay": 0.025, "jitter": jitter}
        assert len(readback.compare_qdisc("delay", asked, seen)) == wrong


@pytest.mark.parametrize(
    ("eras", "name", "chosen", "said"),
    [
        ("2014+ticks_1ms+ticks_4ms", "gbw2015/rrul", {}, "ticks_1ms and ticks_4ms exclude each"),
        ("2014+ticks_1ms", "gbw2015/rtt_fairness", {}, "the rig has none"),
        ("2014+ticks_4ms", "gbw2015/rrul", {"settings": {"rig.base_rtt": ["2 ms"]}},
         "a clock of 4 ms cannot give a delay of 1 ms"),
        ("2014+ticks_1ms+card_1g", "gbw2015/rrul", {}, "ticks_1ms and card_1g exclude each"),
        ("2014c+ticks_1ms", "gbw2015/rrul", {}, "ticks_1ms exclude each other"),
        ("2014+ticks_1ms", "gbw2015/rrul", {"settings": {"rig.noise": ["1"]}}, "not both"),
        ("2014", "gbw2015/rrul", {"link": "10/1", "settings": {"rig.noise": ["5"]}},
         "noise of 5 packets, 60560 us, is too much for a delay of 25 ms"),
        ("2014", "gbw2015/rrul", {"settings": {"rig.noise": ["-1"]}}, "rig.noise"),
    ],
)  # fmt: skip
def test_clocks_that_cannot_be(eras: str, name: str, chosen: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        job(eras, name, **chosen)
