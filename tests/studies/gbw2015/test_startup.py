"""How the upload's queue starts: what is made of its steps."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qdisclab.analysis.plots import style
from qdisclab.analysis.runs import recorded
from qdisclab.analysis.runs.dataset import find_runs
from studies.gbw2015.measures import startup
from studies.gbw2015.plots import startup as figures_startup
from tests.data.synthetic_recorded import recorded_runs

ABOUT = {"experiment": "rrul", "era": "2014", "link": "10/1", "qdisc": "codel", "cc": "cubic"}


def run_of(
    dropped: Sequence[int],
    wait_ms: Sequence[float] | float = 100.0,
    shortest_ms: Sequence[float] | float = 50.0,
    packets: int = 80,
    **about: object,
) -> pd.DataFrame:
    """A run whose steady wait is 20 ms, and whose target is 5 ms."""
    count = len(dropped)
    table = pd.DataFrame(
        {
            **ABOUT,
            "seed": 1,
            "length_s": 60.0,
            "target_ms": 5.0,
            "from_s": [number / 10 for number in range(count)] + [30.0],
            "to_s": [(number + 1) / 10 for number in range(count)] + [60.0],
            "packets": packets,
            "dropped": [*dropped, 50],
            "wait_ms": [*np.broadcast_to(wait_ms, count), 20.0],
            "shortest_ms": [*np.broadcast_to(shortest_ms, count), 1.0],
        }
    )
    return table.assign(**about)


def test_time_from_the_first_drop_to_control() -> None:
    """The wait is 300 ms for 5 s and 20 ms then, and 1.5 times the steady 20 ms are control: nine
    steps of 20 ms and one of 300 have a mean of 48 ms, ten of 20 ms one of 20."""
    wait = [300.0] * 50 + [20.0] * 250
    found = startup.control(run_of([0] * 10 + [1] * 290, wait))
    assert found["uncontrolled_s"] == pytest.approx(6.0 - 1.0)
    assert found["late_drops_times"] == pytest.approx(1.0)


def test_more_drops_late_than_early() -> None:
    wait = [300.0] * 50 + [20.0] * 250
    dropped = [0] * 10 + [1] * 25 + [3] * 265
    assert startup.control(run_of(dropped, wait))["late_drops_times"] == pytest.approx(3.0)
    fewer = [0] * 10 + [3] * 25 + [1] * 265
    assert startup.control(run_of(fewer, wait))["late_drops_times"] == pytest.approx(1 / 3)


def test_a_wait_that_is_never_under_control_lasts_as_long_as_is_known() -> None:
    found = startup.control(run_of([1] * 300, 300.0))
    assert found["uncontrolled_s"] == 45.0  # the middle of the second half


def test_control_before_the_first_drop_takes_no_time() -> None:
    assert startup.control(run_of([0] * 100 + [1] * 200, 20.0)) == {"uncontrolled_s": 0.0}
    assert startup.control(run_of([0] * 300)) == {}


def by_law(seconds: float, interval_s: float = 0.1) -> list[int]:
    """Drops by steps of a dropping state that begins at 50 ms."""
    at, number, times = 0.05, 1, []
    while at < seconds:
        times.append(at)
        at += interval_s / number**0.5
        number += 1
    return list(np.bincount([int(10 * one) for one in times], minlength=round(10 * seconds)))


def test_the_control_law_makes_a_rate_that_is_linear() -> None:
    dropped = by_law(4.0)
    time_s, drops = startup.growth(startup.dropping_state(run_of(dropped)))
    assert time_s[0] == pytest.approx(0.15)  # 50 ms after the first drop, and an interval
    assert np.abs(startup.law(time_s) - drops).max() < 2
    assert 1.7 < startup.ramp(run_of(dropped))["drop_power"] < 2
    assert startup.ramp(run_of([5] * 40))["drop_power"] < 1.2
    # (t / interval)³ drops within t
    cubic = np.histogram(0.1 * np.arange(1, 8000) ** (1 / 3), np.linspace(0.05, 2.05, 21))[0]
    assert startup.ramp(run_of(list(cubic)))["drop_power"] == pytest.approx(3, abs=0.2)


def test_the_share_grows_ten_times_as_fast_where_a_tenth_of_the_packets_come() -> None:
    few, many = (startup.ramp(run_of(by_law(4.0), packets=n)) for n in (80, 800))
    assert few["drop_growth_percent_s"] == pytest.approx(10 * many["drop_growth_percent_s"])
    # 424 drops of 3200 packets in 4.05 s: twice the mean of 13.2 % is reached at the end
    total = sum(by_law(4.0))
    assert few["drop_growth_percent_s"] == pytest.approx(200 * total / 3200 / 4.05)


def test_a_dropping_state_ends_where_a_packet_waits_less_than_the_target() -> None:
    shortest = [50.0] * 300
    shortest[5] = 4.9  # of the first one, with four drops, which is too few
    shortest[60] = 4.9
    dropped = [1] * 4 + [0] * 36 + [1] * 260
    state = startup.dropping_state(run_of(dropped, shortest_ms=shortest))
    assert (state["from_s"].iloc[0], state["to_s"].iloc[-1]) == (4.0, 6.0)
    assert startup.dropping_state(run_of([1] * 9)).empty
    assert startup.ramp(run_of([1] * 9)) == {}


def test_claims_take_the_table(tmp_path: Path) -> None:
    codel = run_of([*by_law(4.0), *[0] * 260], [300.0] * 50 + [20.0] * 250)
    pie = codel.assign(qdisc="pie")
    runs = recorded_runs(tmp_path, startup.PROBE, pd.concat([codel, pie]))
    found = startup.measured(runs)
    both = {"uncontrolled_s", "late_drops_times"}
    assert set(found.loc[found["qdisc"] == "pie", "metric"]) == both
    assert set(found.loc[found["qdisc"] == "codel", "metric"]) == both | {
        "drop_power",
        "drop_growth_percent_s",
    }
    assert startup.measured([]).empty


def test_a_column_a_link() -> None:
    slow = run_of([*by_law(4.0), *[0] * 260], shortest_ms=[50.0] * 40 + [1.0] * 260)
    fast = run_of([*by_law(2.0), *[0] * 280], shortest_ms=[50.0] * 20 + [1.0] * 280)
    fast = fast.assign(link="10/10")
    table = pd.concat([fast, slow, fast.assign(qdisc="pie")])
    with style.styled() as palette:
        figure = figures_startup.start(table, palette)
    assert [axes.get_title("left") for axes in figure.axes[:2]] == [
        "10/1 Mbit/s, upload",
        "10/10 Mbit/s, upload",
    ]
    assert [len(axes.lines) for axes in figure.axes] == [1, 2, 1, 2, 2, 2]  # and CoDel's law below
    ends = [axes.lines[0].get_xdata()[-1] for axes in figure.axes[4:]]
    assert ends == pytest.approx([4.05, 2.05])


def test_the_axis_has_all_qdiscs() -> None:
    """PIE, which is drawn first, waits for less, and drops less."""
    codel = run_of([2] * 300, 300.0)
    table = pd.concat([codel, run_of([1] * 300, 20.0).assign(qdisc="pie")])
    with style.styled() as palette:
        waits, shares, _ = figures_startup.start(table, palette).axes
    assert waits.get_ylim()[1] > 300
    assert shares.get_ylim()[1] > 100 * 2 / 80


def test_a_flood_is_drawn_beside_the_law_only() -> None:
    idle = run_of([0] * 300)
    flood = run_of([*by_law(4.0), *[0] * 260], shortest_ms=[50.0] * 40 + [1.0] * 260)
    table = pd.concat([idle, flood.assign(experiment="flood_10_1")])
    with style.styled() as palette:
        waits, shares, beside = figures_startup.start(table, palette).axes
    assert [len(axes.lines) for axes in (waits, shares, beside)] == [1, 1, 2]
    assert beside.lines[0].get_xdata()[-1] == pytest.approx(4.05)
    (note,) = beside.texts
    assert note.get_text() == "no dropping state of\nRRUL's has 10 drops"
    box = note.get_window_extent()
    assert not any(box.count_contains(line.get_transform().transform(line.get_xydata()))
                   for line in beside.lines)  # fmt: skip


@pytest.mark.parametrize("length_s", [20.0, 600.0])
def test_of_runs_that_differ_in_length_the_longest_counts(tmp_path: Path, length_s: float) -> None:
    (own,) = recorded_runs(tmp_path, startup.PROBE, run_of([1] * 300))
    folder = own.provenance.parents[2]
    other = folder.with_name(f"{folder.name}@{length_s:g}s")
    shutil.copytree(folder, other)
    (path,) = other.rglob("*.json")
    run = str(path.relative_to(tmp_path).with_suffix(""))
    more = {"run": run, "length_s": length_s, "length": f"{length_s:g}s"}
    path.write_text(json.dumps(json.loads(path.read_text()) | more))
    (found,) = recorded.find(tmp_path, own.paper, startup.PROBE)
    assert found.provenance == (path if length_s > 60 else own.provenance)
    assert len(startup.read_steps([found])) == len(run_of([1] * 300))


def test_pies_law_in_steps_of_its_probability() -> None:
    """By hand: 20 ms more of delay add 1.25 x 0.02 = 2.5 points, an eighth of it below 1 %, a half
    below 10 %, and 2 points at most above."""
    assert startup.pie_law(np.array([0.0, 0.02])) == pytest.approx([0, 0.025 / 8])
    steady = startup.pie_law(np.array([0.0, 0.12, 0.12]))  # 100 ms above the target: 1.25 points
    assert steady == pytest.approx([0, 0.1625 / 8, 0.1625 / 8 + 0.0125 / 2])
    above = startup.pie_law(np.array([0.0, 0.3, 0.3, 0.3, 0.0, 0.0]))
    first = (0.28 / 8 + 0.375) / 8 + 0.02
    second = first + 0.035 / 2 + 0.02
    assert above[:4] == pytest.approx([0, first, second, second + 0.02 + 0.02])
    assert above[4] == 0  # an empty queue: 37.75 points less


def test_pies_state_is_read_where_packets_pass(root: Path) -> None:
    """Of the shipped run: under load the law is within the point that was expected before it; after
    it, which was not set apart then, it is not."""
    (run,) = find_runs(root / "data", "gbw2015", "flood_state_10_10")
    state = startup.pie_updates(run)
    load = state[state["time_s"] < 25]
    assert 600 < len(load) < 700
    assert state["delay_s"].max() == pytest.approx(0.103468)
    apart = abs(startup.pie_law(state["delay_s"].to_numpy()) - state["probability"])
    assert 0 < apart[load.index].max() < 0.01
    assert apart.max() > 0.05
