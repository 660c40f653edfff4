"""Rigs written out: what is built of nodes and links, and which networks are refused."""

import pytest

from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.model.egress import Delay, Shaper
from qdisclab.emulation.model.topology import Route
from qdisclab.emulation.model.units import Duration, Rate, Size
from tests import studyfile
from tests.studyfile import Read, Refusal

STUDY = studyfile.text(
    rig="""
  kind: nodes
  nodes:
    client: {}
    r1: {forwards: true}
    s1: {switches: true}
    server: {}
    other: {sysctls: {net.ipv4.tcp_ecn: 1}}
  links:
    - {from: client, to: r1}
    - from: r1
      to: s1
      there: {rate: up, queue: tested}
      back: {delay: 20 ms}
    - {from: s1, to: server, back: {rate: 5 Mbit/s, queue: {kind: fq_codel}}}
    - {from: s1, to: other}"""
)


def changed(old: str, new: str) -> str:
    assert STUDY.count(old) == 1
    return STUDY.replace(old, new)


def test_addresses_and_routes_follow_from_the_links(first_of: Read) -> None:
    topology = first_of(STUDY).points[0].topology()
    addresses = {
        (port.node, port.interface): port.address for port in topology.ports() if port.address
    }
    assert addresses == {  # a subnet for the wire, one for all that the switch joins
        ("client", "client-r1"): "10.0.1.1/24",
        ("r1", "r1-client"): "10.0.1.2/24",
        ("r1", "r1-s1"): "10.0.2.1/24",
        ("server", "server-s1"): "10.0.2.2/24",
        ("other", "other-s1"): "10.0.2.3/24",
    }
    assert set(topology.routes()) == {
        Route("client", "default", "10.0.1.2"),
        Route("server", "default", "10.0.2.1"),
        Route("other", "default", "10.0.2.1"),
    }
    assert [node.name for node in topology.nodes if node.host] == ["client", "server", "other"]


def test_switches_in_a_row_are_one_subnet_with_routes(first_of: Read) -> None:
    row = changed("    server: {}", "    s2: {switches: true}\n    server: {}").replace(
        "{from: s1, to: server,", "{from: s1, to: s2}\n    - {from: s2, to: server,"
    )
    assert set(first_of(row).points[0].topology().routes()) == {
        Route("client", "default", "10.0.1.2"),
        Route("server", "default", "10.0.2.1"),
        Route("other", "default", "10.0.2.1"),
    }


def test_offloads_are_those_of_a_links_two_ports(first_of: Read) -> None:
    (run,) = select(first_of(changed("to: r1}", "to: r1, offloads: true}")))
    ports = [port for wire in job_of(run)["wires"] for port in wire]
    on = [port["interface"] for port in ports if port.get("offloads")]
    assert on == ["client-r1", "r1-client"]
    (run,) = select(first_of(STUDY))
    wires = job_of(run)["wires"]
    assert not any("offloads" in port for wire in wires for port in wire)


def test_each_end_does_what_is_written(first_of: Read) -> None:
    (run,) = select(first_of(STUDY))
    egress = {port.interface: port.egress for port in run.topology.ports()}
    tested, back = egress["r1-s1"], egress["s1-r1"]
    assert isinstance(tested, Shaper)
    assert isinstance(back, Delay)
    assert (tested.rate, tested.qdisc and tested.qdisc.kind) == (Rate(10**6), "codel")
    assert (back.delay, back.rate) == (Duration(20 * 10**6), Rate(10**9))
    own = egress["server-s1"]
    assert isinstance(own, Shaper)
    assert (own.rate, own.qdisc and own.qdisc.kind) == (Rate(5 * 10**6), "fq_codel")
    assert run.base_rtts == (Duration(20 * 10**6),)


def test_a_parameter_of_a_link_is_an_axis(first_of: Read) -> None:
    text = changed("cc: cubic}", "cc: cubic, rig.links.1.back.delay: [1 ms, 2 ms]}")
    runs = select(first_of(text))
    assert [run.base_rtts[0].ms for run in runs] == [1, 2]
    assert [run.id for run in runs] == [
        f"mine/first,rig.links.1.back.delay={delay}/10-1/codel/cubic/seed-001"
        for delay in ("1ms", "2ms")
    ]


