"""Runs of saturated cells: their cases, their rows, compared with theory and drawn."""

import gzip
import json
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.plots.style import styled
from qdisclab.analysis.runs.dataset import RunFile, find_runs
from qdisclab.emulation import datafile
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.job import job_of, modules_of
from qdisclab.emulation.errors import ConfigError, EmulationError
from studies.testbed.kinds import saturation
from studies.testbed.kinds.saturation import Case, cases, counted, quantities, waits
from studies.testbed.measures import validation as wifi_validation, wifi
from studies.testbed.measures.wifi import Phy
from studies.testbed.plots import validation as wifi_figures
from tests import ROOT
from tests.data import provenances

G = Phy(rate_mbit_s=54)


def rows(case: Case, *found: tuple[int, str, float]) -> list[dict[str, object]]:
    names = ("sender", "quantity", "value")
    return [{**asdict(case), **dict(zip(names, one, strict=True))} for one in found]


def run_of(folder: Path, told: list[dict[str, object]], seed: int) -> RunFile:
    """A run that has left these rows."""
    run = provenances.made_up(folder, "testbed", "wifi_any", "modern", "-", "-", "-", seed)
    datafile.write_rows(told, run.provenance.with_suffix(datafile.ROWS))
    return find_runs(folder, "testbed", "wifi_any")[-1]


@pytest.fixture
def runs(tmp_path: Path) -> list[RunFile]:
    """What a link that does exactly what Bianchi, the standard and Heusse say would leave."""
    random: list[dict[str, object]] = []
    for stations in (1, 5, 10):
        case = Case("saturation", "udp up", stations, cw_min=31)
        found = wifi.bianchi(G, 1472, stations, 31)
        random += rows(case, (-1, "goodput_mbit_s", found.goodput_mbit_s),
                       (-1, "collision_probability", found.collision_probability))  # fmt: skip
    told: list[dict[str, object]] = []
    single = Case("single", "udp up")
    told += rows(single, (-1, "goodput_mbit_s", 8 * 1472 / 393.5), (1, "frames_a_ppdu", 1.0))
    pair = Case("anomaly", "udp up", 2, other_mbit_s=6)
    each = wifi.anomaly_mbit_s([G, Phy(rate_mbit_s=6)], 1472)[0]
    told += rows(pair, *((one, "goodput_mbit_s", each) for one in (1, 2)),
                 (-1, "goodput_mbit_s", 2 * each))  # fmt: skip
    for below in ("2014", "airtime"):
        queue = Case("waiting", "tcp down", rate_mbit_s=0, mcs=15, qdisc="codel", below=below)
        told += rows(queue, *((0, place, 1.0) for place in wifi_validation.PLACES),
                     (-1, "goodput_mbit_s", 90.0))  # fmt: skip
    return [run_of(tmp_path, random + told, 1), run_of(tmp_path, random, 2)]


def test_a_link_that_does_what_theory_says_holds(runs: list[RunFile]) -> None:
    compared = wifi_validation.compare(wifi_validation.read_cells(runs))
    errors = compared["error"].dropna()
    assert len(errors) == 3 * 2 - 1 + 2 + 2  # no relative error of a probability of 0
    assert errors.abs().max() < 1e-6
    assert set(compared.loc[compared["set"] == "saturation", "seeds"]) == {2}
    verdicts = wifi_validation.verdicts(compared).set_index("compared")
    assert verdicts["holds"].all()


def test_what_is_off_is_named(runs: list[RunFile]) -> None:
    measured = wifi_validation.read_cells(runs)
    single = measured["set"] == "single"
    measured.loc[single & (measured["quantity"] == "goodput_mbit_s"), "value"] *= 1.02
    verdicts = wifi_validation.verdicts(wifi_validation.compare(measured))
    failed = verdicts.loc[~verdicts["holds"]]
    assert list(failed["compared"]) == ["air time: goodput of a single sender"]
    assert failed["largest_error"].iloc[0] == pytest.approx(0.02, rel=1e-3)


