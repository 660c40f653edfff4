"""A study brings a measure, a plot, a claim about it and a notebook by its folder alone."""

import gzip
import json
import statistics
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest

from qdisclab.analysis.claims.assess import assess_study
from qdisclab.analysis.claims.check import Lacking
from qdisclab.analysis.claims.verdict import Verdict
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import table
from qdisclab.analysis.measures.registry import faults, registry_of
from qdisclab.analysis.runs.study import study_at
from qdisclab.analysis.site.execute import execute
from qdisclab.analysis.site.figurefile import read_figure
from qdisclab.emulate import cli
from qdisclab.emulation.errors import EmulationError
from qdisclab.emulation.host import pool
from qdisclab.emulation.host.pool import workers
from qdisclab.emulation.study import studies
from tests import write_files
from tests.data import synthetic

STUDY = """\
format: 1
study: mine
title: The median round trip
experiments:
  load:
    title: Under load
    measure: pings
    traffic: {kind: flent, test: rrul_be, length: 20 s, step: 200 ms, start_jitter: 50 ms}
    sweep: {link: [10/10], qdisc: [pfifo_fast, codel], cc: [cubic]}
    repetitions: 3
rig: {kind: daisy_chain, base_rtt: 50 ms, edge_rate: 1 Gbit/s}
"""

#: What is new -> the files that it takes.
FILES = {
    "measure": {
        "measures.py": '''\
"""The median round trip of a ping."""

import numpy as np

from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs.flentfile import read_flent

METRICS = {"median_ms": Metric("median round trip", "ms")}


def median(run):
    """Return the median round trip of the pings of a run."""
    (pings,) = (series for series in read_flent(run.data).series if series.kind == "ping_icmp")
    return {"median_ms": float(np.median(pings.value))}


MEASURES = {"pings": Measure(median, traffic="flent")}
'''
    },
    "plot": {
        "plots.py": '''\
"""Bars of round trips."""

from matplotlib.figure import Figure

from .measures import METRICS


def bars(means, palette):
    """Return a bar per qdisc."""
    figure = Figure()
    axes = figure.subplots()
    axes.bar(list(means.index), list(means), color=palette.ink)
    axes.set_ylabel(METRICS["median_ms"].title)
    return figure
'''
    },
    "claim": {
        "claims.csv": """\
id,paper,section,figure,kind,statement,value_low,value_high,unit,note
mine001,mine,1,,ordering,Pings take less time with CoDel than with a FIFO.,,,,
mine002,mine,1,,ordering,Latency is low.,,,,
""",
        "claims.py": """\
from qdisclab.analysis.claims.check import Quantity, less, within

RULES = {
    "mine001": less(*(Quantity("median_ms", "load", "10/10", q) for q in ("codel", "pfifo_fast"))),
    "mine002": within(Quantity("jain_index", "load", "10/10", "codel"), high=1),
}
""",
    },
    "notebook": {
        "notebooks/median.ipynb": """\
data_root = "../data"
paper = "mine"
study = ".."
experiment = "load"
link = "10/10"
qdiscs = ["pfifo_fast", "codel"]
eras = ["modern"]
ccs = ["cubic"]
title = "Median"
caption = ""
output = ""
---
from pathlib import Path

from qdisclab.analysis.measures.table import measure_runs
from qdisclab.analysis.runs import dataset
from qdisclab.analysis.runs.study import study_at
from qdisclab.analysis.site.outputs import publish

plots = study_at(study).module("plots")
runs = dataset.find_runs(Path(data_root), paper, experiment, links=[link], qdiscs=qdiscs)
table = measure_runs(runs)
means = table.groupby("qdisc")["median_ms"].mean()


def draw(palette):
    return plots.bars(means, palette)


data = dataset.read_facts(runs)
publish(draw, table, data, figure="1", title=title, caption=caption, alt="", output=output)
"""
    },
    "figure": {
        "figures/median.yaml": """\
notebook: median
title: Median round trips
caption: By queue discipline.
parameters:
  {paper: mine, experiment: load, link: 10/10, qdiscs: [pfifo_fast, codel], eras: [modern],
   ccs: [cubic]}
"""
    },
}


def notebook_of(text: str) -> str:
    """The JSON of a notebook whose cells stand apart by `---`, the first that of its parameters."""
    cells = [nbformat.v4.new_code_cell(cell.strip()) for cell in text.split("---\n")]
    cells[0].metadata["tags"] = ["parameters"]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=kernel))


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, with three runs of each of two qdiscs."""
    monkeypatch.setenv(studies.VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "mine"
    write_files(folder, {"study.yaml": STUDY})
    for texts in FILES.values():
        write_files(folder, {n: notebook_of(t) if "ipynb" in n else t for n, t in texts.items()})
    synthetic.write_own(folder, ("pfifo_fast", "codel"), seeds=3)
    return folder


def median_of(run: Path) -> float:
    """What flent's file says, read by nothing of ours."""
    results: dict[str, Any] = json.loads(gzip.decompress(run.read_bytes()))["results"]
    return statistics.median(value for value in results["Ping (ms) ICMP"] if value is not None)


