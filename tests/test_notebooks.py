"""The notebooks are thin and clean, and each figure's parameter file makes its figure."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from analysis.errors import DataError
from analysis.execute import execute, main
from analysis.figurefile import Cell, read_figure
from analysis.outputs import read_summary
from analysis.style import QDISC_ORDER

sys.path.insert(0, str(Path(__file__).parent / "data"))
import synthetic

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
FIGURES = sorted(NOTEBOOKS.glob("figures/*/*.yaml"))
SHIPPED = ("rrul", "transient", "spread", "scaling", "wifi_validation")
ALL = [path for path in NOTEBOOKS.glob("*.ipynb") if path.stem in SHIPPED]
SEEDS = 3


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("data")
    synthetic.write_tree(root, ("10-10", "10-1"), seeds=SEEDS, length_s=25)
    yield root


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_one_parameters_cell_and_no_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    tagged = [c for c in notebook.cells if "parameters" in c.metadata.get("tags", [])]
    assert len(tagged) == 1
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
            assert len(cell.source.splitlines()) <= 20


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_parameter_files_name_known_parameters(path: Path) -> None:
    figure = read_figure(path)
    notebook = nbformat.read(figure.notebook, as_version=4)
    (cell,) = (c for c in notebook.cells if "parameters" in c.metadata.get("tags", []))
    declared: dict[str, object] = {}
    exec(cell.source, declared)  # noqa: S102 - our own cell of assignments
    assert set(figure.parameters) <= set(declared)
    if "table" in figure.parameters:  # drawn from measurements, not from runs
        assert figure.cells() == []
        return
    cells = figure.cells()
    assert [one.qdisc for one in cells] == list(QDISC_ORDER)
    assert {one.link.replace("/", "-") for one in cells} <= set(synthetic.LEVELS)


def test_cells_name_their_folder() -> None:
    figure = read_figure(NOTEBOOKS / "figures" / "gbw2015" / "fig2c.yaml")
    assert figure.name == "gbw2015/fig2c"
    assert figure.cells()[0] == Cell("gbw2015", "rrul", "10/1", "pfifo_fast", "cubic")
    assert figure.cells()[0].folder == "gbw2015/rrul/10-1/pfifo_fast/cubic"


def test_rrul_writes_the_compared_table(data: Path, tmp_path: Path) -> None:
    folder = execute(read_figure(NOTEBOOKS / "figures/gbw2015/fig2c.yaml"), data, tmp_path)
    table = pd.read_csv(folder / "table.csv")
    assert len(table) == 21
    assert set(table["n_seeds"]) == {SEEDS}
    goodput = table[table["metric"] == "goodput"]
    assert goodput["ratio"].between(0.97, 1.03).all()
    assert (table["ci_low"] < table["ci_high"]).all()
    summary = read_summary(folder / "summary.json")
    assert (summary.figure, summary.compared) == ("2c", 21)
    assert summary.agreeing == table["agrees"].sum() >= 14
    assert {len(cell["seeds"]) for cell in summary.cells} == {SEEDS}
    for name in ("figure.svg", "figure-dark.svg", "figure.png", "notebook.ipynb"):
        assert (folder / name).stat().st_size > 1000
    page = (folder / "notebook.html").read_text()
    assert "Ours and the published values" in page
    assert "fq_nocodel" in page


def test_transient_writes_the_peaks(data: Path, tmp_path: Path) -> None:
    folder = execute(read_figure(NOTEBOOKS / "figures/gbw2015/fig7b.yaml"), data, tmp_path)
    table = pd.read_csv(folder / "table.csv").set_index("qdisc")
    assert list(table.index) == list(QDISC_ORDER)
    assert set(table["n_seeds"]) == {SEEDS}
    assert table["peak_ms"].idxmax() == "pie"
    assert 280 < table.loc["pie", "peak_ms"] < 400
    assert table.loc["fq_codel", "peak_ms"] < 55
    assert json.loads((folder / "summary.json").read_text())["compared"] == 0


def test_spread_writes_a_row_a_qdisc(data: Path, tmp_path: Path) -> None:
    folder = execute(read_figure(NOTEBOOKS / "figures/gbw2015/spreadb.yaml"), data, tmp_path)
    table = pd.read_csv(folder / "table.csv").set_index("qdisc")
    assert list(table.index) == list(QDISC_ORDER)
    assert set(table["distinct"]) == {SEEDS}
    assert "Hash collisions" in (folder / "notebook.html").read_text()


def test_no_data_is_an_error_that_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    figure = NOTEBOOKS / "figures/gbw2015/fig2a.yaml"
    arguments = [str(figure), "--data", str(tmp_path / "none"), "--results", str(tmp_path / "r")]
    assert main(arguments) == 1
    message = capfd.readouterr().err
    assert "no run of 100/100" in message
    assert "Emulate the cells that the figure needs. " in message
    assert not (tmp_path / "r/gbw2015/fig2a/summary.json").exists()


def test_unknown_key_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "figures" / "gbw2015"
    folder.mkdir(parents=True)
    source = (NOTEBOOKS / "figures/gbw2015/fig2a.yaml").read_text()
    (folder / "fig2a.yaml").write_text(source + "titel: again\n")
    with pytest.raises(DataError, match=r"fig2a\.yaml: has the keys .*'titel'"):
        read_figure(folder / "fig2a.yaml")
