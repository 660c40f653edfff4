"""Trees of qdiscs on a port: what a study file may say, what tc is told, what a guest has."""

import importlib
import json
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from qdisclab.emulation import kernel
from qdisclab.emulation.config import job
from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.kinds.rigs.nodes import Nodes
from qdisclab.emulation.machine import guestcode, rootfs, vm
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.run import Experiment
from qdisclab.emulation.model.topology import Link, Topology
from qdisclab.emulation.model.tree import Attached, Curve, Tree, TreeClass
from qdisclab.emulation.model.units import Duration, Packets, Rate
from tests import studyfile
from tests.studyfile import Refusal

FILTER = "protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid 1:10"
FILE = """
kind: nodes
nodes: {h1: {}, r: {forwards: true}, h2: {}, h3: {}, h4: {}, h5: {}}
links:
  - from: r
    to: h1
    there:
      tree:
        - {qdisc: {kind: htb, options: {default: 20}}, handle: "1:"}
        - {class: "1:1", kind: htb, rate: up}
        - {class: "1:10", parent: "1:1", kind: htb, rate: 3333333 bit/s, ceil: up, burst: 15140 B,
           cburst: 1514 B, prio: 2, quantum: 1514 B}
        - {class: "1:20", parent: "1:1", kind: htb, rate: 1500 Mbit/s, prio: 3}
        - {qdisc: {kind: pfifo, options: {limit: 100 packets}}, parent: "1:10", handle: "10:"}
        - {qdisc: tested, parent: "1:20", handle: "20:"}
        - {filter: protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid 1:10}
  - from: r
    to: h2
    there:
      tree:
        - {qdisc: {kind: hfsc, options: {default: 10}}, handle: "1:"}
        - {class: "1:1", kind: hfsc, sc: 10 Mbit/s, ul: 10 Mbit/s}
        - {class: "1:10", parent: "1:1", kind: hfsc, ls: 77777 bit/s,
           rt: {m1: 7654321 bit/s, d: 12345 us, m2: 3 Mbit/s}}
        - {class: "1:11", parent: "1:1", kind: hfsc, ls: {m2: 1234567 bit/s}}
        - {qdisc: {kind: fq_codel, options: {quantum: 300 B}}, parent: "1:10", handle: "10:"}
  - from: r
    to: h3
    there:
      tree:
        - {qdisc: {kind: prio, options: {bands: 3}}, handle: "1:"}
        - {qdisc: {kind: netem, options: {delay: 7 ms, rate: 5 Mbit/s}}, parent: "1:1",
           handle: "10:"}
        - {qdisc: {kind: netem, options: {delay: 30 ms, rate: 5 Mbit/s}}, parent: "1:2",
           handle: "20:"}
        - {qdisc: {kind: netem, options: {delay: 7 ms, rate: 5 Mbit/s}}, parent: "1:3",
           handle: "30:"}
  - from: r
    to: h4
    there:
      tree:
        - {qdisc: {kind: tbf, options: {rate: 10 Mbit/s, burst: 1514 B, limit: 1 MB}}, handle: "1:"}
        - {qdisc: {kind: drr}, parent: "1:1", handle: "10:"}
        - {class: "10:1", kind: drr, quantum: 3000 B}
        - {class: "10:2f", kind: drr, quantum: 100000 B}
        - {filter: matchall flowid 10:1, parent: "10:"}
  - from: r
    to: h5
    there:
      tree:
        - {qdisc: {kind: tbf, options: {rate: 10 Mbit/s, burst: 1514 B, limit: 1 MB}}, handle: "1:"}
      ingress:
        - {qdisc: {kind: cake, options: {bandwidth: 5 Mbit/s, ingress: true}}, handle: "1:"}
"""
STUDY = studyfile.text(rig="\n" + textwrap.indent(FILE, "  "))
LINK = Link("5/10", Rate(5 * 10**6), Rate(10**7))
TESTED = Qdisc("mine", "codel", (("limit", Packets(99)),))


def rig(**changes: Any) -> Nodes:
    """The rig of `FILE`; `changes` are what the first link has there."""
    document = yaml.safe_load(FILE)
    document["links"][0]["there"] |= changes
    return Nodes.model_validate(document)


def topology() -> Topology:
    return rig().topology(LINK, dict.fromkeys(rig().tested_rates(LINK), TESTED))


def tree(node: str) -> Tree:
    (found,) = [port.egress for port in topology().ports() if port.interface == f"r-{node}"]
    assert isinstance(found, Tree)
    return found


