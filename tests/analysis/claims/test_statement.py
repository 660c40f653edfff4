"""Statements are complete, and each has its rule."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from qdisclab.analysis.claims import check
from qdisclab.analysis.claims.assess import assess_study
from qdisclab.analysis.claims.verdict import Verdict
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs.statement import CLAIMS, read_claims
from qdisclab.analysis.runs.study import StudyFolder, known, study_at
from tests.analysis.claims.cases import CODEL, PIE, measured, verdict_of


def test_every_statement_is_there_and_has_its_own_id() -> None:
    claims = [one for study in known() for one in read_claims(study)]
    papers = {
        "gbw2015": 225, "khademi2013": 88, "codel2012": 65, "asked": 9, "links": 8,
        "l4s": 26, "battling2013": 10, "rfc8033": 6, "bbr": 30, "bugs": 17,
    }  # fmt: skip
    assert Counter(one.paper for one in claims) == papers
    assert list(dict.fromkeys(one.paper for one in claims)) == list(papers)  # the largest first
    assert len({one.id for one in claims}) == sum(papers.values())
    assert all(one.statement.endswith(".") for one in claims)
    others = {"bugs": "bug", "bbr": "bbr", "links": "n", "asked": "q"}
    letters = {paper: paper[0] for paper in papers} | others
    assert all(re.fullmatch(rf"{letters[one.paper]}\d{{3}}", one.id) for one in claims)


def test_the_page_has_the_columns(root: Path) -> None:
    table = (root / "docs/claims.md").read_text().partition("| column |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert re.findall(r"`(\w+)`", "".join(cells)) == list(CLAIMS.columns)


def test_a_statement_knows_its_place_and_value() -> None:
    by_id = {one.id: one for one in read_claims(study_at("gbw2015"))}
    assert by_id["g057"].place == "Sec. 5.2.1, Fig. 3f"
    assert by_id["g071"].place == "Table 2"
    assert by_id["g071"].value == 7.95
    assert by_id["g001"].place == "Abstract"
    with pytest.raises(ValueError, match="g026 prints 82 to 96"):
        _ = by_id["g026"].value


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",ratio,", ",rumour,", r"not a table of claims \(row [0-9]+: kind is 'rumour'"),
        (",2.2,2.2,", ",2.2,0.2,", r"\(row [0-9]+: value_low is larger than value_high\)"),
        (",2.2,2.2,", ",2.2,inf,", r"\(row [0-9]+: value_high is inf, not a finite number"),
        ("section,figure", "figure,section", r"not a table of claims .*in another place\)\. Cor"),
        ("battling2013,", "gbw2015,", "has claims of gbw2015"),
    ],
)
def test_damaged_statements_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    study = StudyFolder(tmp_path / "battling2013")
    study.folder.mkdir()
    assert read_claims(study) == []
    text = study_at("battling2013").statements.read_text()
    assert old in text
    study.statements.write_text(text.replace(old, new))
    with pytest.raises(DataError, match=rf"claims\.csv: .*{message}"):
        read_claims(study)


def test_rows_with_a_column_more_have_no_number_to_name(tmp_path: Path) -> None:
    study = StudyFolder(tmp_path / "battling2013")
    study.folder.mkdir()
    text = study_at("battling2013").statements.read_text().replace(",ratio,", ",rumour,")
    study.statements.write_text(text.replace("\nb", "\nx,b"))
    with pytest.raises(DataError, match=r"claims\.csv: not a table of claims \((?!row)"):
        read_claims(study)


def test_losses_of_the_tables_are_those_of_the_statements() -> None:
    table = pd.read_csv(study_at("gbw2015").folder / "published" / "voip-loss.csv")
    claims = {one.id: one for one in read_claims(study_at("gbw2015"))}
    wired = [claims[f"g{number:03d}"].value for number in range(70, 112)]
    wifi = [claims[f"g{number:03d}"].value for number in range(192, 206)]
    assert table["loss_percent"].tolist() == wired + wifi
    cell = table[(table["link"] == "10/1") & (table["cross_traffic"] == "rrul")]
    assert cell.set_index("qdisc")["loss_percent"]["ared"] == 26.33


def test_a_study_with_another_congestion_control_is_judged() -> None:
    table = measured({CODEL: [1.0, 1.1, 1.2], PIE: [5.0, 5.1, 5.2]}, cc="bbr")
    found = verdict_of(check.less(CODEL, PIE), table)
    assert (found.verdict, found.era, found.cc) == (Verdict.AGREES, "modern", "bbr")


def test_rules_without_a_claim_are_refused(tmp_path: Path) -> None:
    study = StudyFolder(tmp_path / "gbw2015")
    shutil.copytree(study_at("gbw2015").folder, study.folder)
    lines = study.statements.read_text().splitlines()
    kept = [line for line in lines if not line.startswith("g038")]
    study.statements.write_text("\n".join(kept) + "\n")
    with pytest.raises(DataError, match=r"claims\.csv: lacks g038"):
        assess_study(study, tmp_path)
