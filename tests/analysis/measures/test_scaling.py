"""Scaling: what is left to measure, the fitted cost, and the figure."""

from pathlib import Path

import pytest

from analysis.errors import DataError
from analysis.measures.scaling import fit_cost, provenance, read_scaling, where_it_ends
from analysis.plots.scaling import scaling
from analysis.plots.style import styled
from analysis.site.outputs import Source
from emulation.config.job import job_of
from workflow.scaling import Point, Row, append, busy_s, missing, points, read


def row(point: Point, **taken: float | str) -> Row:
    return Row("cpu", 2, "k", **point.key, length_s=10.0, **taken)


def with_key(**wanted: int | str) -> Point:
    """The point of a machine with two processors whose columns are so."""
    (found,) = [point for point in points(2) if wanted.items() <= point.key.items()]
    return found


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "rig" / "scaling.csv"
    for place, point in enumerate(points(2)):
        key = point.key
        packets = 1000.0 * key["rate_mbit_s"] * key["guests"]
        cpu_s = key["guests"] * (2 + 0.05 * key["flows"]) + 5e-6 * packets
        taken = {"virtual_s": 30.0 * key["guests"], "wall_s": cpu_s, "cpu_s": cpu_s,
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


def test_its_cells_are_as_pages_read_them(table: Path) -> None:
    cells = Source("testbed", **provenance(read_scaling(table))).cells
    assert cells
    for cell in cells:
        assert {"experiment", "era", "link", "qdisc", "cc", "seeds"} <= cell.keys()


def test_nothing_is_measured_twice(table: Path) -> None:
    rows = read(table)
    assert list(missing(rows, "cpu", "k", 2)) == []
    assert len(list(missing(rows, "another", "k", 2))) == len(points(2))
    assert next(missing(rows[1:], "cpu", "k", 2)) == points(2)[0]


def test_many_flows_have_more_memory_and_a_problem_is_not_met_again(tmp_path: Path) -> None:
    path = tmp_path / "scaling.csv"
    append(path, row(with_key(sweep="flows", flows=128), problem="hung"))
    left = {point.key["flows"]: point.key["guest_memory_mib"]
            for point in missing(read(path), "cpu", "k", 2) if point.sweep == "flows"}  # fmt: skip
    assert left == {1: 384, 2: 384, 4: 384, 8: 384, 16: 384, 32: 384, 64: 640, 256: 2048}


def test_guests_have_what_the_columns_say(tmp_path: Path) -> None:
    (run,) = with_key(sweep="flows", flows=16).runs
    traffic = job_of(run)["traffic"]
    assert (traffic["test"], traffic["options"]) == (
        "tcp_nup", {"test-parameter": "upload_streams=16"},
    )  # fmt: skip
    (run,) = with_key(sweep="rate", rate_mbit_s=4).runs
    assert job_of(run)["traffic"]["test"] == "rrul_be"
    shapers = [
        qdisc["expect"]["rate_bit_s"]
        for port in (port for wire in job_of(run)["wires"] for port in wire)
        for qdisc in port["qdiscs"]
        if qdisc["kind"] == "tbf"
    ]
    assert sorted(set(shapers)) == [4_000_000, 10_000_000_000]
    side_by_side = with_key(sweep="guests", rate_mbit_s=100, guests=2).runs
    assert len({run.random for run in side_by_side}) == 2


def test_hosts_share_the_flows_and_no_packet_is_captured() -> None:
    (run,) = with_key(sweep="hosts", hosts=16).runs
    job = job_of(run)
    hosts = [one["name"] for one in job["nodes"] if one["name"].startswith(("sender", "receiver"))]
    assert len(hosts) == 16
    assert (len(job["traffic"]["pairs"]), job["traffic"]["flows"]) == (8, 32)
    assert job["traffic"]["captures"] == []
    assert run.traffic.leaves == {}


def test_processors_are_busy_but_for_idle_ones_and_those_that_wait(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 0 100 500 100 0 0 0 0 0\n")
    assert busy_s(stat) == pytest.approx(2)


def test_no_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.csv: no such file"):
        read_scaling(tmp_path / "none.csv")
