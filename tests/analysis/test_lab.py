"""Runs from Python: what is chosen, and what cannot be."""

import json
from pathlib import Path

import pandas as pd
import pytest

from qdisclab.analysis import lab
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.lab import open_study
from qdisclab.analysis.measures import packets
from qdisclab.analysis.measures.table import measure_runs
from qdisclab.emulation import datafile
from qdisclab.emulation.checks import notes
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.runs.index import index
from qdisclab.emulation.runs.run import paths


def test_chosen_runs_say_how_many_there_are() -> None:
    found = open_study("gbw2015").runs("rrul", link="10/10", qdisc="codel", cc="cubic", era="2014c")
    there = len(found) - len(found.missing)
    assert 0 < there < len(found)
    said = f"<{len(found)} runs of gbw2015/rrul in {found.data}, {there} there>"
    assert repr(found) == said


def test_eras_are_an_axis_where_runs_differ_in_them() -> None:
    cell = {"link": "10/10", "qdisc": "codel", "cc": "cubic", "seed": 1}
    chosen = open_study("gbw2015").runs("rrul", era=["modern", "2014c"], **cell)
    assert chosen.axes.columns.tolist() == ["run", "era"]
    assert chosen.axes["era"].tolist() == ["modern", "2014c"]
    assert chosen.summary()["era"].tolist() == ["modern", "2014c"]


def test_without_a_testbed_nothing_is_measured() -> None:
    chosen = open_study("gbw2015").runs("rrul", link="10/10", qdisc="codel", cc="cubic", seed=1)
    with pytest.raises(DataError, match="gbw2015/measured: a testbed measured none of these"):
        repr(chosen.measured)


def test_an_axis_is_no_option() -> None:
    with pytest.raises(ConfigError, match=r"unknown option 'flows'.*settings=\{'flows'"):
        open_study("gbw2015").runs("rrul", flows=1)


def test_a_study_is_described_in_five_lines() -> None:
    lines = repr(open_study("gbw2015")).splitlines()
    assert len(lines) == 5
    assert (
        lines[0] == "gbw2015: The Good, the Bad and the WiFi: Modern AQMs in a residential setting"
    )
    assert all(len(line) < 100 for line in lines[2:])


def test_a_probe_that_cannot_be_is_refused_before_anything_boots() -> None:
    runs = open_study("gbw2015").runs("rrul", link="10/10", qdisc="codel", seed=[1, 2])
    with pytest.raises(ConfigError, match="no queue under test at 'client'"):
        runs.do(probes=["packets:client"])
    for jobs in (0, "2"):
        with pytest.raises(ConfigError, match=f"jobs: is {jobs!r}, not a number of runs"):
            runs.do(jobs=jobs)  # type: ignore[arg-type]


def test_a_run_of_other_code_is_named_as_emulate_run_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = open_study("gbw2015").runs("rrul", link="10/10", qdisc="codel", cc="cubic", seed=1)
    _, record = paths(runs[0], runs.data)
    now = {**datafile.read_json(record)["identity"], "guest": "today's"}
    monkeypatch.setattr(notes, "today", lambda *about: now)
    monkeypatch.setattr(lab.kernel, "named", lambda series: None)
    monkeypatch.setattr(lab.rootfs, "build", lambda: None)
    runs.do(bar=False)
    assert f"note: {runs[0].id} was made with a different " in (text := capsys.readouterr().err)
    assert "against today's); do(again=True) repeats it\n" in text


def test_a_column_keeps_its_name_beside_an_axis_that_is_called_so(tmp_path: Path) -> None:
    folder = tmp_path / "two"
    folder.mkdir()
    axes = "axes: {second: {sets: rig.links.3.back.delay}}\nrig:"
    text = STUDY.replace("rig:", axes, 1).replace("{link:", "{second: [1 ms, 2 ms], link:")
    (folder / "study.yaml").write_text(text)
    runs = open_study(folder).runs("first", seed=1)
    table = pd.DataFrame({"run": [run.id for run in runs], "second": [0, 1]})
    table.attrs = {"rate_bit_s": "10000000"}
    joined = runs._with_axes(table)
    assert joined["second"].tolist() == [0, 1]
    assert joined["second_"].tolist() == ["1 ms", "2 ms"]
    assert joined.attrs == table.attrs


