"""A study is a folder: one that is added needs nothing else, and one that is wrong says where."""

import gzip
import json
import math
import os
import re
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from qdisclab.analysis import lab
from qdisclab.analysis.claims.assess import assess_study, verdicts
from qdisclab.analysis.claims.check import Lacking
from qdisclab.analysis.claims.plugin import rules_of
from qdisclab.analysis.claims.summary import as_json
from qdisclab.analysis.claims.verdict import Verdict
from qdisclab.analysis.measures.registry import Measure, faults, registry_of
from qdisclab.analysis.runs import axes
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.analysis.runs.study import StudyFolder, known, study_at
from qdisclab.analysis.site import claims, pages, report
from qdisclab.analysis.site.execute import execute
from qdisclab.analysis.site.figurefile import check_values, read_figure
from qdisclab.emulate import cli
from qdisclab.emulation.config.catalogue import experiment, load
from qdisclab.emulation.errors import ConfigError, EmulationError
from qdisclab.emulation.study import studies
from tests import ROOT, captured, write_files
from tests.data import provenances, synthetic
from workflow.plan import Plan, make_plan

STUDY = """\
format: 1
study: mine
title: "A question of mine: is one better?"
experiments:
  load:
    title: Real-time response under load
    section: "1"
    measure: rrul
    traffic: {kind: flent, test: rrul_be, length: 20 s, step: 200 ms, start_jitter: 50 ms}
    sweep: {link: [10/10], qdisc: [pfifo_fast, codel], cc: [cubic]}
    repetitions: 3
links:
  10/10: {down: 10 Mbit/s, up: 10 Mbit/s}
qdiscs:
  pfifo_fast:
    kind: pfifo_fast
    rates: {10 Mbit/s: {txqueuelen: 127 packets}}
  codel:
    kind: codel
    options: {target: 5 ms, interval: 100 ms, noecn: true, limit: 1000 packets}
    rates: {10 Mbit/s: {}}
rig: {base_rtt: 50 ms, edge_rate: 1 Gbit/s}
"""
FIGURE = """\
notebook: rrul
title: Mine
caption: What I saw.
claims: ["1"]
parameters:
  paper: mine
  experiment: load
  figure: "1"
  link: 10/10
  qdiscs: [pfifo_fast, codel]
  eras: [modern]
  ccs: [cubic]
  published_values: seen.csv
"""
CLAIMS = """\
id,paper,section,figure,kind,statement,value_low,value_high,unit,note
mine001,mine,1,,ordering,CoDel has less latency than a FIFO.,,,,
mine002,mine,1,,number,CoDel has half a second.,500,500,ms,
"""
RULES = """\
from qdisclab.analysis.claims.check import Quantity, less, near

def of(qdisc):
    return Quantity("induced_latency_ms", "load", "10/10", qdisc)

RULES = {
    "mine001": less(of("codel"), of("pfifo_fast")),
    "mine002": lambda claim: near(of("codel"), claim.value, 1.1, 1),
}
"""
#: 35 ms, and a spike of 120 ms that decays with 3 s: 53 ms on the mean of 20 s under load, which
#: are two thirds of the test (synthetic).
PRINTED = """\
figure,link,qdisc,metric,direction,value,unit,reading_error
1,10/10,codel,induced_latency,round_trip,35.4,ms,1
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study that does not ship, with three runs of each of two qdiscs."""
    monkeypatch.setenv(studies.VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(ROOT)
    folder = tmp_path / "mine"
    files = {
        "study.yaml": STUDY, "figures/fig1.yaml": FIGURE, "claims.csv": CLAIMS,
        "claims.py": RULES, "published/seen.csv": PRINTED,
    }  # fmt: skip
    write_files(folder, files)
    synthetic.write_own(folder, ("pfifo_fast", "codel"), seeds=3)
    return folder


def plan(**changes: object) -> Plan:
    config = yaml.safe_load((ROOT / "workflow/config.yaml").read_text())
    return make_plan({**config, **changes})


def test_one_folder_is_a_whole_study(mine: Path, tmp_path: Path, kernels: str) -> None:
    drawn = plan(studies=[str(mine)], results=str(tmp_path / "results"))
    assert list(drawn.figures) == ["mine/fig1"]
    figure = drawn.figures["mine/fig1"]
    assert drawn.root_of(figure) == mine / "data"
    assert len(drawn.data_files(figure)) == 2 * 6
    files = {*drawn.code["mine/fig1"]}
    assert {mine / "figures/fig1.yaml", mine / "published/seen.csv"} <= files
    assert not files & {mine / "claims.py", mine / "claims.csv"}  # no figure waits for claims

    folder = execute(figure, drawn.root_of(figure), drawn.pages, kernels=kernels)
    notebook = (folder / "notebook.html").read_text()
    assert ">mine001</td>" not in notebook
    assert ">codel</td>" in notebook
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["paper"], summary["compared"], summary["agreeing"]) == ("mine", 1, 1)

    found = assess_study(study_at("mine"), ROOT / "data")
    by_id = {one.claim.id: one.headline.verdict for one in found}
    assert by_id == {"mine001": Verdict.AGREES, "mine002": Verdict.DISAGREES}

    claims.write_claims(drawn.pages, as_json(found))
    report.write_report(drawn.pages, tmp_path / "none")
    notebook = (folder / "notebook.html").read_text()
    assert ">mine001</td>" in notebook and ">disagrees</td>" in notebook
    report.write_report(drawn.pages, tmp_path / "none")
    assert (folder / "notebook.html").read_text() == notebook
    html = (drawn.pages / "mine/index.html").read_text()
    assert "A question of mine: is one better?" in html
    assert "mine002" in (folder / "index.html").read_text()
    assert (drawn.pages / "runs/mine/load.html").is_file()


