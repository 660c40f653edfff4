"""What can go wrong in `reproduce-all`: it ends what it began, and names what failed."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulation.errors import INTERRUPTED
from tests import ROOT, captured, write_executable
from tests.waiting import wait_for
from workflow import progress, reproduce


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the commands, in which nothing is set up."""
    (tmp_path / "workflow").mkdir()
    (tmp_path / "studies").mkdir()
    for name in ("reproduce-all", "workflow/setup.sh"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def reproduce_all(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["./reproduce-all", *(words or ("--setup-only",))]
    return captured(command, cwd=checkout, timeout=60)


def test_interrupted_snakemake_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And remembers that the step at work is half-done."""
    monkeypatch.chdir(tmp_path)
    text = 'rule figure:\n    output: "a"\n    shell: "touch a; exec sleep 600"\n'
    (tmp_path / "Snakefile").write_text(text)
    code = (
        "import sys; from workflow import progress, reproduce; "
        "sys.exit(reproduce.snakemake(['--cores', '1'], progress.Work(1)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, start_new_session=True
    ) as process:
        wait_for((tmp_path / "a").exists, process)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=120) == INTERRUPTED
    assert [*(tmp_path / ".snakemake/incomplete").iterdir()]


def test_what_nobody_expected_ends_after_a_step_that_failed(tmp_path: Path) -> None:
    """With a traceback; Snakemake's alarm of an hour is not waited for."""
    (tmp_path / "Snakefile").write_text('rule figure:\n    output: "a"\n    shell: "false"\n')
    code = (
        "from workflow import __main__ as command, progress, reproduce; "
        "options = ['--cores', '1', '--max-jobs-per-timespan', reproduce.SELDOM]; "
        "command.exit_with(lambda: [][reproduce.snakemake(options, progress.Work(1))])"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = captured([sys.executable, "-c", code], cwd=tmp_path, env=environment, timeout=120)
    assert ended.returncode == 1
    assert ended.stderr.endswith("IndexError: list index out of range\n")


@pytest.mark.parametrize("shielded", [False, True])
def test_a_reproduce_all_that_sets_up_ends_what_it_does(checkout: Path, shielded: bool) -> None:
    """Also where it was started by a script's `&`, for which SIGINT is ignored."""
    (checkout / ".venv/bin").mkdir(parents=True)
    (checkout / "pyproject.toml").touch()
    (checkout / "workflow/constraints.txt").touch()
    # It says that it goes on when it does: a shell that is about to start it would lose a signal.
    slow_pip = 'if [ "$2" = pip ]; then (sleep 0.5; echo $$ >going) & exec sleep 300; fi'
    write_executable(checkout / ".venv/bin/python", slow_pip)
    with subprocess.Popen(
        ["./reproduce-all", "--setup-only"], cwd=checkout, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN) if shielded else None,
    ) as process:  # fmt: skip
        wait_for((checkout / "going").exists, process)
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert b"stopped (kill), and nothing goes on; the same command continues from here" in said
    assert not Path("/proc", (checkout / "going").read_text().strip()).exists()


def test_a_machine_without_slurm_is_told_before_a_kernel_is_built(checkout: Path) -> None:
    (checkout / ".venv/bin").mkdir(parents=True)
    for name in ("pyproject.toml", "workflow/constraints.txt"):
        (checkout / name).touch()
    write_executable(checkout / ".venv/bin/python", '[ "$2" != workflow.cluster ] || exit 3')
    write_executable(checkout / ".venv/bin/emulate", "touch built")
    done = reproduce_all(checkout, "--emulate", "--profile", "slurm")
    assert done.returncode == 3
    assert not (checkout / "built").exists()


def test_a_second_reproduce_all_is_told_to_wait(checkout: Path) -> None:
    (checkout / "results/logs").mkdir(parents=True)
    lock = checkout / "results/logs/lock"
    with subprocess.Popen(["flock", str(lock), "sleep", "60"]) as first:
        command = ["flock", "--nonblock", str(lock), "true"]
        wait_for(lambda: subprocess.run(command).returncode, seconds=20)
        done = reproduce_all(checkout)
        first.send_signal(signal.SIGTERM)
    assert done.returncode == 1
    assert "another reproduce-all is at work here: wait for it or stop it" in done.stderr


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_results_that_cannot_be_written_are_told(checkout: Path) -> None:
    (checkout / "results").mkdir(mode=0o555)
    done = reproduce_all(checkout)
    assert done.returncode == 1
    assert "results cannot be written by" in done.stderr


@pytest.mark.parametrize("word", ["--setup-only", "--dry-run"])
@pytest.mark.parametrize("place", ["results", ".snakemake"])
def test_what_is_no_folder_to_write_to_is_told(checkout: Path, place: str, word: str) -> None:
    (checkout / ".venv/bin").mkdir(parents=True)
    write_executable(checkout / ".venv/bin/python", "exit 0")
    (checkout / place).touch()
    done = reproduce_all(checkout, word)
    assert done.returncode == 1
    assert f"{place} cannot be written by" in done.stderr
    assert done.stderr.count("\n") == 1


def test_results_without_room_are_told(checkout: Path) -> None:
    (checkout / "bin").mkdir()
    write_executable(checkout / "bin/df", "echo Avail; echo 51200")
    environment = {**os.environ, "PATH": f"{checkout}/bin:{os.environ['PATH']}"}
    done = captured(["./reproduce-all", "--setup-only"], cwd=checkout, env=environment, timeout=60)
    assert done.returncode == 1
    assert "50 MiB are left for" in done.stderr
    assert "free some space" in done.stderr


def test_what_failed_is_named_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = (ROOT / "workflow/profiles/local/config.yaml").read_text()
    assert re.search(r"^keep-going: true", profile, re.MULTILINE)
    assert re.search(r"^rerun-incomplete: true", profile, re.MULTILINE)
    monkeypatch.chdir(ROOT)

    def fail(arguments: list[str], work: progress.Work) -> int:
        work.failures["figure gbw2015/fig3a"] = ["error: cell 4 failed: KeyError: 'x'"]
        return 1

    arguments = ["local", "--cores", "1", "--config", "figures=[gbw2015/fig3a]"]
    assert reproduce.main(arguments, fail) == 1
    assert capsys.readouterr().err.splitlines() == [
        "reproduce-all: failed: figure gbw2015/fig3a",
        "    error: cell 4 failed: KeyError: 'x'",
        "reproduce-all: Snakemake's output is in results/logs/snakemake.log",
    ]


@pytest.mark.parametrize(("drawing", "status"), [(0, 1), (1, 1), (INTERRUPTED, INTERRUPTED)])
def test_figures_are_drawn_without_a_run_that_failed(
    drawing: int, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    run = "gbw2015/rrul@2014c@20s/10-10/codel/cubic/seed-001"
    calls, shown = [], []
    monkeypatch.setattr(reproduce, "show_figures", lambda plan, failed: shown.append(failed))

    def fail(arguments: list[str], work: progress.Work) -> int:
        calls.append(arguments)
        if len(calls) == 1:
            work.failures[f"run {run}"] = ["emulate: error: no data moved"]
            return 1
        return drawing

    settings = ["emulate=True", "scale=smoke", "figures=[gbw2015/fig2b]"]
    arguments = ["local", "--cores", "1", "--config", *settings]
    assert reproduce.main(arguments, fail) == status
    first, second = calls
    assert second == [*first, f'without=["{run}"]']
    assert shown == ([[run]] if drawing == 1 else [])  # the last step shows them otherwise
    assert f"==> drawing without what failed: {run} (1)" in capsys.readouterr().out
    whole, rest = reproduce.plan_of(settings), reproduce.plan_of([*settings, f"without=['{run}']"])
    assert whole.all_runs().keys() - rest.all_runs().keys() == {run}
    assert set(whole.figures) == set(rest.figures)


def test_of_a_batch_that_failed_those_runs_are_left_out_that_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    settings = ["emulate=True", "scale=paper", "figures=[gbw2015/fig2b]", "batch=10"]
    plan = reproduce.plan_of([*settings, f"results={tmp_path}"])
    name, (first, *others) = next(iter(plan.batches().items()))
    made = tmp_path / "data" / f"{first.id}.json"
    made.parent.mkdir(parents=True)
    made.touch()
    failed = (f"batch {name}", "run gbw2015/x", "figure gbw2015/fig2b")
    work = progress.Work(1, failures={name: [] for name in failed})
    assert reproduce.failed_runs(plan, work) == ["gbw2015/x", *(one.id for one in others)]


def test_where_all_runs_failed_nothing_is_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    settings = ["emulate=True", "scale=smoke", "figures=[gbw2015/fig2b]"]
    calls = []

    def fail(arguments: list[str], work: progress.Work) -> int:
        calls.append(arguments)
        work.failures |= {f"run {run}": [] for run in reproduce.plan_of(settings).all_runs()}
        return 1

    assert reproduce.main(["local", "--cores", "1", "--config", *settings], fail) == 1
    assert len(calls) == 1
    assert "drawing without" not in capsys.readouterr().out


def test_steps_take_no_more_memory_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 4 GiB with 3.3 GiB left: three figures at once, or seven guests."""
    real = Path.read_text

    def small(path: Path, *arguments: Any, **options: Any) -> str:
        if str(path) == "/proc/meminfo":
            return "MemTotal:  4194304 kB\nMemAvailable:  3460300 kB\n"
        if str(path) == "/sys/fs/cgroup/memory.max":
            return "max\n"
        return real(path, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", small)
    assert reproduce.memory_mb() == 3189
    asked = {
        int(found)
        for path in (ROOT / "workflow/rules").glob("*.smk")
        for found in re.findall(r"mem_mb=(\d+)", real(path))
    }
    assert max(asked) == reproduce.LARGEST_STEP_MB <= 3189