def test_a_direction_without_flows_has_no_goodput() -> None:
    runs = open_study("gbw2015").runs("voip_1up", link="10/1", qdisc="codel", cc="cubic", seed=1)
    assert runs.summary()["goodput_download_mbit_s"].dtype == float


STUDY = """\
format: 1
study: two
title: Two pairs behind one HTB
rig:
  kind: nodes
  edge_rate: 1 Gbit/s
  nodes:
    c1: {}
    c2: {sysctls: {net.ipv4.tcp_ecn: 1}}
    aqm: {forwards: true}
    far: {forwards: true}
    s1: {}
    s2: {sysctls: {net.ipv4.tcp_ecn: 1}}
  links:
    - {from: c1, to: aqm}
    - {from: c2, to: aqm}
    - from: aqm
      to: far
      there:
        tree:
          - {qdisc: {kind: htb, options: {default: 10}}, handle: "1:"}
          - {class: "1:10", kind: htb, rate: up}
          - {qdisc: tested, parent: "1:10", handle: "10:"}
    - {from: far, to: s1, back: {delay: 20 ms}}
    - {from: far, to: s2, back: {delay: 80 ms}}
experiments:
  first:
    title: An iperf3 each, one with ECN
    probes: [packets:aqm]
    measure: queue_by_class
    traffic:
      kind: programs
      length: 3 s
      idle_pings: true
      programs:
        - {kind: iperf3, from: c1, to: s1}
        - {kind: iperf3, from: c2, to: s2, name: ecn}
        - {kind: ping, from: c1, to: s1}
    sweep: {link: [10/10], qdisc: [fq_codel], cc: cubic}
    repetitions: 2
"""


@pytest.mark.kernel
def test_programs_and_packets_as_tables(tmp_path: Path) -> None:
    folder = tmp_path / "two"
    folder.mkdir()
    (folder / "study.yaml").write_text(STUDY)
    runs = open_study(folder).runs("first").do(bar=False)
    summary = runs.summary().set_index(["seed", "program"])
    assert summary.loc[(1, "iperf3"), "base_rtt_ms"] == pytest.approx(20, abs=0.5)
    assert summary.loc[(1, "ecn"), "base_rtt_ms"] == pytest.approx(80, abs=0.5)
    assert summary.loc[1, "goodput_mbit_s"].sum() == pytest.approx(9, abs=1)
    assert 20 < summary.loc[(1, "ping"), "rtt_ms"] < 40
    assert summary.loc[(2, "ping"), "same_as"] == 1, "nothing is random"
    rows = runs.rows()
    assert (rows[rows["program"] == "ecn"].groupby("seed").size() == 4).all()

    table = runs.probe("packets:aqm")
    assert list(table["run"].unique()) == [run.id for run in runs]
    by_class = packets.sojourn(table, by=["seed", "class"])["packets"]
    record = json.loads((folder / "data" / f"{runs[0].id}.json").read_text())
    assert record["probes"] == ["packets:aqm"]
    counted = record["qdiscs"]["aqm aqm-far"]["qdiscs"][0]
    (numbers,) = measure_runs([index(runs.data, "two").by_id[runs[0].id]]).to_dict("records")
    dropped = numbers["dropped_percent"] / 100 * len(table) / 2
    assert by_class.loc[1].sum() <= counted["packets"], "pings went before the probe began"
    assert dropped == pytest.approx(counted["drops"])
    assert numbers["marked_percent[CS0 Not-ECT]"] == 0
    assert 0.8 < numbers["utilisation_percent"] / 100 < 1
