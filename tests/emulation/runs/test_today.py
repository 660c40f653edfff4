"""Qdiscs and congestion controls that came after the papers: all at once in a guest, the same bytes
twice, and what ECN's counters say of each other."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from qdisclab.emulation import kernel
from qdisclab.emulation.captures.counters import marks
from qdisclab.emulation.config.catalogue import experiment, load, select
from qdisclab.emulation.datafile import read_json
from qdisclab.emulation.kernel import features
from qdisclab.emulation.kinds.probes.probe import Probe
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.runs.run import execute
from tests import ROOT
from tests.host_conditions.conditions import ODD, PLAIN
from tests.host_conditions.determinism import Stage, observe
from tests.kernels import TODAY, needs_today

pytestmark = pytest.mark.kernel

#: The queue of a bottleneck, as a rig writes it.
QUEUES = {
    "cake": "queue: {kind: cake, options: {besteffort: true, metro: true}}",
    "fq_pie": "queue: {kind: fq_pie, options: {ecn: true}}",
    "fq": "queue: {kind: fq}",
    "sfb": "queue: {kind: sfb}",
    "choke": "queue: {kind: choke, options: {limit: 100 packets, bandwidth: 4 Mbit/s}}",
    "dualpi2": "queue: {kind: dualpi2, options: {any_ect: true}}",
}
#: CAKE as the shaper itself, and HFSC, which has its queues in classes.
TREES = {
    "cake_shapes": "[{qdisc: {kind: cake, options: {bandwidth: 4 Mbit/s}}, handle: '1:'}]",
    "hfsc": "[{qdisc: {kind: hfsc, options: {default: 10}}, handle: '1:'}, "
    "{class: '1:10', parent: '1:', kind: hfsc, ls: 4 Mbit/s, ul: 4 Mbit/s}, "
    "{qdisc: {kind: fq_codel}, parent: '1:10', handle: '10:'}]",
}
CONTROLS = ("cubic", "reno", "bbr", "dctcp", "vegas", "westwood", "illinois", "htcp", "lp",
            "scalable", "aimd")  # fmt: skip

STUDY = """\
format: 1
study: today
title: Each flow with a queue and a congestion control of its own
controls: {{aimd: {{module: aimd, parameters: {{increase: 200, decrease: 125}}}}}}
rig:
  kind: nodes
  sysctls: {{net.ipv4.tcp_ecn: 1}}
  nodes: {{{nodes}}}
  links:
{links}
experiments:
  all:
    title: All of them
    traffic:
      kind: programs
      length: 2 s
      programs:
{programs}
    sweep: {{cc: cubic}}
"""


def everything(folder: Path, series: str) -> Run:
    """One flow per congestion control of `series`, which take its queues in turn."""
    controls = [name for name in CONTROLS if name in (*features.controls(series), "aimd")]
    queues = [
        f"rate: 4 Mbit/s, {text}"
        for kind, text in QUEUES.items()
        if not features.lacking(series, [kind], [])
    ] + [f"tree: {text}" for text in TREES.values()]
    nodes, links, programs = ["r: {forwards: true}"], [], []
    for number, control in enumerate(controls):
        ends = f"from: a{number}, to: b{number}"
        nodes += [f"a{number}: {{}}", f"b{number}: {{}}"]
        there = queues[number % len(queues)]
        links.append(f"    - {{from: a{number}, to: r, there: {{{there}}}}}")
        links.append(f"    - {{from: r, to: b{number}, back: {{delay: 20 ms}}}}")
        programs.append(f"        - {{kind: iperf, name: {control}, {ends}, cc: {control}}}")
    place = folder / "today"
    shutil.copytree(ROOT / "qdisc/src/aimd", place / "aimd")
    parts = {"nodes": ", ".join(nodes), "links": "\n".join(links), "programs": "\n".join(programs)}
    (place / "study.yaml").write_text(STUDY.format(**parts))
    (run,) = select(load(place).experiments[0], seed=1, kernel=series)
    return run


@pytest.mark.parametrize("series", ["6.12", pytest.param(TODAY, marks=needs_today)])
def test_each_queue_and_congestion_control_gives_the_same_bytes(
    tmp_path: Path, series: str
) -> None:
    run, stage = everything(tmp_path, series), Stage.build(series)
    idle, busy = observe(run, PLAIN, stage), observe(run, ODD, stage)
    flows = {name for name in idle.files if name.startswith("programs/") and "server" not in name}
    assert {f"programs/{name}/stdout" for name in run.controls} <= flows
    assert len({idle.files[f"programs/{name}/stdout"] for name in run.controls}) == len(
        run.controls
    )
    assert busy.stops >= 3
    assert idle.files == busy.files


@needs_today
def test_marks_are_the_same_by_queue_sender_and_receiver(tmp_path: Path) -> None:
    """By AccECN a sender knows of each packet with CE that its receiver counts: those marked."""
    asked = {"rig.sysctls.net.ipv4.tcp_ecn": [3], "qdisc.noecn": [None]}
    (run,) = select(
        experiment("gbw2015/rrul"), link="10/10", qdisc="fq_codel", cc="cubic", seed=1,
        length=Duration.parse("3 s"), kernel=TODAY, settings=asked,
    )  # fmt: skip
    probes = (Probe.parse("sockets:10ms"),)
    result = execute(run, kernel.build(series=TODAY), rootfs.build(), tmp_path, probes=probes)
    sockets = pd.read_parquet(tmp_path / f"{run.id}.sockets.parquet")
    flow = ["local", "local_port", "remote", "remote_port"]
    last = sockets.sort_values("time_ns").groupby(["node", *flow], as_index=False).last()
    sending = last["bytes_sent"] > last["bytes_received"]
    senders = last[sending & (last["node"] == "client") & (last["delivered_packets"] > 100)]
    ends = pd.MultiIndex.from_frame(senders[[*flow[2:], *flow[:2]]])
    received = last.set_index(flow)["received_ce_packets"].reindex(ends)
    queues = read_json(result.provenance)["qdiscs"]["router_up r1-delay"]["qdiscs"]
    (queue,) = (queue for queue in queues if queue["handle"] == "10:")
    assert len(senders) == 4
    assert set(senders["ecn_mode"]) == {2}
    assert received.sum() == marks(queue) > 0
    assert list(senders["delivered_ce_packets"]) == list(received)
