"""Tests of the plan, of the progress and of the two commands' handling of options."""

import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from qdisclab.analysis.site import report
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.kernel.make import TOOLS
from qdisclab.emulation.study import template
from tests import ROOT, captured
from tests.workflow.plans import config, run_of
from workflow import plan, reproduce
from workflow.plan import figure_files, make_plan
from workflow.progress import LogHandler, Work
from workflow.reproduce import runs_to_do

#: Events as Snakemake logs them, with what comes with each: two runs, of which the second fails.
STATS = {"figure": 1, "run": 2, "report": 1, "all": 1, "total": 5}
EVENTS: list[tuple[LogEvent, dict[str, Any]]] = [
    (LogEvent.RUN_INFO, {"stats": STATS}),
    (LogEvent.JOB_INFO, {
        "jobid": 8, "rule_name": "run",
        "wildcards": {"run": "gbw2015/rrul/10-10/codel/cubic/seed-001"},
    }),
    (LogEvent.JOB_FINISHED, {"job_id": 8}),
    (LogEvent.JOB_INFO, {
        "jobid": 6, "rule_name": "run",
        "wildcards": {"run": "gbw2015/rrul/10-10/ared/cubic/seed-001"},
    }),
    (LogEvent.ERROR, {"exception": "CalledProcessError", "msg": "CalledProcessError in file x"}),
]  # fmt: skip


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_figures_are_drawn_from_what_is_there(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    plan = make_plan(config(data=str(tmp_path)))
    assert set(plan.figures) >= {
        "gbw2015/fig2b", "gbw2015/fig7b", "gbw2015/spreadb", "gbw2015/switchesb"
    }  # fmt: skip
    figure = plan.figures["gbw2015/fig2b"]
    assert plan.data_files(figure) == [run.data, run.provenance]
    assert plan.pages == Path("results")
    assert plan.all_runs() == {}
    assert {Path("notebooks/rrul.ipynb"), Path("analysis/measures/metrics.py")} <= {
        *plan.code[figure.name]
    }
    assert Path("analysis/site/report.py") not in plan.code[figure.name]
    assert plan.records() == [run]
    with pytest.raises(ConfigError, match="no run of gbw2015/fig2a"):
        make_plan(config(data=str(tmp_path), figures=["gbw2015/fig2a"]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale": "huge", "emulate": True}, "no scale 'huge'"),
        (
            {"scale": "mine", "emulate": True, "scales": {"mine": {"eras": ["modern"]}}},
            "'modern'.* is not 'fixed'",
        ),
        ({"studies": ["gbw2016"]}, "no study 'gbw2016'"),
        ({"figures": ["gbw2015/fig99"]}, "no figure 'gbw2015/fig99'"),
        ({"emulate": "false"}, "write True or False"),
    ],
)
def test_what_does_not_exist_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_plan(config(**changes))


def test_progress_is_read_off_events(tmp_path: Path) -> None:
    (tmp_path / "b.log").write_text("emulate: error: no data moved\n")
    work = Work(cores=2, step_s={"run": 20.0, "figure": 8.0, "report": 2.0})
    error = {"jobid": 6, "rule_name": "run", "log": [str(tmp_path / "b.log")]}
    events = [*EVENTS, (LogEvent.JOB_ERROR, error), (LogEvent.JOB_ERROR, error)]
    finished = [title for event, about in events if (title := work.read(event, about))]
    assert finished == ["run gbw2015/rrul/10-10/codel/cubic/seed-001"]
    assert work.count == (1, 4)
    assert list(work.failures) == ["run gbw2015/rrul/10-10/ared/cubic/seed-001"]
    assert work.messages == ["emulate: error: no data moved"]
    assert work.summary().startswith("2 runs, 1 figure: about ")


def test_of_what_is_tried_again_the_last_attempt_counts(tmp_path: Path) -> None:
    work, log = Work(cores=1), tmp_path / "log"
    for job, name in ((1, "a"), (2, "b")):
        about = {"jobid": job, "rule_name": "batch", "wildcards": {"batch": name}}
        work.read(LogEvent.JOB_INFO, about)
    for text in ("emulate: error: terminated", "emulate: error: no data moved"):
        log.write_text(text)
        for job in (1, 2):
            error = {"jobid": job, "rule_name": "batch", "log": [str(log)]}
            work.read(LogEvent.JOB_ERROR, error)
    work.read(LogEvent.JOB_FINISHED, {"job_id": 1})
    assert work.failures == {"batch b": ["emulate: error: no data moved"]}


def test_what_snakemake_says_of_a_mistake_is_kept() -> None:
    work = Work(cores=1)
    work.read(LogEvent.ERROR, {"exception": "WorkflowError", "msg": "WorkflowError:\nno rule"})
    assert work.messages == ["WorkflowError:", "no rule"]


SNAKEFILE = """
rule all:
    input: "a", "b"
rule figure:
    output: "{name}"
    log: "{name}.log"
    wildcard_constraints: name="[ab]"
    shell: "echo words of {wildcards.name} >{log}; test {wildcards.name} = a && touch {output}"
"""


def test_snakemake_runs_with_the_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    work = Work(cores=1)
    assert reproduce.snakemake(["--cores", "1", "--keep-going"], work) == 1
    assert LogHandler.work is work
    said = capfd.readouterr().out
    assert "==> 2 figures: about " in said
    assert re.search(r"^\[1/2\] figure a, about .* left$", said, re.MULTILINE)
    assert list(work.failures) == ["figure b"]
    assert work.messages == ["words of b"]
    log = tmp_path / "results/logs/snakemake.log"
    said = log.read_text()
    assert "Error in rule figure" in said  # Snakemake's own words
    again = Work(cores=1)
    assert reproduce.snakemake(["--cores", "1", "--dry-run"], again) == 0
    assert {*again.steps.values()} == {("figure", "b"), ("all", "")}
    assert log.read_text() == said  # a dry run has a log of its own
    assert reproduce.snakemake(["--cores", "1", "a"], Work(cores=1)) == 0
    assert log.read_text().startswith(said)  # what failed before the rest was drawn


def test_the_time_left_learns_from_the_time_taken() -> None:
    work = Work(cores=2, step_s={"run": 20.0})
    work.total = {"run": 10}
    assert work.left_s(0) == pytest.approx(100)  # 200 s of work on 2 cores
    work.done = {"run": 5}
    assert work.left_s(100) == pytest.approx(
        75
    )  # as much again, half believed; 50 s the other half


def test_the_script_knows_the_kernels_tools() -> None:
    text = (ROOT / "workflow/setup.sh").read_text()
    (block,) = re.findall(r"KERNEL_TOOLS=\((.*?)\)", text, re.DOTALL)
    assert [tuple(entry.rsplit(":", 1)) for entry in block.split()] == list(TOOLS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--foo"], "unknown option '--foo'"),
        (["figure"], "unknown option 'figure'"),
        (["--emulate", "--scale", "huge"], "--scale is smoke, short, quick, paper or all, not"),
        (["--emulate", "--scale=huge"], "--scale is smoke, short, quick, paper or all, not 'huge'"),
        (["--scale", "smoke"], "it needs --emulate"),
        (["--figure", "gbw2015/fig99"], "no figure 'gbw2015/fig99'"),
        (["--figure", "../x/y"], "no figure '../x/y'"),
        (["--study", "gbw2016"], "no study 'gbw2016'"),
        (["--paper", "../nowhere"], "no study '../nowhere'"),
        (["--jobs", "0"], "not '0'"),
        (["--jobs"], "--jobs needs a value"),
    ],
)
def test_reproduce_all_refuses(arguments: list[str], message: str) -> None:
    done = captured(["./reproduce-all", *arguments])
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_a_cluster_takes_no_folder_with_a_space(tmp_path: Path) -> None:
    place = tmp_path / "my lab"
    (place / "workflow").mkdir(parents=True)
    for name in ("reproduce-all", "workflow/setup.sh"):
        shutil.copy(ROOT / name, place / name)
    command = [place / "reproduce-all", "--emulate", "--profile", "slurm"]
    done = captured(command)
    assert done.returncode == 2
    assert f"need a folder without spaces, not '{place}'" in done.stderr


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ("latency", "my-study/data: there is no run of my-study/latency; make runs with --emulate"),
        ("delay", "no figure 'my-study/delay'"),
    ],
)
def test_reproduce_all_takes_a_figure_of_a_new_study(
    tmp_path: Path, figure: str, message: str
) -> None:
    template.make(tmp_path / "my-study")
    chosen = ["--study", str(tmp_path / "my-study"), "--figure", f"my-study/{figure}"]
    done = captured(["./reproduce-all", "--dry-run", *chosen])
    assert done.returncode == 2
    assert message in done.stderr


