"""A batch does what is not there, as it would be done today."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emulation.config.catalogue import select
from emulation.errors import ConfigError
from emulation.kinds.probes.probe import Probe
from emulation.machine import vm
from emulation.model.run import Experiment, Run
from emulation.runs.run import Result, paths
from workflow import batch

NOTHING: Any = None  # in place of a kernel and a root file system, which nobody uses
TODAY = {"modules": {"quickack": "1"}}


@pytest.fixture
def run(rrul: Experiment) -> Run:
    return select(rrul, link="10/10", qdisc="codel", cc="cubic", seed=1)[0]


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, tuple[Probe, ...]]]:
    """Whether a run was to be done again and with which probes, for each that was executed."""
    calls = []

    def execute(run: Run, *_: Any, again: bool, probes: tuple[Probe, ...], **__: Any) -> Result:
        calls.append((again, probes))
        ending = vm.Ending([{"virtual_s": 60.0}], 5.0, 5.0) if again else None
        return Result(Path("1.flent.gz"), Path("1.json"), ending)

    monkeypatch.setattr(batch, "execute", execute)
    monkeypatch.setattr(batch, "today", lambda *_: TODAY)
    return calls


@pytest.mark.parametrize(
    ("identity", "again", "said"),
    [(TODAY, False, "there already"), ({"modules": {}}, True, "60.0 s in 5.0 s"), (None, True, "")],
)
def test_a_run_of_today_is_not_done_again(
    identity: dict[str, Any] | None, again: bool, said: str, run: Run, tmp_path: Path,
    executed: list[tuple[bool, tuple[Probe, ...]]], capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    target, record = paths(run, tmp_path)
    target.parent.mkdir(parents=True)
    target.touch()
    if identity is not None:
        record.write_text(json.dumps({"identity": identity}))
    probes = (Probe.parse("sockets"),)
    assert batch.do((run,), NOTHING, NOTHING, tmp_path, tmp_path, probes) == []
    assert executed == [(again, probes)]
    assert said in capsys.readouterr().out


def test_a_module_that_cannot_be_built_fails_its_run_alone(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def today(*_: Any) -> dict[str, Any]:
        raise ConfigError("does not compile", "sch_mine.c")

    monkeypatch.setattr(batch, "today", today)
    target, record = paths(run, tmp_path)
    target.parent.mkdir(parents=True)
    for path in (target, record):
        path.write_text("{}")
    failures = batch.do((run,), NOTHING, NOTHING, tmp_path, tmp_path)
    assert len(failures) == 1
    assert "does not compile" in failures[0]


def test_the_probes_of_a_figure_reach_a_batch(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        batch.main(["--help"])
    assert "--probe" in capsys.readouterr().out
