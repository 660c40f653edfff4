"""Tests of emulation.runs.speed: means over the runs that a machine remembers."""

from pathlib import Path

import pytest

from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.host import facts
from qdisclab.emulation.model.run import Experiment, Run
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.runs import speed
from qdisclab.emulation.runs.speed import AROUND_LOAD_S, PRIOR, wall_seconds


def run(name: str, link: str) -> Run:
    (one,) = select(experiment(name), link=link, qdisc="codel", cc="cubic", seed=1)
    return one


def test_without_runs_it_is_the_speed_of_another_machine(rrul: Experiment) -> None:
    virtual_s = sum(point.traffic.length.seconds + AROUND_LOAD_S for point in rrul.points)
    assert wall_seconds(rrul, rrul.points) == pytest.approx(PRIOR * virtual_s)
    short = wall_seconds(rrul, rrul.points, Duration.parse("20 s"))
    assert short == pytest.approx(PRIOR * (20 + AROUND_LOAD_S) * len(rrul.points))


def test_means_are_of_the_nearest_runs(rrul: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "FADING", 1.0)
    slow, fast = run("gbw2015/rrul", "100/100"), run("gbw2015/rrul", "10/1")
    for measured, virtual_s, wall_s in (
        (fast, 100, 1),
        (fast, 300, 5),
        (slow, 100, 24),
        (run("gbw2015/web_small_rrul", "10/1"), 500, 10),
    ):
        speed.remember(measured, virtual_s, wall_s)
    length = Duration.parse("180 s")  # and 20 s around it
    assert wall_seconds(rrul, [fast.point], length) == pytest.approx(3)  # 6 s for 400
    other = run("gbw2015/rrul", "10/10").point
    assert wall_seconds(rrul, [other], length) == pytest.approx(12)  # 30 s for 500
    another = experiment("khademi2013/flows_4")
    assert wall_seconds(another, another.points[:1], length) == pytest.approx(8)  # 40 s for 1000


def test_old_runs_are_forgotten(rrul: Experiment) -> None:
    measured = run("gbw2015/rrul", "10/1")
    for wall_s in [100.0] * 10 + [1.0] * 1000:
        speed.remember(measured, 100, wall_s)
    estimate = wall_seconds(rrul, [measured.point], Duration.parse("80 s"))
    assert estimate == pytest.approx(1, rel=0.01)


def test_a_damaged_memory_is_no_memory(rrul: Experiment) -> None:
    before = wall_seconds(rrul, rrul.points)
    for text in ("{", "[1]", '{"": 3}'):
        speed._path().write_text(text)
        assert wall_seconds(rrul, rrul.points) == before


def test_the_host_has_a_name(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor : 0\nmodel name\t: A CPU\n")
    assert facts.cpu_model(tmp_path / "cpuinfo") == "A CPU"
    assert facts.cpu_model(tmp_path / "none")
    assert set(facts.about()) == {"cpu_model", "cpus", "host_kernel", "container"}