@pytest.mark.parametrize(("scale", "runs"), [({}, 2), ({"scale": "all"}, 6)])
def test_new_runs_of_it_go_where_all_new_runs_go(
    mine: Path, scale: dict[str, str], runs: int
) -> None:
    made = plan(studies=[str(mine)], emulate=True, results="elsewhere", **scale)
    assert {run.id.partition("/")[0] for run in made.all_runs().values()} == {"mine"}
    assert len(made.all_runs()) == runs
    figure = made.figures["mine/fig1"]
    assert made.root_of(figure) == Path("elsewhere/data")
    # Whoever is started from here knows it by its name.
    code = (
        "from qdisclab.emulation.config.catalogue import experiment; "
        "print(experiment('mine/load').title)"
    )
    done = captured([sys.executable, "-c", code], check=True)
    assert done.stdout == "Real-time response under load\n"


def test_a_figure_of_a_study_in_the_working_directory_needs_no_study_named(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mine.parent)
    assert list(plan(figures=["mine/fig1"]).figures) == ["mine/fig1"]


def test_where_no_run_of_it_is_the_folder_is_named_that_was_searched(
    mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(mine / "data/mine")
    with pytest.raises(ConfigError, match=rf"^{mine}/data: there is no run of mine/fig1"):
        plan(studies=[str(mine)])
    (mine / "data").rmdir()
    assert cli.main(["claims", "--study", str(mine)]) == 2
    assert f"{mine}/data: no such folder" in capsys.readouterr().err


def test_the_commands_take_its_folder(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.chdir(tmp_path)
        assert cli.main(["claims", "--study", str(mine)]) == 0
    rows = [line.split("\t")[:2] for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["mine001", "agrees"], ["mine002", "disagrees"]]
    words = ["--cores", "1", "--dry-run", "--nolock", "--quiet", "rules", "--config"]
    words += [f"results={tmp_path / 'r'}", f'studies=["{mine}"]']
    dry = captured([sys.executable, "-m", "snakemake", *words], cwd=ROOT)
    assert re.search(r"^figure +1$", dry.stdout + dry.stderr, re.MULTILINE), dry.stderr


def test_a_study_without_claims_and_figures_has_none(mine: Path) -> None:
    for name in ("claims.csv", "claims.py", "published/seen.csv", "figures/fig1.yaml"):
        (mine / name).unlink()
    study = study_at(mine)
    assert (study.figures, assess_study(study, mine / "data")) == ([], [])
    assert study.path_of("claims") is None
    assert study in known()
    with pytest.raises(ConfigError, match="no figure of the study 'mine'"):
        plan(studies=["mine"])


def test_who_a_study_is_of_is_said_by_its_file(mine: Path) -> None:
    study_at(mine)
    assert pages.of_paper("gbw2015").address == "https://doi.org/10.1016/j.comnet.2015.07.014"
    assert pages.has_paper("gbw2015")
    assert pages.of_paper("mine").title == "A question of mine: is one better?"
    assert not pages.has_paper("mine")  # it is of nobody else


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "import qdisclab.analysis\n\nRULES = {'mine001': 1 / 0}\n",
            r"claims\.py:3: ZeroDivisionError",
        ),
        ("\nRULES = {\n", r"claims\.py:2: SyntaxError"),
        ("from qdisclab.analysis.claims.chek import less\n", r"claims\.py:1: ModuleNotFoundError"),
        ("rules = {}\n", r"claims\.py: defines no mapping RULES"),
        ("RULES = {'mine001': 'less'}\n", r"RULES\['mine001'\] is 'less', not a condition"),
        ("raise SystemExit('no')\n", r"claims\.py:1: SystemExit: no"),
        (
            RULES.replace('"induced_latency_ms"', '"induced_latency"'),
            r"'mine001'\] names the unknown metric 'induced_latency'\. Did you mean 'induced_",
        ),
        (RULES.replace('"load"', '"laod"'), r"unknown experiment 'laod'\. Did you mean 'load'\?"),
        (RULES.replace("10/10", "10/100"), r"link '10/100' of 'load'\. Did you mean '10/10'\?"),
        (RULES.replace('of("codel")', 'of("code")'), r"qdisc 'code' of 'load'\. Did you mean 'c"),
        (RULES.replace("qdisc)\n", "qdisc, cc='cubi')\n"), "congestion control 'cubi' of 'load'"),
        (
            "from qdisclab.analysis.claims.check import every\nRULES = {'mine001': every()}\n",
            r"claims\.py: RULES\['mine001'\] has no parts",
        ),
    ],
)
def test_rules_that_fail_say_where(mine: Path, text: str, message: str) -> None:
    (mine / "claims.py").write_text(text)
    with pytest.raises(EmulationError, match=message):
        rules_of(study_at(mine))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("1 / 0", r"claims\.py:8: RULES\['mine002'\] fails: ZeroDivisionError: division by zero"),
        ("exit(3)", r"claims\.py:8: RULES\['mine002'\] fails: SystemExit: 3"),
        ("500", r"claims\.py: RULES\['mine002'\] is 500, not a condition"),
        ("within(Quantity('delay', '', '', ''))", r"'mine002'\] names the unknown metric 'delay'"),
    ],
)
def test_rules_that_make_nothing_say_where(mine: Path, made: str, message: str) -> None:
    text = RULES.replace('near(of("codel"), claim.value, 1.1, 1)', made)
    (mine / "claims.py").write_text(text.replace("import ", "import within, "))
    with pytest.raises(EmulationError, match=message):
        assess_study(study_at(mine), mine / "data")


