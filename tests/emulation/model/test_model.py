from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.model.egress import Delays, Shaper
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.run import DEFAULT_MEMORY, Experiment, Run
from qdisclab.emulation.model.topology import Link, Node, Port, Route, Topology, Wire
from qdisclab.emulation.model.units import Duration, Packets, Rate, Size

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


OPTIONS = (
    ("limit", Packets(1000)),
    ("target", Duration.parse("13 ms")),
    ("interval", Duration(1500)),
    ("rate", Rate.parse("10 Mbit/s")),
    ("min", Size(12500)),
    ("burst", 13),
    ("probability", 0.02),
    ("adaptive", True),
    ("harddrop", False),
    ("noecn", True),
)


def test_tc_arguments_have_exact_units() -> None:
    assert Qdisc("x", "kind", OPTIONS).tc_arguments() == (
        *("kind", "limit", "1000", "target", "13000us", "interval", "1500ns"),
        *("rate", "10000000bit", "min", "12500b", "burst", "13", "probability", "0.02"),
        *("adaptive", "noecn"),
    )


def test_expectations_have_si_base_units() -> None:
    assert Qdisc("x", "kind", OPTIONS).expect() == {
        "kind": "kind",
        "limit": 1000,
        "target_us": 13000,
        "interval_us": 1.5,
        "rate_bit_s": 10_000_000,
        "min": 12500,
        "burst": 13,
        "probability": 0.02,
        "adaptive": True,
        "harddrop": False,
        "ecn": False,
    }


def test_red_does_not_expect_what_tc_cannot_report(rrul: Experiment) -> None:
    red = the_run(rrul, qdisc="ared").point.up
    assert {"avpkt", "bandwidth", "burst", "probability"} <= dict(red.options).keys()
    assert red.expect() == {
        "kind": "red",
        "limit": 1_514_000,
        "min": 1514,
        "max": 3028,
        "adaptive": True,
        "harddrop": True,
    }


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


def test_the_id_of_a_run_names_what_is_not_default(rrul: Experiment) -> None:
    assert the_run(rrul, qdisc="codel").id == "gbw2015/rrul/10-1/codel/cubic/seed-001"
    length = Duration.parse("20 s")
    other = the_run(rrul, qdisc="codel", seed=30, kernel="7.3", length=length, era="2014")
    assert other.id == "gbw2015/rrul@2014@linux-7.3@20s/10-1/codel/cubic/seed-030"
    assert job_of(other)["traffic"]["length_s"] == 20.0


def test_every_cell_has_random_numbers_of_its_own(rrul: Experiment) -> None:
    runs = select(rrul, seed=[1, 2, 3])
    assert len({run.random for run in runs}) == len(runs) == 42 * 3
    assert all(0 <= run.random < 2**64 for run in runs)
    other = replace(runs[0], point=replace(runs[0].point, label="other"))
    assert other.random != runs[0].random


def test_the_random_numbers_of_a_cell_stay_what_they_are(rrul: Experiment) -> None:
    run = the_run(rrul, qdisc="codel", seed=7)
    # printf gbw2015/rrul/10-1/codel/cubic/7 | sha256sum, the first 16 digits
    assert f"{run.random:016x}" == "46092e0194893603"
    length = Duration.parse("20 s")
    others = [{"era": "2014"}, {"kernel": "7.3"}, {"length": length}]
    for other in others:  # what is compared run by run draws the same numbers
        assert the_run(rrul, qdisc="codel", seed=7, **other).random == run.random


def test_addresses_of_a_server_are_delayed_by_band(rrul: Experiment) -> None:
    rtts = tuple(Duration.parse(text) for text in ("10 ms", "50 ms", "1 ns"))
    run = the_run(rrul, qdisc="codel")
    run = replace(run, point=replace(run.point, rig=run.rig.model_copy(update={"base_rtt": rtts})))
    job = job_of(run)
    assert job_port(job, "server-r2")["addresses"] == ["10.0.4.2/24", "10.0.4.3/24", "10.0.4.4/24"]
    assert job["traffic"]["hosts"] == [
        {"address": "10.0.4.2", "base_rtt_ms": 10.0},
        {"address": "10.0.4.3", "base_rtt_ms": 50.0},
        {"address": "10.0.4.4", "base_rtt_ms": 0.000001},
    ]
    to, back = job_port(job, "delay-r2"), job_port(job, "delay-r1")
    for port, match, delays in ((to, "dst", [5e3, 25e3, 0]), (back, "src", [5e3, 25e3, 0.001])):
        root, *bands = port["qdiscs"]
        assert (root["kind"], root["expect"]) == ("prio", {"kind": "prio", "bands": 3})
        assert [(one["parent"], one["handle"]) for one in bands] == [
            ("1:1", "10:"),
            ("1:2", "20:"),
            ("1:3", "30:"),
        ]
        assert [one["expect"]["delay_us"] for one in bands] == delays
        assert port["filters"] == [
            f"parent 1: protocol ip prio 1 u32 match ip {match} 10.0.4.{host}/32 flowid 1:{band}"
            for band, host in enumerate((2, 3, 4), start=1)
        ]


def test_several_addresses_change_no_other_port(rrul: Experiment) -> None:
    rtts = (Duration.parse("50 ms"),)
    cell = the_run(rrul, qdisc="codel").point
    chain = [
        cell.rig.model_copy(update={"base_rtt": some}).topology(cell.link, dict(cell.queues))
        for some in (rtts, 2 * rtts)
    ]
    pairs = list(zip(chain[0].ports(), chain[1].ports(), strict=True))
    changed = [one.interface for one, other in pairs if one != other]
    assert changed == ["delay-r1", "delay-r2", "server-r2"]
    assert isinstance(chain[0].port("client").egress, Shaper)
    delays = [port.egress for port in chain[1].ports() if isinstance(port.egress, Delays)]
    assert {delay.rate for delay in delays} == {rrul.rig.edge_rate}
    assert chain[0].routes() == chain[1].routes()


def test_the_memory_of_a_guest_is_the_experiments(rrul: Experiment) -> None:
    assert the_run(rrul, qdisc="codel").memory_mib == 384  # the paper's
    assert the_run(rrul, qdisc="codel", settings={"memory": ["256 MiB"]}).memory_mib == 256
    assert DEFAULT_MEMORY.bytes == 192 * 2**20
    assert experiment("khademi2013/flows_4").points[0].memory == DEFAULT_MEMORY


def test_a_link_has_a_name_for_paths() -> None:
    assert Link("10/1", Rate(10), Rate(1)).slug == "10-1"