def test_a_tree_of_a_study_file() -> None:
    htb = tree("h1")
    assert [one.handle for one in htb.qdiscs] == ["1:", "10:", "20:"]
    assert htb.qdisc == TESTED
    assert htb.classes[1].words() == (
        *("rate", "3333333bit", "ceil", "10000000bit", "burst", "15140b", "cburst", "1514b"),
        *("prio", "2", "quantum", "1514"),
    )
    assert htb.filters() == ("parent 1: protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid 1:10",)
    assert htb.qdiscs[0].qdisc.expect() == {"kind": "htb", "default": 0x20}
    hfsc = tree("h2").classes[1]
    assert " ".join(hfsc.words()) == (
        "rt m1 7654321bit d 12345us m2 3000000bit ls m1 0bit d 0us m2 77777bit"
    )
    assert hfsc.expect() == {"rt": [7654321, 12345, 3000000], "ls": [0, 0, 77777], "ul": None}
    arriving = tree("h5").ingress
    assert arriving is not None
    assert arriving.qdiscs[0].qdisc.kind == "cake"


def test_the_queue_under_test_and_its_rate() -> None:
    assert rig().tested
    assert rig().tested_rates(LINK) == (Rate(1500 * 10**6),)
    assert [port.interface for port in topology().queues()] == ["r-h1"]
    other = topology().with_qdiscs(lambda node, qdisc: Qdisc("other", "pfifo"))
    assert [port.egress.qdisc.name for port in other.queues()] == ["other"]  # type: ignore[union-attr]


def test_a_queue_under_test_that_shapes_by_itself() -> None:
    """Its rate is beside it, and becomes an option unless its options have one."""
    nodes = rig(tree=[{"qdisc": "tested", "handle": "1:", "rate": "up"}])
    (rate,) = nodes.tested_rates(LINK)
    assert rate == LINK.up
    cake = Qdisc("mine", "cake", (("besteffort", True),))
    (port, *_) = nodes.topology(LINK, {rate: cake}).queues()
    assert isinstance(port.egress, Tree)
    assert port.egress.qdisc == Qdisc("mine", "cake", (("besteffort", True), ("bandwidth", rate)))
    slow = Qdisc("mine", "cake", (("bandwidth", Rate(10**6)),))
    (port, *_) = nodes.topology(LINK, {rate: slow}).queues()
    assert isinstance(port.egress, Tree)
    assert port.egress.qdisc == slow
    with pytest.raises(ValueError, match=r"mine \(codel\) has no shaper of its own"):
        nodes.topology(LINK, {rate: TESTED})


ROOT = {"qdisc": {"kind": "htb"}, "handle": "1:"}
FAST = {"class": "1:1", "kind": "htb", "rate": "5 Mbit/s"}


@pytest.mark.parametrize(
    ("entries", "what"),
    [
        ([], "a tree needs a qdisc"),
        ([{"qdisc": {"kind": "prio"}, "handle": "1:"}], "a tree needs a rate, without which its"),
        ([ROOT, {**FAST, "class": "2:1"}], "class 2:1: there is no htb with the handle 2:"),
        ([ROOT, {**FAST, "parent": "1:9"}], "its parent 1:9 does not come before it"),
        ([ROOT, FAST, FAST], "the class 1:1 appears twice"),
        ([ROOT, {**FAST, "kind": "prio"}], "class 1:1: prio cannot have classes"),
        ([ROOT, {**FAST, "sc": "5 Mbit/s"}], "class 1:1: htb has no sc"),
        ([ROOT, {**FAST, "class": 61}], "61 is not text"),
        ([ROOT, {**FAST, "handle": "2:"}], "belongs to a qdisc"),
        ([{**ROOT, "rate": "5 Mbit/s"}], "belongs to a class"),
        ([{"qdisc": {"kind": "htb"}}], "is missing"),
        ([ROOT, FAST, {"qdisc": "tested", "parent": "1:2", "handle": "2:"}], "does not exist: 1:2"),
        ([ROOT, FAST, {"qdisc": "tested", "parent": "1:1", "handle": "x:"}], "x:' is not a handle"),
        ([{"qdisc": "tested", "handle": "1:"}], "a tree needs a rate"),
        ([{"filter": "matchall"}, FAST, {"class": "1:1"}], "is missing"),
        ([ROOT, {"filter": "matchall", "qdisc": "tested"}], "is not exactly one of"),
        (
            [ROOT, {**FAST, "prio": 1}, {**FAST, "class": "1:2", "parent": "1:1"}],
            "class 1:1 has classes: it takes no prio and no quantum",
        ),
    ],
)
def test_what_tc_could_not_build_is_refused(entries: list[Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        rig(tree=entries)


def test_a_tree_is_instead_of_a_rate_and_what_arrives_comes_with_a_tree() -> None:
    with pytest.raises(ValueError, match="excludes a tree"):
        rig(rate="5 Mbit/s")
    with pytest.raises(ValueError, match="needs a tree"):
        rig(tree=None, rate="5 Mbit/s", ingress=[ROOT, FAST])
    with pytest.raises(ValueError, match="can have no queue under test"):
        rig(ingress=[ROOT, FAST, {"qdisc": "tested", "parent": "1:1", "handle": "2:"}])


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("sc: 10 Mbit/s", "sx: 10 Mbit/s", "tree[1].sx: unknown key 'sx'; valid: qdisc, class"),
        ("ls: {m2", "ls: {m3", "tree[3].ls.m3: unknown key 'm3'; valid: m1, d, m2"),
        ("kind: drr}", "kind: drr, limit: 5}", "tree[1].qdisc.limit: unknown key 'limit'; valid"),
        (FILTER, f'"{FILTER} match ip dst {{h9}}/32"', "tree[6].filter: unknown address 'h9'; "),
        ("quantum: 300 B", "quantum: 300 s", "tree[4].qdisc.options.quantum: '300 s': unknown"),
    ],
)
def test_a_fault_in_a_tree_is_named_at_its_place(
    refusal: Refusal, old: str, new: str, what: str
) -> None:
    assert STUDY.count(old) == 1
    (line, *_) = refusal(STUDY.replace(old, new))
    assert what in line


