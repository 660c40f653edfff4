"""Assessments as people and machines read them: texts and JSON."""

import math
from collections.abc import Sequence
from typing import Any, Final

from qdisclab.analysis.claims.check import Printed
from qdisclab.analysis.claims.effect import number
from qdisclab.analysis.claims.verdict import Assessment, Finding, Judgement
from qdisclab.analysis.runs.statement import Claim
from qdisclab.analysis.words import listed

#: What a claim is shown with as its study has it.
STATED: Final = ("id", "paper", "section", "figure", "place", "kind", "statement", "note")


def as_json(assessments: Sequence[Assessment]) -> list[dict[str, Any]]:
    """Return one dictionary per claim, ready for JSON; an infinite bound and a missing interval are
    null."""
    return [
        {
            **{name: getattr(assessment.claim, name) for name in STATED},
            "printed": printed(assessment.claim),
            "verdict": str(headline.verdict),
            "era": headline.era,
            "cc": headline.cc,
            "setting": setting(headline),
            "lacks": headline.lacks.missing if headline.lacks else None,
            "same_as": assessment.same or None,
            "in_sample": assessment.in_sample,
            "experiments": sorted(headline.experiments),
            "why": why(headline),
            "judgements": [_judgement(judgement) for judgement in assessment.judgements],
        }
        for assessment in assessments
        for headline in [assessment.headline]
    ]


def _judgement(judgement: Judgement) -> dict[str, Any]:
    lacks = judgement.lacks
    return {
        "era": judgement.era,
        "cc": judgement.cc,
        "setting": setting(judgement),
        "complete": judgement.complete,
        "verdict": str(judgement.verdict),
        "lacks": {"kind": lacks.missing, "what": lacks.what} if lacks else None,
        "why": why(judgement),
        "explained_by": judgement.explained_by or None,
        "before": str(judgement.before) if judgement.before else None,
        "makes_worse": list(judgement.worse),
        "partly_explained_by": judgement.partly or None,
        "varied": {name: str(verdict) for name, verdict in judgement.varied.items()},
        "checks": [_check(finding) for finding in judgement.findings],
    }


def _check(finding: Finding) -> dict[str, Any]:
    check, effect = finding.check, finding.effect
    low, high = effect.shown if effect else (math.nan, math.nan)
    return {
        "of": check.text,
        "statistic": check.statistic.name,
        "unit": check.unit,
        "value": effect.value if effect else None,
        "interval": None if math.isnan(low) else [low, high],
        "seeds": effect.seeds if effect else 0,
        "effect": effect_text(finding),
        "bounds": [_finite(check.low), _finite(check.high)],
        "strict": check.strict,
        "asked_for": check.bounds,
        "holds": finding.holds,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def printed(claim: Claim) -> str:
    """Return the value that the paper prints, or its bounds; empty where it prints none."""
    low, high = claim.value_low, claim.value_high
    unit = f" {claim.unit}" if claim.unit else ""
    if math.isnan(low):
        return "" if math.isnan(high) else f"≤ {high:g}{unit}"
    if math.isnan(high):
        return f"≥ {low:g}{unit}"
    return f"{low:g}{unit}" if low == high else f"{low:g} to {high:g}{unit}"


def setting(judgement: Judgement) -> str:
    """Return "2014, cubic"; a dash where no run could tell."""
    if judgement.lacks and judgement.lacks.missing in ("rule", "setting", "read back"):
        return "–"
    return f"{judgement.era}, {judgement.cc}"


def effect_text(finding: Finding) -> str:
    """Return "−52.7 ms (−57.9 to −47.5), 5 seeds"; one seed has no interval, nor
    have several that came out the same."""
    effect, unit = finding.effect, finding.check.unit
    if effect is None:
        return "–"
    low, high = effect.shown
    interval = "" if math.isnan(low) else f" ({number(low)} to {number(high)})"
    seeds = f"{effect.seeds} seed{'s' if effect.seeds > 1 else ''}"
    seeds += " that came out the same" if effect.alike else ""
    value = number(effect.value)
    unit = "packet" if (value, unit) == ("1", "packets") else unit
    return f"{value}{f' {unit}' if unit else ''}{interval}, {seeds}"


def why(judgement: Judgement) -> str:
    """Return in one line what the verdict rests on, or what is missing."""
    if judgement.lacks is not None:
        text = judgement.lacks.what
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
        agree = "agree" if len(judgement.worse) > 1 else "agrees"
        text += f", with which {listed(judgement.worse)} no longer {agree}"
    return text


def decisive(judgement: Judgement) -> Finding | None:
    """Return the check to look at.

    Among those that have the whole's answer, it is the one furthest out, or nearest to a bound; of
    an open claim, also where it is explained, the first that is open.
    """
    if judgement.deciding and judgement.lacks is None:
        return min(judgement.deciding, key=_room)
    return next((of for of in judgement.findings if of.holds is None and of.effect), None)


def _room(finding: Finding) -> float:
    """Return how many standard errors lie between effect and nearest bound; negative outside."""
    assert finding.effect is not None
    value, error = finding.effect.value, finding.effect.error
    low, high = finding.check.low, finding.check.high
    if finding.effect.logarithmic:
        value, low, high = math.log(value), math.log(max(low, 1e-300)), math.log(high)
    room = min(value - low, high - value)
    return math.copysign(math.inf, room) if error == 0 else room / error
