"""Write the generated tables of the pages for people: `python -m workflow.readme`.

A table stands between `<!-- NAME -->` and `<!-- /NAME -->`; everything else is left as it is.
`figures` has a row per group of figures, `claims` counts the verdicts on what the papers state
(`docs/results.md`), `verdicts` has those of the claims that `docs/conclusions.md` cites, and
`today` what gbw2015 states on today's Linux (`docs/today.md`), and `metrics` are the names that
claims have (`docs/claims.md`); the
pictures of README and `docs/today.md` are figures. In a study's own README, where it has their
markers, `values` has a row per published value and `disagreements` one a claim that does not agree.
`--check` writes nothing and fails where a page has other tables.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

from analysis.errors import DataError
from analysis.measures.registry import metrics, registry_of
from analysis.runs.study import study_at
from analysis.site.gallery import Shown, collect
from analysis.site.report import CLAIMS, claims_of
from emulation.study import studies

RESULTS = Path("docs/results.md")
TODAY = Path("docs/today.md")
CONCLUSIONS = Path("docs/conclusions.md")
STATED = Path("docs/claims.md")
PICTURES = {Path("docs/fig2b.svg"): "gbw2015/fig2b", Path("docs/today.svg"): "gbw2015/today_rrulb"}
STUDIES = Path("studies")

#: What came of a claim -> how the table of figures counts it; all others are open.
VERDICTS = {
    "agrees": "agree",
    "disagrees": "disagree",
    "explained": "explained",
    "as set": "as set",
}
COUNTED = (*VERDICTS.values(), "open")

_LINK = re.compile(r",? [\d/]+ Mbit/s$")


def figures_table(figures: list[Shown], claims: list[dict[str, Any]]) -> str:
    """Paper, figures, what they show, how much of what the paper says agrees, and the median
    relative error of its numbers.

    The parts of a figure, `2a` to `2c`, are one row, as long as they are parts of one number.
    """
    known = {one["id"]: one for one in claims}
    groups: dict[tuple[str, str, str], list[Shown]] = {}
    for shown in figures:
        one = shown.summary
        number, rest = re.fullmatch(r"(\d*)(?:[a-z]\b)?(.*)", one.figure, re.DOTALL).groups()  # type: ignore[union-attr]
        groups.setdefault((one.paper, number, rest), []).append(shown)
    lines = [
        "| paper | figure | shows | printed values that agree | median error | its claims |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for (paper, *_), group in groups.items():
        titles = dict.fromkeys(_LINK.sub("", shown.summary.title) for shown in group)
        compared = sum(shown.summary.compared for shown in group)
        agreeing = sum(shown.summary.agreeing for shown in group)
        errors = [error for shown in group for error in shown.summary.errors_percent]
        own = {one["id"]: one["verdict"] for shown in group for one in claims_of(shown, known)}
        said = Counter(VERDICTS.get(verdict, "open") for verdict in own.values())
        names = list(dict.fromkeys(shown.summary.figure for shown in group))
        lines.append(
            _row(
                (
                    paper if group[0].of_paper else "–",
                    names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}",
                    "; ".join(titles),
                    f"{agreeing} of {compared}" if compared else "–",
                    f"{median(errors):.3g} %" if errors else "–",
                    ", ".join(f"{said[name]} {name}" for name in COUNTED if name in said) or "–",
                )
            )
        )
    return "\n".join(lines)


def values_table(figures: list[Shown]) -> str:
    """Every published value beside ours, a table a kind of figure."""
    lines: list[str] = []
    before: list[str] = []
    for shown in figures:
        if not shown.summary.compared:
            continue
        columns = ["Paper", "Figure", *shown.headers]
        if columns != before:
            lines += ["", _row(columns), _row("---" for _ in columns)]
        before = columns
        lines += [_row((shown.summary.paper, shown.summary.figure, *row)) for row in shown.rows]
    return "\n".join(lines[1:])


#: Heading -> whether a claim of claims.json counts there.
CLAIM_COLUMNS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "statements": lambda one: True,
    "agree": lambda one: one["verdict"] == "agrees",
    "disagree": lambda one: one["verdict"] == "disagrees",
    "explained": lambda one: one["verdict"] == "explained",
    "at the bound": lambda one: one["lacks"] in ("distance", "resolution"),
    "need more seeds": lambda one: one["lacks"] == "seeds",
    "not measured yet": lambda one: one["lacks"] in ("data", "metric", "rule"),
    "as set": lambda one: one["verdict"] == "as set",
    "not about a result": lambda one: one["lacks"] == "setting",
}


def claims_table(claims: list[dict[str, Any]]) -> str:
    """How many claims of each paper have come to what; what is said twice counts once."""
    lines = [_row(("paper", *CLAIM_COLUMNS)), _row("---" for _ in ("paper", *CLAIM_COLUMNS))]
    for paper in dict.fromkeys(one["paper"] for one in claims):
        own = [one for one in claims if one["paper"] == paper and not one["same_as"]]
        lines.append(_row((paper, *(sum(map(of, own)) for of in CLAIM_COLUMNS.values()))))
    return "\n".join(lines)


#: Setting of `today_table` -> era and congestion control.
SETTINGS = {
    "Linux 6.12, CUBIC": ("modern", "cubic"),
    "Linux 7.2, CUBIC": ("modern@linux-7.2", "cubic"),
    "Linux 7.2, BBR": ("modern@linux-7.2", "bbr"),
    "Linux 7.2, New Reno": ("modern@linux-7.2", "reno"),
}


def today_table(claims: list[dict[str, Any]]) -> str:
    """Whether what a paper states holds in each of SETTINGS: a row per statement of which one has
    all data, and above them a row of counts."""
    rows = []
    counts = {name: Counter[str]() for name in ("paper", *SETTINGS)}
    for one in claims:
        held = {
            name: _held(judgement)
            for name, context in SETTINGS.items()
            for judgement in one["judgements"]
            if (judgement["era"], judgement["cc"]) == context
        }
        words = [held.get(name, "–") for name in SETTINGS]
        if one["same_as"] or not {"yes", "no"} & set(words):
            continue
        then = _held({"verdict": one["verdict"], "lacks": {"kind": one["lacks"]}})
        rows.append((one["id"], one["statement"], then, *words))
        for name, word in zip(counts, (then, *words), strict=True):
            counts[name][word] += 1
    of = [f"{count['yes']} of {count['yes'] + count['no']}" for count in counts.values()]
    lines = [
        _row(("claim", "statement", "its era", *SETTINGS)),
        _row(["---"] * (3 + len(SETTINGS))),
    ]
    lines.append(_row(("", "**hold**, of those that the runs decide", *of)))
    return "\n".join([*lines, *map(_row, rows)])


def _held(judgement: dict[str, Any]) -> str:
    if judgement["verdict"] == "agrees":
        return "yes"
    if judgement["verdict"] in ("disagrees", "explained"):
        return "no"
    lacks = (judgement["lacks"] or {}).get("kind")
    return "open" if lacks in ("seeds", "distance", "resolution") else "–"


def cited_table(claims: list[dict[str, Any]], text: str) -> str:
    """A row per claim that `text` cites before its table, with ranges as `c001 to c007`."""
    prose = text.partition("<!-- verdicts -->")[0]
    ids = [one["id"] for one in claims]
    cited: dict[str, None] = {}
    for first, last in re.findall(r"\b([a-z]\d{3})\b(?: to ([a-z]\d{3})\b)?", prose):
        of = (first, last or first)
        unknown = [name for name in of if name not in ids]
        if unknown:
            raise ValueError(f"{CONCLUSIONS}: no claim {unknown[0]}")
        cited |= dict.fromkeys(ids[ids.index(of[0]) : ids.index(of[1]) + 1])
    lines = [_row(("claim", "statement", "verdict", "era")), _row(["---"] * 4)]
    for one in claims:
        if one["id"] in cited:
            verdict = "open" if one["lacks"] == "seeds" else one["verdict"]
            lines.append(_row((one["id"], one["statement"], verdict, one["era"])))
    return "\n".join(lines)


def metrics_table() -> str:
    """A row per metric: its name, what it is, its unit."""
    for name in studies.shipped():
        registry_of(study_at(name))
    rows = (
        _row([f"`{name}`", about.title, about.unit or "–"])
        for name, about in sorted(metrics().items())
    )
    return "\n".join([_row(["metric", "what it is", "unit"]), _row(["---"] * 3), *rows])


def disagreements_table(claims: list[dict[str, Any]]) -> str:
    """A row per claim that does not agree, with what was measured."""
    lines = [_row(("claim", "statement", "verdict", "era", "why")), _row(["---"] * 5)]
    for one in claims:
        if one["verdict"] in ("disagrees", "explained"):
            era = f"{one['era']}, {one['cc']}"
            lines.append(_row((one["id"], one["statement"], one["verdict"], era, one["why"])))
    return "\n".join(lines)


def _row(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def fill(text: str, name: str, table: str) -> str:
    """`text` with `table` between the markers of `name`; `ValueError` where there are none."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"no markers '<!-- {name} -->' and '<!-- /{name} -->'")
    return pattern.sub(lambda found: f"{found[1]}{table}\n{found[2]}", text)


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m workflow.readme", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"), help="where figures are")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    given = parser.parse_args(arguments)
    try:
        figures = collect(given.results)
        claims = json.loads((given.results / CLAIMS).read_text(encoding="utf-8"))
    except (DataError, FileNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    tables = {
        RESULTS: {"figures": figures_table(figures, claims), "claims": claims_table(claims)},
        CONCLUSIONS: {"verdicts": cited_table(claims, CONCLUSIONS.read_text(encoding="utf-8"))},
        TODAY: {"today": today_table([one for one in claims if one["paper"] == "gbw2015"])},
        STATED: {"metrics": metrics_table()},
    }
    for page in sorted(STUDIES.glob("*/README.md")):
        study, text = page.parent.name, page.read_text(encoding="utf-8")
        own = {
            "values": values_table([one for one in figures if one.summary.paper == study]),
            "disagreements": disagreements_table([one for one in claims if one["paper"] == study]),
        }
        tables[page] = {name: own[name] for name in own if f"<!-- {name} -->" in text}
    other = False
    for picture, figure in PICTURES.items():
        drawn = (given.results / figure / "figure.svg").read_bytes()
        other |= not picture.is_file() or drawn != picture.read_bytes()
        if not given.check:
            picture.write_bytes(drawn)
    for page, named in tables.items():
        before = after = page.read_text(encoding="utf-8")
        for name, table in named.items():
            after = fill(after, name, table)
        other |= before != after
        if not given.check:
            page.write_text(after, encoding="utf-8")
    if given.check:
        return int(other)
    return 0


if __name__ == "__main__":
    sys.exit(main())
