"""Tests of analysis.measures.measured: a testbed's files beside the runs of a study."""

import gzip
import json
import math
import os
import tarfile
from pathlib import Path

import pandas as pd
import pytest

from qdisclab.analysis.lab import open_study
from qdisclab.analysis.measures import measured, metrics, packets, timeline
from qdisclab.analysis.plots import style, timeline as figures
from qdisclab.analysis.runs import dataset
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.analysis.runs.study import StudyFolder, study_at
from qdisclab.analysis.site.execute import execute
from qdisclab.analysis.site.figurefile import read_figure
from qdisclab.emulation import datafile
from qdisclab.emulation.captures import pcap
from qdisclab.emulation.errors import ConfigError, DamagedData, EmulationError
from qdisclab.emulation.study import studies
from tests import write_files
from tests.data import synthetic
from tests.emulation.captures.made import length, segment, write_pcap

STUDY = """\
format: 1
study: beside
title: Beside a testbed
rig: {kind: daisy_chain, base_rtt: 50 ms, edge_rate: 1 Gbit/s}
experiments:
  load:
    title: Under load
    traffic: {kind: flent, test: rrul_be, length: 20 s, step: 200 ms, start_jitter: 50 ms}
    sweep: {link: [10/10], qdisc: [codel], cc: [cubic]}
    repetitions: 2
"""
FIGURE = """\
notebook: rrul
title: Beside a testbed
caption: Open diamonds are the testbed's.
parameters:
  {paper: beside, experiment: load, figure: "1", link: 10/10, qdiscs: [codel], eras: [modern],
   ccs: [cubic], published_values: "", claims: []}
"""
CELL = "load/10-10/codel/cubic"


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyFolder:
    """Two runs of CoDel; of the testbed nothing yet."""
    monkeypatch.setenv(studies.VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "beside"
    write_files(folder, {"study.yaml": STUDY, "figures/load.yaml": FIGURE})
    synthetic.write_own(folder, ("codel",), seeds=2)
    (folder / measured.FOLDER / CELL).mkdir(parents=True)
    return study_at(folder)


def runs(study: StudyFolder) -> list[RunFile]:
    return dataset.find_runs(study.folder / "data", "beside", "load")


def put(study: StudyFolder, name: str, content: str | bytes) -> Path:
    path = study.folder / measured.FOLDER / CELL / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def flent(qdisc: str, seed: int) -> bytes:
    return gzip.compress(json.dumps(synthetic.flent_content("10-10", qdisc, seed)).encode())


def test_files_of_flent_are_the_second_column_of_a_figure(
    study: StudyFolder, tmp_path: Path, kernels: str
) -> None:
    for number in (1, 2):
        put(study, f"day{number}.flent.gz", flent("pie", number))
    theirs = measured.repetitions(study, runs(study))
    assert [run.seed for run in theirs] == [1, 2]
    latency = metrics.run_metrics(dataset.read_runs(theirs), window="full")["induced_latency_ms"]
    folder = execute(
        read_figure(study.figures[0]), study.folder / "data", tmp_path / "results", kernels=kernels
    )
    table = pd.read_csv(folder / "table.csv").set_index(["metric", "direction"])
    row = table.loc[("induced_latency", "round_trip")]
    assert row["published"] == pytest.approx(latency.median(), rel=1e-5)
    assert row["ours"] < row["published"], "PIE's, of the testbed, are more than CoDel's"


def test_the_idle_path_of_the_testbed_is_its_own(study: StudyFolder) -> None:
    put(study, "a.flent", gzip.decompress(flent("codel", 1)))
    before, table = measured.repetitions(study, runs(study)), study.folder / measured.FOLDER
    (table / measured.TABLE).write_text(
        f"cell,metric,direction,value\n{CELL},base_rtt_ms,,47\n{CELL},induced_latency_ms,,8\n"
    )
    after = measured.repetitions(study, runs(study))
    one, other = (
        metrics.run_metrics(dataset.read_runs(found), window="full")["induced_latency_ms"].iloc[0]
        for found in (before, after)
    )
    assert other - one == pytest.approx(3)
    stated = measured.stated(study, runs(study))
    assert list(stated["metric"]) == ["base_rtt_ms", "induced_latency_ms"]
    assert set(stated["qdisc"]) == {"codel"}
    values = measured.as_published(
        pd.DataFrame(columns=["ci_high", "ci_low", "median"]), stated, "1"
    )
    assert values[["metric", "direction", "value"]].to_numpy().tolist() == [
        ["induced_latency", "round_trip", 8.0]
    ]


def test_a_table_of_python_has_columns_of_the_testbed(study: StudyFolder) -> None:
    for number in (1, 2):
        put(study, f"day{number}.flent.gz", flent("pie", number))
    (study.folder / measured.FOLDER / measured.TABLE).write_text(
        f"cell,metric,direction,value\n{CELL},goodput_upload_mbit_s,,4.5\n"
    )
    chosen = open_study(study.folder).runs("load")
    theirs = chosen.measured.summary().set_index("seed")
    table = chosen.summary().set_index("seed")
    for name in ("induced_latency_ms", "goodput_download_mbit_s"):
        assert table[f"{name}_measured"].tolist() == [pytest.approx(theirs[name].mean())] * 2
    assert (table["induced_latency_ms"] < table["induced_latency_ms_measured"]).all()
    assert table["goodput_upload_mbit_s_measured"].tolist() == [4.5, 4.5]
    assert len(chosen.measured.tables().runs) == 2
    with pytest.raises(ConfigError, match="a testbed made these runs"):
        chosen.measured.do()


def test_latencies_of_seeds_that_came_out_the_same_have_no_interval(study: StudyFolder) -> None:
    files = runs(study)
    per_run = metrics.run_metrics(dataset.read_runs(files), window="full")
    assert "twin" not in per_run and metrics.cell_metrics(per_run)["ci_low"].notna().all()
    for file in files:
        record = json.loads(file.provenance.read_text())
        file.provenance.write_text(
            json.dumps({**record, "qdiscs": {"r1": {"qdiscs": [{"packets": 7}]}}})
        )
    per_run = metrics.run_metrics(dataset.read_runs(files), window="full")
    assert per_run["twin"].tolist() == [pytest.approx(math.nan, nan_ok=True), 1]
    assert metrics.cell_metrics(per_run)["ci_low"].isna().all()


def test_programs_of_a_testbed_report_beside_ours(study: StudyFolder) -> None:
    report = {
        "intervals": [
            {"streams": [{"socket": 5, "start": start, "seconds": 1, "bits_per_second": 6e6}]}
            for start in (0, 1)
        ],
        "end": {
            "streams": [
                {key: {"socket": 5, "start": 0, "seconds": 2, "bits_per_second": 6e6}
                 for key in ("sender", "receiver")}
            ]
        },
    }  # fmt: skip
    put(study, "a.up.json", json.dumps(report))
    put(study, "a.ping.txt", "PING s1\n[5.040000] 64 bytes from s1: icmp_seq=1 time=40.0 ms\n")
    (theirs,) = measured.repetitions(study, runs(study))
    assert timeline.per_run([theirs])["goodput_mbit_s"].tolist() == [6]
    named = timeline.with_measured(study, {"ours": runs(study)[0]})
    assert list(named.items()) == [("ours", runs(study)[0]), ("ours, measured", theirs)]
    lines = {name: timeline.reported(theirs, name) for name in figures.LABELS}
    assert lines["goodput_mbit_s"]["up"].to_dict() == {0: 6, 1: 6}
    assert lines["rtt_ms"]["ping"].to_dict() == {0: 40}
    assert not lines["cwnd_packets"] and not lines["sojourn_ms"]
    with style.styled() as palette:
        figure = figures.over_time({"theirs": theirs}, ["rtt_ms", "cwnd_packets"], palette)
    assert [len(axes.lines) for axes in figure.axes] == [1, 0]


def test_captures_and_outputs_become_those_of_a_run(study: StudyFolder) -> None:
    sent = [segment(seq=1448 * number, payload=1448, id=number) for number in range(5)]
    for name, late_ms in (("a.in.pcap.gz", 0), ("a.out.pcap.gz", 3)):
        rows = [
            pcap.Packet((10 * number + late_ms) * 10**6, length(packet), packet)
            for number, packet in enumerate(sent)
        ]
        write_pcap(rows, study.folder / measured.FOLDER / CELL / name)
    reply = "[5.040000] 64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=40.0 ms\n"
    put(study, "a.ping.txt", f"PING s1\n{reply}")
    (run,) = measured.repetitions(study, runs(study))
    numbers = packets.numbers(run)
    assert (numbers["sojourn_mean_ms"], numbers["dropped_percent"]) == (3, 0)
    chosen = open_study(study.folder).runs("load").measured
    assert chosen.probe("packets")["sojourn_ms"].tolist() == [3.0] * 5
    assert chosen.rows()["rtt_ms"].tolist() == [40, 40]
    assert numbers["utilisation_percent"] == pytest.approx(100 * 5 * 1514 * 8 / (10e6 * 0.043))
    assert list(timeline.pings(run)["rtt_ms"]) == [40]
    with tarfile.open(run.provenance.with_suffix(".output.tar.gz")) as archive:
        assert archive.getnames() == ["ping/stdout"]
    cells = timeline.measured_cells(study, runs(study), {"load": "load"}, "{qdisc}")
    ours = cells.assign(mean=1.0, ci_low=float("nan"), ci_high=float("nan"))
    shown = timeline.beside(ours, cells).set_index("quantity")
    assert shown.loc["Mean sojourn time (ms)", ["mean", "measured"]].tolist() == [1, 3]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.ping.txt", "\n", r"a\.ping\.txt: is empty\. Write there what the program printed"),
        ("a.doc", "x", r"a\.doc: is not a measurement of a testbed. Name it NAME\.flent\.gz"),
        ("a.in.pcap", "x", r"a\.in\.pcap: a queue has two captures, before and behind it"),
        ("a.flent.gz", "x", r"measured/load/10-10/codel/cubic/a\.flent\.gz: not gzip"),
    ],
)
def test_files_that_cannot_be_used(study: StudyFolder, name: str, content: str, said: str) -> None:
    put(study, name, content)
    with pytest.raises(EmulationError, match=said):
        measured.repetitions(study, runs(study))


def test_what_programs_printed_is_bounded(study: StudyFolder) -> None:
    path = put(study, "a.ping.txt.gz", gzip.compress(bytes(datafile.MOST_BYTES + 1)))
    with pytest.raises(DamagedData, match="is larger than 64 MiB, unpacked"):
        measured.repetitions(study, runs(study))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DamagedData, match="not a regular file"):
        measured.repetitions(study, runs(study))


def test_a_folder_without_files_is_no_repetition(study: StudyFolder) -> None:
    put(study, "a.ping.txt", "x").unlink()
    assert measured.repetitions(study, runs(study)) == []


def test_tables_and_folders_that_cannot_be_used(study: StudyFolder) -> None:
    folder = study.folder / measured.FOLDER
    (folder / "laod").mkdir()
    (fault,) = measured.faults(study)
    assert fault.endswith("laod: unknown experiment 'laod'; did you mean 'load'? valid: load")
    for text, said in (
        ("a,b\n1,2\n", "has no column 'cell'"),
        ("cell,metric,direction,value\na,b,,x\n", "could not convert"),
    ):
        (folder / measured.TABLE).write_text(text)
        with pytest.raises(EmulationError, match=said):
            measured.values(study)
