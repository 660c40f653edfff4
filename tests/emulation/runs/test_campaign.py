"""emulation.runs.campaign: several runs, of which some fail."""

import sys
from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulate import cli
from qdisclab.emulation import kernel
from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.errors import EmulationError, GuestFailure, Interrupted
from qdisclab.emulation.machine import rootfs, vm
from qdisclab.emulation.model.run import Experiment, Run
from qdisclab.emulation.runs import campaign
from qdisclab.emulation.runs.run import Result

NOTHING: Any = None  # in place of a kernel and a root file system, which nobody uses


@pytest.fixture
def runs(rrul: Experiment) -> tuple[Run, ...]:
    return select(rrul, link="10/10", qdisc="codel", cc="cubic", seed=[1, 2, 3])


@pytest.fixture(autouse=True)
def second_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is executed; the run with seed 2 fails."""

    def execute(run: Run, *_: Any, **__: Any) -> Result:
        if run.seed == 2:
            raise GuestFailure("a flow starved", run.id)
        ending = vm.Ending([{"virtual_s": 60.0}], 5.0, 5.0)
        provenance = tmp_path / f"{run.seed}.json"
        provenance.write_text("{}")
        return Result(provenance.with_suffix(".flent.gz"), provenance, ending)

    monkeypatch.setattr(campaign, "execute", execute)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_fails_ends_the_others_or_not(
    runs: tuple[Run, ...], jobs: int, tmp_path: Path
) -> None:
    with pytest.raises(GuestFailure, match="a flow starved"):
        campaign.do(runs, NOTHING, NOTHING, tmp_path, jobs=jobs)
    failed: list[tuple[int, str]] = []

    def tell(run: Run, error: EmulationError) -> None:
        failed.append((run.seed, error.what))

    results = campaign.do(runs, NOTHING, NOTHING, tmp_path, jobs=jobs, on_failure=tell)
    assert [result.data.name for result in results] == ["1.flent.gz", "3.flent.gz"]
    assert failed == [(2, "a flow starved")]


def test_a_line_says_how_far_runs_are_and_is_gone_before_a_word_of_them(
    runs: tuple[Run, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made: Any = vars(campaign)["execute"]

    def execute(run: Run, *others: Any, **options: Any) -> Result:
        others[3]({"step": "load", "virtual_s": 0.5 * run.length.seconds})
        result: Result = made(run, *others, **options)
        return result

    monkeypatch.setattr(campaign, "execute", execute)
    monkeypatch.setenv("COLUMNS", "20")
    options: Any = {"on_failure": lambda run, error: print("failed", file=sys.stderr)}
    campaign.do(runs, NOTHING, NOTHING, tmp_path, bars=True, **options)
    shown = capsys.readouterr().err.split("\r")
    assert shown[1:4] == ["0 of 3 runs; gbw201\x1b[K", "\x1b[K", "1 of 3 runs; gbw201\x1b[K"]
    assert shown[4] == "\x1b[Kfailed\n"


def test_an_interruption_is_no_failure_of_a_run(
    runs: tuple[Run, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def execute(*_: Any, **__: Any) -> Result:
        raise Interrupted("stopped")

    monkeypatch.setattr(campaign, "execute", execute)
    with pytest.raises(Interrupted):
        campaign.do(runs, NOTHING, NOTHING, tmp_path, on_failure=lambda run, error: None)


def test_the_command_keeps_going_and_says_what_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernel, "named", lambda name, **_: NOTHING)
    monkeypatch.setattr(rootfs, "build", lambda: NOTHING)
    words = ["run", "gbw2015/rrul", "--link", "10/10", "--qdisc", "codel", "--cc", "cubic"]
    words += ["--seed", "1", "--seed", "2", "--seed", "3", "--output", str(tmp_path)]
    assert cli.main(words) == GuestFailure.exit_status
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert cli.main([*words, "--keep-going"]) == GuestFailure.exit_status
    said = capsys.readouterr()
    assert [line.partition(":")[0][-3:] for line in said.out.splitlines()] == ["001", "003"]
    assert "a flow starved" in said.err and "1 of 3 runs failed" in said.err