@pytest.mark.parametrize(
    "values", [{}, {"induced_latency_ms": math.nan}, {"jain_index": 1.0}], ids=str
)
def test_runs_that_lack_what_is_asked_for_are_not_missing(
    mine: Path, values: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    measures = registry_of(study_at(mine)).measures
    monkeypatch.setitem(measures, "rrul", Measure(lambda run: values))
    first, _ = assess_study(study_at(mine), mine / "data", jobs=1)
    cell = "load, 10/10, codel, cubic, era modern"
    what = f"mean induced latency, which the runs of {cell}, do not have"
    assert first.headline.lacks == Lacking(what, "metric")
    shutil.rmtree(mine / "data/mine/load/10-10/codel")
    first, _ = assess_study(study_at(mine), mine / "data", jobs=1)
    assert first.headline.lacks == Lacking(f"runs of {cell}", "data")


def test_rules_may_be_a_package(mine: Path) -> None:
    (mine / "claims.py").unlink()
    (mine / "claims").mkdir()
    (mine / "claims/words.py").write_text(RULES)
    (mine / "claims/__init__.py").write_text("from .words import RULES\n")
    assert set(rules_of(study_at(mine)).rules) == {"mine001", "mine002"}
    again = textwrap.dedent("""\
        from .words import RULES
        from .more import nothing
        """)
    (mine / "claims/__init__.py").write_text(again)
    (mine / "claims/more.py").write_text("\n\nraise ValueError('why')\n")
    other = mine.with_name("other")
    mine.rename(other)
    with pytest.raises(EmulationError, match=r"claims/more\.py:3: ValueError: why"):
        rules_of(StudyFolder(other))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("measure: rrul", "measure: web\n    unloaded: idle", "unknown experiment 'idle'"),
        ("study: mine", "study: yours", "'yours' is in a folder called 'mine'; give both the"),
    ],
)
def test_what_is_wrong_with_its_file_is_said(mine: Path, old: str, new: str, message: str) -> None:
    (mine / "study.yaml").write_text(STUDY.replace(old, new))
    with pytest.raises((ConfigError, EmulationError), match=message):
        _ = study_at(mine).about