def test_rows_of_something_else_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no saturated cells"):
        wifi_validation.read_cells([run_of(tmp_path, [{"program": "ping", "rtt_ms": 1}], 1)])
    run = run_of(tmp_path, [], 2)
    run.data.write_bytes(gzip.compress(b"no JSON"))
    with pytest.raises(EmulationError, match="not JSON"):
        wifi_validation.read_cells([run])


def test_the_figures_have_all_their_parts(runs: list[RunFile]) -> None:
    compared = wifi_validation.compare(wifi_validation.read_cells(runs))
    waiting = wifi_validation.waits(compared)
    assert list(waiting["goodput_mbit_s"]) == [90.0, 90.0]
    with styled() as palette:
        four = wifi_figures.validation(compared, palette)
        four.draw_without_rendering()
        bars = wifi_figures.waiting(waiting, palette)
        bars.draw_without_rendering()
    assert len(four.axes) == 4
    labels = [text.get_text() for text in bars.axes[0].get_yticklabels()]
    assert labels == ["codel, as in 2014", "codel, 5 ms of airtime"]
    low, high = sorted(bars.axes[0].get_ylim())
    assert all(low < bar.get_y() < bar.get_y() + bar.get_height() < high
               for bar in bars.axes[0].patches)  # fmt: skip


def test_quantities_come_from_the_counters() -> None:
    device = {"up_packets": 1000, "up_ppdus": 500, "up_subframes": 1500, "up_collisions": 100}
    case = Case("saturation", "udp up", 2)
    answer = {"seconds": 2.0, "devices": [{}, device, device], "received": [], "backlogs": None}
    found = {(sender, name): value for sender, name, value in quantities(case, answer)}
    assert found[-1, "collision_probability"] == 0.2
    assert found[1, "goodput_mbit_s"] == pytest.approx(1000 * 1472 * 8 / 2e6)
    assert found[-1, "goodput_mbit_s"] == pytest.approx(2 * found[1, "goodput_mbit_s"])


def test_the_wait_in_the_qdisc_is_its_backlog_by_its_rate() -> None:
    names = {f"down_{place}_ns": 500_000_000 for place in ("ring", "aggregation", "air", "reorder")}
    counts = counted({"down_packets": 100, **names}, "down")
    found = {name: value for _, name, value in waits(0, counts, backlog=20, seconds=2.0)}
    assert found == {"qdisc_ms": 400, "ring_ms": 5, "aggregation_ms": 5, "air_ms": 5,
                     "reorder_ms": 5}  # fmt: skip


def test_each_case_is_there_once_and_names_no_station_that_is_not() -> None:
    for which in get_args(saturation.Set):
        todo = cases(which, 5)
        assert len(set(todo)) == len(todo)
        for case in todo:
            job = case.job()
            ends = {end for flow in job["flows"] for end in flow[:2]}
            assert ends <= set(range(len(job["stations"]) + 2))
            assert {"band_ghz", "backoff"} <= set(job["access_point"])
            assert not {"band_ghz", "backoff"} & set(job["stations"][0])


def test_a_run_is_a_set_and_tells_the_guest_its_cases_and_nothing_else() -> None:
    runs = select(experiment("testbed/wifi"), seed=1)
    assert [run.point.label for run in runs] == [
        f"wifi_{which}"
        for which in ("single", "goodput", "saturation", "anomaly", "waiting", "three")
    ]
    for run in runs:
        which = run.point.label.removeprefix("wifi_")
        job = job_of(run)
        assert set(job) == {"work", "cases"}
        told = [case.job() for case in cases(which, run.length.seconds)]  # type: ignore[arg-type]
        assert job == {"work": "saturation", "cases": told}
        assert [source.name for source in modules_of(run)] == ["wifi"]
    assert [run.length.seconds for run in runs] == [5, 5, 20, 20, 20, 20]


@pytest.mark.parametrize("asked", [{"era": "2014"}, {"cc": "reno"}])
def test_without_a_host_there_is_no_era_and_no_congestion_control(asked: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="has no host"):
        select(experiment("testbed/wifi"), **asked)  # type: ignore[arg-type]


