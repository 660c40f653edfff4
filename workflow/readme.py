"""Write the generated tables of the README: `python -m workflow.readme --results results`.

A table stands between `<!-- NAME -->` and `<!-- /NAME -->`; everything else is left as it is.
`figures` has a row a figure, `values` a row a published value, `claims` counts the verdicts on what
the papers state and lists what does not agree. `--check` writes nothing and fails where the README
has other tables.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.errors import DataError
from analysis.report import CLAIMS, Shown, collect

README = Path("README.md")


def figures_table(figures: list[Shown]) -> str:
    """Paper, figure, what it shows and how many of its published values ours agree with."""
    lines = ["| paper | figure | shows | agrees |", "| --- | --- | --- | --- |"]
    for shown in figures:
        one = shown.summary
        match = f"{one.agreeing} of {one.compared}" if one.compared else "no values printed"
        match = match if shown.of_paper else "of no paper"
        lines.append(f"| {one.paper} | {one.figure} | {one.title} | {match} |")
    return "\n".join(lines)


def values_table(figures: list[Shown]) -> str:
    """Every published value beside ours."""
    lines: list[str] = []
    for shown in figures:
        if not shown.summary.compared:
            continue
        table = pd.DataFrame(shown.rows, columns=shown.headers)
        table.insert(0, "Figure", shown.summary.figure)
        if not lines:
            lines += [_row(table.columns), _row("---" for _ in table.columns)]
        lines += [_row(row) for row in table.itertuples(index=False)]
    return "\n".join(lines)


#: Heading -> whether a claim of claims.json counts there.
CLAIM_COLUMNS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "statements": lambda one: True,
    "agree": lambda one: one["verdict"] == "agrees",
    "disagree": lambda one: one["verdict"] == "disagrees",
    "explained": lambda one: one["verdict"] == "explained",
    "need more seeds": lambda one: one["lacks"] == "seeds",
    "not measured yet": lambda one: one["lacks"] in ("data", "metric", "rule"),
    "not about a result": lambda one: one["lacks"] == "setting",
}


def claims_table(claims: list[dict[str, Any]]) -> str:
    """How many claims of each paper have come to what, then a row a claim that does not agree."""
    lines = [_row(("paper", *CLAIM_COLUMNS)), _row("---" for _ in ("paper", *CLAIM_COLUMNS))]
    for paper in dict.fromkeys(one["paper"] for one in claims):
        own = [one for one in claims if one["paper"] == paper]
        lines.append(_row((paper, *(sum(map(of, own)) for of in CLAIM_COLUMNS.values()))))
    off = [one for one in claims if one["verdict"] in ("disagrees", "explained")]
    if off:
        lines += ["", _row(("claim", "statement", "verdict", "era", "why")), _row(["---"] * 5)]
        for one in off:
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
    before = README.read_text(encoding="utf-8")
    after = fill(before, "figures", figures_table(figures))
    after = fill(after, "values", values_table(figures))
    after = fill(after, "claims", claims_table(claims))
    if given.check:
        return int(before != after)
    README.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
