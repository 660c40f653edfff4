"""Claims are joined to figures by their places, and shown with the verdict of the figure's era."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from qdisclab.analysis.claims import record
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.site import verdicts
from tests import ROOT


def claim(name: str, section: str, figure: str, *experiments: str) -> dict[str, Any]:
    """A claim that agrees in 2014c, disagrees today and lacks data with New Reno."""
    judgements = [
        {"era": era, "cc": cc, "setting": f"{era}, {cc}", "verdict": verdict, "why": f"in {era}",
         "complete": verdict != "not yet testable"}
        for era, cc, verdict in (
            ("2014c", "cubic", "agrees"), ("modern", "cubic", "disagrees"),
            ("modern", "reno", "not yet testable"),
        )
    ]  # fmt: skip
    return {
        "id": name, "paper": "gbw2015", "section": section, "figure": figure, "statement": "So.",
        "printed": "3 ms", "experiments": list(experiments), "judgements": judgements,
        "same_as": None, **judgements[0],
    }  # fmt: skip


CLAIMS = [
    claim("g001", "5.1", "Fig. 2a", "rrul"),
    claim("g002", "5.1", "", "rrul", "voip_rrul"),
    claim("g003", "5.2", "Table 2", "voip_rrul"),
    claim("g004", "5.1", "Fig. 2b"),  # no rule
]


@pytest.mark.parametrize(
    ("places", "experiments", "expected"),
    [
        (["5.1"], ["rrul"], ["g001"]),
        (["5.1"], ["rrul", "voip_rrul"], ["g001", "g002"]),
        (["Fig. 2"], ["rrul"], ["g001"]),
        (["g003"], ["rrul"], ["g003"]),
        ([], ["rrul"], []),
    ],
)
def test_claims_of_a_figure_stand_in_its_places_and_rest_on_its_runs(
    places: list[str], experiments: list[str], expected: list[str]
) -> None:
    found = verdicts.of_places(CLAIMS, places, experiments)
    assert [one["id"] for one in found] == expected


@pytest.mark.parametrize(
    ("setting", "verdict", "era"),
    [
        (["2014c", "cubic"], "agrees", "2014c, cubic"),
        (["modern", "cubic"], "disagrees", "modern, cubic"),
        (["modern", "reno"], "agrees", "2014c, cubic"),
        ([], "agrees", "2014c, cubic"),
    ],
)
def test_a_figure_shows_the_verdict_of_its_own_setting_where_that_has_all_data(
    setting: list[str], verdict: str, era: str
) -> None:
    (row,) = verdicts.table(CLAIMS[:1], setting).to_dict("records")
    assert row == {
        "Claim": "g001", "Statement": "So.", "Printed": "3 ms", "Verdict": verdict, "Era": era,
        "Why": f"in {era.partition(',')[0]}",
    }  # fmt: skip


def test_what_is_set_or_open_is_not_decided() -> None:
    counts = {"agrees": 4, "disagrees": 2, "explained": 1, "as set": 8, "at the bound": 16}
    assert verdicts.decided(counts | {"not yet testable": 32}) == 7


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    texts: list[str] = []
    monkeypatch.setattr(verdicts, "display", lambda shown: texts.append(shown._repr_html_()))
    return texts


RUNS = pd.DataFrame({"experiment": ["rrul"], "era": ["2014c"], "cc": ["cubic"]})


def test_a_notebook_shows_what_was_computed(
    shown: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    study = ROOT / "studies/gbw2015"
    verdicts.show(study, tmp_path, RUNS, ["5.1"])
    assert "<code>emulate claims --study gbw2015</code>" in shown[-1]
    monkeypatch.setattr(record, "verdicts", lambda *_: CLAIMS)
    verdicts.show(study, tmp_path, RUNS, ["5.1"])
    assert ">g001</td>" in shown[-1] and ">g002</td>" not in shown[-1]
    with pytest.raises(DataError, match=r"claims: unknown value '5\.3'"):
        verdicts.show(study, tmp_path, RUNS, ["5.3"])


def test_a_page_gets_its_claims_later_and_again(shown: list[str], tmp_path: Path) -> None:
    verdicts.show("gbw2015", tmp_path, RUNS, ["5.1"], output=str(tmp_path))
    page = tmp_path / "notebook.html"
    page.write_text(f"<h1>A</h1>{shown[-1]}<p>end</p>")
    for claims, there in ((CLAIMS[:1], True), ([], False), (CLAIMS[:1], True)):
        verdicts.fill(page, claims, ["2014c", "cubic"])
        text = page.read_text()
        assert (">g001</td>" in text) == there
        assert (verdicts.NONE in text) != there
        assert verdicts.LATER not in text
        assert text.startswith("<h1>A</h1>") and text.endswith("<p>end</p>")
