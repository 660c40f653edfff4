"""The generated parts of pages, from figures and claims worked out by hand."""

import re
from pathlib import Path
from typing import Any

import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.site.gallery import Shown
from qdisclab.analysis.site.outputs import Summary
from tests import ROOT
from workflow import readme
from workflow.readme import Results, filled, generated

RRUL = [
    ["codel", "latency", "a", "35 ± 1", "59.5", "5"],
    ["codel", "latency", "b", "24 ± 1", "28.9", "5"],
    ["sfq", "latency", "a", "8.5 ± 1", "8.9", "4"],
    ["sfq", "goodput", "a", "9.28 ± 0.01", "9.3", "4"],
]


def shown(figure: str, title: str = "RRUL, 10/10 Mbit/s", **facts: Any) -> Shown:
    summary = Summary(
        paper="gbw2015", figure=figure, title=title, caption="", alt="",
        **{"cells": [{"seeds": [1]}], **facts},
    )  # fmt: skip
    headers = ["Qdisc", "Quantity", "Path", "Published", "Ours", "Seeds"]
    return Shown(f"gbw2015/fig{figure}", summary, headers, RRUL, True)


FIGURES = [
    shown("2a", compared=3, agreeing=1, errors_percent=[4.0, 1.0, 30.0]),
    shown("2b", "RRUL, 10/1 Mbit/s", compared=1, agreeing=1, errors_percent=[2.0]),
    shown("2a spread", "Spread"),
]


def claim(name: str, verdict: str, lacks: str | None = None, **facts: Any) -> dict[str, Any]:
    """A claim of gbw2015 as verdicts.json has it; `facts` replace what it says."""
    held: dict[str, Any] = {
        "era": "2014c", "cc": "cubic", "verdict": verdict, "lacks": lacks and {"kind": lacks},
        "explained_by": None, "makes_worse": [], "before": None, "varied": {}, "complete": True,
    }  # fmt: skip
    return {
        "id": name, "paper": "gbw2015", "statement": f"So {name}.", "verdict": verdict,
        "lacks": lacks, "era": "2014c", "cc": "cubic", "same_as": None, "why": "5 ms; asked for 3",
        "kind": "ordering", "judgements": [held], **facts,
    }  # fmt: skip


def today(name: str, then: str, cubic: str, bbr: str | None = None) -> dict[str, Any]:
    judgements = [
        {"era": era, "cc": cc, "verdict": verdict, "lacks": None, "explained_by": None}
        for era, cc, verdict in (("modern", "cubic", cubic), ("modern@linux-7.2", "bbr", bbr))
        if verdict
    ]
    return claim(name, then, judgements=judgements)


def body(table: str) -> list[str]:
    return table.splitlines()[2:]


def test_parts_of_a_figure_are_one_row_and_values_that_stand_twice_count_once() -> None:
    more = [
        shown("2a fitted", compared=3, agreeing=3, section="Fitted"),
        shown("9 by cause", compared=2, agreeing=0),
        shown("Table 1", compared=5, agreeing=4, cells=[]),
    ]
    assert body(readme.figures_table([*FIGURES, *more])) == [
        "| gbw2015 | 2a to 2b | RRUL | 2 of 4 | 3 % |",
        "| gbw2015 | 2a fitted | RRUL | 3 of 3 | – |",
        "| gbw2015 | 9 by cause | RRUL | 0 of 2 | – |",
        "| gbw2015 | Table 1 | RRUL | 4 of 5 | – |",
        "",
        "Each counted once, **2 of 6 measured values agree**, as do 4 of 5 settings, which are read"
        " back.",
    ]


def test_claims_are_counted_once() -> None:
    claims = [
        claim("g001", "agrees"), claim("g002", "disagrees"), claim("g003", "x", "data"),
        claim("g004", "x", "rule"), claim("g005", "agrees", same_as="g001"),
    ]  # fmt: skip
    assert body(readme.claims_table(claims)) == [
        "| gbw2015 | 4 | 1 | 1 | 0 | 0 | 0 | 0 | 2 | 0 | 0 |"
    ]


