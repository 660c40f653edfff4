"""Scaling: the fitted cost, and the figure."""

import json
from pathlib import Path

import pytest

from qdisclab.analysis.plots.style import styled
from qdisclab.analysis.site.outputs import Source
from qdisclab.emulate import cli
from qdisclab.emulation.checks import bench
from qdisclab.emulation.errors import EmulationError
from studies.testbed.measures.scaling import fit_cost, provenance, read_report, where_it_ends
from studies.testbed.plots.scaling import scaling

#: Experiment -> axes of its cells, and packet-hops.
CELLS = {
    "scaling_rate": [({"link": f"{rate}/{rate}"}, 5e3 * rate) for rate in (1, 10, 100, 1000)],
    "scaling_flows": [({"link": "100/100", "flows": f"{flows}"}, 5e5) for flows in (1, 16, 64)],
    "scaling_hosts": [({"link": "100/100", "hosts": hosts}, 5e5) for hosts in ("2", "256")],
    "scaling_packets": [
        ({"link": "10000/10000", "packets": "joined"}, 1e6),
        ({"link": "10000/10000", "packets": "single"}, 4e6),
    ],
}


@pytest.fixture
def report(tmp_path: Path) -> Path:
    entries = []
    for experiment, cells in CELLS.items():
        for axes, hops in cells:
            cpu_s = 2 + 0.05 * int(axes.get("flows", 8)) + 1e-6 * hops
            values = {
                "virtual_s": 30.0,
                "wall_s": 40.0,
                "cpu_s": cpu_s,
                "packets": hops / 5,
                "hops": hops,
            }
            entries.append(
                {"experiment": f"testbed/{experiment}", "axes": axes, "length_s": 10}
                | {name: {"median": value} for name, value in values.items()}
                | {"memory_mib": {"median": 90.0}}
            )
    path = tmp_path / "scaling.json"
    machine = {"cpu_model": "cpu", "cpus": 2}
    about = {"machine": machine, "kernels": [{"release": "7.2"}], "scenarios": entries}
    path.write_text(json.dumps(about))
    return path


def test_the_cost_is_found_again(report: Path) -> None:
    measured, machine = read_report(report)
    assert machine == {"CPU": "cpu", "CPUs": 2, "Kernel": "7.2"}
    cost = fit_cost(measured)
    assert (cost.per_run_s, cost.per_flow_s) == pytest.approx((2, 0.05), rel=1e-3)
    assert cost.per_packet_s == pytest.approx(1e-6, rel=1e-3)
    assert cost.worst < 0.01
    assert "1.00 µs a packet-hop" in str(cost)
    sentences = where_it_ends(measured)
    assert any("1000 Mbit/s" in sentence for sentence in sentences)
    assert "superpackets make 1.9 times as many virtual seconds" in sentences[-1]
    with styled() as palette:
        figure = scaling(measured, cost, palette)
        figure.draw_without_rendering()
    assert len(figure.axes) == 6
    for axes in figure.axes:  # marks at the ends of an axis are whole
        assert axes.get_ylim()[1] > 1.04 * max(max(line.get_ydata()) for line in axes.lines)
    with pytest.raises(ValueError, match="three measurements"):
        fit_cost(measured[:2])


def test_its_cells_are_as_pages_read_them(report: Path) -> None:
    about = provenance(read_report(report)[0])
    assert (about["lengths_s"], about["wall_s"]) == ([10.0], 11 * 40.0)
    cells = Source("testbed", **about).cells
    assert cells
    for cell in cells:
        assert {"experiment", "era", "link", "qdisc", "cc", "seeds"} <= cell.keys()


@pytest.mark.parametrize("text", [None, "{", "[]", '{"scenarios": [{}]}'])
def test_another_file_is_an_error(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(EmulationError, match=r"other\.json: is no report of such a sweep"):
        read_report(path)


def test_its_cells_are_measured_by_their_experiments(capsys: pytest.CaptureFixture[str]) -> None:
    cells = bench.cells("testbed/scaling_hosts", None)
    assert [dict(cell.cell.point.axes)["hosts"] for cell in cells if cell.cell] == [
        "2", "8", "32", "128", "256",
    ]  # fmt: skip
    run = cells[-1].run(1, 60)
    assert (len(run.traffic.programs), run.length.seconds) == (128, 10)
    assert cli.main(["bench", "--experiment", "testbed/scaling_host"]) == 2
    assert "did you mean 'testbed/scaling_hosts'" in capsys.readouterr().err