def test_help() -> None:
    for command in ("./reproduce-all", "./run-tests"):
        done = captured([command, "--help"], check=True)
        assert done.stdout.startswith(("Usage", "Check"))


def test_a_name_stands_for_the_parts_of_a_figure() -> None:
    plan = make_plan(config(emulate=True, scale="quick", figures=["gbw2015/fig3"]))
    assert list(plan.figures) == [f"gbw2015/fig3{part}" for part in "abcdef"]
    experiments = {run.experiment.id for run in plan.all_runs().values()}
    assert experiments == {"gbw2015/voip_1up", "gbw2015/voip_rrul"}
    assert figure_files(figures=["gbw2015/table1"])[0].name == "gbw2015/table1"
    with pytest.raises(ConfigError, match="no figure 'gbw2015/fig99'"):
        figure_files(figures=["gbw2015/fig99"])
    with pytest.raises(ConfigError, match="no figure 'gbw2015/'"):
        figure_files(figures=["gbw2015/"])


def drawn_with(file: str) -> set[str]:
    """The figures of gbw2015 that a file is part of."""
    plan = make_plan(config(emulate=True, scale="quick", studies=["gbw2015"]))
    figures = plan.figures.values()
    return {
        one.name.partition("/")[2].rstrip("abcdef")
        for one in figures
        if Path(file) in plan.code[one.name]
    }


