"""Scaling: the fitted cost, and the figure."""

from pathlib import Path

import pandas as pd
import pytest

from qdisclab.analysis.plots.style import styled
from qdisclab.analysis.site.outputs import Source
from qdisclab.emulation.errors import EmulationError
from studies.testbed.measures.scaling import fit_cost, provenance, read_scaling, where_it_ends
from studies.testbed.plots.scaling import scaling

#: Sweep -> rates, flows, hosts and guests of its measurements.
SWEEPS = {
    "rate": [(rate, 8, 2, 1) for rate in (1, 10, 100, 1000)],
    "flows": [(100, flows, 2, 1) for flows in (1, 16, 64)],
    "hosts": [(100, 32, hosts, 1) for hosts in (2, 32)],
    "guests": [(100, 8, 2, guests) for guests in (1, 2)],
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = []
    for sweep, points in SWEEPS.items():
        for rate, flows, hosts, guests in points:
            packets = 1000.0 * rate * guests
            cpu_s = guests * (2 + 0.05 * flows) + 5e-6 * packets
            rows.append(
                {"cpu_model": "cpu", "cpus": 2, "kernel": "k", "sweep": sweep,
                 "rate_mbit_s": rate, "flows": flows, "guests": guests, "hosts": hosts,
                 "guest_memory_mib": 384, "length_s": 10.0, "virtual_s": 30.0 * guests,
                 "wall_s": cpu_s, "cpu_s": cpu_s, "packets": packets, "carried_mbit": 1.0,
                 "memory_mib": 90.0, "others_cpus": 0.0, "problem": ""}
            )  # fmt: skip
    path = tmp_path / "scaling.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
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


def test_no_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EmulationError, match=r"none\.csv: no such file"):
        read_scaling(tmp_path / "none.csv")