def test_what_today_decides_otherwise_has_a_row_and_all_are_counted() -> None:
    claims = [
        today("g001", "agrees", "explained"),
        today("g002", "disagrees", "agrees", "at the bound"),
        today("g003", "agrees", "agrees"),
        claim("g004", "agrees"),
    ]
    claims[1]["judgements"][1]["lacks"] = {"kind": "distance"}
    assert body(readme.today_table(claims)) == [
        "|  | **hold**, of all that the runs decide | 2 of 3 | 2 of 3 | 0 of 0 | 0 of 0 | 0 of 0 |",
        "| g001 | So g001. | yes | no | – | – | – |",
        "| g002 | So g002. | no | yes | – | open | – |",
    ]


def test_cited_claims_stand_by_their_verdict() -> None:
    names = ("agrees", "agrees", "disagrees", "agrees")
    claims = [claim(f"g00{number}", verdict) for number, verdict in enumerate(names, 1)]
    page = "It holds (g001\nto g003).\n<!-- cited -->\n| g004 |\n<!-- /cited -->\n"
    assert body(readme.cited_table(claims, page)) == [
        "| gbw2015 | agrees | g001, g002 |",
        "| gbw2015 | disagrees | g003 |",
    ]
    with pytest.raises(ValueError, match="no claim g999"):
        readme.cited_table(claims, "(g999)")


def test_what_explains_a_claim_is_named_and_what_it_spoils_once() -> None:
    explained = claim("g002", "explained", why="5 ms; asked for 3. Explained by era x, with which")
    explained["judgements"][0] |= {"explained_by": "era x", "makes_worse": ["g007", "g009"]}
    other = claim("g005", "explained")
    other["judgements"][0] |= {"explained_by": "era y", "makes_worse": []}
    number = claim("g004", "disagrees", kind="number")
    claims = [claim("g001", "disagrees"), explained, claim("g003", "agrees"), number, other]
    assert body(readme.disagreements_table(claims)) == [
        "| g001 | So g001. | 5 ms; asked for 3 |",
        "| g002 | So g002. | 5 ms; asked for 3 |",
        "| g005 | So g005. | 5 ms; asked for 3 |",
        "",
        "Printed numbers that do not agree: g004.",
        "",
        "Explained by era x: g002; no longer agree with it: g007, g009.",
        "",
        "Explained by era y: g005.",
    ]


def test_verdicts_of_eras_stand_beside_each_other() -> None:
    """g001 fails but for the clock, which g002 does not survive; of 2014 there is g001 alone."""
    explained, agreeing = claim("g001", "explained"), claim("g002", "agrees")
    (own,) = explained["judgements"]
    own |= {"before": "disagrees", "varied": {"a clock": "agrees"}}
    explained["judgements"].append({**own, "era": "2014", "verdict": "agrees", "before": None})
    agreeing["judgements"][0]["varied"] = {"a clock": "disagrees"}
    claims = [
        explained, agreeing, claim("g003", "at the bound", "distance"), claim("g004", "as set"),
        claim("g005", "not yet testable", "setting"), claim("g006", "agrees", same_as="g002"),
    ]  # fmt: skip
    assert body(readme.eras_table(claims)) == [
        "| what counts | 1 | 0 | 1 | 1 | 3 |",
        "| nothing explained | 1 | 1 | 0 | 1 | 3 |",
        "| with a clock | 1 | 1 | 0 | 1 | 3 |",
        "| 2014c, by its own runs | 1 | 1 | 0 | 1 | 3 |",
        "| 2014, by its own runs | 1 | 0 | 0 | 0 | 1 |",
        "| 2014's, as they count | 0 | 1 | 0 | 0 | 1 |",
    ]


