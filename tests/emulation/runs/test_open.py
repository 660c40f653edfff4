"""Studies of one's own, run in guests: a rig written out, one in Python, a command as traffic."""

import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from qdisclab.analysis.lab import open_study
from qdisclab.emulation import kernel
from qdisclab.emulation.kinds.probes.probe import Probe
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.runs.run import execute
from qdisclab.emulation.study import studies

pytestmark = pytest.mark.kernel

HOPS = """\
format: 1
study: hops
title: Three bottlenecks in a row
rig:
  kind: nodes
  nodes:
    client: {}
    r1: {forwards: true}
    r2: {forwards: true}
    r3: {forwards: true}
    s1: {switches: true}
    server: {}
  links:
    - {from: client, to: r1}
    - {from: r1, to: r2, there: {rate: up, queue: tested}, back: {delay: 10 ms}}
    - {from: r2, to: r3, there: {rate: 8 Mbit/s, queue: tested}, back: {delay: 5 ms}}
    - from: r3
      to: s1
      there: {rate: 6 Mbit/s, queue: {kind: fq_codel, options: {target: 7 ms}}}
      back: {rate: down, queue: tested}
    - {from: s1, to: server, back: {delay: 10 ms}}
qdiscs:
  codel: {kind: codel, options: {target: 5 ms}, by: {}, rates: {}}
experiments:
  flent:
    title: Uploads over three bottlenecks
    traffic: {kind: flent, test: tcp_4up, length: 4 s, step: 200 ms, start_jitter: 50 ms}
    sweep: {link: [20/10], qdisc: [codel], cc: [cubic]}
  own:
    title: A rig in Python, and programs
    rig: {kind: python, function: two, parameters: {delay_ms: 7}}
    traffic:
      kind: programs
      length: 3 s
      files: [count.sh]
      programs:
        - {kind: iperf, from: a, to: b}
        - {kind: command, node: a, command: [sh, count.sh, "{b}", "{seed}"], keeps: ["*.txt"]}
    sweep: {link: [20/10], qdisc: [fq_codel], cc: [bbr]}
"""

RIGS = """\
from qdisclab.emulation.model.egress import BURST, DELAY_LIMIT, SHAPER_LIMIT, Delay, Shaper
from qdisclab.emulation.model.topology import Node, Port, Topology, Wire
from qdisclab.emulation.model.units import Duration, Rate


def two(link, queues, delay_ms):
    away = Delay(Duration(delay_ms * 10**6), Rate(10**9), DELAY_LIMIT)
    up, down = (
        Shaper(rate, BURST, SHAPER_LIMIT, queues[rate]) for rate in (link.up, link.down)
    )
    wires = (
        Wire(Port("a", "a-r", "10.0.1.1/24", away), Port("r", "r-a", "10.0.1.2/24", down)),
        Wire(Port("r", "r-b", "10.0.2.1/24", up), Port("b", "b-r", "10.0.2.2/24", away)),
    )
    return Topology("two", (Node("a", False), Node("r", True), Node("b", False)), wires)
"""

COUNT = """\
echo "$1 $2" > said.txt
for number in 1 2 3; do
    sleep 0.5
    echo "{\\"time_s\\": 0.$number, \\"count\\": $number}"
done
echo "no row"
"""


@pytest.fixture(scope="module")
def hops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("own") / "hops"
    folder.mkdir()
    (folder / "study.yaml").write_text(HOPS)
    (folder / "rigs.py").write_text(RIGS)
    (folder / "count.sh").write_text(COUNT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(studies.VARIABLE, "")
        yield folder
    shutil.rmtree(folder)


def provenance(folder: Path, run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "data" / f"{run}.json").read_text())
    return found


def test_a_rig_written_out_has_three_bottlenecks_in_a_row(hops: Path) -> None:
    runs = open_study(hops).runs("flent").do(bar=False)
    told = provenance(hops, runs[0].id)
    assert told["base_rtt_ms"] == 25  # what the delays on the way and back add up to
    assert 25 <= told["measured_base_rtts_ms"][0] < 27
    inside = {port: seen["qdiscs"][-1] for port, seen in told["qdiscs"].items()}
    assert inside["r1 r1-r2"]["kind"] == inside["r2 r2-r3"]["kind"] == "codel"
    assert inside["r3 r3-s1"]["kind"] == "fq_codel"
    # All of the upload passes each of them, and the slowest one is the limit.
    sent = [inside[port]["bytes"] for port in ("r1 r1-r2", "r2 r2-r3", "r3 r3-s1")]
    assert sent[0] >= sent[1] >= sent[2] > 0
    (summary,) = runs.summary().to_dict("records")
    assert 4 < summary["goodput_upload_mbit_s"] < 6