def test_ports_may_have_names_of_their_own(first_of: Read) -> None:
    text = changed("{from: client, to: r1}", "{from: client, to: r1, ports: [eth0, wan.5]}")
    topology = first_of(text).points[0].topology()
    assert [(one.node, one.interface) for one in topology.ports()][:2] == [
        ("client", "eth0"), ("r1", "wan.5"),
    ]  # fmt: skip


def test_a_rig_without_a_queue_under_test_has_no_link_and_no_qdisc(
    first_of: Read, refusal: Refusal
) -> None:
    plain = changed("rate: up, queue: tested", "rate: 1 Mbit/s")
    (line,) = refusal(plain)
    assert line.startswith(
        "24: experiments.first.sweep.link[0]: the rig has no bottleneck to apply it to; "
    )
    (run,) = select(first_of(plain.replace("link: [10/1], qdisc: [codel], ", "")))
    assert run.id == "mine/first/-/-/cubic/seed-001"
    assert run.point.queues == ()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("to: other}", "to: othr}", "19: rig.links[3].to: unknown node 'othr'; did you mean"),
        ("to: other}", "to: s1}", "19: rig.links[3]: leads from 's1' to itself; name two nodes"),
        (
            "to: other}",
            "to: other}\n    - {from: other, to: client}",
            "20: rig.links[4]: closes a cycle: 'other' and 'client' are connected already; remove",
        ),
        (
            "to: other}",
            "to: server}",
            "19: rig.links[3]: the port 's1-server' of 's1' appears twice; first in links[2]",
        ),
        (
            "{from: client, to: r1}",
            "{from: client, to: r1, ports: [eth0, r1-s1]}",
            "14: rig.links[1]: the port 'r1-s1' of 'r1' appears twice; first in links[0]; write",
        ),
        (
            "{from: client, to: r1}",
            "{from: client, to: r1, ports: [a/b, eth0]}",
            "13: rig.links[0]: 'a/b' is not the name of a port; write 'ports: [a, b]' with up to",
        ),
        (
            "{from: client, to: r1}",
            "{from: client, to: r1, ports: [lo, eth0]}",
            "13: rig.links[0]: 'lo' is not the name of a port",
        ),
        (
            "{from: client, to: r1}",
            "{from: client, to: r1, ports: [sixteen-letters-, eth0]}",
            "13: rig.links[0]: 'sixteen-letters-' is not the name of a port",
        ),
        ("    other:", "    lone: {}\n    other:", "11: rig.nodes.lone: no link leads to 'lone'"),
        (
            "    - {from: s1, to: other}",
            "    - {from: other, to: more}\n    - {from: more, to: another}",
            "19: rig.links[3].to: unknown node 'more'",
        ),
        ("{forwards: true}", "{}", "8: rig.nodes.r1: 'r1' has 2 links and forwards nothing; write"),
        ("{forwards: true}", "{forwards: true, switches: true}", "8: rig.nodes.r1: forwards and"),
        ("{forwards: true}", "{forwards: 1}", "8: rig.nodes.r1.forwards: is not true or false"),
        ("{forwards: true}", "{forward: true}", "8: rig.nodes.r1.forward: unknown key 'forward'"),
        (
            "    server: {}",
            "    server: {}\n    sw: {switches: true}",
            "11: rig.nodes.sw: the switch 'sw' has no digit in its name; write e.g. 'sw1'",
        ),
        ("    client:", "    a b:", "7: rig.nodes.a b: 'a b' is not the name of a node; write up"),
        ("{delay: 20 ms}", "{delay: 20}", "17: rig.links[1].back.delay: '20': a bare number has"),
        ("{delay: 20 ms}", "{}", "17: rig.links[1].back: has no effect; write a rate, a delay"),
        (
            "{delay: 20 ms}",
            "{delay: 20 ms, queue: tested}",
            "17: rig.links[1].back.delay: excludes a queue and a burst; put the delay on",
        ),
        ("{delay: 20 ms}", "{queue: tested}", "17: rig.links[1].back: a queue without a rate"),
        (
            "{delay: 20 ms}",
            "{rate: down, burst: 1513 B}",
            "17: rig.links[1].back.burst: '1513 B' lets no whole frame through; write 1514 B or",
        ),
        (
            "{delay: 20 ms}",
            "{rate: down, burst: 5 ms}",
            "17: rig.links[1].back.burst: '5 ms': unknown unit 'ms'",
        ),
        ("queue: tested", "queue: codel", "16: rig.links[1].there.queue: 'codel' is not a queue"),
        ("{kind: fq_codel}", "{kind: fq_code}", "18: rig.links[2].back.queue.kind: unknown kind"),
        (
            "{kind: fq_codel}",
            "{kind: fq_codel, options: {target: 5}}",
            "18: rig.links[2].back.queue.options.target: '5': a bare number has no unit",
        ),
        ("  links:\n", "  mtu: 1500 B\n  links:\n", "12: rig.mtu: unknown key 'mtu'; valid:"),
        ("kind: nodes", "kind: node", "5: rig.kind: unknown kind 'node'; did you mean 'nodes'?"),
    ],
)
def test_what_is_no_network_is_refused_at_its_line(
    refusal: Refusal, old: str, new: str, said: str
) -> None:
    lines = refusal(changed(old, new))
    assert any(line.startswith(said) for line in lines), lines


