"""Tests of emulation.runs.speed: the fit, the memory of a machine, the counters, real campaigns."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from emulate.commands.list import wall_seconds
from emulation.config.catalogue import all_labels, experiments
from emulation.host import facts
from emulation.kinds.traffic.base import PER_MBIT
from emulation.model.run import Experiment, Point
from emulation.model.units import Duration
from emulation.runs import speed
from emulation.runs.speed import PRIOR, Measured, Model
from tests import ROOT

#: Share by which a prediction may be wrong.
CLOSE = 0.25


def times(factor: float) -> Model:
    values = (PRIOR.per_run, PRIOR.per_virtual_s, PRIOR.per_packet)
    return Model(*(factor * value for value in values))


def runs(truth: Model, kernel: str = "k", experiment: str = "e") -> list[Measured]:
    points = ((80.0, 150e3), (80.0, 15e3), (80.0, 1.5e6), (160.0, 3.4e6))
    return [Measured(kernel, experiment, v, truth.wall_s(v, p), p, p) for v, p in points]


def test_without_runs_it_is_the_prior() -> None:
    assert speed.model() == PRIOR


@pytest.mark.parametrize("factor", [0.2, 1.0, 5.0])
def test_the_fit_finds_the_machine(factor: float) -> None:
    truth = times(factor)
    found = speed.fit(runs(truth) * 10)
    for virtual_s, packets in ((160, 40e3), (160, 170e3), (160, 350e3), (80, 1.5e6)):
        expected = truth.wall_s(virtual_s, packets)
        assert found.wall_s(virtual_s, packets, "e") == pytest.approx(expected, rel=0.2)


def test_one_odd_run_makes_no_negative_cost() -> None:
    found = speed.fit(
        [Measured("k", "e", 100, 5, 1e6, 1e6), Measured("k", "e", 100, 100, 1, 1)] * 5
    )
    assert min(found.per_run, found.per_virtual_s, found.per_packet) >= 0


def test_the_latest_runs_count_the_most() -> None:
    found = speed.fit(runs(times(4)) * 10 + runs(times(1)) * 20)
    expected = PRIOR.wall_s(160, 350e3)
    assert found.wall_s(160, 350e3, "e") == pytest.approx(expected, rel=0.3)


def test_an_experiment_whose_tools_cost_more_has_a_factor() -> None:
    found = speed.fit([*runs(times(1), experiment="e"), *runs(times(1.5), experiment="web")] * 5)
    ratio = found.wall_s(160, 350e3, "web") / found.wall_s(160, 350e3, "e")
    assert ratio == pytest.approx(1.5, rel=0.05)
    assert found.wall_s(160, 350e3, "unknown") == found.wall_s(160, 350e3)


def test_the_memory_is_bounded_and_of_the_last_kernel() -> None:
    for number in range(2 * speed.REMEMBERED + 1):
        speed.remember(Measured("old", "e", 1, 1, number, 1))
    assert len(speed.memory()) == speed.REMEMBERED
    speed.remember(Measured("new", "e", 80, 4, 1000, 900))
    assert speed.memory() == [Measured("new", "e", 80, 4, 1000, 900)]
    assert len(speed._path().read_text().splitlines()) <= 2 * speed.REMEMBERED


def test_half_a_line_is_passed_over() -> None:
    speed.remember(Measured("k", "e", 80, 4, 1000, 900))
    with speed._path().open("a") as file:
        file.write('{"kernel": "k", "virt\n{"other": 1}\n')
    assert len(speed.memory()) == 1


def test_the_list_uses_what_was_measured(rrul: Experiment) -> None:
    before = wall_seconds(rrul, rrul.points)
    for run in runs(times(0.5)) * 10:
        speed.remember(run)
    assert wall_seconds(rrul, rrul.points) == pytest.approx(before / 2, rel=0.1)


def test_a_shorter_load_takes_less_time(rrul: Experiment) -> None:
    whole = wall_seconds(rrul, rrul.points)
    short = wall_seconds(rrul, rrul.points, Duration.parse("20 s"))
    assert PRIOR.per_run * len(rrul.points) < short < whole / 2


def test_packets_are_of_the_directions_that_tcp_is_sent_in() -> None:
    by_name = all_labels(experiments())
    link = next(cell.link for cell in by_name["gbw2015/rrul"].points if cell.link.name == "10/1")
    expected = {
        f"gbw2015/{name}": speed.expected_packets(by_name[f"gbw2015/{name}"].traffic, link, 100)
        for name in ("rrul", "voip_1up", "voip_rrul", "rtt_fairness", "web_small_idle")
    }
    up, down = 100 * PER_MBIT, 1000 * PER_MBIT
    assert list(expected.values()) == [up + down, up, up + down, up, 0]


# tests/data/speeds.csv: runs of 140 s (rtt_fairness: 600 s) by one machine, whose processor's
# seconds are those of a core that does nothing else.


@cache
def recorded() -> list[tuple[Experiment, Point, Measured]]:
    by_name = all_labels(experiments())
    found = []
    path = ROOT / "tests" / "data" / "speeds.csv"
    for row in csv.DictReader(path.read_text().splitlines()):
        experiment = by_name[f"gbw2015/{row['experiment']}"]
        (cell, *_) = [
            one
            for one in experiment.points
            if (one.link.name, one.qdisc) == (row["link"], row["qdisc"])
        ]
        length_s = experiment.traffic.length.seconds
        expected = speed.expected_packets(experiment.traffic, cell.link, length_s)
        spent = (float(row["virtual_s"]), float(row["cpu_s"]), float(row["packets"]), expected)
        found.append((experiment, cell, Measured("k", experiment.id, *spent)))
    return found


def predicted(model: Model) -> dict[str, float]:
    """Experiment, and `all` -> seconds predicted by seconds recorded."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for experiment, cell, measured in recorded():
        length_s = experiment.traffic.length.seconds
        for name in (experiment.id, "all"):
            sums[name][0] += model.predict(experiment, cell, length_s)
            sums[name][1] += measured.wall_s
    return {name: guess / truth for name, (guess, truth) in sums.items()}


