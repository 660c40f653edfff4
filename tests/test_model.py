from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from emulation.config import select
from emulation.model import Experiment, Link, Node, Port, Qdisc, Run, Shaper, Topology, Wire
from emulation.topology import Delay, Route
from emulation.units import Duration, Packets, Rate, Size

EDGE = Shaper(Rate.parse("1 Gbit/s"), Size(65536), Size(1_000_000))


def the_run(experiment: Experiment, **chosen: Any) -> Run:
    (run,) = select(experiment, **{"link": "10/1", "cc": "cubic", "seed": 1, **chosen})
    return run


def job_ports(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for wire in job["wires"]:
        yield from wire


def job_port(job: dict[str, Any], interface: str) -> dict[str, Any]:
    (port,) = [port for port in job_ports(job) if port["interface"] == interface]
    return port


def wire(left: str, right: str, number: int) -> Wire:
    return Wire(
        Port(left, f"{left}-{right}", f"10.0.{number}.1/24", EDGE),
        Port(right, f"{right}-{left}", f"10.0.{number}.2/24", EDGE),
    )


def test_tc_arguments_have_exact_units() -> None:
    options = (
        ("limit", Packets(1000)),
        ("target", Duration.parse("13 ms")),
        ("interval", Duration(1500)),
        ("bandwidth", Rate.parse("10 Mbit/s")),
        ("min", Size(12500)),
        ("burst", 13),
        ("probability", 0.02),
        ("adaptive", True),
        ("ecn", False),
    )
    assert Qdisc("x", "kind", options).tc_arguments() == (
        *("kind", "limit", "1000", "target", "13000us", "interval", "1500ns"),
        *("bandwidth", "10000000bit", "min", "12500b", "burst", "13", "probability", "0.02"),
        "adaptive",
    )


def test_expectations_have_si_base_units() -> None:
    options = (
        ("limit", Packets(1000)),
        ("target", Duration.parse("13 ms")),
        ("interval", Duration(1500)),
        ("rate", Rate.parse("10 Mbit/s")),
        ("burst", Size(1514)),
        ("adaptive", True),
        ("harddrop", False),
        ("noecn", True),
    )
    assert Qdisc("x", "kind", options).expect() == {
        "kind": "kind",
        "limit": 1000,
        "target_us": 13000,
        "interval_us": 1.5,
        "rate_bit_s": 10_000_000,
        "burst": 1514,
        "adaptive": True,
        "harddrop": False,
        "ecn": False,
    }


def test_red_does_not_expect_what_tc_cannot_report(rrul: Experiment) -> None:
    red = the_run(rrul, qdisc="ared").cell.up
    assert {"avpkt", "bandwidth", "burst", "probability"} <= dict(red.options).keys()
    assert red.expect() == {
        "kind": "red",
        "limit": 1_514_000,
        "min": 1514,
        "max": 3028,
        "adaptive": True,
        "harddrop": True,
    }


def test_the_bottleneck_shapes_each_direction_at_its_own_router(rrul: Experiment) -> None:
    job = the_run(rrul, qdisc="codel").job()
    up, down = job_port(job, "r1-delay"), job_port(job, "r2-delay")
    assert (up["node"], down["node"]) == ("router_up", "router_down")
    tbf, codel = up["qdiscs"]
    assert tbf == {
        "parent": "root",
        "handle": "1:",
        "kind": "tbf",
        "arguments": ["rate", "1000000bit", "burst", "1514b", "limit", "12500000b"],
        "expect": {"kind": "tbf", "rate_bit_s": 1_000_000, "burst": 1514, "limit": 12_500_000},
    }
    assert (codel["parent"], codel["handle"], codel["kind"]) == ("1:1", "10:", "codel")
    assert codel["expect"]["target_us"] == 13_000
    assert down["qdiscs"][0]["expect"]["rate_bit_s"] == 10_000_000
    assert down["qdiscs"][1]["expect"]["target_us"] == 5_000


def test_the_middle_delays_half_a_round_trip_each_way(rrul: Experiment) -> None:
    job = the_run(rrul, qdisc="codel").job()
    for interface in ("delay-r1", "delay-r2"):
        (netem,) = job_port(job, interface)["qdiscs"]
        assert netem["arguments"] == [
            "delay",
            "25000us",
            "rate",
            "1000000000bit",
            "limit",
            "100000",
        ]
        assert netem["expect"]["delay_us"] == 25_000
    delays = [
        port.egress.delay.nanoseconds
        for port in the_run(rrul, qdisc="codel").topology.ports()
        if isinstance(port.egress, Delay)
    ]
    assert sum(delays) == rrul.rig.base_rtt.nanoseconds


def test_every_port_has_a_finite_rate_and_a_short_name(rrul: Experiment) -> None:
    ports = list(job_ports(the_run(rrul, qdisc="sfq").job()))
    assert len(ports) == 8
    assert len({port["interface"] for port in ports}) == 8
    assert len({port["address"] for port in ports}) == 8
    for port in ports:
        assert port["qdiscs"][0]["expect"]["rate_bit_s"] > 0
        assert len(port["interface"]) <= 15


def test_pfifo_fast_is_as_long_as_its_interface(rrul: Experiment) -> None:
    slow = the_run(rrul, qdisc="pfifo_fast").job()
    assert job_port(slow, "r1-delay")["txqueuelen"] == 127
    assert job_port(slow, "client-r1")["txqueuelen"] == 100
    fast = the_run(rrul, link="100/100", qdisc="pfifo_fast").job()
    assert job_port(fast, "r2-delay")["txqueuelen"] == 1000
    other = the_run(rrul, qdisc="codel").job()
    assert job_port(other, "r1-delay")["txqueuelen"] == 100
    assert job_port(slow, "r1-delay")["qdiscs"][1] == {
        "parent": "1:1",
        "handle": "10:",
        "kind": "pfifo_fast",
        "arguments": [],
        "expect": {"kind": "pfifo_fast"},
    }


def test_routes_lead_from_every_node_to_every_subnet(rrul: Experiment) -> None:
    assert the_run(rrul, qdisc="codel").topology.routes() == (
        Route("client", "default", "10.0.1.2"),
        Route("router_up", "default", "10.0.2.2"),
        Route("delay", "10.0.1.0/24", "10.0.2.1"),
        Route("delay", "10.0.4.0/24", "10.0.3.2"),
        Route("router_down", "default", "10.0.3.1"),
        Route("server", "default", "10.0.4.1"),
    )


def test_routes_take_the_fewest_wires_and_never_cross_a_host() -> None:
    nodes = (Node("a", False), Node("b", True), Node("c", True), Node("d", True), Node("h", False))
    wires = (
        wire("a", "b", 1),
        wire("b", "c", 2),
        wire("c", "d", 3),
        wire("b", "h", 4),
        wire("h", "d", 5),  # the short way from b to d, if h forwarded
    )
    routes = set(Topology("t", nodes, wires).routes())
    assert {route for route in routes if route.node == "a"} == {Route("a", "default", "10.0.1.2")}
    assert {route for route in routes if route.node == "b"} == {Route("b", "default", "10.0.2.2")}
    forwarding = (*nodes[:4], Node("h", True))
    routes = set(Topology("t", forwarding, wires).routes())
    assert Route("b", "10.0.5.0/24", "10.0.4.2") in routes
    assert Route("b", "10.0.3.0/24", "10.0.2.2") in routes


def test_a_topology_refuses_an_impossible_port() -> None:
    with pytest.raises(ValueError, match="1 to 15 characters"):
        Port("a", "sixteen-letters-", "10.0.0.1/24", EDGE)
    with pytest.raises(ValueError, match="rate above zero"):
        Port("a", "eth0", "10.0.0.1/24", Shaper(Rate(0), Size(1), Size(1)))


def test_the_job_is_json_and_has_the_fixed_form(rrul: Experiment) -> None:
    run = the_run(rrul, qdisc="fq_nocodel", cc="reno", seed=7)
    job = run.job()
    assert json.loads(json.dumps(job)) == job
    assert json.dumps(job) == json.dumps(the_run(rrul, qdisc="fq_nocodel", cc="reno", seed=7).job())
    assert list(job) == ["format", "seed", "nodes", "wires", "routes", "sysctls", "traffic"]
    assert (job["format"], job["seed"]) == (1, 7)
    forwarding = [node["name"] for node in job["nodes"] if node["forwards"]]
    assert forwarding == ["router_up", "delay", "router_down"]
    host = {
        "net.ipv4.tcp_congestion_control": "reno",
        "net.ipv4.tcp_ecn": "0",
        "net.ipv4.tcp_recv_batch_ms": "5",
    }
    assert job["sysctls"] == {"client": host, "server": host}
    assert job["traffic"] == {
        "tool": "flent",
        "test": "rrul_be",
        "length_s": 140.0,
        "step_s": 0.2,
        "start_jitter_us": 50000,
        "title": run.id,
        "client": "client",
        "server": "server",
        "server_address": "10.0.4.2",
    }


def test_the_id_of_a_run_names_what_is_not_default(rrul: Experiment) -> None:
    assert the_run(rrul, qdisc="codel").id == "gbw2015/rrul/10-1/codel/cubic/seed-001"
    length = Duration.parse("20 s")
    other = the_run(rrul, qdisc="codel", seed=30, kernel="7.3", length=length)
    other = replace(other, era="2014")
    assert other.id == "gbw2015/rrul@2014@linux-7.3@20s/10-1/codel/cubic/seed-030"
    assert other.job()["traffic"]["length_s"] == 20.0


def test_a_link_has_a_name_for_paths() -> None:
    assert Link("10/1", Rate(10), Rate(1)).slug == "10-1"
