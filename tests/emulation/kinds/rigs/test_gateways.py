"""Tests of emulation.kinds.rigs.gateways and emulation.kinds.traffic.mix: codel2012's network and
its job."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from emulation.config import catalogue
from emulation.config.catalogue import select
from emulation.config.job import job_of, modules_of
from emulation.errors import ConfigError
from emulation.kinds.rigs.gateways import LEFT, RIGHT, Gateways, base_rtts, burst
from emulation.kinds.traffic.mix import Mix
from emulation.kinds.traffic.mix_load import Load, ports_of, queues
from emulation.machine import guestcode
from emulation.model.egress import Hierarchy
from emulation.model.qdisc import Qdisc
from emulation.model.run import Run
from emulation.model.topology import Link
from emulation.model.units import Duration, Packets, Rate

MS = MBIT = 10**6
LINK = Link("10/3", Rate(10 * MBIT), Rate(3 * MBIT))
CODEL = Qdisc("codel", "codel", (("limit", Packets(200)),))
RED = Qdisc("red", "red", (("probability", 0.1),))
RIG = Gateways(kind="gateways", edge_rate=Rate(1000 * MBIT), base_rtt=Duration(100 * MS)).topology(
    LINK, {LINK.up: CODEL, LINK.down: RED}
)

experiment = cache(catalogue.experiment)  # reading the files takes a while


def run_of(name: str, seed: int = 1, **values: Any) -> Run:
    return select(experiment(f"codel2012/{name}"), seed=seed, cc="cubic", **values)[0]


def test_bulk_pairs_are_two_percent_apart_and_the_others_have_the_base_rtt() -> None:
    assert [rtt.ms for rtt in base_rtts(Duration(100 * MS))] == [102, 104, 106, 108, 100]


def test_both_gateways_have_a_queue_under_test_at_their_directions_rate() -> None:
    found = {port.interface: port.egress for port in RIG.queues()}
    assert set(found) == {"left-right", "right-left"}
    forward, reverse = found["left-right"], found["right-left"]
    assert isinstance(forward, Hierarchy)
    assert isinstance(reverse, Hierarchy)
    assert (forward.rate, reverse.rate) == (Rate(3 * MBIT), Rate(10 * MBIT))
    assert [one.parent for one in forward.attached()] == ["root", "1:1"]


def test_red_is_told_when_it_is_idle() -> None:
    (reverse,) = [port.egress for port in RIG.queues() if port.interface == "right-left"]
    attached = reverse.attached()
    assert [(one.parent, one.handle, one.qdisc.kind) for one in attached] == [
        ("root", "1:", "htb"),
        ("1:1", "5:", "idle"),
        ("5:1", "10:", "red"),
    ]
    run = run_of("static_rtt_100ms", link="10/10", qdisc="red")
    assert [one.name for one in modules_of(run)] == ["sch_idle"]
    assert job_of(run)["modules"][0]["name"] == "sch_idle"
    assert "modules" not in job_of(run_of("static_rtt_100ms", link="10/10", qdisc="codel"))


def test_the_delay_is_behind_the_bottleneck_half_in_each_direction() -> None:
    options = {
        (port.node, port.interface): dict(port.egress.attached()[0].qdisc.options)
        for port in RIG.ports()
    }
    assert options["right", "right-2"]["delay"] == Duration(52 * MS)
    assert options["receiver2", "eth0"]["delay"] == Duration(52 * MS)
    assert options["clients", "eth0"]["delay"] == Duration(50 * MS)


@pytest.mark.parametrize(
    ("kbit_s", "size"),
    [(128, 64), (256, 64), (512, 64), (1500, 66), (3000, 66), (45_000, 90), (100_000, 100)],
)
def test_a_bucket_is_whole_in_the_units_of_kernel_and_tc(kbit_s: int, size: int) -> None:
    assert burst(Rate(1000 * kbit_s)).bytes == size
    assert size * 8_000_000 % (1000 * kbit_s * 8) == 0  # of 8 us


def test_repetitions_take_the_loads_in_turn() -> None:
    traffic = run_of("static_rtt_10ms", link="3/3", qdisc="codel").traffic
    assert isinstance(traffic, Mix)
    names = [traffic.load(seed).name for seed in (1, 6, 7)]
    assert names == ["bulk_1", "bulk_10_web_20_cbr_2", "bulk_1"]


def test_a_job_says_when_the_rate_changes_in_both_gateways() -> None:
    traffic = job_of(run_of("dynamic", link="100/100", qdisc="codel_830"))["traffic"]
    changes = [(one["at_s"], one["interface"], one["rate_bit_s"]) for one in traffic["changes"]]
    assert changes[:2] == [(50, "left-right", 10 * MBIT), (50, "right-left", 10 * MBIT)]
    assert [rate // MBIT for _, where, rate in changes if where == "left-right"] == [
        10,
        1,
        50,
        1,
        100,
    ]
    short = select(
        experiment("codel2012/dynamic"), seed=1, cc="cubic", qdisc="codel_830",
        length=Duration.parse("60 s"),
    )[0]  # fmt: skip
    assert {one["at_s"] for one in job_of(short)["traffic"]["changes"]} == {50}


def test_sessions_are_the_same_whatever_the_qdisc() -> None:
    jobs = [
        job_of(run_of("static_rtt_30ms", 5, link="3/3", qdisc=qdisc))["traffic"]["load"]
        for qdisc in ("codel", "red", "tail_drop")
    ]
    assert jobs[0]["sessions"]
    assert jobs[0] == jobs[1] == jobs[2]
    other = job_of(run_of("static_rtt_30ms", 11, link="3/3", qdisc="codel"))["traffic"]["load"]
    assert other["sessions"] != jobs[0]["sessions"]


def test_constant_bit_rate_is_64_kbit_s_in_packets_of_100_bytes() -> None:
    load = job_of(run_of("edge", link="1.5/1.5", qdisc="codel"))["traffic"]["load"]
    assert (load["cbr"], load["cbr_back"], load["cbr_bytes"]) == (1, 1, 100)
    assert 8 * load["cbr_bytes"] / (load["cbr_gap_us"] / 1e6) == 64_000
    (pauses,) = load["uploads"]
    assert all(5_000_000 <= pause <= 15_000_000 for pause in pauses)
    assert load["upload_bytes"] == 1_000_000


def test_queues_are_followed_where_more_than_acknowledgments_goes() -> None:
    assert queues(Load("one", bulk=1)) == {"forward": LEFT}
    assert queues(Load("both", bulk=1, uploads=1)) == {"forward": LEFT, "reverse": RIGHT}
    places = ports_of(LEFT, RIG)
    assert places[0] == LEFT
    assert len(places) == 6
    assert all(node == "left" for node, _ in places)


def test_a_guest_gets_the_tools_of_the_mix() -> None:
    job = job_of(run_of("edge", link="1.5/1.5", qdisc="codel"))
    names = set(guestcode.files(job))
    assert {"mix.py", "mix_peer.py", "iperf.py", "iperf_frames.py"} < names
    assert "ditg.py" not in names


def test_small_packets_are_of_the_job() -> None:
    low = run_of("low_500_rtt_30ms", link="0.128/0.128", qdisc="codel_mtu500")
    assert job_of(low)["traffic"]["mtu"] == 500
    assert job_of(run_of("edge", link="1.5/1.5", qdisc="codel"))["traffic"]["mtu"] is None
    assert isinstance(low.traffic, Mix)
    assert low.traffic.load(3).name == "bulk_2_web_1"


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (
            "- {at: 100 s, rate: 1 Mbit/s}",
            "- {at: 20 s, rate: 1 Mbit/s}",
            "do not rise; write them in",
        ),
        ("- {at: 250 s, rate: 100 Mbit/s}", "- {at: 350 s, rate: 1 Mbit/s}", "is not within 300 s"),
        ("loads: [bulk_4_web_5]", "loads: [bulk_4_wbe_5]", "did you mean 'bulk_4_web_5'"),
        ("bulk_4: {bulk: 4}", "bulk_4: {bulk: 0}", "sends nothing"),
        ("mtu: 500 B", "mtu: 1600 B", "not an MTU of IPv4 over Ethernet"),
        ("kind: gateways", "kind: dumbbell", "'mix' does not run on the rig 'dumbbell'"),
    ],
)
def test_what_cannot_be_is_refused(
    root: Path, tmp_path: Path, old: str, new: str, what: str
) -> None:
    text = (root / "studies" / "codel2012" / "study.yaml").read_text()
    assert old in text
    changed = tmp_path / "changed.yaml"
    changed.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError) as error:
        catalogue.load(changed)
    assert what in str(error.value)
