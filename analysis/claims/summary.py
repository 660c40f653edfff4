"""Assessments as people and machines read them: texts, JSON and counts."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.claims.check import Printed
from analysis.claims.effect import number
from analysis.claims.verdict import Assessment, Finding, Judgement, Verdict


@dataclass(frozen=True)
class Count:
    """How many claims of a paper have come to what."""

    paper: str
    claims: int
    by_verdict: dict[Verdict, int]
    by_lack: dict[str, int]  # of those at the bound or not yet testable


def count(assessments: Iterable[Assessment]) -> list[Count]:
    """A count a paper, in the order in which they come; what is said twice counts once."""
    groups: dict[str, list[Judgement]] = {}
    for one in assessments:
        headlines = groups.setdefault(one.claim.paper, [])
        if not one.same:
            headlines.append(one.headline)
    counts = []
    for paper, headlines in groups.items():
        verdicts = {v: sum(one.verdict == v for one in headlines) for v in Verdict}
        lacks: list[str] = [one.lacks[0] for one in headlines if one.lacks]
        by_lack = {kind: lacks.count(kind) for kind in sorted(set(lacks))}
        counts.append(Count(paper, len(headlines), verdicts, by_lack))
    return counts


def decisive(judgement: Judgement) -> Finding | None:
    """The check to look at: of those that have the whole's answer, the one furthest out, or nearest
    to a bound; of an open claim, also where it is explained, the first that is open."""
    if judgement.deciding and judgement.lacks is None:
        return min(judgement.deciding, key=_room)
    return next((one for one in judgement.findings if one.holds is None and one.effect), None)


def _room(finding: Finding) -> float:
    """How many standard errors lie between the effect and the nearest bound; negative outside."""
    assert finding.effect is not None
    value, error = finding.effect.value, finding.effect.error
    low, high = finding.check.low, finding.check.high
    if finding.effect.logarithmic:
        value, low, high = math.log(value), math.log(max(low, 1e-300)), math.log(high)
    room = min(value - low, high - value)
    return math.copysign(math.inf, room) if error == 0 else room / error


def effect_text(finding: Finding) -> str:
    """ "−52.7 ms (−57.9 to −47.5), 5 seeds"; of one seed without an interval."""
    found, unit = finding.effect, finding.check.unit
    if found is None:
        return "–"
    unit = f" {unit}" if unit else ""
    low, high = found.interval()
    seeds = f"{found.seeds} seed{'s' if found.seeds > 1 else ''}"
    if math.isnan(low):
        return f"{number(found.value)}{unit}, {seeds}"
    return f"{number(found.value)}{unit} ({number(low)} to {number(high)}), {seeds}"


def era_text(judgement: Judgement) -> str:
    """ "2014, cubic"; a dash where no run could tell."""
    none = judgement.lacks is not None and judgement.lacks[0] in ("rule", "setting", "read back")
    return "–" if none else f"{judgement.era}, {judgement.cc}"


def why(judgement: Judgement) -> str:
    """In one line what the verdict rests on, or what is missing."""
    if judgement.lacks is not None:
        text = judgement.lacks[1]
    else:
        finding = decisive(judgement)
        assert finding is not None
        text = f"{finding.check.text}: {effect_text(finding)}; asked for {finding.check.bounds}"
        if isinstance(finding.check, Printed) and finding.effect:
            text += f", {finding.check.distance(finding.effect.value)}"
    if judgement.partly:
        text += f". It agrees with {judgement.partly}: not enough to explain it"
    if judgement.explained_by:
        text += f". Explained by {judgement.explained_by}"
    if judgement.worse:
        text += f", with which {', '.join(judgement.worse)} no longer agree"
    return text


def printed(assessment: Assessment) -> str:
    """The value that the paper prints, or its bounds; empty where there is none."""
    claim = assessment.claim
    low, high = claim.value_low, claim.value_high
    unit = f" {claim.unit}" if claim.unit else ""
    if math.isnan(low) and math.isnan(high):
        return ""
    if math.isnan(high):
        return f"≥ {low:g}{unit}"
    if math.isnan(low):
        return f"≤ {high:g}{unit}"
    return f"{low:g}{unit}" if low == high else f"{low:g} to {high:g}{unit}"


def as_json(assessments: Sequence[Assessment]) -> list[dict[str, Any]]:
    """A dictionary a claim, ready for JSON; bounds and intervals that there are not are null."""
    return [
        {
            "id": one.claim.id,
            "paper": one.claim.paper,
            "section": one.claim.section,
            "figure": one.claim.figure,
            "kind": one.claim.kind,
            "statement": one.claim.statement,
            "note": one.claim.note,
            "verdict": str(one.headline.verdict),
            "era": one.headline.era,
            "cc": one.headline.cc,
            "lacks": one.headline.lacks[0] if one.headline.lacks else None,
            "same_as": one.same or None,
            "in_sample": one.in_sample,
            "experiments": sorted(one.headline.experiments),
            "why": why(one.headline),
            "judgements": [_judgement(judgement) for judgement in one.judgements],
        }
        for one in assessments
    ]


def _judgement(one: Judgement) -> dict[str, Any]:
    return {
        "era": one.era,
        "cc": one.cc,
        "verdict": str(one.verdict),
        "lacks": {"kind": one.lacks[0], "what": one.lacks[1]} if one.lacks else None,
        "explained_by": one.explained_by or None,
        "makes_worse": list(one.worse),
        "partly_explained_by": one.partly or None,
        "checks": [_finding(finding) for finding in one.findings],
    }


def _finding(one: Finding) -> dict[str, Any]:
    low, high = one.effect.interval() if one.effect else (math.nan, math.nan)
    return {
        "of": one.check.text,
        "statistic": one.check.statistic.name,
        "unit": one.check.unit,
        "value": one.effect.value if one.effect else None,
        "interval": None if math.isnan(low) else [low, high],
        "seeds": one.effect.seeds if one.effect else 0,
        "bounds": [_finite(one.check.low), _finite(one.check.high)],
        "strict": one.check.strict,
        "holds": one.holds,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
