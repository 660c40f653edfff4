"""Tests of emulation.kinds.rigs.dumbbell, of routes across switches, and of what the guest gets."""

from __future__ import annotations

from emulation.config.catalogue import experiment
from emulation.kinds.rigs.dumbbell import Dumbbell
from emulation.machine import guestcode
from emulation.model.egress import Hierarchy
from emulation.model.qdisc import Qdisc
from emulation.model.topology import Link
from emulation.model.units import Duration, Packets, Rate

MBIT = MS = 10**6
LINK = Link("10/10", Rate(10 * MBIT), Rate(10 * MBIT))
CODEL = Qdisc("codel_5ms", "codel", (("limit", Packets(1000)),), Packets(1000))
RIG = Dumbbell(edge_rate=Rate(100 * MBIT), base_rtt=Duration(100 * MS)).topology(
    LINK, {LINK.up: CODEL}
)


def test_every_sender_reaches_every_receiver_through_the_queue_under_test() -> None:
    routes = {(route.node, route.to): route.via for route in RIG.routes()}
    for number in range(1, 5):
        assert routes.pop((f"sender{number}", "default")) == "10.0.1.254"
        assert routes.pop((f"receiver{number}", "default")) == "10.0.3.254"
    assert routes.pop(("aqm", "default")) == "10.0.2.2"
    assert routes.pop(("delay", "default")) == "10.0.2.1"
    assert routes == {}


def test_one_queue_is_under_test_and_it_is_in_an_htb_of_the_bottlenecks_rate() -> None:
    (port,) = [port for port in RIG.ports() if isinstance(port.egress, Hierarchy)]
    assert (port.node, port.interface) == ("aqm", "aqm-delay")
    root, child = port.egress.attached()
    assert (root.parent, root.qdisc.kind) == ("root", "htb")
    assert (child.parent, child.qdisc) == ("1:1", CODEL)
    assert port.egress.classes()[0]["rate_bit_s"] == 10 * MBIT
    assert port.txqueuelen == Packets(1000)


def test_the_delay_is_half_in_each_direction_and_every_port_has_its_rate() -> None:
    delays = {
        port.interface: dict(port.egress.attached()[0].qdisc.options)
        for port in RIG.ports()
        if port.node == "delay"
    }
    assert {one["delay"] for one in delays.values()} == {Duration(50 * MS)}
    assert delays["delay-aqm"]["rate"] == Rate(10 * MBIT)
    others = [port for port in RIG.ports() if port.interface not in ("delay-aqm", "aqm-delay")]
    assert {port.egress.rate for port in others} == {Rate(100 * MBIT)}
    assert len(others) == 2 * 10


def test_what_is_observed_is_before_and_behind_the_queue_and_at_all_hosts() -> None:
    assert RIG.observed[:2] == (("aqm", "aqm-senders"), ("aqm", "aqm-delay"))
    hosts = [host for pair in RIG.pairs for host in pair]
    assert sorted(node for node, _ in RIG.observed[2:]) == sorted(hosts)


def test_a_guest_gets_the_modules_of_its_switches_and_its_tool_only() -> None:
    experiment("khademi2013/flows_4")  # whose study brings the tool
    job = {"nodes": [{"switches": True}], "traffic": {"tool": "iperf", "servers": []}}
    names = set(guestcode.files(job))
    assert {"switch.py", "iperf.py", "iperf_frames.py"} < names
    assert "web.py" not in names
    plain = set(guestcode.files({"traffic": {"tool": "flent", "servers": []}}))
    assert not plain & {"switch.py", "iperf.py", "iperf_frames.py"}