def test_a_study_brings_all_of_it_by_its_folder(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kernels: str
) -> None:
    assert cli.main(["check", str(mine)]) == 0, capsys.readouterr().err
    study = study_at(mine)
    measured = table.measure_study(study, mine / "data", jobs=1)
    assert set(measured["metric"]) == {"median_ms"}
    for row in measured.itertuples():
        run = mine / f"data/mine/load/10-10/{row.qdisc}/cubic/seed-{row.seed:03d}.flent.gz"
        assert row.value == pytest.approx(median_of(run))
    first, second = assess_study(study, mine / "data", jobs=1)
    assert first.headline.verdict is Verdict.AGREES
    what = "Jain's index, which the runs of load, 10/10, codel, cubic, era modern, do not have"
    assert second.headline.lacks == Lacking(what, "metric")
    folder = execute(
        read_figure(mine / "figures/median.yaml"),
        mine / "data",
        tmp_path / "results",
        kernels=kernels,
    )
    drawn = pd.read_csv(folder / "table.csv")
    assert sorted(drawn["median_ms"]) == pytest.approx(sorted(measured["value"]), rel=1e-5)
    assert "median round trip" in (folder / "figure.svg").read_text()
    counts = {noun: len(files) for noun, files in FILES.items()}
    with capsys.disabled():
        print("\nfiles that each new thing of a study takes:", counts)
    assert counts == {"measure": 1, "plot": 1, "claim": 2, "notebook": 1, "figure": 1}


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_processes_find_its_measure_by_name(
    mine: Path, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_at(mine)
    alone = table.measure_study(study, mine / "data", jobs=1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(mine.parent / "another"))
    monkeypatch.setattr(pool, "FEW", 1)
    monkeypatch.setattr(pool, "workers", partial(workers, start=start))
    assert table.measure_study(study, mine / "data", jobs=2).equals(alone)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    (pings,)", "    1 / 0\n    (pings,)", r"py:13: of mine/load/\S+: ZeroDivisionError"),
        ("    return {", "    return 5\n    return {", "py:11: returns a int of mine/load/"),
        ('{"median_ms": float', '{"medan_ms": float', "py:11: returns the unknown metric 'meda"),
        ("float(np.median(pings.value))", '"x"', "py:11: returns 'x' for median_ms of mine/load"),
        ("float(np.median(pings.value))", "np.inf", "py:11: returns inf for median_ms of mine/"),
        ("    (pings,)", "    raise SystemExit(0)\n    (pings,)", r"py:13: of .*: SystemExit: 0"),
        ("float(np.median(pings.value))", "np.nan", "py:11: has no number of any run of 'load'"),
        ("METRICS = {", "METRICS = 5 or {", "METRICS is a int, not a mapping"),
        ('Metric("median round trip", "ms")', '"ms"', r"\['median_ms'\] is a str, not a Metric"),
        ('METRICS = {"', 'METRICS = {"jain_index": Metric("", ""), "', "'jain_index', which "),
        ('MEASURES = {"', 'MEASURES = {"rrul": Measure(median), "', "'rrul', which .* already"),
        ("import read_flent", "import read_flnt", "py:6: ImportError: cannot import name"),
        ("def median(run):", "def median(run:", "py:11: SyntaxError"),
        ('"pings": Measure', '"ping": Measure', r"yaml:7: .*measure: unknown measure 'pings'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_its_measures_is_said_with_its_line(
    mine: Path, old: str, new: str, message: str
) -> None:
    path = mine / "measures.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(EmulationError, match=message) as caught:
        table.measure_study(study_at(mine), mine / "data", jobs=1)
    assert str(mine) in str(caught.value)


def test_a_metric_of_another_study_has_another_name(mine: Path) -> None:
    path = mine / "measures.py"
    registry_of(study_at("khademi2013"))
    path.write_text(path.read_text().replace("median_ms", "packets_marked"))
    with pytest.raises(
        DataError, match="'packets_marked', which the study 'khademi2013' registers"
    ):
        registry_of(study_at(mine))


def test_packets_are_measured_where_they_are_recorded(tmp_path: Path) -> None:
    def found(name: str, probes: str) -> list[str]:
        folder = tmp_path / name
        folder.mkdir()
        text = STUDY.replace("measure: pings", f"measure: queue{probes}")
        (folder / "study.yaml").write_text(text.replace("study: mine", f"study: {name}"))
        return list(faults(study_at(folder)))

    (fault,) = found("without", "")
    assert "7: experiments.load.measure: 'queue' makes no numbers of runs without" in fault
    assert found("with", "\n    probes: [packets]") == []