def test_a_command_on_a_rig_in_python_leaves_rows_files_and_output(hops: Path) -> None:
    study = open_study(hops)
    runs = study.runs("own", seed=3).do(bar=False)
    rows = runs.rows()
    assert rows["count"].dropna().tolist() == [1, 2, 3]
    assert rows["program"].unique().tolist() == ["sh", "iperf"]
    assert rows["goodput_mbit_s"].max() > 1
    with tarfile.open(study.data / f"{runs[0].id}.output.tar.gz") as tar:
        names = tar.getnames()
        said = tar.extractfile("sh/files/said.txt")
        assert said is not None and said.read() == b"10.0.2.2 3\n"
        printed = tar.extractfile("sh/stdout")
        assert printed is not None and printed.read().endswith(b"no row\n")
    assert {"iperf/stdout", "iperf_server/stdout"} <= set(names)
    assert runs.missing == ()
    again = study.runs("own", seed=3).do(bar=False, again=True)
    assert again.rows().equals(rows)


def test_probes_of_programs_change_none_of_their_bytes(hops: Path, tmp_path: Path) -> None:
    wanted = tuple(map(Probe.parse, ("qdisc:1ms:r r-b", "sockets", "capture:a a-r")))
    (run,) = open_study(hops).runs("own", seed=3)
    built, root = kernel.build(), rootfs.build()
    plain = execute(run, built, root, tmp_path / "without")
    probed = execute(run, built, root, tmp_path / "with", probes=wanted)
    left = [one.data.with_name("seed-003.output.tar.gz").read_bytes() for one in (plain, probed)]
    assert left[0] == left[1]
    table = pd.read_parquet(probed.data.with_name("seed-003.qdisc.parquet"))
    told = json.loads(probed.provenance.read_text())["qdiscs"]["r r-b"]["qdiscs"][-1]
    last = table[table.handle == told["handle"]].iloc[-1]
    assert last.sent_packets == told["packets"]
    assert table["time_ns"].max() - table["time_ns"].min() > 3e9
    sockets = pd.read_parquet(probed.data.with_name("seed-003.sockets.parquet"))
    assert "a" in set(sockets["node"])


def test_clients_of_each_kind_get_their_servers_results_and_have_a_congestion_control(
    hops: Path, tmp_path: Path
) -> None:
    """netserver and iperf3 report at the end of a test, after the load."""
    folder = tmp_path / "clients"
    shutil.copytree(hops, folder, ignore=shutil.ignore_patterns("data"))
    clients = """\
        - {kind: netperf, from: b, to: a}
        - kind: netperf
          name: omni
          from: a
          to: b
          test: omni
          options: [--, -o, "LOCAL_CONG_CONTROL,REMOTE_CONG_CONTROL"]
          cc: vegas
        - {kind: iperf3, from: a, to: b, cc: lp}
        - {kind: irtt, from: a, to: b}
"""
    text = HOPS[: HOPS.index("        - {kind: iperf,")] + clients
    text = text.replace("      files: [count.sh]\n", "") + HOPS[HOPS.rindex("    sweep:") :]
    (folder / "study.yaml").write_text(text.replace("study: hops", "study: clients"))
    study = open_study(folder)
    runs = study.runs("own", seed=3).do(bar=False)
    with tarfile.open(study.data / f"{runs[0].id}.output.tar.gz") as tar:
        said = {
            name: file.read().decode()
            for name in ("netperf", "omni", "iperf3", "irtt")
            if (file := tar.extractfile(f"{name}/stdout")) is not None
        }
    assert 1 < float(said["netperf"].split()[-1]) < 20
    assert said["omni"].split()[-1] == "vegas,vegas"
    assert json.loads(said["iperf3"])["end"]["sender_tcp_congestion"] == "lp"
    assert json.loads(said["irtt"])["stats"]["packets_received"] > 200
