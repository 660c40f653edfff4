"""The notebooks are thin and clean, and each figure's parameter file makes its figure."""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import papermill
import pytest
import yaml

from qdisclab.analysis.runs.order import QDISC_ORDER
from qdisclab.analysis.site import verdicts
from qdisclab.analysis.site.execute import draw, execute, parse
from qdisclab.analysis.site.figurefile import Cell, read_figure
from qdisclab.analysis.site.outputs import read_summary
from qdisclab.analysis.site.parameters import defaults, require_kinds
from qdisclab.emulation.config import catalogue
from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.model.run import Experiment, era_and_kernel
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.runs.index import index
from tests import ROOT
from tests.data import synthetic, synthetic_traffic as traffic
from workflow.plan import Scale

STUDIES = ROOT / "studies"
NOTEBOOKS = [*ROOT.glob("notebooks/*.ipynb"), *STUDIES.glob("*/notebooks/*.ipynb")]
FIGURES = sorted(STUDIES.glob("*/figures/*.yaml"))
SEEDS = 3
CLOCK = "2014d-host_noise+ticks_4ms"  # the era that decides RRUL and calls in gbw2015


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("data")
    synthetic.write_tree(root, ("10-10", "10-1"), seeds=SEEDS, length_s=25)
    yield root


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_one_parameters_cell_and_no_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    tagged = [c for c in notebook.cells if "parameters" in c.metadata.get("tags", [])]
    assert len(tagged) == 1
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
            assert len(cell.source.splitlines()) <= 35