def test_rows_have_the_case_and_what_was_counted(tmp_path: Path) -> None:
    (run,) = select(experiment("testbed/wifi_anomaly"), seed=1)
    device = {"up_packets": 1000, "up_ppdus": 500, "up_subframes": 1500, "up_collisions": 100}
    answer = {"seconds": 20.0, "devices": [{}, device, device], "received": [], "backlogs": None}
    (tmp_path / "cases.json").write_text(json.dumps([answer] * 5))
    run.traffic.reduce(run, tmp_path)
    found = datafile.read_rows(tmp_path / f"data{datafile.ROWS}")
    assert len(found) == 5 * 3
    assert {**found[0]} == {
        **asdict(cases("anomaly", 20)[0]),
        "sender": 1, "quantity": "goodput_mbit_s", "value": 0.5888,
    }  # fmt: skip


def test_a_slow_station_beside_two_fast_ones() -> None:
    queues = cases("three", 20)
    rates = [[station["up"]["mcs"] for station in case.job()["stations"]] for case in queues]
    assert rates == [[15, 15, 0]] * 3
    assert [case.job()["access_point"].get("scheduler") for case in queues] == [
        None,
        "robin",
        "airtime",
    ]
    rows = [
        {
            **asdict(queues[1]),
            "sender": sender,
            "quantity": "goodput_mbit_s",
            "median": mbit_s,
            "low": mbit_s - 1,
            "high": mbit_s + 2,
        }
        for sender, mbit_s in ((1, 30.0), (2, 31.0), (3, 2.0), (-1, 63.0))
    ] + [
        {
            **asdict(queues[1]),
            "sender": sender,
            "quantity": "airtime_share",
            "median": share,
            "low": share - 0.01,
            "high": share + 0.02,
        }
        for sender, share in ((1, 0.3), (2, 0.31), (3, 0.39))
    ]
    (table,) = wifi_validation.three(pd.DataFrame(rows)).to_dict("records")
    assert (table["slow"], table["all"], table["fast_printed"]) == (2, 63, 19.17)
    assert table["all_printed"] == pytest.approx(41.58)
    assert (table["fast_airtime"], table["slow_airtime"]) == (0.3, 0.39)
    assert (table["fast_low"], table["slow_high"]) == (29, 4)
    assert table["slow_airtime_high"] == pytest.approx(0.41)


def test_the_share_of_air_time_counts_both_directions_of_each_station() -> None:
    case = cases("three", 20)[0]
    air = [{"down_airtime_ns": down, "up_airtime_ns": up} for down, up in ((1, 1), (2, 1), (14, 1))]
    answer = {
        "seconds": 20.0,
        "devices": [dict.fromkeys(("down_packets", "down_ppdus"), 1), *air],
        "received": [10**6] * 3,
        "backlogs": None,
    }
    shares = [
        (sender, value)
        for sender, name, value in quantities(case, answer)
        if name == "airtime_share"
    ]
    assert shares == [(1, 0.1), (2, 0.15), (3, 0.75)]


def test_the_shipped_runs_are_as_near_to_theory_as_the_page_says() -> None:
    """docs/wifi.md: goodput of one sender, of saturated stations, and how often they collide."""
    names = [f"wifi_{name}" for name in ("single", "saturation", "anomaly", "goodput")]
    shipped = find_runs(ROOT / "data", "testbed", names, eras=["modern"])
    table = wifi_validation.compare(wifi_validation.read_cells(shipped))
    table = table.loc[table["sender"] == saturation.ALL_SENDERS]
    goodput = table[(table["quantity"] == "goodput_mbit_s") & table["theory"].notna()]
    alone, saturated = goodput["set"].isin(["single", "goodput"]), goodput["set"] == "saturation"
    assert (alone.sum(), saturated.sum()) == (74, 60)
    assert goodput[alone]["error"].abs().max() < 0.0016
    assert goodput[saturated]["error"].abs().max() < 0.0075
    collided = table[(table["quantity"] == "collision_probability") & (table["stations"] > 1)]
    assert wifi_validation.countdown_error(collided).abs().max() < 0.0185