def test_two_claims_with_one_id_are_refused(mine: Path) -> None:
    (mine / "claims.csv").write_text(CLAIMS.replace("mine001", "b001"))
    (mine / "claims.py").unlink()
    with pytest.raises(EmulationError, match="'b001' is a claim of battling2013 already"):
        verdicts(mine, [study_at("battling2013"), study_at(mine)])


def test_studies_are_found_by_name_and_by_path(mine: Path) -> None:
    assert studies.find("gbw2015") == ROOT / "studies/gbw2015"
    assert studies.find("studies/gbw2015") == ROOT / "studies/gbw2015"
    assert studies.find("testbed") == ROOT / "studies/testbed"
    assert studies.find(mine) == mine
    with pytest.raises(ConfigError, match="no study 'gbw2014'; did you mean gbw2015"):
        studies.find("gbw2014")
    with pytest.raises(ConfigError, match="no study 'mine'"):
        studies.find("mine")
    studies.add(mine)
    studies.add(mine)
    assert studies.find("mine") == mine
    assert os.environ[studies.VARIABLE] == str(mine)
    namesake = mine.parent / "elsewhere/gbw2015"
    namesake.mkdir(parents=True)
    (namesake / "study.yaml").touch()
    with pytest.raises(ConfigError, match=r"has the name of the study in .*studies/gbw2015"):
        studies.find(namesake)


def test_shipped_measures_fit_their_traffic() -> None:
    assert [fault for study in known() for fault in faults(study)] == []


def test_a_figure_belongs_to_the_study_that_it_lies_in(mine: Path) -> None:
    path = mine / "figures/fig1.yaml"
    path.write_text(FIGURE.replace("paper: mine", "paper: gbw2015"))
    with pytest.raises(EmulationError, match="is of the paper 'gbw2015', its study is 'mine'"):
        plan(studies=[str(mine)])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (FIGURE.partition("parameters:")[2], "\n", "parameters: is not a mapping"),
        ("caption: What I saw.", "caption: 5", "caption: is 5, not a text"),
        ("caption: What I saw.", "caption:", "caption: is None, not a text"),
        ("qdiscs: [pfifo_fast, codel]", "qdiscs:",
         "parameters.qdiscs: is None, not a list of texts"),
        ("qdiscs: [pfifo_fast, codel]", "qdiscs: codel",
         "parameters.qdiscs: is 'codel', not a list of texts"),
        ("qdiscs: [pfifo_fast, codel]", "qdiscs: {more: [codel]}",
         "parameters.qdiscs: has none of the experiment load"),
        ("qdiscs: [pfifo_fast, codel]", "qdiscs: {load: codel}",
         r"parameters.qdiscs: is \{'load': 'codel'\}, not a list of texts or mapping to lists"),
        ("eras: [modern]", "eras: [1999]", r"parameters.eras: is \[1999\], not a list of texts"),
        ("eras: [modern]", "eras: modern", "parameters.eras: is 'modern', not a list of texts"),
        ("ccs: [cubic]", "ccs: cubic", "parameters.ccs: is 'cubic', not a list of texts"),
        ("link: 10/10", "link: 20", "parameters.link: is 20, not a text"),
        ("link: 10/10", "links: 20/5", "parameters.links: is '20/5', not a list of texts"),
        ("link: 10/10", "links: {more: [10/10]}",
         "parameters.links: has none of the experiment load"),
        ("parameters:", "without: [pie]\nparameters:",
         "without: is not a mapping"),
        ("parameters:", "without: {'2014': [pie]}\nparameters:",
         "without.2014: unknown era '2014'; valid: modern"),
        ("parameters:", "without: {modern: pie}\nparameters:",
         "without.modern: is 'pie', not a list of texts"),
        ("parameters:", "without: {modern: {load: 10/1}}\nparameters:",
         r"without.modern: is \{'load': '10/1'\}, not a list of texts or mapping to lists"),
        ("parameters:", "without: {modern: {rrul: [10/1]}}\nparameters:",
         "without.modern.rrul: unknown experiment 'rrul'; valid: load"),
    ],
)  # fmt: skip
def test_a_figure_with_values_of_another_kind_says_which(
    mine: Path, old: str, new: str, message: str
) -> None:
    path = mine / "figures/fig1.yaml"
    assert old in FIGURE
    path.write_text(FIGURE.replace(old, new))
    with pytest.raises(EmulationError, match=rf"fig1\.yaml:\d+: {message}"):
        read_figure(path)