@pytest.mark.parametrize(
    ("file", "inside", "outside"),
    [
        ("studies/gbw2015/measures/web.py", {"fig4", "fig5"}, {"fig2"}),
        ("analysis/measures/voip.py", {"fig3", "tabl"}, {"fig2"}),
        ("analysis/measures/fairness.py", {"fig6"}, {"fig2"}),
        ("analysis/measures/metrics.py", {"fig2", "fig3", "fig4", "fig5", "fig6", "fig7"}, set()),
        ("studies/gbw2015/published/fig2.csv", {"fig2"}, {"fig3", "fig4", "fig7"}),
        ("studies/gbw2015/claims.csv", set(), {"fig2", "fig3", "fig7"}),
        ("studies/gbw2015/claims/words.py", set(), {"fig2", "fig3", "fig7"}),
        ("studies/khademi2013/claims.py", set(), {"fig2", "fig3", "fig7"}),
        ("analysis/site/report.py", set(), {"fig2", "fig3", "fig7"}),
        ("studies/gbw2015/notebooks/web.ipynb", {"fig4", "fig5"}, {"fig2", "fig3", "fig7"}),
    ],
)
def test_a_change_makes_its_figures_stale_alone(
    file: str, inside: set[str], outside: set[str]
) -> None:
    drawn = drawn_with(file)
    assert {name[:4] if name[:3] == "tab" else name for name in drawn} >= inside
    assert not drawn & outside