def learned(measured: Iterable[Measured]) -> Model:
    return speed.fit(list(measured))


def test_a_campaign_is_predicted_by_a_machine_that_has_done_nothing() -> None:
    assert predicted(PRIOR)["all"] == pytest.approx(1, abs=CLOSE)


def test_a_campaign_is_predicted_after_the_smoke_runs() -> None:
    smoke = [one for _, cell, one in recorded() if one.experiment.endswith("/rrul")][:4]
    assert predicted(learned(smoke))["all"] == pytest.approx(1, abs=CLOSE)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_every_experiment_is_predicted_once_it_has_been_done(which: int) -> None:
    """With one run of each, of one link: also those of the other links."""
    link = ("10/10", "10/1", "100/100")[which]
    done: dict[str, Measured] = {}
    for experiment, cell, one in recorded():
        if cell.link.name == link:
            done.setdefault(experiment.id, one)
    assert len(done) == len({one.experiment for _, _, one in recorded()})
    ratios = predicted(learned(done.values()))
    assert {name: ratio for name, ratio in ratios.items() if abs(ratio - 1) > CLOSE} == {}


def test_counters_of_the_root_count() -> None:
    root = {"root": True, "bytes": 1_000_000, "packets": 700}
    qdiscs = {"r1 p": {"qdiscs": [{"parent": "1:1", "bytes": 5, "packets": 5}, root]}}
    assert speed.carried_mbit(qdiscs, ["r1 p"]) == 8
    assert speed.carried_packets(qdiscs, ["r1 p"]) == 700


def test_the_host_has_a_name(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor : 0\nmodel name\t: A CPU\n")
    assert facts.cpu_model(tmp_path / "cpuinfo") == "A CPU"
    assert facts.cpu_model(tmp_path / "none")
    assert set(facts.about()) == {"cpu_model", "cpus", "host_kernel", "container"}