def test_all_that_is_wrong_with_a_figure_is_told_with_its_line(mine: Path) -> None:
    path = mine / "figures/fig1.yaml"
    text = FIGURE.replace("eras: [modern]", "eras: modern").replace("cubic", "1")
    path.write_text(text.replace("title", "titel"))
    with pytest.raises(ConfigError) as error:
        read_figure(path)
    assert [(of.line, of.key) for of in error.value.problems] == [
        (1, "title"), (2, "titel"), (11, "parameters.eras"), (12, "parameters.ccs"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("experiment: load", "experiment: laod", "unknown experiment 'laod'. did you mean 'load'?"),
        ("experiment: load", "experiment: gone", "unknown experiment 'gone'. valid: load; a"),
        ("link: 10/10", "links: [10/10, 10/1]", "unknown link '10/1'. did you mean '10/10'?"),
        ("link: 10/10", "link: 10-10", "unknown link '10-10'. did you mean '10/10'?"),
        ("codel]", "codle]", "unknown qdisc 'codle'. did you mean 'codel'?"),
        ("[modern]", "[modern, '2104']", "unknown era '2104'. valid: modern, 2014"),
        ("[cubic]", "[cubic, rneo]", "Linux 6.12 here has no rneo. choose from bbr, bic"),
        ("seen.csv", "sen.csv", "published_values: there is no published/sen.csv. Correct the"),
    ],
)
def test_what_the_study_does_not_know_is_not_left_out_of_a_figure(
    mine: Path, old: str, new: str, said: str, capsys: pytest.CaptureFixture[str], kernels: str
) -> None:
    path = mine / "figures/fig1.yaml"
    assert old in FIGURE
    path.write_text(FIGURE.replace(old, new))
    with pytest.raises(EmulationError, match=re.escape(f"{path}: {said}")):
        plan(studies=[str(mine)])
    with pytest.raises(EmulationError, match=re.escape(f"{path}: {said}")):
        execute(read_figure(path), mine / "data", mine, kernels=kernels)
    assert cli.main(["check", "--trust", str(mine)]) == 2
    assert f"{path}: {said}" in capsys.readouterr().err


def test_a_figure_may_name_what_has_no_run_and_what_only_a_run_has(mine: Path) -> None:
    path = mine / "figures/fig1.yaml"
    path.write_text(
        FIGURE.replace("codel]", "codel, pie, cake]").replace("[cubic]", "[cubic, bbr]")
    )
    check_values(read_figure(path), mine / "data")
    path.write_text(FIGURE.replace("codel]", "codel_100ms]"))
    provenances.made_up(mine / "data", "mine", "load", link="10/10", qdisc="codel_100ms")
    check_values(read_figure(path), mine / "data")


