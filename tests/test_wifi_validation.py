"""The table of the WiFi link: read, compared with theory, drawn."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest

from analysis import wifi, wifi_figures, wifi_validation
from analysis.errors import DataError
from analysis.style import styled
from analysis.wifi import Phy
from workflow.wifi import COLUMNS, Case, Counted, Row, cases, quantities, waits

G = Phy(rate_mbit_s=54)


def rows(case: Case, *found: tuple[int, str, float], seed: int = 1) -> list[dict[str, object]]:
    return [{**asdict(case), **asdict(Row("k", "m", seed, *one))} for one in found]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """What a link that does exactly what Bianchi, the standard and Heusse say would leave."""
    told: list[dict[str, object]] = []
    for stations in (1, 5, 10):
        case = Case("saturation", "udp up", stations, cw_min=31)
        found = wifi.bianchi(G, 1472, stations, 31)
        for seed in (1, 2):
            told += rows(case, (-1, "goodput_mbit_s", found.goodput_mbit_s),
                         (-1, "collision_probability", found.collision_probability),
                         seed=seed)  # fmt: skip
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
    path = tmp_path / "wifi.csv"
    pd.DataFrame(told)[COLUMNS].to_csv(path, index=False)
    return path


def test_a_link_that_does_what_theory_says_holds(table: Path) -> None:
    compared = wifi_validation.compare(wifi_validation.read_wifi(table))
    errors = compared["error"].dropna()
    assert len(errors) == 3 * 2 - 1 + 2 + 2  # no relative error of a probability of 0
    assert errors.abs().max() < 1e-6
    assert set(compared.loc[compared["set"] == "saturation", "seeds"]) == {2}
    verdicts = wifi_validation.verdicts(compared).set_index("compared")
    assert verdicts["holds"].all()


def test_what_is_off_is_named(table: Path) -> None:
    measured = wifi_validation.read_wifi(table)
    single = measured["set"] == "single"
    measured.loc[single & (measured["quantity"] == "goodput_mbit_s"), "value"] *= 1.02
    verdicts = wifi_validation.verdicts(wifi_validation.compare(measured))
    failed = verdicts.loc[~verdicts["holds"]]
    assert list(failed["compared"]) == ["air time: goodput of a single sender"]
    assert failed["largest_error"].iloc[0] == pytest.approx(0.02, rel=1e-3)


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wifi.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"workflow\.wifi"):
        wifi_validation.read_wifi(path)


def test_the_figures_have_all_their_parts(table: Path) -> None:
    compared = wifi_validation.compare(wifi_validation.read_wifi(table))
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
    counted = Counted({"down_packets": 100, **names}, "down")
    found = {name: value for _, name, value in waits(0, counted, backlog=20, seconds=2.0)}
    assert found == {"qdisc_ms": 400, "ring_ms": 5, "aggregation_ms": 5, "air_ms": 5,
                     "reorder_ms": 5}  # fmt: skip


def test_each_case_is_there_once_and_names_no_station_that_is_not() -> None:
    for which in ("saturation", "single", "goodput", "anomaly", "waiting"):
        todo = cases(which)
        assert len(set(todo)) == len(todo)
        for case in todo:
            job = case.job()
            ends = {end for flow in job["flows"] for end in flow[:2]}
            assert ends <= set(range(len(job["stations"]) + 2))
            assert {"band_ghz", "backoff"} <= set(job["access_point"])
            assert not {"band_ghz", "backoff"} & set(job["stations"][0])