def test_a_node_that_cannot_be_reached_is_named(refusal: Refusal) -> None:
    text = changed(
        "    - {from: s1, to: other}", "    - {from: other, to: far}"
    ).replace("    server: {}", "    server: {}\n    far: {}")  # fmt: skip
    assert [line.split(";")[0] for line in refusal(text)] == [
        "11: rig.nodes.far: there is no path from 'client' to 'far'",
        "12: rig.nodes.other: there is no path from 'client' to 'other'",
    ]


def test_one_node_alone_is_no_network(refusal: Refusal) -> None:
    begin, end = STUDY.index("    r1:"), STUDY.index("  links:")
    lines = refusal(STUDY[:begin] + STUDY[end:])
    assert "6: rig.nodes: has 1 entry; write 2 or more" in lines


@pytest.mark.parametrize("burst", ["1514 B", "64 KiB"])
def test_a_bucket_holds_a_whole_frame(first_of: Read, burst: str) -> None:
    text = changed("{delay: 20 ms}", f"{{rate: down, burst: {burst}}}")
    port = next(p for p in first_of(text).points[0].topology().ports() if p.interface == "s1-r1")
    assert isinstance(port.egress, Shaper)
    assert port.egress.burst == Size.parse(burst)


def test_settings_of_a_node_are_its_own(first_of: Read) -> None:
    router = changed("r1: {forwards: true}", "r1: {forwards: true, sysctls: {net.ipv4.tcp_ecn: 0}}")
    server = router.replace("server: {}", "server: {sysctls: {net.ipv4.tcp_ecn: 2}}")
    told = job_of(select(first_of(server), seed=1)[0])["sysctls"]
    assert told["client"] == {"net.ipv4.tcp_congestion_control": "cubic"}
    assert told["server"] == {**told["client"], "net.ipv4.tcp_ecn": "2"}
    assert (told["r1"], told["other"]) == ({"net.ipv4.tcp_ecn": "0"}, {"net.ipv4.tcp_ecn": "1"})


def test_the_congestion_control_is_an_axis(refusal: Refusal) -> None:
    own = "  kind: nodes\n  sysctls: {net.ipv4.tcp_congestion_control: reno}\n"
    (line,) = refusal(changed("  kind: nodes\n", own))
    assert "is set by the axis 'cc'; write it there" in line


def test_netem_at_the_root_of_a_tree_is_a_delay(first_of: Read, refusal: Refusal) -> None:
    netem = "{qdisc: {kind: netem, options: {delay: 30 ms, rate: 5 Mbit/s}}"
    tree = f"back: {{tree: [{netem}, handle: '1:'}}]}}"
    (run,) = select(first_of(changed("back: {delay: 20 ms}", tree)), seed=1)
    assert run.base_rtts == (Duration.parse("30 ms"),)
    prio = "{qdisc: {kind: prio, options: {bands: 2}}, handle: '1:'}"
    bands = f"back: {{tree: [{prio}, {netem}, parent: '1:1', handle: '10:'}}]}}"
    (line,) = refusal(changed("back: {delay: 20 ms}", bands))
    assert "netem of s1 s1-r1 delays only some packets" in line
