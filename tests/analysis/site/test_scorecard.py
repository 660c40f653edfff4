"""The scorecard as text, as a page and as a table."""

from pathlib import Path

import pandas as pd
import pytest

from qdisclab.analysis.measures.score import CASES, NUMBERS, SCORES, STUDY
from qdisclab.analysis.site import scorecard


def scores(qdisc: str, cc: str, value: float, numbers: int = 2) -> pd.DataFrame:
    """Three seeds of the first numbers, a hundredth apart."""
    made_of = ("kernel", "guest", "code", "job")
    rows = [
        (qdisc, cc, number.id, seed, value + (seed - 2) / 100, *made_of, f"d{seed:063}")
        for number in NUMBERS[:numbers]
        for seed in (1, 2, 3)
    ]
    return SCORES.validate(pd.DataFrame(rows, columns=list(SCORES.columns)))


@pytest.fixture
def known() -> pd.DataFrame:
    contestants = [("pie", "cubic", 4.0), ("codel", "bbr", 8.0), ("sfq", "cubic", 2.0)]
    return pd.concat([scores(*one) for one in contestants])


def test_a_queue_is_beside_queues_and_a_control_beside_controls(known: pd.DataFrame) -> None:
    queue = scorecard.compare(scores("sfq", "cubic", 3), known)
    assert queue.columns == [("sfq", "cubic"), ("pie", "cubic")]  # ours takes its own place
    control = scorecard.compare(scores("pie", "vegas", 3), known)
    assert control.columns == [("pie", "vegas"), ("pie", "cubic")]
    assert scorecard.compare(scores("sfq", "vegas", 3), known.head(0)).others == []


def test_the_text_has_intervals_of_what_was_asked_for(known: pd.DataFrame) -> None:
    text = scorecard.text(scorecard.compare(scores("sfq", "cubic", 3), known))
    head, first, *_, last = text.splitlines()
    assert head.split() == ["sfq", "pie"]
    # Student's t of 2 degrees of freedom, 4.303, by 0.01 / sqrt(3)
    assert first.endswith("3 ± 0.02    4")
    assert last.split()[-2:] == ["–", "–"]


def test_the_page_has_bars_by_the_longest_and_says_whose_they_are(known: pd.DataFrame) -> None:
    page = scorecard.page(scorecard.compare(scores("sfq", "cubic", 2), known))
    assert 'style="width: 50.0%"' in page
    assert 'style="width: 100.0%"' in page
    assert "RFC 7928, 8.2.2" in page
    rows = sum(number.study == STUDY for number in NUMBERS)
    assert page.count('<th scope="row">') == rows
    assert "Cases" not in page
    hostile = scores("sfq", "cubic", 2).assign(qdisc="<script>")
    assert "<script>" not in scorecard.page(scorecard.compare(hostile, known))


def test_a_control_s_cases_are_a_table_that_says_which_are_not_as_asked(
    known: pd.DataFrame,
) -> None:
    def of(cc: str, *values: float) -> pd.DataFrame:
        return scores("-", cc, 0, 1).assign(number="a1_error", value=values)

    ours = pd.concat([scores("pie", "vegas", 3), of("vegas", 1.0, 1.5, 2.5)])
    table = pd.concat([known, of("bbr", 1.0, 1.0, 2.0)])
    cases = scorecard.compare(ours, table, CASES)
    assert cases.columns == [("-", "vegas"), ("-", "bbr")]
    head, first, *_ = scorecard.text(cases).splitlines()
    assert head.split() == ["vegas", "bbr"]
    # a mean within the bounds of 0 to 2, a seed beyond them; 4.303 by 0.764 / sqrt(3)
    assert first.startswith("A.1, error of the estimate as STARTUP ends, % (asked: up to 2)")
    assert first.endswith("1.67 ± 1.90 (no)  1.33")
    queues = scorecard.compare(ours, table)
    assert queues.columns == [("pie", "vegas"), ("pie", "cubic")]
    page = scorecard.page(queues, cases)
    assert page.count('<th scope="row">') == len(NUMBERS)
    assert "<h2>Cases of BBR's draft</h2>" in page
    assert page.count(" (no)") == 1


def test_recorded_scores_take_the_place_of_the_same_contestants(
    tmp_path: Path, known: pd.DataFrame
) -> None:
    path = tmp_path / "known.csv"
    scorecard.record(known, path)
    scorecard.record(scores("pie", "cubic", 1), path)
    table = SCORES.validate(pd.read_csv(path))
    assert len(table) == len(known)
    assert table[table["qdisc"] == "pie"]["value"].mean() == pytest.approx(1)
    assert table[table["qdisc"] == "sfq"]["value"].mean() == pytest.approx(2)
    first = path.read_text()
    scorecard.record(scores("pie", "cubic", 1), path)
    assert path.read_text() == first
