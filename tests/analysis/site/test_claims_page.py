"""What people and machines see of the claims: JSON, page and command."""

import json
from pathlib import Path

import pandas as pd
import pytest

from qdisclab.analysis.claims import check
from qdisclab.analysis.claims.assess import assess
from qdisclab.analysis.claims.check import Quantity
from qdisclab.analysis.claims.summary import as_json, decisive, effect_text, printed, why
from qdisclab.analysis.claims.verdict import Assessment
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.table import MEASURED
from qdisclab.analysis.runs.statement import Claim, read_claims
from qdisclab.analysis.runs.study import study_at
from qdisclab.analysis.site import report, verdicts
from qdisclab.analysis.site.claims import write_claims
from qdisclab.emulate import cli
from tests.analysis.claims.cases import CODEL, PIE
from tests.analysis.site.test_report import Page

NAN = float("nan")
LOST = Quantity("induced_latency_ms", "rrul", "10/10", "sfq")


@pytest.fixture(scope="module")
def found() -> list[Assessment]:
    rows = [
        (era, "rrul", "10/10", qdisc, "cubic", seed, "induced_latency_ms", value + seed / 100)
        for era, qdisc, value in (("2014", "codel", 35), ("2014", "pie", 53),
                                  ("modern", "codel", 46), ("modern", "pie", 40))
        for seed in (1, 2, 3)
    ]  # fmt: skip
    table = MEASURED.validate(pd.DataFrame(rows, columns=list(MEASURED.columns)))
    rules = {
        "g001": check.less(CODEL, PIE),
        "g002": check.within(CODEL, high=20),
        "g003": check.less(CODEL, LOST),
        "g004": check.every(check.within(CODEL, high=36), check.within(PIE, high=90)),
    }
    claims = [
        Claim(f"g{number:03d}", "gbw2015", "5.1", "Fig. 2b", "ordering", text, low, high, "ms", "")
        for number, text, low, high in (
            (1, "CoDel <b>before</b> PIE.", NAN, NAN), (2, "CoDel at 20 ms.", 20, 20),
            (3, "SFQ is missing.", NAN, 5), (4, "Both are low.", 1, 9), (5, "No rule.", 3, NAN),
        )
    ]  # fmt: skip
    return assess(claims, rules, table)


def test_headlines(found: list[Assessment]) -> None:
    assert [str(one.headline.verdict) for one in found] == [
        "agrees", "disagrees", "not yet testable", "agrees", "not yet testable",
    ]  # fmt: skip
    assert verdicts.count(as_json(found)) == {"agrees": 2, "disagrees": 1, "not yet testable": 2}


def test_the_decisive_check_is_the_one_nearest_to_its_bound(found: list[Assessment]) -> None:
    finding = decisive(found[3].headline)
    assert finding is not None
    assert finding.check.quantities == (CODEL,)
    assert effect_text(finding) == "35 ms (35 to 35), 3 seeds"


def test_reasons(found: list[Assessment]) -> None:
    assert why(found[1].headline) == (
        "mean induced latency, 10/10: codel: 35 ms (35 to 35), 3 seeds; asked for ≤ 20 ms"
    )
    assert why(found[2].headline) == "runs of rrul, 10/10, sfq, cubic, era 2014"
    assert why(found[4].headline) == "no rule yet"
    assert [printed(one.claim) for one in found] == ["", "20 ms", "≤ 5 ms", "1 to 9 ms", "≥ 3 ms"]


def test_json_has_every_era_check_and_interval(found: list[Assessment]) -> None:
    first, *_ = rows = json.loads(json.dumps(as_json(found), allow_nan=False))
    assert [row["id"] for row in rows] == ["g001", "g002", "g003", "g004", "g005"]
    assert [(one["era"], one["verdict"]) for one in first["judgements"]] == [
        ("2014", "agrees"),
        ("modern", "explained"),
    ]
    (one,) = first["judgements"][0]["checks"]
    assert one["value"] == pytest.approx(-18)
    assert one["bounds"] == [None, 0]
    assert one["strict"] is True
    assert one["interval"] == [pytest.approx(-18), pytest.approx(-18)]
    assert rows[2]["judgements"][0]["checks"][0]["value"] is None
    assert (rows[2]["lacks"], rows[0]["lacks"]) == ("data", None)


def test_page_shows_every_claim_without_a_script(found: list[Assessment], tmp_path: Path) -> None:
    page = Page(write_claims(tmp_path, as_json(found)).read_text())
    assert [one["id"] for one in page.claims] == ["g001", "g002", "g003", "g004", "g005"]
    assert page.hidden == ["form"]  # the filters, which the script shows
    assert {one["data-verdict"] for one in page.claims} == {
        "agrees", "disagrees", "not yet testable",
    }  # fmt: skip
    assert "CoDel <b>before</b> PIE." in page.text  # escaped, not swallowed
    assert "explained by era 2014" in " ".join(page.text.split())


def test_what_is_lacking_is_counted_of_what_cannot_be_tested(
    found: list[Assessment], tmp_path: Path
) -> None:
    claims = as_json(found)
    claims[1] |= {"verdict": "undecided", "lacks": "spread"}
    text = " ".join(Page(write_claims(tmp_path, claims).read_text()).text.split())
    assert "1 undecided, 2 not yet testable. Lacking: 1 data, 1 rule." in text


def test_report_counts_what_was_decided(found: list[Assessment], tmp_path: Path) -> None:
    assert verdicts.read(tmp_path) == []
    write_claims(tmp_path, as_json(found))
    claims = verdicts.read(tmp_path)
    assert claims == json.loads(json.dumps(as_json(found)))
    text = " ".join(Page(report.Site(tmp_path, [], claims, set()).index()).text.split())
    assert "2 of 3 statements that are decided agree" in text
    (tmp_path / "verdicts.json").write_text("[1]")
    with pytest.raises(DataError, match=r"verdicts\.json: not a list of claims"):
        verdicts.read(tmp_path)


def test_command_prints_all_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["claims", "--data", str(tmp_path)]) == 0
    titles, *rows = capsys.readouterr().out.splitlines()
    assert titles.split("\t") == ["claim", "verdict", "era", "statement", "why"]
    assert len(rows) == 484
    assert {row.split("\t")[1] for row in rows} == {"as set", "not yet testable"}
    by_id = {row.split("\t")[0]: row.split("\t") for row in rows}
    assert by_id["g038"][4].startswith("runs of rrul, 100/100, ared, cubic, era 2014")
    assert by_id["k001"][4].startswith("runs of ")


def test_command_filters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--data", str(tmp_path)]
    assert cli.main(["claims", "--study", "codel2012", "--json", *where]) == 0
    codel2012 = read_claims(study_at("codel2012"))
    assert len(json.loads(capsys.readouterr().out)) == len(codel2012)
    assert cli.main(["claims", "--paper", "codel2012", "--json", *where]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(codel2012)
    assert cli.main(["claims", "--study", "codel2013", *where]) == 2
    assert "did you mean codel2012" in capsys.readouterr().err
    assert cli.main(["claims", "--verdict", "agrees", "--json", *where]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--paper", "gbw2016"], 2, "no study 'gbw2016'; did you mean gbw2015 or bbr2016?"),
        (["--data", "/nowhere"], 2, "/nowhere: no such folder; name one with runs by --data"),
    ],
)
def test_command_refuses(
    arguments: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["claims", *arguments]) == status
    assert message in capsys.readouterr().err
