"""What `docs/ci` gives a pipeline: the table of two folders of runs, and the exit status."""

import importlib.util
import math
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests import ROOT, captured, write_executable
from tests.data import provenances

Made = Callable[..., None]
Call = Callable[..., tuple[int, str, str]]
Pipeline = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def compare() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compare", ROOT / "docs/ci/compare.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def call(compare: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls the script for runs that measured these numbers before and now, by seed."""

    def call(
        base: dict[int, dict[str, Any]], now: dict[int, dict[str, Any]], *options: str
    ) -> tuple[int, str, str]:
        for name, runs in (("base", base), ("now", now)):
            (tmp_path / name).mkdir()
            for seed, measures in runs.items():
                provenances.made_up(
                    tmp_path / name, "gbw2015", "rrul", seed=seed, measures=measures
                )
        status = compare.main([*options, str(tmp_path / "base"), str(tmp_path / "now")])
        return (status, *capsys.readouterr())

    return call


RUN = "gbw2015/rrul/10-1/codel/cubic/seed-00"


def test_only_what_differs_is_shown(call: Call) -> None:
    base = {1: {"induced_latency_ms": 40.0, "jain_index": 9.0}, 2: {"induced_latency_ms": 0.0}}
    base[4] = {"induced_latency_ms": 1.0}
    now = {
        1: {"induced_latency_ms": 50.0, "jain_index": 9.0},
        2: {"induced_latency_ms": 1.0},
        3: {"induced_latency_ms": 1.0},
    }
    status, out, _ = call(base, now)
    assert (status, out.splitlines()[2:]) == (0, [
        f"| {RUN}1 | induced_latency_ms | 40 | 50 | +25.0 % |",
        f"| {RUN}2 | induced_latency_ms | 0 | 1 |  |",
        f"| {RUN}3 | not in the base | | | |",
        f"| {RUN}4 | only in the base | | | |",
        "",
        "1 numbers are equal.",
    ])  # fmt: skip


def test_a_number_that_only_some_runs_have_is_shown(
    call: Call,
) -> None:
    base = {1: {"induced_latency_ms": 40.0, "jain_index": 0.5}}
    now = {1: {"induced_latency_ms": 40.0, "goodput_total_mbit_s": 9.0}}
    _, out, _ = call(base, now)
    assert out.splitlines()[2:] == [
        f"| {RUN}1 | goodput_total_mbit_s |  | 9 |  |",
        f"| {RUN}1 | jain_index | 0.5 |  |  |",
        "",
        "1 numbers are equal.",
    ]


def test_what_is_not_a_number_is_none(
    compare: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provenances.made_up(tmp_path, "gbw2015", "rrul")
    monkeypatch.setattr(compare, "measure_beside", lambda data: lambda run: {"a": math.nan, "b": 1})
    assert compare.measured(tmp_path) == {f"{RUN}1.json": {"b": 1}}


def test_runs_that_measure_nothing_are_refused(call: Call) -> None:
    status, out, err = call({1: {}}, {1: {}})
    assert (status, out) == (2, "")
    assert "now: the runs measure nothing; add 'measure: NAME' to the experiment" in err


def test_the_kernel_of_a_tree_is_another_one_in_each_folder(
    compare: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, kernel, value in (("base", "0" * 16, 1.0), ("now", "f" * 16, 2.0)):
        era, measures = f"modern@linux-{kernel}", {"induced_latency_ms": value}
        (tmp_path / folder).mkdir()
        provenances.made_up(tmp_path / folder, "gbw2015", "rrul", era=era, measures=measures)
    assert compare.main([str(tmp_path / "base"), str(tmp_path / "now")]) == 0
    row = f"| {RUN}1 | induced_latency_ms | 1 | 2 | +100.0 % |"
    assert capsys.readouterr().out.splitlines()[2] == row
    measures = {"induced_latency_ms": 3.0}
    provenances.made_up(tmp_path / "now", "gbw2015", "rrul", measures=measures)
    assert set(compare.measured(tmp_path / "now")) == {
        f"{RUN}1.json",
        f"gbw2015/rrul@linux-{'f' * 16}/10-1/codel/cubic/seed-001.json",
    }


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    """Calls the script of a pipeline in a checkout with a commit, beside a lab that is set up."""
    script, emulate = tmp_path / "lab/docs/ci/run.sh", tmp_path / "lab/.venv/bin/emulate"
    folder, temporary = tmp_path / "work", tmp_path / "tmp"
    for place in (script.parent, emulate.parent, temporary):
        place.mkdir(parents=True)
    shutil.copy(ROOT / "docs/ci/pull-request.sh", script)
    emulate.touch(mode=0o755)
    who = ("-c", "user.name=N", "-c", "user.email=n@example.invalid")
    subprocess.run(["git", "init", "-q", folder], check=True)
    subprocess.run(["git", "-C", folder, *who, "commit", "-q", "--allow-empty", "-m", "x"])

    def call(**variables: str) -> subprocess.CompletedProcess[str]:
        around = os.environ | {"TMPDIR": str(temporary), "RUNS": "none"} | variables
        return captured([script], cwd=folder, env=around)

    return call


@pytest.mark.parametrize(
    ("variables", "error"),
    [
        ({"BUILD": "echo no compiler >&2; false", "BASE": "HEAD"}, "no compiler"),
        ({"BUILD": "true", "BASE": "gone"}, "fatal: invalid reference: gone"),
    ],
)
def test_a_pipeline_that_fails_says_why_and_leaves_nothing(
    pipeline: Pipeline,
    variables: dict[str, str],
    error: str,
    tmp_path: Path,
) -> None:
    ended = pipeline(**variables)
    assert ended.returncode
    assert ended.stderr.splitlines() == [error]
    assert not list((tmp_path / "tmp").iterdir())
    listed = ["git", "-C", tmp_path / "work", "worktree", "list"]
    assert subprocess.run(listed, capture_output=True).stdout.count(b"\n") == 1


def test_a_study_below_the_current_folder_is_found_by_what_compares(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    study, python = tmp_path / "work/tests/mine/study.yaml", tmp_path / "lab/.venv/bin/python"
    study.parent.mkdir(parents=True)
    study.touch()
    write_executable(python, 'echo "$QDISC_LAB_STUDIES"')
    words = {"BUILD": "true", "BASE": "HEAD"}
    assert pipeline(**words, RUNS="--seed 1 tests/mine/first").stdout == f"{study.parent}\n"
    assert pipeline(**words, RUNS="gbw2015/rrul --link 10/1").stdout == "\n"


def test_runs_of_an_earlier_change_are_not_taken_for_this_one_s(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    provenances.made_up(tmp_path / "work/data", "gbw2015", "rrul")
    ended = pipeline(BUILD="true", BASE="HEAD")
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: data: has runs, which would count as the change's")


@pytest.mark.parametrize(("bound", "status", "answer"), [(44, 1, "**yes**"), (46, 0, "no")])
def test_the_condition_is_of_the_mean_of_the_second_folder(
    call: Call, bound: int, status: int, answer: str
) -> None:
    runs = {1: {"induced_latency_ms": 40.0}, 2: {"induced_latency_ms": 50.0}}
    where = f"induced_latency_ms > {bound}"
    done, out, _ = call({1: {"induced_latency_ms": 99.0}}, runs, "--where", where)
    assert (done, out.splitlines()[-1]) == (status, f"{where}: {answer}, induced_latency_ms is 45.")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("pong_ms > 1", "--where: the runs do not measure 'pong_ms'; choose from"),
        (
            "induced_latency_ms",
            "--where 'induced_latency_ms': does not compare a number with a bound",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(call: Call, where: str, message: str) -> None:
    runs = {1: {"induced_latency_ms": 1.0}}
    status, _, err = call(runs, runs, "--where", where)
    assert (status, err.startswith(f"error: {message}")) == (2, True), err
    assert err.count("\n") == 1


def test_a_folder_without_runs_is_refused(call: Call) -> None:
    status, _, err = call({}, {1: {"induced_latency_ms": 1.0}})
    assert status == 2
    assert "base: there are no runs; do them: emulate run" in err
