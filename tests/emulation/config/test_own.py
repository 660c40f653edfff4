"""Qdiscs of the user's own: read strictly, part of every sweep and figure, built and run."""

import json
import os
from pathlib import Path

import pytest

from qdisclab.analysis.plots import style
from qdisclab.analysis.site.figurefile import read_figure
from qdisclab.emulation import kernel
from qdisclab.emulation.config import catalogue, own, ownfile
from qdisclab.emulation.config.job import job_of, modules_of
from qdisclab.emulation.errors import ConfigError, KernelBuildError
from qdisclab.emulation.kernel import module
from qdisclab.emulation.machine import guestcode, provenance, rootfs
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.units import Duration, Packets
from qdisclab.emulation.runs.run import execute
from tests import OwnFile
from workflow.plan import Plan, Scale


@pytest.fixture
def ramp(root: Path, own_file: OwnFile) -> Path:
    """The example is the user's own; the folder of its module."""
    folder = root / "qdisc/src/ramp"
    own_file((folder / "own.yaml").read_text().replace("src/ramp", str(folder)))
    return folder


def one_run(seconds: int = 5, **cell: str) -> Run:
    chosen = {"link": "10/1", "qdisc": "ramp", "cc": "cubic", **cell}
    length = Duration(seconds * 10**9)
    (run,) = catalogue.select(catalogue.experiment("gbw2015/rrul"), seed=1, length=length, **chosen)
    return run


def test_without_a_file_there_is_nothing() -> None:
    assert own.own() == own.Own()
    assert "ramp" not in {cell.qdisc for cell in catalogue.experiment("gbw2015/rrul").points}


def test_the_example_joins_the_sweeps_over_qdiscs(ramp: Path) -> None:
    cells = catalogue.experiment("gbw2015/rrul").points
    assert sum(cell.qdisc == "ramp" for cell in cells) == 3 * 2  # links, congestion controls
    assert sum(cell.qdisc == "codel" for cell in cells) == 3 * 2
    (idle,) = {cell.qdisc for cell in catalogue.experiment("gbw2015/web_small_idle").points}
    assert idle == "pfifo_fast"
    assert "ramp" not in {c.qdisc for c in catalogue.experiment("khademi2013/flows_4").points}


def test_values_of_a_rate_go_before_those_of_all(ramp: Path) -> None:
    cell = one_run().point
    assert dict(cell.down.options)["min"] == Duration(5_000_000)
    assert dict(cell.up.options)["min"] == Duration(15_000_000)
    assert cell.up.expect() == {
        "kind": "ramp", "limit": 1000, "min_us": 15000, "max_us": 100000, "probability": 0.1,
        "ecn": False,
    }  # fmt: skip
    assert dict(cell.up.options)["limit"] == Packets(1000)


def test_the_job_names_the_module_and_what_it_is_made_of(ramp: Path, tmp_path: Path) -> None:
    job = job_of(one_run())
    (told,) = job["modules"]
    assert told["name"] == "sch_ramp"
    assert "modules" not in job_of(one_run(qdisc="codel"))
    copy = tmp_path / "ramp"
    copy.mkdir()
    for path in ramp.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    assert module.source(copy).digest == told["digest"]
    (copy / "ramp_impl.h").write_text("/* another */")
    assert module.source(copy).digest != told["digest"]


def test_its_guest_has_what_loads_modules(ramp: Path) -> None:
    plain, own_job = job_of(one_run(qdisc="codel")), job_of(one_run())
    more = set(guestcode.files(own_job))
    assert more - set(guestcode.files(plain)) == {"modules.py"}
    assert provenance.guest_code_digest(plain) != provenance.guest_code_digest(own_job)


def test_figures_have_it_and_draw_it_apart(root: Path, ramp: Path) -> None:
    figures = root / "studies/gbw2015/figures"
    for name in ("fig2b", "fig3d", "fig4b", "fig5a", "fig6c", "fig7b", "table2", "spreada"):
        assert read_figure(figures / f"{name}.yaml").parameters["qdiscs"][-1] == "ramp"
    assert "ramp" not in read_figure(figures / "switchesb.yaml").parameters["qdiscs"]
    assert style.look("ramp") == style.Look("#882255", "#d873a8", "p", style.OWN_DASHES)
    figure = read_figure(figures / "fig2b.yaml")
    cell = next(c for c in figure.cells() if c.qdisc == "ramp")
    plan = Plan({figure.name: figure}, root / "data", root / "results", None)
    assert Path(os.environ[ownfile.VARIABLE]) in plan.code[figure.name]
    assert Scale("smoke", qdiscs=("codel",)).has(cell)


