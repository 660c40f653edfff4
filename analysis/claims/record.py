"""The verdicts on each study's claims, remembered until something changes that they depend on.

That is the code that assesses them and its libraries, what the study says apart from its figures,
and the files of its runs, by size and time. A plot is no part of it. Nothing here assesses a claim:
`analysis.claims.assess` does, so that a notebook that only shows verdicts is not made of that code.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs.study import StudyFolder
from qdisclab.analysis.sources import digest as code_digest
from qdisclab.emulation.host.cache import digest, recalled, remembered, states
from qdisclab.emulation.project import ROOT

FOLDER: Final = "verdicts"

#: What of a study's folder says nothing about its claims, beside its runs, of which sizes and times
#: tell.
LEFT_OUT: Final = (
    "figures", "notebooks", "data", "README.md", "log", "log.md", "values.csv", "__pycache__",
)  # fmt: skip


class Verdict(StrEnum):
    """What can be said of a claim, in the order of counts and bars."""

    AGREES = "agrees"
    EXPLAINED = "explained"
    AS_SET = "as set"
    AT_BOUND = "at the bound"
    UNDECIDED = "undecided"
    NOT_YET = "not yet testable"
    DISAGREES = "disagrees"


#: A claim with its verdicts, as `summary.as_json` makes it.
Claim = dict[str, Any]


def verdicts(
    study: StudyFolder, data: Path, compute: Callable[[], list[Claim]] | None = None
) -> list[Claim] | None:
    """Return the claims of `study` with their verdicts on its runs below `data`.

    Where none are remembered, or what they depend on has changed, `compute` makes them; without it,
    None is returned.
    """
    runs = (study.runs_root(data) / study.name).resolve()
    subject = f"{study.folder.resolve()}\0{runs}"
    code = [ROOT / "analysis/claims/assess.py", *(ROOT / "analysis/measures").glob("*.py")]
    state = digest([code_digest(code), *states(study.folder, LEFT_OUT), "", *states(runs)])
    claims: list[Claim] | None
    if compute is None:
        claims = recalled(FOLDER, subject, {"": state}).get("")
    else:
        claims = remembered(FOLDER, subject, state, compute)
    return claims


def stands_in(claim: Claim, place: str) -> bool:
    """Return whether `place` is a claim's id, its section or the begin of its figure's name."""
    return place in (claim["id"], claim["section"]) or claim["figure"].startswith(place)


def require_distinct(claims: Iterable[Claim], studies: Iterable[StudyFolder]) -> None:
    """Raise DataError where claims of two studies have one id."""
    statements = {study.name: study.statements for study in studies}
    papers: dict[str, str] = {}
    for claim in claims:
        paper = papers.setdefault(claim["id"], claim["paper"])
        if paper != claim["paper"]:
            wrong = f"'{claim['id']}' is a claim of {paper} already"
            todo = "Begin its ids with other letters"
            raise DataError.of(statements[claim["paper"]], wrong, todo)