def test_a_shipped_run_makes_its_figures_stale(tmp_path: Path) -> None:
    runs = [run_of(tmp_path, link, "2014c") for link in ("10/10", "100/100")]

    def shipped() -> dict[str, list[str]]:
        for cached in (plan._content, plan._files_of, plan._cells):
            cached.cache_clear()
        made = make_plan(config(data=str(tmp_path)))
        assert not any(map(made.awaited, made.figures.values()))
        return {name: made.shipped(figure) for name, figure in made.figures.items()} | {
            "all": [made.all_shipped()]
        }

    before = shipped()
    folders = [line.rpartition(" ")[0] for line in before["gbw2015/fig2b"]]
    assert folders == [str(runs[0].data.parent)]
    runs[0].data.write_bytes(b"1")
    data = shipped()
    anew = runs[0].provenance.with_name(".new")
    anew.write_bytes(runs[0].provenance.read_bytes() + b" ")
    anew.replace(runs[0].provenance)  # in one step, as runs are
    record = shipped()
    by_data, by_record, by_nothing = (
        {name for name in one if one[name] != other[name]}
        for one, other in ((before, data), (data, record), (record, shipped()))
    )
    assert "gbw2015/fig2b" in by_data
    assert not by_data & {"gbw2015/fig2a", "all"}
    assert by_record >= {"gbw2015/fig2b", "all"}
    assert "gbw2015/fig2a" not in by_record  # of the other link
    assert by_nothing == set()


def test_a_figure_alone_does_not_settle_all_claims() -> None:
    def settles(**changes: Any) -> bool:
        return make_plan(config(**changes)).settles

    assert settles()
    assert settles(studies=["gbw2015"])
    assert not settles(figures=["gbw2015/fig2a"])
    assert not settles(studies=["codel2012"], figures=["gbw2015/fig2a"])


@pytest.mark.parametrize(("figures", "rules"), [
    ("", {"figure", "claims", "report", "all"}),
    ("gbw2015/table1", {"figure", "report", "all"}),
])  # fmt: skip
def test_steps_of_the_graph(figures: str, rules: set[str], tmp_path: Path) -> None:
    assert steps(figures, tmp_path) == rules


def steps(figures: str, results: Path) -> set[str]:
    """The rules that Snakemake would follow."""
    command = [
        sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run", "--nolock", "--quiet",
        "rules", "--config", f"results={results}", "studies=[]" , f"figures=[{figures}]",
    ]  # fmt: skip
    done = captured(command, check=True)
    found = re.findall(r"^(\w+) +\d+$", done.stdout + done.stderr, re.MULTILINE)
    return set(found) - {"total"}


def test_a_figure_whose_files_are_gone_is_drawn_again(tmp_path: Path) -> None:
    (tmp_path / ".report").touch()
    assert "figure" in steps("gbw2015/table1", tmp_path)


def test_a_dry_run_says_how_long_runs_take() -> None:
    run = "gbw2015/rrul@2014c/10-10/codel/cubic/seed-001"
    work = Work(cores=1)
    work.read(LogEvent.JOB_INFO, {"jobid": 1, "rule_name": "run", "wildcards": {"run": run}})
    plan = make_plan(config(emulate=True, scale="quick", figures=["gbw2015/fig2b"]))
    (line,) = runs_to_do(plan, work)
    assert re.fullmatch(r"gbw2015/rrul: 1 run, \d+ s of one core", line)


def test_pages_show_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grown: list[tuple[Path, list[str]]] = []
    monkeypatch.setattr(report, "grow", lambda *given: grown.append(given))
    reproduce.show_figures(replace(make_plan(config()), results=tmp_path), ["a run"])
    assert grown == [(tmp_path, ["a run"])]


def test_what_is_not_shown_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_of(tmp_path)
    told = make_plan(config(data=str(tmp_path), studies=["gbw2015"]))
    assert "gbw2015/fig2a" in told.left_out
    reproduce.print_left_out(told)
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("==> left out, as there are no such runs: gbw2015/")
    assert said[0].endswith(f", … ({len(told.left_out)})")
    missing = "ared, fq_codel, fq_nocodel, pfifo_fast, pie, sfq"
    assert f"==> gbw2015/fig2b does not show {missing}: there is no run" in said


def test_a_kernel_that_cannot_be_told_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def causes(_: Any) -> Any:
        raise ConfigError("no version for 7.2 of mine.patch", "patches/series")

    monkeypatch.setattr(reproduce.stale, "causes", causes)
    run_of(tmp_path)
    reproduce.print_stale(make_plan(config(data=str(tmp_path), figures=["gbw2015/fig2b"])))
    assert (
        "cannot tell which runs are stale: patches/series: no version for 7.2"
        in capsys.readouterr().out
    )