def test_an_axis_that_breaks_a_tree_is_named(refusal: Refusal) -> None:
    path = "rig.links.0.there.tree.2.parent"
    text = STUDY.replace("experiments:", f"axes: {{inside: {{sets: {path}}}}}\nexperiments:", 1)
    text = text.replace("sweep: {", 'sweep: {inside: ["1:1", "1:9"], ', 1)
    told = "\n".join(refusal(text.replace("rrul_be,", "rrul_be, client: h1, server: h2,")))
    assert "sweep.inside[1]: rig.links[0].there.tree: class 1:10: its parent 1:9 does not" in told


def test_names_in_filters_are_addresses() -> None:
    text = f'"{FILTER} match ip src {{h2}}/32 match ip dst {{r.r-h3}}/32"'
    filtered = FILE.replace(FILTER, text)
    section = Nodes.model_validate(yaml.safe_load(filtered))
    queues = dict.fromkeys(section.tested_rates(LINK), TESTED)
    first = next(section.topology(LINK, queues).ports())
    assert first.egress.filters() == (
        f"parent 1: {FILTER} match ip src 10.0.2.2/32 match ip dst 10.0.3.1/32",
    )


def test_a_tree_made_in_python_is_checked() -> None:
    root = Attached("root", "1:", Qdisc("hfsc", "hfsc"))
    curve = Curve(Rate(0), Duration(0), Rate(10**6))
    assert Tree((root,), (TreeClass("1:", "1:1", "hfsc", (("ls", curve),)),))
    with pytest.raises(ValueError, match="a tree needs a rate"):
        Tree((root,))
    with pytest.raises(ValueError, match="hfsc needs sc, rt or ls"):
        TreeClass("1:", "1:1", "hfsc", (("ul", curve),))
    with pytest.raises(ValueError, match="sc stands for rt and ls"):
        TreeClass("1:", "1:1", "hfsc", (("sc", curve), ("ls", curve)))
    with pytest.raises(ValueError, match="there is no qdisc with the handle 7:, which is to"):
        Tree(
            (Attached("root", "1:", Qdisc("cake", "cake", (("bandwidth", Rate(9)),))),), tested="7:"
        )


def told(experiment: Experiment) -> dict[str, Any]:
    """The job of a guest that builds the rig."""
    (run,) = select(experiment, link="10/10", qdisc="codel", cc="cubic", seed=1)
    found: dict[str, Any] = json.loads(json.dumps(job.rig(run, topology())))
    return found | {"sysctls": {}, "work": "script", "uses": ["rig"]}


def test_the_guest_gets_the_code_of_trees_with_a_tree_alone(rrul: Experiment) -> None:
    (run,) = select(rrul, link="10/10", qdisc="codel", cc="cubic", seed=1)
    assert "trees.py" not in set(guestcode.files(job_of(run)))
    assert "trees.py" in set(guestcode.files(told(rrul)))


