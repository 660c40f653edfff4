"""Write the generated parts of the pages for people: `python -m workflow.readme`.

A generated part stands between `<!-- NAME -->` and `<!-- /NAME -->`; all else is left as it is.

`figures` and `claims` count what was reproduced; `cited` has the verdicts of the claims that the
page cites, and `today` the statements that today's Linux decides otherwise. In a study's pages
`disagreements` has what of its claims does not agree, and `eras` their verdicts under each era.
`<!-- table STUDY/FIGURE: COLUMN | COLUMN -->` is the table of a figure with these columns;
`: COLUMN | COLUMN; CELL by NAME` has one column more for each value of the column NAME, with what
the column CELL has there, and `where COLUMN = VALUE` at the end chooses rows.

Two pictures are those of figures, and `values.csv` of a study has each published value beside ours.
`--check` writes nothing and fails where any of it differs.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import pandas as pd

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.site import verdicts
from qdisclab.analysis.site.gallery import Shown, agreement, collect
from qdisclab.emulation import project
from qdisclab.emulation.host.storage import command
from qdisclab.emulation.model.run import DEFAULT_ERA

PAGES: Final = ("docs/*.md", "studies/*/*.md", "studies/*/log/*.md")
#: The pictures of pages, each with the figure that it is.
PICTURES: Final = "docs/pictures.csv"

_LINK = re.compile(r",? [\d/]+ Mbit/s$")
_PART = re.compile(r"(<!-- (\w+)(?: ([^>\n]+?))? -->\n).*?(<!-- /\2 -->)", re.DOTALL)
_TABLE = re.compile(r"([\w/]+)(?:: (.+?)(?:; (.+?) by (.+?))?)?(?: where (.+?) = (.+))?")


@dataclass(frozen=True)
class Results:
    """What pages are made of."""

    figures: list[Shown]
    claims: list[dict[str, Any]]

    def of(self, study: str) -> Results:
        """Return the figures and claims of one study."""
        return Results(
            [shown for shown in self.figures if shown.summary.paper == study],
            [claim for claim in self.claims if claim["paper"] == study],
        )


def figures_table(figures: list[Shown]) -> str:
    """Return a row per figure of a paper that has printed values: what it shows, how many of these
    agree, and their median relative error; after the table how many agree when each counts once,
    settings apart (`gallery.agreement`). Figures without printed values have no row.

    The parts of a figure, `2a` to `2c`, are one row if they are parts of one number, with the title
    of the first.
    """
    groups: dict[tuple[str, str, str], list[Shown]] = {}
    for shown in figures:
        name = shown.summary.figure
        number, rest = re.fullmatch(r"(\d*)(?:[a-z]\b)?(.*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
        if shown.of_paper:
            groups.setdefault((shown.summary.paper, number, rest), []).append(shown)
    rows = []
    for (paper, *_), group in groups.items():
        compared = sum(shown.summary.compared for shown in group)
        agreeing = sum(shown.summary.agreeing for shown in group)
        errors = [error for shown in group for error in shown.summary.errors_percent]
        if not compared and not errors:
            continue
        names = list(dict.fromkeys(shown.summary.figure for shown in group))
        name = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        rows.append(
            (
                paper,
                name,
                _LINK.sub("", group[0].summary.title),
                f"{agreeing} of {compared}" if compared else "–",
                f"{median(errors):.3g} %" if errors else "–",
            )
        )
    header = ("paper", "figure", "shows", "values that agree", "median error")
    once = agreement(figures)
    count = (
        f"Each counted once, **{once['agreeing']} of {once['compared']} measured values agree**, as"
        f" do {once['as_set']} of {once['settings']} settings, which are read back."
    )
    return "\n".join([_table(header, rows), "", count])


#: Heading -> whether a claim counts there.
CLAIM_COLUMNS: Final[dict[str, Callable[[dict[str, Any]], bool]]] = {
    "statements": lambda claim: True,
    "agree": lambda claim: claim["verdict"] == "agrees",
    "disagree": lambda claim: claim["verdict"] == "disagrees",
    "explained": lambda claim: claim["verdict"] == "explained",
    "at the bound": lambda claim: claim["lacks"] in ("distance", "resolution"),
    "undecided": lambda claim: claim["verdict"] == "undecided",
    "need more seeds": lambda claim: claim["lacks"] == "seeds",
    "not measured yet": lambda claim: claim["lacks"] in ("data", "metric", "rule"),
    "as set": lambda claim: claim["verdict"] == "as set",
    "not about a result": lambda claim: claim["lacks"] == "setting",
}


def claims_table(claims: list[dict[str, Any]]) -> str:
    """Return how many claims of each paper came to what; what is stated twice counts once."""
    rows = []
    for paper in dict.fromkeys(claim["paper"] for claim in claims):
        own = [claim for claim in claims if claim["paper"] == paper and not claim["same_as"]]
        rows.append((paper, *(sum(map(counts, own)) for counts in CLAIM_COLUMNS.values())))
    return _table(("paper", *CLAIM_COLUMNS), rows)


#: What a claim lacks that runs decide.
OPEN: Final = (None, "seeds", "spread", "distance", "resolution")

#: Setting of `today_table` -> era and congestion control.
SETTINGS: Final = {
    "Linux 6.12, CUBIC": ("modern", "cubic"),
    "Linux 7.2, CUBIC": ("modern@linux-7.2", "cubic"),
    "Linux 7.2, BBR": ("modern@linux-7.2", "bbr"),
    "Linux 7.2, New Reno": ("modern@linux-7.2", "reno"),
}


def today_table(claims: list[dict[str, Any]]) -> str:
    """Return whether what a paper states holds in each of SETTINGS: counts, and a row per statement
    that one of them decides otherwise than the paper's era."""
    rows = []
    counts = {name: Counter[str]() for name in ("its era", *SETTINGS)}
    for claim in claims:
        held = {
            name: _held(judgement)
            for name, context in SETTINGS.items()
            for judgement in claim["judgements"]
            if (judgement["era"], judgement["cc"]) == context
        }
        then = _held({"verdict": claim["verdict"], "lacks": {"kind": claim["lacks"]}})
        words = [then, *(held.get(name, "–") for name in SETTINGS)]
        if claim["same_as"] or not {"yes", "no"} & set(words[1:]):
            continue
        for name, word in zip(counts, words, strict=True):
            counts[name][word] += 1
        if {"yes": "no", "no": "yes"}.get(then) in words[1:]:
            rows.append((claim["id"], claim["statement"], *words))
    of = [f"{count['yes']} of {count['yes'] + count['no']}" for count in counts.values()]
    total = ("", "**hold**, of all that the runs decide", *of)
    return _table(("claim", "statement", *counts), [total, *rows])