def test_axes_are_what_the_study_asks_for_and_names_mean_nothing(mine: Path) -> None:
    text = STUDY.replace("codel", "pie_1ms_ecn").replace("kind: pie_1ms_ecn", "kind: codel")
    (mine / "study.yaml").write_text(text)
    assert load(mine / "study.yaml").experiments[0].points
    study_at(mine)
    assert experiment("mine/load").id == "mine/load"
    found = axes.axes(asked(mine, "pie_1ms_ecn", era="2014", length="20s"))
    assert found == {
        "link": "10/10", "qdisc": "pie_1ms_ecn", "cc": "cubic", "algorithm": "codel",
        "limit": "1000 packets", "ecn": "false", "target": "5 ms", "interval": "100 ms",
        "base_rtt": "50 ms",
    }  # fmt: skip
    # A qdisc that the command line named; what is no qdisc has no axes.
    assert axes.axes(asked(mine, "codel", outside_sweep=["qdisc"]))["algorithm"] == "codel"
    with pytest.raises(EmulationError, match="has no point load, 10/10, coddle"):
        axes.axes(asked(mine, "coddle", outside_sweep=["qdisc"]))


def asked(mine: Path, qdisc: str, era: str = "modern", **more: Any) -> RunFile:
    """A run of the experiment `load`."""
    return provenances.made_up(
        mine / "data", "mine", "load", era, link="10/10", qdisc=qdisc, **more
    )


@pytest.mark.parametrize(
    ("said", "name", "expected"),
    [
        ("500 ms", "interval", 500.0),
        ("500", "interval", r"codel, 10/10: axis interval: '500': a bare number has no unit"),
        ("", "interval", r"axes\.csv: not a table of axes \(row 1: non-nullable .*\. Correct it,"),
        ("5 ms", "limit", r"pfifo_fast, 10/10: axis limit: is not known\. Say it in the options"),
    ],
)
def test_an_axis_that_is_none_says_where(
    mine: Path, said: str, name: str, expected: float | str
) -> None:
    text = STUDY.replace("interval: 100 ms, ", "").replace("txqueuelen: 127 packets", "")
    (mine / "study.yaml").write_text(text)
    (mine / "axes.csv").write_text(f"qdisc,axis,value\ncodel,interval,{said}\n")
    study_at(mine)

    def found() -> float:
        qdisc = "codel" if name == "interval" else "pfifo_fast"
        of = axes.axes(asked(mine, qdisc))
        return axes.span_ms(of, name) if name == "interval" else axes.packets(of)

    if isinstance(expected, float):
        assert found() == expected
        return
    with pytest.raises(EmulationError, match=expected):
        found()


def test_runs_are_chosen_from_python_as_on_the_command_line(mine: Path) -> None:
    study = lab.open_study(mine)
    for length in ("20 s", "20", 20):
        assert study.runs("load", length=length)[0].length.seconds == 20
    assert {run.era for run in study.runs("load", era=["2014", "modern"])} == {"2014", "modern"}
    assert len(study.runs("load", seed=range(1, 3), qdisc=["codel"])) == 2


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"length": "x"}, "length: 'x': is not a number and a unit"),
        ({"seed": "a"}, "seed: is 'a'; write e.g. seed=1"),
        ({"seed": [1, 2.5]}, "seed: is 2.5; write"),
        ({"link": 5}, "link: is 5; write e.g. link='10/1'"),
        ({"kernel": ["6.12"]}, r"kernel: is \['6.12'\]; write"),
    ],
)
def test_what_cannot_be_chosen_from_python_is_said(
    mine: Path, chosen: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        lab.open_study(mine).runs("load", **chosen)


def test_tables_of_runs_that_are_not_there_or_damaged_are_refused(mine: Path) -> None:
    study = lab.open_study(mine)
    runs = study.runs("load", seed=1)
    assert len(runs.summary()) == 2
    for damaged in (b"no gzip", gzip.compress(b'{"a": 1}\n' * 99)[:-9], gzip.compress(b"{a")):
        path = mine / f"data/{runs[0].id}.rows.jsonl.gz"
        path.write_bytes(damaged)
        with pytest.raises(
            EmulationError, match=r"seed-001\.rows\.jsonl\.gz: (not gzip|trunc|not JSON)"
        ):
            runs.rows()
    for table in (runs.summary, runs.tables, runs.rows):
        (mine / f"data/{runs[1].id}.json").unlink(missing_ok=True)
        with pytest.raises(EmulationError, match=r"1 of 2 runs are not there yet\. Do them first"):
            table()