def test_values_are_listed_in_a_file() -> None:
    head, first, *rest = readme.values_csv(FIGURES).splitlines()
    assert head == "figure,value,published,ours,difference,allowed ±,agrees,seeds"
    assert first == '2a,"codel, latency, a",35 ± 1,59.5,–,–,–,5'
    assert len(rest) == 7


def test_a_table_of_a_figure() -> None:
    words = "gbw2015/fig2a: Qdisc | Published; Ours by Path where Quantity = latency"
    assert readme.figure_table(FIGURES, words).splitlines() == [
        "| Qdisc | Published | a | b |",
        "| --- | --- | --- | --- |",
        "| codel | 35 ± 1 | 59.5 | – |",
        "| codel | 24 ± 1 | – | 28.9 |",
        "| sfq | 8.5 ± 1 | 8.9 | – |",
    ]
    assert body(readme.figure_table(FIGURES, "gbw2015/fig2a: Qdisc where Ours = 9.3")) == [
        "| sfq |"
    ]
    assert len(body(readme.figure_table(FIGURES, "gbw2015/fig2a"))) == len(RRUL)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("gbw2015/fig9", "no figure gbw2015/fig9"),
        ("gbw2015/fig2a: Qdiscs", "no column 'Qdiscs', but Qdisc, Quantity"),
        ("gbw2015/fig2a: Qdisc; Ours by Way", "no column 'Way'"),
        ("gbw2015/fig2a where Qdisc = cake", "no row with Qdisc = cake"),
        ("gbw2015 fig2a", "is not a table: give STUDY/FIGURE"),
    ],
)
def test_a_table_that_cannot_be_made(words: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        readme.figure_table(FIGURES, words)


def test_a_page_keeps_all_but_its_parts(tmp_path: Path) -> None:
    results = Results(FIGURES, [claim("g001", "agrees"), claim("k001", "agrees", paper="khademi")])
    text = "a `<!-- claims -->`\n<!-- claims -->\nold\n<!-- /claims -->\nb\n"
    assert filled(text, results).startswith("a `<!-- claims -->`\n<!-- claims -->\n| paper |")
    assert filled(text, results).endswith("| khademi | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |\n"
                                          "<!-- /claims -->\nb\n")  # fmt: skip
    (tmp_path / "studies/khademi").mkdir(parents=True)
    page = tmp_path / "studies/khademi/README.md"
    page.write_text("<!-- claims -->\n<!-- /claims -->\n")
    page.with_name("values.csv").write_text("")
    drawn = tmp_path / "results"
    (drawn / "p/fig1").mkdir(parents=True)
    (drawn / "p/fig1/figure.svg").write_text("<svg>")
    (tmp_path / readme.PICTURES).parent.mkdir()
    (tmp_path / readme.PICTURES).write_text("picture,figure\ndocs/one.svg,p/fig1\n")
    made = dict(generated(tmp_path, results, drawn))
    assert made[tmp_path / "docs/one.svg"] == "<svg>"
    assert made[page.with_name("values.csv")].count("\n") == 1  # it has no figures
    page.write_text("<!-- values -->\n<!-- /values -->\n")
    with pytest.raises(DataError, match="'values' is not one of the generated parts"):
        dict(generated(tmp_path, results, drawn))


def test_every_marker_of_the_pages_is_known() -> None:
    pages = (page for pattern in readme.PAGES for page in ROOT.glob(pattern))
    numbers = range(1, 300)
    claims = [claim(f"{letter}{number:03d}", "agrees") for letter in "bcgk" for number in numbers]
    for text in (page.read_text() for page in pages):
        for marker in re.finditer(r"^<!-- (\w+)(?: (.+))? -->$", text, re.MULTILINE):
            try:
                readme.part(marker[1], marker[2] or "", text, Results([], claims), "")
            except ValueError as error:
                assert "no figure" in str(error)  # for want of results, and not a wrong marker
