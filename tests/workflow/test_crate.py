"""The description of a workflow's run, as a validator of RO-Crates reads it without a network."""

import json
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import rocrate
from rocrate.rocrate import ROCrate
from rocrate_validator import services
from rocrate_validator.models import Severity
from rocrate_validator.utils import document_loader

from tests import ROOT
from workflow import crate

#: They fetch the context and are about it alone.
OF_CONTEXT = ["ro-crate-1.1_3.1", "ro-crate-1.1_3.2"]
BEGAN = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose figure has just been drawn; names of 1.1 mean what they do in rocrate's."""
    for name in ("Snakefile", "README.md", "croissant.json", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    for name in ("data", "studies/gbw2015", "results/gbw2015/fig2b", "results/runs"):
        (tmp_path / name).mkdir(parents=True)
    own = json.loads((Path(rocrate.__file__).parent / "data/ro-crate.jsonld").read_text())
    own["@context"]["ComputationalWorkflow"] = "https://bioschemas.org/ComputationalWorkflow"
    monkeypatch.setattr(document_loader, "_fetch_json_ld", lambda url: own)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def plan(place: Path, runs: str = "data", **about: Any) -> Any:
    figure = SimpleNamespace(study=place / "studies/gbw2015")
    figures = {"gbw2015/fig2b": figure, "gbw2015/fig2a": figure}  # the second was not drawn
    return SimpleNamespace(
        pages=place / "results",
        runs_root=place / runs,
        **{"scale": None, "figures": figures, "root_of": lambda figure: place / runs, **about},
    )


def problems(place: Path) -> list[str]:
    settings = services.ValidationSettings(
        rocrate_uri=place,
        profile_identifier="workflow-run-crate-0.5",
        requirement_severity=Severity.REQUIRED,
        skip_checks=OF_CONTEXT,
        no_cache=True,
    )
    return [issue.message for issue in services.validate(settings).get_issues()]


def test_it_is_of_the_profile(place: Path) -> None:
    crate.write(plan(place), BEGAN, place)
    assert problems(place) == []
    read = ROCrate(place)
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (read.mainEntity.id, read.mainEntity["version"]) == ("Snakefile", about["version"])
    run = read.dereference("#run")
    assert run["startTime"] == "2026-11-28T12:00:00+00:00" < run["endTime"]
    assert (run["object"].id, run["result"].id) == ("data/", "results/gbw2015/fig2b/")


def test_new_runs_are_among_what_was_made(place: Path) -> None:
    crate.write(plan(place, "results/runs", scale="smoke"), BEGAN, place)
    assert problems(place) == []
    run = ROCrate(place).dereference("#run")
    made = ["results/runs/", "results/gbw2015/fig2b/"]
    assert (run["object"].id, [one.id for one in run["result"]]) == ("studies/gbw2015/", made)


@pytest.mark.parametrize(
    ("name", "key", "message"),
    [
        ("#run", "instrument", "instrument"),
        ("./", "license", "license"),
        ("./", "mainEntity", "main"),
    ],
)
def test_a_flaw_is_seen(place: Path, name: str, key: str, message: str) -> None:
    crate.write(plan(place), BEGAN, place)
    content = json.loads((place / crate.FILE).read_text())
    (entity,) = [one for one in content["@graph"] if one["@id"] == name]
    del entity[key]
    (place / crate.FILE).write_text(json.dumps(content))
    assert any(message in text for text in problems(place))


def test_there_is_none_of_results_elsewhere(place: Path) -> None:
    crate.write(plan(place), BEGAN, place / "data")
    assert not (place / "data" / crate.FILE).exists()


def test_figures_of_runs_elsewhere_are_not_in_it(place: Path) -> None:
    """Such as those of a study of one's own: they were not drawn from `data/`."""
    study = place / "home/mine"
    (study / "data").mkdir(parents=True)
    (place / "results/mine/latency").mkdir(parents=True)
    mine = {"mine/latency": SimpleNamespace(study=study)}
    elsewhere = plan(place, figures=mine, root_of=lambda figure: place.parent / "mine/data")
    crate.write(elsewhere, BEGAN, place)
    assert not (place / crate.FILE).exists()
    crate.write(plan(place, figures=mine, root_of=lambda figure: study / "data"), BEGAN, place)
    assert ROCrate(place).dereference("#run")["object"].id == "home/mine/data/"


def test_a_checkout_that_cannot_be_written_ends_nothing(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / crate.FILE).mkdir()
    crate.write(plan(place), BEGAN, place)
    assert "==> this run is not described: [Errno 21]" in capsys.readouterr().out