def test_the_lines_of_tc_are_in_an_order_that_it_takes(
    rrul: Experiment, guest_modules: None
) -> None:
    trees: ModuleType = importlib.import_module("trees")
    port = told(rrul)["wires"][3][0]
    assert trees.lines(port) == [
        "qdisc add dev r-h4 root handle 1: tbf rate 10000000bit burst 1514b limit 1000000b",
        "qdisc add dev r-h4 parent 1:1 handle 10: drr",
        "class add dev r-h4 parent 10: classid 10:1 drr quantum 3000",
        "class add dev r-h4 parent 10: classid 10:2f drr quantum 100000",
        "filter add dev r-h4 parent 10: matchall flowid 10:1",
    ]


#: Builds the rig of the job, pings through each tree, compares it, changes it and compares again.
WORK = """
from readback import compare, read
from rig import Rig
rig = Rig(job)
status('compared', problems=compare(rig.ports, read(rig)))
rtts = {}
for number in range(1, 6):
    for tos in ('0', '0xb8'):
        for _ in range(2):  # the second time ARP is done
            said = rig.run('h5', 'ping', '-c', '1', '-Q', tos, f'10.0.{number}.2') if number < 5 \\
                else rig.run('h1', 'ping', '-c', '1', '-Q', tos, '10.0.5.2')
        rtts[f'{number} {tos}'] = float(said.split('time=')[1].split()[0])
counted = {}
for entry in read(rig, statistics=True)['r r-h1']['qdiscs']:
    counted[entry['handle']] = entry['packets']
arrived = read(rig, statistics=True)['r r-h5']['tree']['ingress']['qdiscs'][0]['packets']
status('pinged', rtts=rtts, counted=counted, arrived=arrived)
for words in job['changes']:
    rig.run('r', 'tc', *words.split())
status('changed', problems=compare(rig.ports, read(rig)))
"""
CHANGES = {
    "class change dev r-h1 parent 1:1 classid 1:10 htb rate 3333400bit ceil 10mbit burst 15140b"
    " cburst 1514b prio 2 quantum 1514": "r r-h1: class 1:10 has rate 3333400, not 3333333",
    "class change dev r-h1 parent 1:1 classid 1:20 htb rate 1500mbit prio 4":
        "r r-h1: class 1:20 has prio 4, not 3",
    "class change dev r-h2 parent 1:1 classid 1:10 hfsc rt m1 7654321bit d 12400us m2 3000000bit"
    " ls rate 77777bit": "r r-h2: class 1:10 has rt [7654320, 12400, 3000000], not",
    "class change dev r-h2 parent 1:1 classid 1:11 hfsc ls rate 1234567bit ul rate 2mbit":
        "r r-h2: class 1:11 has ul [0, 0, 2000000], not None",
    "qdisc change dev r-h3 parent 1:2 handle 20: netem delay 31ms rate 5mbit":
        "r r-h3 20:: netem has delay_us 31000",
    "class change dev r-h4 parent 10: classid 10:1 drr quantum 3001":
        "r r-h4: class 10:1 has quantum 3001, not 3000",
    "class add dev r-h4 parent 10: classid 10:3 drr": "r r-h4: class 10:3 is there, nobody asked",
    "qdisc change dev ifb4-0 root handle 1: cake bandwidth 6mbit ingress":
        "r r-h5 ingress 1:: cake has bandwidth_bit_s 6000000, not 5000000",
    "filter del dev r-h1 parent 1:": "r r-h1: the filter 'parent 1: protocol ip prio 1 u32",
    "filter del dev r-h5 parent ffff:": "r r-h5 ingress: what arrives does not go to ifb4-0",
}  # fmt: skip


@pytest.mark.kernel
def test_trees_are_built_used_and_read_back_in_a_guest(rrul: Experiment, tmp_path: Path) -> None:
    machine = vm.Machine(kernel.build().path, rootfs.build().path, seed=1)
    vm.prepare(tmp_path, machine, told(rrul) | {"changes": list(CHANGES)}, script=WORK)
    ending = vm.run(machine, tmp_path)
    assert ending.steps[-1]["step"] == "done", ending.steps[-1]
    assert ending.step("compared")["problems"] == []
    pinged = ending.step("pinged")
    assert 30 < pinged["rtts"]["3 0"] < 33
    assert (
        pinged["counted"]["10:"] == 4
    )  # two pings to it and two replies, of this class of service
    assert pinged["arrived"] >= 16
    said = ending.step("changed")["problems"]
    assert [any(one.startswith(text) for one in said) for text in CHANGES.values()] == [True] * len(
        CHANGES
    ), said
    assert len(said) == len(CHANGES), said