def _held(judgement: dict[str, Any]) -> str:
    if judgement["verdict"] == "agrees":
        return "yes"
    if judgement["verdict"] in ("disagrees", "explained"):
        return "no"
    lacks = (judgement["lacks"] or {}).get("kind")
    return "open" if lacks in OPEN[1:] else "–"


def cited_table(claims: list[dict[str, Any]], text: str) -> str:
    """Return which of the claims that `text` cites came to what, by paper and verdict.

    `c001 to c007` cites all that stand between them. Raises ValueError for one that does not exist.
    """
    prose = _PART.sub("", text)
    ids = [claim["id"] for claim in claims]
    cited: set[str] = set()
    for first, last in re.findall(r"\b([a-z]\d{3})\b(?:\s+to\s+([a-z]\d{3})\b)?", prose):
        ends = (first, last or first)
        if unknown := [name for name in ends if name not in ids]:
            raise ValueError(f"no claim {unknown[0]}")
        cited.update(ids[ids.index(ends[0]) : ids.index(ends[1]) + 1])
    groups: dict[tuple[str, str], list[str]] = {}
    for claim in claims:
        if claim["id"] in cited:
            verdict = "open" if claim["lacks"] == "seeds" else claim["verdict"]
            groups.setdefault((claim["paper"], verdict), []).append(claim["id"])
    rows = ((paper, verdict, ", ".join(own)) for (paper, verdict), own in groups.items())
    return _table(("paper", "verdict", "claims"), rows)