MODULE = "qdiscs:\n  mine:\n    kind: m\n    module: "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: .*has neither qdiscs nor controls"),
        ("controls:\n  mine:\n    module: nowhere\n", ":4: controls.mine.module: there is no file"),
        (
            "qdiscs:\n  mine: {kind: ramp}\n",
            ":3: qdiscs.mine.*unknown kind 'ramp'; name the folder",
        ),
        ("qdiscs:\n  mine: {kind: codel,\n  options: {target: 5}}\n", ":4: .*target: .*no unit"),
        (f"{MODULE}nowhere\n", ":5: qdiscs.mine.module: there is no file Kbuild"),
        (f"{MODULE}src\n    options: {{depth: 5 x}}\n", ":6: .*options.depth: '5 x' is neither a"),
        ("qdiscs:\n  mine: {kind: codel, color: red}\n", ":3: .*color: 'red' is not a colour"),
        (
            "qdiscs:\n  mine: {kind: codel, colour: '#123456'}\n",
            "unknown key .*did you mean 'color'",
        ),
    ],
)
def test_what_is_wrong_is_said(own_file: OwnFile, text: str, message: str) -> None:
    path = own_file(f"papers: [gbw2015]\n{text}")
    with pytest.raises(ConfigError, match=rf"own\.yaml.*{message}"):
        own.load(path)


@pytest.mark.parametrize(
    ("papers", "name", "message"),
    [("gbw2014", "mine", "unknown paper 'gbw2014'; did you mean 'gbw2015'"),
     ("gbw2015", "codel", "'codel' is a qdisc of gbw2015 already")],
)  # fmt: skip
def test_what_does_not_go_with_the_papers(
    own_file: OwnFile, papers: str, name: str, message: str
) -> None:
    own_file(f"papers: [{papers}]\nqdiscs:\n  {name}: {{kind: codel}}\n")
    with pytest.raises(ConfigError, match=message):
        catalogue.papers()


@pytest.mark.kernel
def test_the_example_is_built_and_runs(ramp: Path, tmp_path: Path) -> None:
    """Read back as asked for; it drops for the sojourn time, and more than its FIFO would."""
    run = one_run(seconds=8, link="10/10")
    result = execute(run, kernel.build(), rootfs.build(), tmp_path)
    told = json.loads(result.provenance.read_text())
    (built,) = module.needed(kernel.build(), job_of(run), modules_of(run))
    assert told["identity"]["modules"] == {"sch_ramp": built.digest}
    (seen,) = (q for q in told["qdiscs"]["router_up r1-delay"]["qdiscs"] if q["kind"] == "ramp")
    assert seen["options"]["max_us"] == 100000
    assert seen["drops"] == seen["dropped"] > 20  # early ones alone: the FIFO was never full
    assert seen["overlimit"] == seen["backlog"] == seen["qlen"] == 0


@pytest.fixture
def aimd(root: Path, own_file: OwnFile) -> Path:
    """The example of a congestion control is the user's own; the file that says so."""
    folder = root / "qdisc/src/aimd"
    return own_file((folder / "own.yaml").read_text().replace("src/aimd", str(folder)))


@pytest.mark.kernel
def test_a_control_that_its_module_does_not_have_is_refused_before_a_boot(
    root: Path, aimd: Path
) -> None:
    run = one_run(qdisc="codel", cc="aimd")
    assert [one.name for one in module.needed(kernel.build(), job_of(run), modules_of(run))] == [
        "tcp_aimd"
    ]
    text = aimd.read_text()
    two = f"{text}  aimmd: {{module: {root}/qdisc/src/aimd}}\n"  # both of one module
    for wrong, cc in ((text.replace("\n  aimd:", "\n  aimmd:"), "aimmd"), (two, "aimd")):
        aimd.write_text(wrong)
        run = one_run(qdisc="codel", cc=cc)
        with pytest.raises(KernelBuildError, match="registers no congestion control 'aimmd'"):
            module.needed(kernel.build(), job_of(run), modules_of(run))


def test_a_congestion_control_of_ones_own_comes_with_its_module_and_parameters(aimd: Path) -> None:
    job = job_of(one_run(qdisc="codel", cc="aimd"))
    assert job["sysctls"]["client"]["net.ipv4.tcp_congestion_control"] == "aimd"
    assert [module["name"] for module in job["modules"]] == ["tcp_aimd"]
    values = {path.rpartition("/")[2]: value for path, value in job["parameters"].items()}
    assert (values["increase"], values["decrease"]) == ("200", "125")
    assert values["tcp_allowed_congestion_control"] == "reno bbr cubic aimd"
    other = job_of(one_run(qdisc="codel", cc="cubic"))
    assert "modules" not in other
    assert not any("congestion" in path for path in other["parameters"])
    assert ownfile.drawn() == {}
