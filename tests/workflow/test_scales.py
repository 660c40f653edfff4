"""How much of figures is run anew, and which runs and figures that is."""

from collections import Counter
from pathlib import Path

import papermill
import pytest

from qdisclab.analysis.site import execute
from qdisclab.emulation.errors import ConfigError
from tests import ROOT
from tests.data import provenances
from tests.workflow.plans import config
from workflow.plan import make_plan

#: The era that decides RRUL in gbw2015.
CLOCK = "2014d-host_noise+ticks_4ms"


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize(
    ("scale", "figures", "runs"),
    [
        ("smoke", 12, 9 * 3 + 2),
        ("quick", 33, 9 * 21 + 2 * 3),
        ("paper", 33, (9 * 21 + 2 * 3) * 2 * 30),
    ],
)
def test_scales(scale: str, figures: int, runs: int) -> None:
    wired = [f"gbw2015/{name}" for name in (*(f"fig{n}" for n in range(2, 8)), "spread", "table2")]
    plan = make_plan(config(emulate=True, scale=scale, figures=wired))
    assert len(plan.figures) == figures
    assert len(plan.all_runs()) == runs
    slow = set() if scale == "smoke" else {"2014d-host_noise"}  # of 10/1
    assert {run.era for run in plan.all_runs().values()} == {"2014c", "2014d", CLOCK, *slow}
    assert plan.pages == Path(f"results/emulated-{scale}")


def test_the_readme_says_how_much_the_smoke_scale_is() -> None:
    plan = make_plan(config(emulate=True, scale="smoke"))
    said = f"{len(plan.all_runs())} short runs of your own, and the {len(plan.figures)} figures"
    assert said in (ROOT / "README.md").read_text()


def test_of_a_cell_without_runs_one_stands_for_all_in_a_thin_plan(tmp_path: Path) -> None:
    asked = {"emulate": True, "scale": "paper", "figures": ["gbw2015/fig2b"]}
    whole = make_plan(config(**asked, results=str(tmp_path)))
    thin = make_plan(config(**asked, results=str(tmp_path), thin=True))
    assert len(whole.steps) == len(whole.all_runs()) > 5 * len(thin.steps)
    assert sum(len(runs) for runs in thin.steps.values()) == len(whole.steps)
    assert {path.stem for path in thin.provenances()} == {"seed-001"}
    there = next(iter(thin.steps))
    provenances.of_run(tmp_path / "data", whole.all_runs()[there])
    some = make_plan(config(**asked, results=str(tmp_path), thin=True))
    assert some.steps[there] == (whole.all_runs()[there],)
    assert len(some.steps) == len(thin.steps) + len(thin.steps[there]) - 1


def test_each_load_of_a_design_is_run_as_often() -> None:
    plan = make_plan(config(emulate=True, scale="quick", figures=["codel2012/fig5"]))
    # 5 RTTs, 4 rates, 2 qdiscs and 6 loads, once.
    assert len(plan.all_runs()) == 5 * 4 * 2 * 6
    loads = Counter(run.traffic.turn(run.seed)["load"] for run in plan.all_runs().values())
    assert loads["bulk_20"] == 40
    plan = make_plan(config(emulate=True, scale="paper", figures=["codel2012/fig5"]))
    assert len(plan.all_runs()) == 5 * 4 * 2 * 48


def test_an_ablation_is_run_whole_or_not_at_all() -> None:
    with pytest.raises(ConfigError, match="has no run of gbw2015/switchesb"):
        make_plan(config(emulate=True, scale="paper", figures=["gbw2015/switchesb"]))
    plan = make_plan(config(emulate=True, scale="all", figures=["gbw2015/switchesb"]))
    eras = {run.era for run in plan.all_runs().values()}
    assert {"modern", "2014", "modern+no_gso", "2014-no_gso"} <= eras


def test_short_runs_are_read_from_their_own_folder() -> None:
    plan = make_plan(config(emulate=True, scale="smoke"))
    figure = plan.figures["gbw2015/fig2b"]
    assert plan.lengths(figure) == ["20s"]
    assert plan.data_files(figure)[0] == Path(
        f"results/data/gbw2015/rrul@{CLOCK}@20s/10-10/pfifo_fast/cubic/seed-001.json"
    )


def test_a_length_that_is_an_experiments_own_is_not_named() -> None:
    plan = make_plan(config(emulate=True, scale="short"))
    assert plan.lengths(plan.figures["asked/fq"]) == []
    lengths = plan.lengths(plan.figures["testbed/wifi"])
    assert "wifi_single=20s" in lengths
    assert not any("wifi_anomaly" in one for one in lengths)
    given = execute.parse(["f", "--length=a=1s", "--length=b=2s"])
    assert execute.length_of(given.length) == {"length": {"a": "1s", "b": "2s"}}
    assert (execute.length_of([""]), execute.length_of([])) == ({"length": ""}, {})


@pytest.mark.parametrize("scale", ["smoke", "short"])
def test_notebooks_are_told_that_runs_are_short(scale: str) -> None:
    plan = make_plan(config(emulate=True, scale=scale))
    notebooks = {figure.notebook for figure in plan.figures.values()}
    assert [path for path in notebooks if "length" not in papermill.inspect_notebook(path)] == []