def disagreements_table(claims: list[dict[str, Any]]) -> str:
    """Return a row per statement that does not hold, with what was measured; and after the table
    which printed numbers are off, which claims a variation explains, and what it makes worse."""
    rows = []
    numbers = []
    explained: dict[str, tuple[list[str], list[str]]] = {}
    for claim in claims:
        if claim["verdict"] not in ("disagrees", "explained"):
            continue
        reason, _, _ = claim["why"].partition(". Explained by")
        if claim["kind"] == "number" or "as printed" in claim["why"]:
            numbers.append(claim["id"])
        else:
            rows.append((claim["id"], claim["statement"], reason))
        for judgement in claim["judgements"]:
            if (judgement["era"], judgement["cc"]) != (claim["era"], claim["cc"]):
                continue
            if variation := judgement["explained_by"]:
                ids, _ = explained.setdefault(variation, ([], judgement["makes_worse"]))
                ids.append(claim["id"])
    notes = [
        f"Explained by {name}: {', '.join(ids)}"
        + (f"; no longer agree with it: {', '.join(worse)}." if worse else ".")
        for name, (ids, worse) in explained.items()
    ]
    if numbers:
        notes.insert(0, f"Printed numbers that do not agree: {', '.join(numbers)}.")
    table = _table(("claim", "statement", "measured"), rows)
    return "\n\n".join([table, *(textwrap.fill(note, 100) for note in notes)])


def eras_table(claims: list[dict[str, Any]]) -> str:
    """Return the verdicts of the paper's eras beside each other: those that count, the same with
    nothing explained, and with each variation in its place throughout; then each single era, for
    the statements that its own runs decide, and what counts of these where that differs."""
    own = {
        claim["id"]: claim
        for claim in claims
        if not claim["same_as"] and claim["verdict"] != "as set" and claim["lacks"] in OPEN
    }
    plain: dict[str, str] = {}
    varied: dict[str, dict[str, str]] = {}
    eras: dict[str, dict[str, str]] = {}
    for name, claim in own.items():
        for judgement in claim["judgements"]:
            if judgement["cc"] != claim["cc"] or not judgement["complete"]:
                continue
            verdict = judgement["before"] or judgement["verdict"]
            if judgement["era"] == claim["era"]:
                plain[name] = verdict
                for variation, other in judgement["varied"].items():
                    varied.setdefault(variation, {})[name] = other
            if not judgement["era"].startswith(DEFAULT_ERA) and " or " not in judgement["era"]:
                eras.setdefault(judgement["era"], {})[name] = verdict
    groups = {"what counts": [claim["verdict"] for claim in own.values()]}
    if varied:
        groups["nothing explained"] = list(plain.values())
    groups |= {f"with {name}": list((plain | other).values()) for name, other in varied.items()}
    for era, verdicts_of in eras.items() if len(eras) > 1 else ():
        groups[f"{era}, by its own runs"] = list(verdicts_of.values())
        counted = [plain[name] for name in verdicts_of]
        if counted != list(verdicts_of.values()):
            groups[f"{era}'s, as they count"] = counted
    rows = []
    for group, words in groups.items():
        count = Counter(words)
        decided = [count[word] for word in ("agrees", "disagrees", "explained")]
        rows.append((group, *decided, len(words) - sum(decided), len(words)))
    return _table(("verdicts", "agree", "disagree", "explained", "open", "statements"), rows)


#: Columns of a figure's table that `values.csv` has; what stands before them says which value.
COMPARED: Final = ("Published", "Ours", "Difference", "Allowed ±", "Agrees", "Seeds")


def values_csv(figures: list[Shown]) -> str:
    """Return the published values of all figures beside ours, as CSV."""
    rows = []
    for shown in figures:
        if not shown.summary.compared:
            continue
        first = min(place for place, name in enumerate(shown.headers) if name in COMPARED)
        for row in shown.rows:
            cells = dict(zip(shown.headers, row, strict=True))
            compared = (cells.get(name, "–") for name in COMPARED)
            rows.append((shown.summary.figure, ", ".join(row[:first]), *compared))
    names = ["figure", "value", *(name.lower() for name in COMPARED)]
    return pd.DataFrame(rows, columns=names).to_csv(index=False, lineterminator="\n")


