"""The verdicts on claims, as pages and notebooks show them; nothing here computes one."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd
from IPython.display import HTML, display

from qdisclab.analysis.claims import record
from qdisclab.analysis.claims.record import Claim, Verdict
from qdisclab.analysis.errors import refused, require_one
from qdisclab.analysis.runs.study import study_at
from qdisclab.analysis.site.tables import hoisted, readable

#: The file of `results/` that has all claims with their verdicts.
FILE: Final = "verdicts.json"

#: What stands on the page of a figure in front of its claims and behind them.
BEGIN, END = "<!-- claims -->", "<!-- /claims -->"
LATER: Final = "The claims come here when all figures are drawn and the claims are assessed."

NONE: Final = "No statement rests on these runs alone; the page of all claims has the others."
COLUMNS: Final = ["Claim", "Statement", "Printed", "Verdict", "Era", "Why"]

_PLACES: Final = re.compile(r"(Table|Figs?\.) (\d+)([a-z]?)(?:-(\d+))?")


def read(results: Path) -> list[Claim]:
    """Return the claims of a results folder; none where they were not assessed.

    Raises DataError for a file that is not what `analysis.site.claims` writes.
    """
    path = results / FILE
    if not path.is_file():
        return []
    remedy = "Make it again with `python -m qdisclab.analysis.site.claims`"
    with refused(path, "not a list of claims ({})", remedy, ValueError, KeyError, TypeError):
        claims: list[Claim] = json.loads(path.read_text(encoding="utf-8"))
        for claim in claims:
            _ = claim["id"], claim["paper"], claim["verdict"], claim["statement"]
        return claims


def count(claims: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many of `claims` have which verdict; what is said twice counts once."""
    counts = Counter(claim["verdict"] for claim in claims if not claim["same_as"])
    return {str(word): counts[word] for word in Verdict if counts[word]}


def decided(counts: Mapping[str, int]) -> int:
    """Return how many claims are decided, by what `count` returns: those about a result that agree,
    disagree or are explained. No other is."""
    return sum(counts.get(verdict, 0) for verdict in ("agrees", "disagrees", "explained"))


def of_places(
    claims: Iterable[Claim], places: Collection[str], experiments: Collection[str]
) -> list[Claim]:
    """Return the claims that `places` name and that rest on `experiments` and on nothing else.

    A place is a section, or the begin of a figure's or table's name; the id of a claim names it
    whatever it rests on.
    """
    return [
        claim
        for claim in claims
        if claim["id"] in places
        or (
            claim["experiments"]
            and set(claim["experiments"]) <= set(experiments)
            and any(record.stands_in(claim, place) for place in places)
        )
    ]


def belongs(place: str, figure: str) -> bool:
    """Return whether what stands at `place`, "Fig. 3", "Figs. 7-8" or "Table 5", is about `figure`,
    "3a", "7" or "Table 5"."""
    parts = re.fullmatch(r"(Table )?(\d+)([a-z]?)", figure)
    if parts is None:
        return False
    number, letter = int(parts[2]), parts[3]
    return any(
        (kind == "Table") == bool(parts[1])
        and int(first) <= number <= int(last or first)
        and (not part or not letter or part == letter)
        for kind, first, part, last in _PLACES.findall(place)
    )


def table(claims: Iterable[Claim], setting: Sequence[str]) -> pd.DataFrame:
    """Return one row per claim, of COLUMNS, with the verdict in a setting, an era and a control.

    Where that lacks data, the verdict that counts takes its place.
    """
    rows = []
    for claim in claims:
        whole = (of for of in claim["judgements"] if of["complete"])
        judgement = next((of for of in whole if [of["era"], of["cc"]] == [*setting]), claim)
        verdict = (judgement["verdict"], judgement["setting"], judgement["why"])
        rows.append((claim["id"], claim["statement"], claim["printed"], *verdict))
    return pd.DataFrame(rows, columns=COLUMNS)


def show(
    study: str | Path,
    data_root: str | Path,
    runs: pd.DataFrame,
    places: Collection[str],
    output: str = "",
) -> None:
    """Show the claims of a study that stand in `places` and rest on the experiments of `runs`.

    The verdicts on the runs below `data_root` are those that `emulate claims` has computed. With
    `output`, the folder of a figure that is published (`outputs.publish`), its page gets them from
    the results (`fill`), as they are assessed after all figures.
    """
    if output:
        display(HTML(f"{BEGIN}<p>{LATER}</p>{END}"))  # type: ignore[no-untyped-call]
        return
    folder = study_at(study)
    claims = record.verdicts(folder, Path(data_root))
    if claims is None:
        command = f"emulate claims --study {folder.name}"
        display(HTML(f"<p>No verdicts yet: <code>{command}</code> computes them.</p>"))  # type: ignore[no-untyped-call]
        return
    for place in places if claims else ():  # of a study that states nothing, none is wrong
        if not any(record.stands_in(claim, place) for claim in claims):
            names = (name for claim in claims for name in (claim["section"], claim["figure"]))
            require_one("claims", place, dict.fromkeys(filter(None, names)))
    setting = [str(runs[name].iloc[0]) for name in ("era", "cc")]
    own = of_places(claims, places, set(runs["experiment"].astype(str)))
    display(readable(table(own, setting), NONE))  # type: ignore[no-untyped-call]


def fill(page: Path, claims: Iterable[Claim], setting: Sequence[str]) -> None:
    """Write the table of `claims` into the page of a figure, where `show` left room for it."""
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if begin and end:
        shown: Any = readable(table(claims, setting), NONE)
        text = f"{before}{begin}{shown._repr_html_()}{end}{after}"
        page.write_text(hoisted(text), encoding="utf-8")
