"""Scaling: what is left to measure, the fitted cost, and the figure."""

from dataclasses import asdict
from pathlib import Path

import pytest

from analysis.errors import DataError
from analysis.figures_scaling import scaling
from analysis.scaling import fit_cost, read_scaling, where_it_ends
from analysis.style import styled
from workflow.scaling import MORE_MIB, Point, Row, append, busy_s, missing, points, read


def row(point: Point, **taken: float | str) -> Row:
    return Row("cpu", 2, "k", **asdict(point), length_s=10.0, **taken)  # type: ignore[arg-type]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "rig" / "scaling.csv"
    for place, point in enumerate(points(2)):
        packets = 1000.0 * point.rate_mbit_s * point.guests
        cpu_s = point.guests * (2 + 0.05 * point.flows) + 5e-6 * packets
        taken = {"virtual_s": 30.0 * point.guests, "wall_s": cpu_s, "cpu_s": cpu_s,
                 "packets": packets, "carried_mbit": 1.0, "memory_mib": 90.0 + place,
                 "others_cpus": 0.0}  # fmt: skip
        append(path, row(point, **taken))
    return path


def test_the_cost_is_found_again(table: Path) -> None:
    measured = read_scaling(table)
    cost = fit_cost(measured)
    assert (cost.per_run_s, cost.per_flow_s) == pytest.approx((2, 0.05), rel=1e-3)
    assert cost.per_packet_s == pytest.approx(5e-6, rel=1e-3)
    assert cost.worst < 0.01
    assert "5.00 µs a packet" in str(cost)
    assert any("1000 Mbit/s" in sentence for sentence in where_it_ends(measured))
    with styled() as palette:
        figure = scaling(measured, cost, palette)
        figure.draw_without_rendering()
    assert len(figure.axes) == 6
    with pytest.raises(ValueError, match="three measurements"):
        fit_cost(measured[:2])


def test_nothing_is_measured_twice(table: Path) -> None:
    rows = read(table)
    assert list(missing(rows, "cpu", "k", 2)) == []
    assert len(list(missing(rows, "another", "k", 2))) == len(points(2))
    assert next(missing(rows[1:], "cpu", "k", 2)) == points(2)[0]


def test_a_guest_that_is_too_small_is_tried_larger_and_not_with_more_flows(tmp_path: Path) -> None:
    path = tmp_path / "scaling.csv"
    append(path, row(Point("flows", 100, 128, 1), problem="hung"))
    left = {one.flows: one.guest_memory_mib for one in missing(read(path), "cpu", "k", 2)
            if one.sweep == "flows" and one.flows >= 128}  # fmt: skip
    assert left == {128: MORE_MIB, 256: MORE_MIB}


def test_the_rig_has_the_rate_and_the_test(tmp_path: Path) -> None:
    job = Point("flows", 300, 16, 1).run(1).job()
    assert job["traffic"]["test"] == "/job/scale"
    assert "300000000" in str(job) or "300" in str(job["wires"])
    assert Point("rate", 4, 8, 1).run(1).job()["traffic"]["test"] == "rrul_be"
    job = Point("hosts", 100, 32, 1, hosts=16).run(1).job()
    hosts = [one["name"] for one in job["nodes"] if one["name"].startswith(("sender", "receiver"))]
    assert len(hosts) == 16
    assert (len(job["traffic"]["pairs"]), job["traffic"]["flows"]) == (8, 32)
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 0 100 500 100 0 0 0 0 0\n")
    assert busy_s(stat) == pytest.approx(2)


def test_no_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no table of measurements"):
        read_scaling(tmp_path / "none.csv")