def figure_table(figures: list[Shown], words: str) -> str:
    """Return the table of a figure, named by the words of its marker: see the module's docstring.

    Raises ValueError for a figure, a column or a value that does not exist.
    """
    if (match := _TABLE.fullmatch(words)) is None:
        raise ValueError(f"'{words}' is not a table: give STUDY/FIGURE: COLUMN | COLUMN")
    name, keys, cell, by, where, value = match.groups()
    shown = next((shown for shown in figures if shown.folder == name), None)
    if shown is None:
        raise ValueError(f"no figure {name}")
    columns = keys.split(" | ") if keys else shown.headers
    wanted = [*columns, *filter(None, (cell, by, where))]
    if missing := [column for column in wanted if column not in shown.headers]:
        raise ValueError(f"{name} has no column {missing[0]!r}, but {', '.join(shown.headers)}")
    table = pd.DataFrame(shown.rows, columns=shown.headers)
    table = table[table[where] == value] if where else table
    if table.empty:
        raise ValueError(f"{name} has no row with {where} = {value}")
    if by:
        wide = table.pivot_table(cell, columns, by, "last", fill_value="–", sort=False)
        table = wide[table[by].unique()].reset_index()
    else:
        table = table[columns].drop_duplicates()
    return _table(table, table.itertuples(index=False))


def _table(header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    header = list(header)
    lines: list[Iterable[object]] = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines)


def part(name: str, words: str, text: str, results: Results, study: str) -> str:
    """Return a generated part of a page with `text`, which is about `study` where it is of one.

    Raises ValueError for a name that is not known, and what the tables raise.
    """
    own = results.of(study) if study else results
    parts = {
        "figures": partial(figures_table, results.figures),
        "claims": partial(claims_table, results.claims),
        "cited": partial(cited_table, results.claims, text),
        "today": partial(today_table, own.claims),
        "eras": partial(eras_table, own.claims),
        "disagreements": partial(disagreements_table, own.claims),
        "table": partial(figure_table, results.figures, words),
    }
    if name not in parts:
        raise ValueError(f"'{name}' is not one of the generated parts")
    return parts[name]()


def filled(text: str, results: Results, study: str = "") -> str:
    """Return the text of a page with its generated parts made anew."""

    def made(match: re.Match[str]) -> str:
        return f"{match[1]}{part(match[2], match[3] or '', text, results, study)}\n{match[4]}"

    return _PART.sub(made, text)


def generated(root: Path, results: Results, drawn: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file below `root` of which a part is generated, with what it shall hold."""
    for picture, figure in csv.reader((root / PICTURES).read_text("utf-8").splitlines()[1:]):
        yield root / picture, (drawn / figure / "figure.svg").read_text(encoding="utf-8")
    for values in sorted(root.glob("studies/*/values.csv")):
        yield values, values_csv(results.of(values.parent.name).figures)
    for page in sorted(page for pattern in PAGES for page in root.glob(pattern)):
        parts = page.relative_to(root).parts
        study = parts[1] if parts[0] == "studies" else ""
        text = page.read_text(encoding="utf-8")
        try:
            yield page, filled(text, results, study)
        except ValueError as error:
            raise DataError.of(page, str(error), "Correct the marker or the citation") from error


@command
def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m workflow.readme", description=__doc__)
    shipped = project.folder("results")
    parser.add_argument("--results", type=Path, default=shipped, help="where figures are")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(arguments)
    claims = verdicts.read(options.results)
    if not claims:
        remedy = "Make it with `python -m qdisclab.analysis.site.claims`"
        raise DataError.of(options.results / verdicts.FILE, "has no claims", remedy)
    results = Results(collect(options.results), claims)
    differs = False
    for path, text in generated(project.ROOT, results, options.results):
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            differs = True
            if options.check:
                print(f"{path}: differs from what the results give")
            else:
                path.write_text(text, encoding="utf-8")
    return int(options.check and differs)


if __name__ == "__main__":
    sys.exit(main())
