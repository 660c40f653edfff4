"""Tests of emulation.runs.speed: means over the runs that a machine remembers."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.host import facts
from emulation.model.run import Experiment
from emulation.model.units import Duration
from emulation.runs import speed
from emulation.runs.speed import AROUND_LOAD_S, PRIOR, Measured, wall_seconds

RRUL = "gbw2015/rrul"


def test_without_runs_it_is_the_speed_of_another_machine(rrul: Experiment) -> None:
    virtual_s = sum(point.traffic.length.seconds + AROUND_LOAD_S for point in rrul.points)
    assert wall_seconds(rrul, rrul.points) == pytest.approx(PRIOR * virtual_s)


def test_means_are_of_the_nearest_runs() -> None:
    found = speed.speeds(
        [
            Measured(RRUL, "10/1", 100, 1),
            Measured(RRUL, "10/1", 300, 5),
            Measured(RRUL, "100/100", 100, 24),
            Measured("gbw2015/web", "10/1", 500, 10),
        ]
    )
    assert found.wall_s(RRUL, "10/1", 200) == pytest.approx(3)  # 6 s for 400
    assert found.wall_s(RRUL, "10/10", 200) == pytest.approx(12)  # 30 s for 500
    assert found.wall_s("another", "10/1", 200) == pytest.approx(8)  # 40 s for 1000


def test_the_estimate_uses_what_was_measured(rrul: Experiment) -> None:
    before = wall_seconds(rrul, rrul.points)
    speed.remember(Measured("another", "10/10", 1000, 500 * PRIOR))
    assert wall_seconds(rrul, rrul.points) == pytest.approx(before / 2)


def test_a_shorter_load_takes_less_time(rrul: Experiment) -> None:
    short = wall_seconds(rrul, rrul.points, Duration.parse("20 s"))
    assert short == pytest.approx(PRIOR * (20 + AROUND_LOAD_S) * len(rrul.points))


def test_the_memory_is_bounded() -> None:
    for number in range(2 * speed.REMEMBERED + 1):
        speed.remember(Measured("e", "10/10", 1, number))
    runs = speed.memory()
    assert [runs[0].wall_s, runs[-1].wall_s] == [speed.REMEMBERED + 1, 2 * speed.REMEMBERED]
    assert len(speed._path().read_text().splitlines()) <= 2 * speed.REMEMBERED


def test_half_a_line_is_passed_over() -> None:
    speed.remember(Measured("e", "10/10", 80, 4))
    with speed._path().open("a") as file:
        file.write('{"experiment": "k", "virt\n{"other": 1}\n')
    assert speed.memory() == [Measured("e", "10/10", 80, 4)]


def test_the_host_has_a_name(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor : 0\nmodel name\t: A CPU\n")
    assert facts.cpu_model(tmp_path / "cpuinfo") == "A CPU"
    assert facts.cpu_model(tmp_path / "none")
    assert set(facts.about()) == {"cpu_model", "cpus", "host_kernel", "container"}
