"""Tests of the plan, of the progress and of the two commands' handling of options."""

# ruff: noqa: E402
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from emulation.errors import ConfigError
from emulation.kernel.make import TOOLS

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the workflow is no installed package
from workflow.plan import make_plan
from workflow.progress import Work, clock
from workflow.readme import fill

OUTPUT = """\
Job stats:
job       count
------  -------
figure        1
run           2
report        1
all           1
total         5

[Sat Nov 21 04:18:15 2026]
localrule run:
    log: results/logs/run/a.log
    jobid: 8
    wildcards: run=gbw2015/rrul/10-10/codel/cubic/seed-001
[Sat Nov 21 04:18:15 2026]
Finished jobid: 8 (Rule: run)
1 of 5 steps (20%) done
[Sat Nov 21 04:18:15 2026]
localrule run:
    jobid: 6
    wildcards: run=gbw2015/rrul/10-10/ared/cubic/seed-001
CalledProcessError in file "workflow/rules/run.smk", line 43:
[Sat Nov 21 04:18:16 2026]
Error in rule run:
    jobid: 6
Logfile results/logs/run/b.log:
================================================================================
emulate: error: no data moved
================================================================================
"""


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def config(**changes: Any) -> dict[str, Any]:
    loaded: dict[str, Any] = YAML(typ="safe").load(ROOT / "workflow/config.yaml")
    return {**loaded, **changes}


def touch_run(data: Path, run: str) -> None:
    for end in (".json", ".flent.gz"):
        path = data / f"{run}{end}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_figures_are_drawn_from_what_is_there(tmp_path: Path) -> None:
    touch_run(tmp_path, "gbw2015/rrul/10-10/codel/cubic/seed-001")
    plan = make_plan(config(data=str(tmp_path)))
    assert set(plan.figures) == {
        "gbw2015/fig2b", "gbw2015/fig7b", "gbw2015/spreadb", "gbw2015/switchesb"
    }  # fmt: skip
    figure = plan.figures["gbw2015/fig2b"]
    assert [path.name for path in plan.data_files(figure)] == ["seed-001.flent.gz", "seed-001.json"]
    assert plan.pages == Path("results")
    assert plan.all_runs() == {}
    assert {Path("notebooks/rrul.ipynb"), Path("analysis/metrics.py")} <= {*plan.code_files(figure)}
    assert Path("analysis/report.py") not in plan.code_files(figure)
    with pytest.raises(ConfigError, match="no run of gbw2015/fig2a"):
        make_plan(config(data=str(tmp_path), figures=["gbw2015/fig2a"]))


@pytest.mark.parametrize(
    ("scale", "figures", "runs"),
    [
        ("smoke", 12, 8 * 3 + 2),
        ("quick", 32, 8 * 21 + 2 * 3),
        ("paper", 32, (8 * 21 + 2 * 3) * 2 * 30),
    ],
)
def test_scales(scale: str, figures: int, runs: int) -> None:
    plan = make_plan(config(emulate=True, scale=scale, papers=["gbw2015"]))
    assert len(plan.figures) == figures
    assert len(plan.all_runs()) == runs
    assert {run.era for run in plan.all_runs().values()} == {"2014"}
    assert plan.pages == Path(f"results/emulated-{scale}")


def test_an_ablation_is_run_whole_or_not_at_all() -> None:
    with pytest.raises(ConfigError, match="has no run of gbw2015/switchesb"):
        make_plan(config(emulate=True, scale="paper", figures=["gbw2015/switchesb"]))
    plan = make_plan(config(emulate=True, scale="all", figures=["gbw2015/switchesb"]))
    eras = {run.era for run in plan.all_runs().values()}
    assert {"modern", "2014", "modern+no_gso", "2014-no_gso"} <= eras


def test_short_runs_are_read_from_their_own_folder() -> None:
    plan = make_plan(config(emulate=True, scale="smoke"))
    figure = plan.figures["gbw2015/fig2b"]
    assert plan.length() == "20s"
    assert plan.data_files(figure)[0] == Path(
        "results/data/gbw2015/rrul@2014@20s/10-10/pfifo_fast/cubic/seed-001.flent.gz"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale": "huge", "emulate": True}, "no scale 'huge'"),
        ({"papers": ["gbw2016"]}, "no figure of the paper 'gbw2016'"),
        ({"figures": ["gbw2015/fig99"]}, "no figure 'gbw2015/fig99'"),
        ({"emulate": "false"}, "say True or False"),
    ],
)
def test_what_does_not_exist_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_plan(config(**changes))


def test_progress_is_read_off_the_output() -> None:
    work = Work(cores=2, step_s={"run": 20.0, "figure": 8.0, "report": 2.0})
    finished = [name for line in OUTPUT.splitlines() if (name := work.read(line))]
    assert finished == ["run gbw2015/rrul/10-10/codel/cubic/seed-001"]
    assert work.steps() == 4
    assert work.failures == ["run gbw2015/rrul/10-10/ared/cubic/seed-001"]
    assert work.messages == ["emulate: error: no data moved"]
    assert work.summary().startswith("2 runs, 1 figure: about ")


def test_the_time_left_learns_from_the_time_taken() -> None:
    work = Work(cores=2, step_s={"run": 20.0})
    work.total = {"run": 10}
    assert work.left_s(0) == pytest.approx(100)  # 200 s of work on 2 cores
    work.done = {"run": 5}
    assert work.left_s(100) == pytest.approx(
        75
    )  # as much again, half believed; 50 s the other half
    assert [clock(one) for one in (0.2, 89, 600, 7500)] == ["1 s", "89 s", "10 min", "2 h 05 min"]


def test_tables_go_between_their_markers() -> None:
    text = "a\n<!-- t -->\nold\n<!-- /t -->\nb\n"
    assert fill(text, "t", "new | x") == "a\n<!-- t -->\nnew | x\n<!-- /t -->\nb\n"
    with pytest.raises(ValueError, match="no markers"):
        fill(text, "u", "")


def test_readme_has_all_markers() -> None:
    text = (ROOT / "README.md").read_text()
    for name in ("figures", "values", "speed"):
        fill(text, name, "")


def test_the_script_knows_the_kernels_tools() -> None:
    text = (ROOT / "workflow/setup.sh").read_text()
    (block,) = re.findall(r"KERNEL_TOOLS=\((.*?)\)", text, re.DOTALL)
    assert [tuple(entry.rsplit(":", 1)) for entry in block.split()] == list(TOOLS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--foo"], "unknown option '--foo'"),
        (["figure"], "unknown option 'figure'"),
        (["--emulate", "--scale", "huge"], "--scale is smoke, quick, paper or all, not 'huge'"),
        (["--emulate", "--scale=huge"], "--scale is smoke, quick, paper or all, not 'huge'"),
        (["--scale", "smoke"], "it needs --emulate"),
        (["--figure", "gbw2015/fig99"], "no figure 'gbw2015/fig99'"),
        (["--figure", "../x/y"], "no figure '../x/y'"),
        (["--paper", "gbw2016"], "no paper 'gbw2016'"),
        (["--jobs", "0"], "not '0'"),
        (["--jobs"], "--jobs needs a value"),
    ],
)
def test_reproduce_all_refuses(arguments: list[str], message: str) -> None:
    done = subprocess.run(["./reproduce-all", *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_help() -> None:
    for command in ("./reproduce-all", "./run-tests"):
        done = subprocess.run([command, "--help"], capture_output=True, text=True, check=True)
        assert done.stdout.startswith(("Usage", "Check"))