def test_a_notebook_that_is_opened_has_runs() -> None:
    """Of each experiment of its parameters an era that is not there for comparison only."""
    lacking = []
    for path in NOTEBOOKS:
        given = defaults(path)
        if not isinstance(given.get("eras"), list):
            continue
        shown = given.get("experiments") or [given["experiment"]]
        names = shown.values() if isinstance(shown, dict) else shown
        eras = [era for era in given["eras"] if era != "modern"] or ["modern"]
        for name in names:
            runs = index(ROOT / "data", given["paper"]).runs
            if not any(run.experiment == name and run.era in eras for run in runs):
                lacking.append(f"{path.name}: {name}")
    assert lacking == []


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_a_figure_has_the_data_that_it_draws(path: Path) -> None:
    """Runs that ship as their measures are for notebooks that ask for them."""
    figure = read_figure(path)
    notebook = (ROOT / figure.notebook).read_text()
    if any(asked in notebook for asked in ("reduced=True", "find_ablation(")):
        return
    for cell in figure.cells():
        runs = index(ROOT / "data", cell.paper).cells.get(cell, [])
        assert not runs or not all(run.is_reduced for run in runs), cell


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_a_figure_finds_its_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook that looks for more than is drawn may come upon runs without their data."""
    figure = read_figure(path)
    monkeypatch.chdir(figure.notebook.parent)
    names: dict[str, Any] = {}
    for cell in nbformat.read(figure.notebook, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        if "parameters" in cell.metadata.get("tags", []):
            exec(cell.source, names)  # noqa: S102 - our own notebooks
            names |= figure.parameters
            continue
        statements = ast.parse(cell.source).body
        searches = [at for at, one in enumerate(statements) if "find_" in ast.unparse(one)]
        last = searches[-1] if searches else -1
        wanted = [
            one
            for at, one in enumerate(statements)
            if isinstance(one, ast.Import | ast.ImportFrom)
            or (at <= last and isinstance(one, ast.Assign | ast.FunctionDef))
        ]
        exec(compile(ast.Module(wanted, []), str(path), "exec"), names)  # noqa: S102


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_parameter_files_name_known_parameters(path: Path) -> None:
    figure = read_figure(path)
    declared = defaults(figure.notebook)
    assert set(figure.parameters) <= set(declared)
    require_kinds(figure.notebook.stem, declared | figure.parameters)
    if "table" in figure.parameters:  # drawn from measurements, not from runs
        assert figure.cells() == []
        return
    cells = figure.cells()
    assert len(cells) == len(set(cells))
    if figure.parameters["paper"] == "gbw2015":
        own = [one for one in cells if one.paper == "gbw2015"]
        others = {"cake", "fq", "fq_pie", "dualpi2"} if path.stem.startswith("today_") else set()
        assert {one.qdisc for one in own} <= {*QDISC_ORDER, *others}
    for one in cells:  # the experiment has it
        era, kernel = era_and_kernel(one.era)
        selected = select(
            experiment(f"{one.paper}/{one.experiment}"),
            link=one.link, qdisc=one.qdisc, cc=one.cc, era=era, kernel=kernel, seed=1,
            length=Duration.parse(one.length) if one.length else None,
        )  # fmt: skip
        assert len(selected) == 1


@cache
def experiment(name: str) -> Experiment:
    return catalogue.experiment(name)


def test_cells_are_those_of_the_file() -> None:
    figure = read_figure(STUDIES / "gbw2015/figures/fig2c.yaml")
    assert figure.name == "gbw2015/fig2c"
    cells = figure.cells()
    assert cells[:2] == [
        Cell("gbw2015", "rrul", CLOCK, "10/1", "pfifo_fast", "cubic"),
        Cell("gbw2015", "rrul", "2014c", "10/1", "pfifo_fast", "cubic"),
    ]
    assert len(cells) == 3 * 2 * 7


def test_cells_of_several_experiments_and_of_what_they_are_divided_by() -> None:
    losses = read_figure(STUDIES / "gbw2015/figures/table2.yaml").cells()
    assert {(one.experiment, one.link) for one in losses} == {
        (name, link) for name in ("voip_1up", "voip_rrul") for link in ("10/1", "10/10", "100/100")
    }
    page = read_figure(STUDIES / "gbw2015/figures/fig4b.yaml").cells()
    unloaded = [one for one in page if one.experiment == "web_small_idle"]
    assert {one.qdisc for one in unloaded} == {"pfifo_fast"}
    assert {(one.era, one.cc) for one in unloaded} == {(one.era, one.cc) for one in page}


def test_a_figure_leaves_out_what_a_kernel_had_not() -> None:
    cells = read_figure(STUDIES / "gbw2015/figures/today_rrulb.yaml").cells()
    assert {one.era for one in cells if one.qdisc == "cake"} == {"modern@linux-7.2"}
    assert {one.era for one in cells if one.qdisc == "pie"} == {"2014c", "modern@linux-7.2"}


def test_an_ablation_has_the_eras_of_each_qdisc() -> None:
    cells = read_figure(STUDIES / "gbw2015/figures/switchesb.yaml").cells()
    eras = {qdisc: {one.era for one in cells if one.qdisc == qdisc} for qdisc in ("pie", "codel")}
    assert "2014-pie_rate" in eras["pie"]
    assert "2014-pie_rate" not in eras["codel"]
    assert "modern+no_gso" in eras["pie"] & eras["codel"]


def drawn(name: str, data: Path, results: Path, kernels: str) -> Path:
    """Draw a figure by its study and name."""
    figure = read_figure(STUDIES / f"{name.replace('/', '/figures/')}.yaml")
    return execute(figure, data, results, kernels=kernels)


def test_rrul_writes_the_compared_table(data: Path, tmp_path: Path, kernels: str) -> None:
    folder = drawn("gbw2015/fig2c", data, tmp_path, kernels)
    table = pd.read_csv(folder / "table.csv")
    assert len(table) == 21
    assert set(table["n_seeds"]) == {SEEDS}
    goodput = table[table["metric"] == "goodput"]
    assert goodput["ratio"].between(0.97, 1.03).all()
    assert (table["ci_low"] < table["ci_high"]).all()
    summary = read_summary(folder / "summary.json")
    assert (summary.figure, summary.compared) == ("2c", 21)
    assert summary.agreeing == table["agrees"].sum() >= 14
    off = 100 * (table["ratio"] - 1).abs()
    assert summary.errors_percent == pytest.approx(list(off), abs=0.01)
    assert {len(cell["seeds"]) for cell in summary.cells} == {SEEDS}
    for name in ("figure.svg", "figure-dark.svg", "figure.png", "notebook.ipynb"):
        assert (folder / name).stat().st_size > 1000
    page = (folder / "notebook.html").read_text()
    assert "Our values and the published ones" in page
    assert "fq_nocodel" in page


def test_transient_writes_the_peaks(data: Path, tmp_path: Path, kernels: str) -> None:
    folder = drawn("gbw2015/fig7b", data, tmp_path, kernels)
    table = pd.read_csv(folder / "table.csv")
    assert set(table["qdisc"]) == set(QDISC_ORDER)
    assert set(table["n_seeds"]) == {SEEDS}
    peaks = table[table["at"] == "peak"].set_index("qdisc")["ours"]
    assert 280 < peaks["pie"] < 400
    assert json.loads((folder / "summary.json").read_text())["compared"] == len(table)


def test_settings_stand_side_by_side(tmp_path: Path, kernels: str) -> None:
    data = tmp_path / "data"
    traffic.write_tree(data, "voip_rrul", "10-10", seeds=2, era=CLOCK)
    traffic.write_tree(data, "voip_rrul", "10-10", seeds=1, era="modern")
    traffic.write_tree(data, "voip_rrul", "10-10", seeds=1, era=CLOCK, cc="reno")
    folder = drawn("gbw2015/fig3d", data, tmp_path, kernels)
    table = pd.read_csv(folder / "table.csv")
    titles = [f"Linux of {CLOCK}, CUBIC", "today's Linux, CUBIC", f"Linux of {CLOCK}, New Reno"]
    assert list(dict.fromkeys(table["setting"])) == titles
    assert len(table) == 3 * 7
    codel = table[table["qdisc"] == "codel"].set_index("setting")
    assert codel["n_seeds"].tolist() == [2, 1, 1]
    assert codel["mean_ms"].between(6, 7).all()  # over the whole test
    summary = read_summary(folder / "summary.json")
    assert summary.eras == [CLOCK, "modern"]
    assert sum(len(cell["seeds"]) for cell in summary.cells) == 4 * 7
    page = (folder / "notebook.html").read_text()
    assert verdicts.LATER in page  # the report joins the claims, which come after all figures


def test_losses_beside_the_printed_ones(tmp_path: Path, kernels: str) -> None:
    data = tmp_path / "data"
    for experiment_name in ("voip_1up", "voip_rrul"):
        traffic.write_tree(data, experiment_name, "10-1", seeds=2, era=CLOCK)
    folder = drawn("gbw2015/table2", data, tmp_path, kernels)
    table = pd.read_csv(folder / "table.csv").set_index(["beside", "qdisc"])
    assert len(table) == 2 * 7
    assert table.loc[("one TCP flow", "ared"), "published"] == 7.95
    assert read_summary(folder / "summary.json").compared == 14


def test_pages_and_fairness(tmp_path: Path, kernels: str) -> None:
    data = tmp_path / "data"
    for experiment_name in ("web_small_1up", "web_small_idle"):
        traffic.write_tree(data, experiment_name, "10-10", seeds=2, era=CLOCK)
    traffic.write_tree(data, "rtt_fairness", "10-10", seeds=2, era="2014d")
    folder = drawn("gbw2015/fig4b", data, tmp_path, kernels)
    table = pd.read_csv(folder / "table.csv").set_index("qdisc")
    assert list(table.index) == list(QDISC_ORDER)
    assert table.loc["ared", "normalised"] == pytest.approx(6.0, rel=0.05)  # over flent's steps
    assert table.loc["ared", "pages_failed"] == 2
    folder = drawn("gbw2015/fig6c", data, tmp_path, kernels)
    table = pd.read_csv(folder / "table.csv")
    shares = table[table["qdisc"] == "sfq"]["ours"]
    assert shares.tolist() == [shares.iloc[0]] * 4  # of the four round trips


def test_switches_one_at_a_time(tmp_path: Path, kernels: str) -> None:
    data = tmp_path / "data"
    for era in ("modern", "2014", "modern+no_gso", "2014-no_gso"):
        for seed in (1, 2):
            synthetic.write_run(data, "10-10", "codel", seed, era=era)
    folder = drawn("gbw2015/switchesb", data, tmp_path, kernels)
    table = pd.read_csv(folder / "table.csv")
    assert set(table["switch"]) == {"all", "no_gso"}
    assert set(table["n_seeds"]) == {2}


def test_spread_writes_a_row_a_qdisc(data: Path, tmp_path: Path, kernels: str) -> None:
    folder = drawn("gbw2015/spreadb", data, tmp_path, kernels)
    table = pd.read_csv(folder / "table.csv").set_index("qdisc")
    assert list(table.index) == list(QDISC_ORDER)
    assert set(table["distinct"]) == {SEEDS}
    assert "Hash collisions" in (folder / "notebook.html").read_text()


def test_a_setting_without_ecn_has_no_panel_beside_one_that_compares(
    root: Path, tmp_path: Path, kernels: str
) -> None:
    folder = drawn("khademi2013/fig14", root / "data", tmp_path, kernels)
    summary = read_summary(folder / "summary.json")
    assert "modern" in summary.eras
    assert {(cell["era"], cell["qdisc"]) for cell in summary.lacking} == {
        ("modern", f"{name}_5ms{ecn}")
        for name in ("codel", "ared", "pie")
        for ecn in ("", "_ecn")
        if (name, ecn) != ("pie", "")
    }
    assert "today's Linux" not in (folder / "figure.svg").read_text()


@pytest.mark.parametrize("name", ["battling2013/links", "battling2013/settings", "codel2012/fig9"])
def test_what_the_smallest_scale_runs_is_enough(
    root: Path, name: str, tmp_path: Path, kernels: str
) -> None:
    """Figures that compare links or qdiscs, of which that scale has one and three."""
    scales = yaml.safe_load((root / "workflow/config.yaml").read_text())["scales"]
    figure = read_figure(STUDIES / f"{name.replace('/', '/figures/')}.yaml")
    scale = Scale.of("smoke", scales).of_figure(figure)
    for cell in filter(scale.has, figure.cells()):
        for path in index(root / "data", cell.paper).cells[cell][0].files:
            place = tmp_path / path.relative_to(root)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(path)
    execute(figure, tmp_path / "data", tmp_path / "results", kernels=kernels)
    assert (tmp_path / "results" / name / "figure.svg").is_file()


def test_no_data_is_an_error_that_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    figure = STUDIES / "gbw2015/figures/fig2a.yaml"
    arguments = [str(figure), "--data", str(tmp_path / "none"), "--results", str(tmp_path / "r")]
    assert draw(parse(arguments)) == 1
    message = capfd.readouterr().err
    assert re.search(r"no run of rrul .*100/100", message)
    assert (
        "Emulate the cells that the figure needs: `emulate run gbw2015/rrul --link 100/100 "
        in message
    )
    assert not (tmp_path / "r/gbw2015/fig2a/summary.json").exists()


def test_unknown_key_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "gbw2015" / "figures"
    folder.mkdir(parents=True)
    source = (STUDIES / "gbw2015/figures/fig2a.yaml").read_text()
    (folder / "fig2a.yaml").write_text(source + "titel: again\n")
    with pytest.raises(ConfigError, match=r"fig2a\.yaml:\d+: titel: unknown key 'titel'"):
        read_figure(folder / "fig2a.yaml")


@pytest.mark.kernel
def test_the_first_notebook_answers_by_its_own_runs(tmp_path: Path) -> None:
    """A long buffer makes pages slower than a short one, and that than a queue per flow; one queue
    can be looked at alone."""
    drawn = tmp_path / "out.ipynb"
    given = {"data_root": str(tmp_path / "data"), "length": "12s"}
    folder = str(ROOT / "notebooks")
    for more in ({"qdiscs": ["fq_codel"]}, {}):
        papermill.execute_notebook(
            str(ROOT / "notebooks/00-start.ipynb"), str(drawn), given | more, cwd=folder,
            kernel_name="python3", progress_bar=False,
        )  # fmt: skip
    answers = re.findall(
        r"(\w+): (?:full.*?; )?pings took .*?, a page ([\d.]+) s", drawn.read_text()
    )
    seconds = {name: float(value) for name, value in answers}
    assert seconds["fifo_100"] > 1.3 * seconds["fifo_20"] > 1.3 * seconds["fq_codel"] > 1
