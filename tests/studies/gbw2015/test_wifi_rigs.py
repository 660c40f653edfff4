"""What the counters of a WiFi link say, and how rigs are laid out."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.metrics import GOODPUT, INDUCED
from qdisclab.analysis.plots import rows
from qdisclab.analysis.plots.style import styled
from qdisclab.analysis.runs.dataset import RunFile
from studies.gbw2015.measures import wifi_rigs
from tests.data import provenances


def counters(direction: str, **changes: int) -> dict[str, int]:
    told = {
        "packets": 100, "ppdus": 100, "subframes": 100, "airtime_ns": 30_000_000,
        "ring_ns": 200_000_000, "aggregation_ns": 0, "air_ns": 50_000_000, "reorder_ns": 0,
    } | changes  # fmt: skip
    return {f"{direction}_{name}": value for name, value in told.items()}


def run_file(folder: Path, qdiscs: dict[str, Any]) -> RunFile:
    return provenances.made_up(folder, "gbw2015", "wifi_rrul", "2014", "100/100", qdiscs=qdiscs)


def test_what_the_counters_say(tmp_path: Path) -> None:
    here = counters("down", packets=900, ppdus=50, subframes=1000, airtime_ns=90_000_000,
                    aggregation_ns=110_000_000, reorder_ns=90_000_000)  # fmt: skip
    run = run_file(
        tmp_path,
        {
            "ap1 ap1-client": {"wifi": {"counters": here | {"queue_stops": 7}}},
            "client client-ap1": {"wifi": {"counters": counters("up") | counters("down")}},
        },
    )
    assert wifi_rigs.read_below(run) == pytest.approx(
        {
            "access_point_frames": 20,
            "station_frames": 1,
            "access_point_below_ms": 0.5,  # (200 + 110 + 50 + 90) ms of 900 packets
            "station_below_ms": 2.5,
            "station_sent_percent": 100 * 100 / 150,
            "station_air_percent": 25,
        }
    )


def test_a_run_over_a_wire_has_no_such_counters(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no counters of a WiFi link"):
        wifi_rigs.read_below(run_file(tmp_path, {"router_up r1-delay": {"qdiscs": []}}))


def runs() -> pd.DataFrame:
    """Two rigs, two qdiscs, two seeds; latency 10 to 80 ms."""
    rows = [
        {
            "rig": rig,
            "qdisc": qdisc,
            "seed": seed,
            **dict.fromkeys(wifi_rigs.QUANTITIES, 10.0 * (1 + place)),
        }
        for place, (rig, qdisc, seed) in enumerate(
            (rig, qdisc, seed) for rig in ("as before", "bounded") for qdisc in ("codel", "sfq")
            for seed in (1, 2)
        )
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_means_and_intervals_of_each_rig_and_qdisc() -> None:
    table = wifi_rigs.cells(runs(), [INDUCED])
    one = table[(table["rig"] == "bounded") & (table["qdisc"] == "codel")].iloc[0]
    assert (one["n_seeds"], one["mean"]) == (2, 55)  # 50 and 60
    assert one["ci_high"] - one["mean"] == pytest.approx(12.706 * 5, rel=1e-3)  # t of 1 degree
    shown = wifi_rigs.overview(table, ["bounded", "as before"], [INDUCED])
    assert list(shown["rig"]) == ["bounded", "bounded", "as before", "as before"]
    assert shown["Mean induced latency (ms)"].iloc[0] == 55
    assert shown["Mean induced latency (ms), 95 %"].iloc[0] == "-8.531 to 118.5"


def test_the_figure_has_a_panel_a_quantity_and_a_row_a_rig() -> None:
    table = wifi_rigs.cells(runs(), list(wifi_rigs.QUANTITIES))
    names = ["as before", "bounded"]
    with styled() as palette:
        figure = rows.dots(
            table.rename(columns={"rig": "row"}), names, [INDUCED, GOODPUT["upload"]], palette,
            wifi_rigs.QUANTITIES,
        )  # fmt: skip
    assert isinstance(figure, Figure)
    first, second = figure.axes
    assert [label.get_text() for label in first.get_yticklabels()] == names
    assert second.get_xlabel().strip() == "Upload (Mbit/s)"
    assert first.get_xlim()[0] == 0


def test_printed_values_and_ours_beside_them() -> None:
    printed = pd.DataFrame(
        {
            "figure": "9",
            "link": "100/100",
            "qdisc": ["codel", "codel", "sfq"],
            "metric": ["induced_latency", "goodput", "goodput"],
            "direction": ["round_trip", "download", "upload"],
            "value": [20.0, 10.0, 1.0],
            "unit": ["ms", "Mbit/s", "Mbit/s"],
            "reading_error": [5.0, 0.5, 1.0],
        }
    )
    cells = wifi_rigs.cells(runs(), [INDUCED, *GOODPUT.values()])
    compared = wifi_rigs.beside(cells, printed, ["as before", "bounded"])
    assert list(compared["half"]) == ["fitted", "held out", "fitted"]
    assert list(compared["as before"]) == [15, 15, 35]
    assert list(compared["bounded, ratio"]) == [2.75, 5.5, 75]
    distance = [math.log(25 / 20), math.log(15.5 / 10.5), math.log(36 / 2)]
    assert list(compared["as before, distance"]) == pytest.approx(distance)
    of = wifi_rigs.distances(compared, ["as before"]).iloc[0]
    assert of["fitted"] == pytest.approx((distance[0] + distance[2]) / 2)
    assert of["held out"] == pytest.approx(distance[1])
    assert of["within 15 %"] == "0 of 3"
    rows = wifi_rigs.printed_cells(printed)
    assert list(rows["quantity"]) == [INDUCED, GOODPUT["download"], GOODPUT["upload"]]
    assert set(rows["rig"]) == {wifi_rigs.PRINTED}
