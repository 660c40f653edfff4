"""Tests of emulation.speed: the fit, the memory of a machine, the counters."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation import host, speed
from emulation.commands.list import wall_seconds
from emulation.model import Experiment
from emulation.speed import PRIOR, Measured, Model


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def times(factor: float) -> Model:
    values = (PRIOR.per_run, PRIOR.per_virtual_s, PRIOR.per_mbit)
    return Model(*(factor * value for value in values))


def runs(truth: Model, kernel: str = "k") -> list[Measured]:
    points = ((80.0, 1200.0), (80.0, 120.0), (80.0, 12_000.0), (160.0, 28_000.0))
    return [Measured(kernel, v, truth.wall_s(v, m), m) for v, m in points]


def test_without_runs_it_is_the_prior() -> None:
    assert speed.model() == PRIOR


@pytest.mark.parametrize("factor", [0.2, 1.0, 5.0])
def test_the_fit_finds_the_machine(factor: float) -> None:
    truth = times(factor)
    found = speed.fit(runs(truth) * 10)
    for length, rate in ((140, 2), (140, 11), (140, 20), (60, 200)):
        assert found.predict(length, rate) == pytest.approx(truth.predict(length, rate), rel=0.2)


def test_one_odd_run_makes_no_negative_cost() -> None:
    found = speed.fit([Measured("k", 100, 5, 100_000), Measured("k", 100, 100, 1)] * 5)
    assert min(found.per_run, found.per_virtual_s, found.per_mbit) >= 0


def test_the_latest_runs_count_the_most() -> None:
    found = speed.fit(runs(times(4)) * 10 + runs(times(1)) * 20)
    assert found.predict(140, 20) == pytest.approx(PRIOR.predict(140, 20), rel=0.3)


def test_the_memory_is_bounded_and_of_the_last_kernel() -> None:
    for number in range(2 * speed.KEPT + 1):
        speed.remember(Measured("old", 1, 1, number))
    assert len(speed.memory()) == speed.KEPT
    speed.remember(Measured("new", 80, 4, 1000))
    assert speed.memory() == [Measured("new", 80, 4, 1000)]
    assert len(speed._path().read_text().splitlines()) <= 2 * speed.KEPT


def test_half_a_line_is_passed_over() -> None:
    speed.remember(Measured("k", 80, 4, 1000))
    with speed._path().open("a") as file:
        file.write('{"kernel": "k", "virt\n{"other": 1}\n')
    assert len(speed.memory()) == 1


def test_the_list_uses_what_was_measured(rrul: Experiment) -> None:
    before = wall_seconds(rrul, rrul.cells)
    for run in runs(times(0.5)) * 10:
        speed.remember(run)
    assert wall_seconds(rrul, rrul.cells) == pytest.approx(before / 2, rel=0.1)


def test_counters_of_the_root_count() -> None:
    root = {"root": True, "bytes": 1_000_000, "packets": 700}
    qdiscs = {"r1 p": {"qdiscs": [{"parent": "1:1", "bytes": 5, "packets": 5}, root]}}
    assert speed.carried_mbit(qdiscs, ["r1 p"]) == 8
    assert speed.carried_packets(qdiscs, ["r1 p"]) == 700


def test_the_host_has_a_name(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor : 0\nmodel name\t: A CPU\n")
    assert host.cpu_model(tmp_path / "cpuinfo") == "A CPU"
    assert host.cpu_model(tmp_path / "none")
    assert set(host.about()) == {"cpu_model", "cpus", "host_kernel", "container"}
