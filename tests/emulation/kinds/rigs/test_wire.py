"""Trees without a rate of their own, over a wire that has one."""

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulate import cli
from qdisclab.emulation.kinds.rigs.nodes import Nodes
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.topology import Link
from qdisclab.emulation.model.units import Rate
from tests.studyfile import Refusal

PRIO = [
    {"qdisc": {"kind": "prio", "options": {"bands": 3}}, "handle": "1:"},
    {"qdisc": {"kind": "fq_codel"}, "parent": "1:1", "handle": "10:"},
    {"filter": "protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid 1:1"},
]
NETEM = [{"qdisc": {"kind": "netem", "options": {"delay": "20 ms"}}, "handle": "1:"}]
TESTED = [{"qdisc": "tested", "handle": "1:"}]
LINK = Link("50/10", Rate(50 * 10**6), Rate(10 * 10**6))


def rig(**link: Any) -> Nodes:
    link = {"from": "a", "to": "b", "wire": "10 Mbit/s", **link}
    return Nodes.model_validate({"kind": "nodes", "nodes": {"a": {}, "b": {}}, "links": [link]})


def told(section: Nodes) -> list[list[str]]:
    """What `tc` is told of the two ends."""
    pie = Qdisc("pie", "pie")
    topology = section.topology(LINK, dict.fromkeys(section.tested_rates(LINK), pie))
    return [
        [f"{one.parent} {one.handle} {' '.join(one.qdisc.tc_arguments())}"
         for one in port.egress.attached()]
        for port in topology.ports()
    ]  # fmt: skip


WIRE = "root fff0: tbf rate 10000000bit burst 1514b limit 12500000b"


def test_the_root_of_a_tree_is_inside_the_wires_shaper() -> None:
    there, back = told(rig(there={"tree": PRIO}, back={"tree": NETEM}))
    assert there == [WIRE, "fff0:1 1: prio bands 3", "1:1 10: fq_codel"]
    assert back == [WIRE, "fff0:1 1: netem delay 20000us"]
    section = rig(there={"tree": PRIO}, back={"tree": NETEM})
    assert section.topology(LINK, {}).base_rtt("a", "b").ms == 20


def test_the_queue_under_test_has_the_wires_rate_or_its_own() -> None:
    section = rig(there={"tree": TESTED})
    assert section.tested_rates(LINK) == (Rate(10**7),)
    assert told(section)[0] == [WIRE, "fff0:1 1: pie"]
    shaped = [
        {"qdisc": {"kind": "htb", "options": {"default": 1}}, "handle": "1:"},
        {"class": "1:1", "kind": "htb", "rate": "4 Mbit/s"},
        {"qdisc": "tested", "parent": "1:1", "handle": "2:"},
    ]
    section = rig(there={"tree": shaped})
    assert section.tested_rates(LINK) == (Rate(4 * 10**6),)
    (port, _) = section.topology(LINK, {Rate(4 * 10**6): Qdisc("pie", "pie")}).ports()
    assert list(port.egress.rates()) == [Rate(4 * 10**6)]


def test_ends_without_a_rate_have_the_wires() -> None:
    there, back = told(rig(there={"delay": "5 ms"}))
    assert there == ["root 1: netem delay 5000us rate 10000000bit limit 100000"]
    assert back == ["root 1: tbf rate 10000000bit burst 65536b limit 12500000b"]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("wire: 10 Mbit/s, ", "", "there.tree: a tree needs a rate, without which its port is inf"),
        ("wire: 10", "wire: 0", "'0 bit/s' is not a possible rate"),
        ("there: {tree", "back: {rate: 20 Mbit/s}, there: {tree", "'20 Mbit/s' is more than the"),
        ('handle: "1:"', 'handle: "fff0:"', "fff0: is the handle of the wire; choose another"),
    ],
)
def test_what_no_wire_could_be_is_refused(refusal: Refusal, old: str, new: str, what: str) -> None:
    assert STUDY.count(old) == 1
    assert what in "\n".join(refusal(STUDY.replace(old, new)))


STUDY = """\
format: 1
study: mine
title: A wire of 10 Mbit/s
rig:
  kind: nodes
  nodes: {a: {}, r: {forwards: true}, b: {}}
  links:
    - {from: a, to: r, wire: 10 Mbit/s, there: {tree: [{qdisc: {kind: fq}, handle: "1:"}]}}
    - from: r
      to: b
      wire: 20 Mbit/s
      back: {tree: [{qdisc: {kind: netem, options: {delay: 20 ms}}, handle: "2:"}]}
experiments:
  e:
    title: Pings and a flow
    traffic:
      kind: programs
      length: 3 s
      idle_pings: true
      surroundings: true
      programs:
        - {kind: command, name: around, node: r, command: [sh, -c, "echo $LANG; getent hosts b"]}
        - {kind: ping, from: a, to: b, interval: 1 s, options: [-s, "1472"]}
        - {kind: iperf, from: a, to: b, start: 2.9 s, options: [-t, "5"]}
"""


@pytest.mark.kernel
def test_packets_pass_at_its_rate(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "study.yaml").write_text(STUDY)
    assert cli.main(["run", f"{folder}/e", "--trust", "--seed", "1"]) == 0
    (output,) = (folder / "data").rglob("*.output.tar.gz")
    with tarfile.open(output) as tar:
        tar.extractall(tmp_path)
    texts = {path.parent.name: path.read_text() for path in tmp_path.rglob("stdout")}
    assert re.fullmatch(r"C\.UTF-8\n[0-9.]+ +b\n", texts["around"])
    rtts = [float(text) for text in re.findall(r"time=([0-9.]+)", texts["ping"])]
    assert min(rtts) == pytest.approx(20, abs=0.02)  # a lone frame finds a full bucket
    record = json.loads(next((folder / "data").rglob("seed-001.json")).read_text())
    assert record["measured_pairs"] == [["a", "b"]]
    assert record["measured_base_rtts_ms"] == [pytest.approx(20, abs=0.3)]
    goodput = float(texts["iperf"].split(",")[-1])
    assert 0.94 < goodput / 10e6 < 0.96  # of packets of 1514 bytes, 1448 are data
