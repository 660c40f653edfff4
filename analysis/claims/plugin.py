"""What a study's claims mean: its own code, the module or package `claims` of its folder.

It defines `RULES`, a condition by the id of a claim, and, where there are any, `VARIATIONS` of its
experiments that may explain what disagrees.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final, NamedTuple

from qdisclab.analysis.claims.check import Check, Every, Lacking, Quantity, Same, Some
from qdisclab.analysis.claims.explanation import Variation
from qdisclab.analysis.claims.verdict import Rule
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.registry import MeasureRegistry, registry_of
from qdisclab.analysis.runs.statement import Claim
from qdisclab.analysis.runs.study import StudyFolder
from qdisclab.emulation.model.run import Point
from qdisclab.emulation.study import code, studies
from qdisclab.emulation.study.schema import unknown


class Rules(NamedTuple):
    """What a paper's claims mean, and what may explain those that disagree."""

    rules: Mapping[str, Rule]
    variations: Sequence[Variation]


NONE: Final = Rules(MappingProxyType({}), ())
MODULE: Final = "claims"
REMEDY: Final = "Correct it; docs/claims.md says what belongs there"


def rules_of(study: StudyFolder) -> Rules:
    """Return the rules of a study; none where it has no such code.

    Raises DataError, with file and line, where the code fails, and where it defines something else
    or asks for a metric or a cell that there is not; so do the rules that are functions as they are
    called.
    """
    path = study.path_of(MODULE)
    if path is None:
        return NONE
    registry = registry_of(study)  # rules name metrics of the study
    module = study.module(MODULE)
    rules = getattr(module, "RULES", None)
    if not isinstance(rules, Mapping):
        raise DataError.of(path, "defines no mapping RULES", REMEDY)

    def checked(claim: str, rule: Any) -> Any:
        """`rule`, a condition whose metrics and cells all exist; raise DataError for others."""
        for wrong, todo in _faults(rule, study, registry):
            raise DataError.of(path, f"RULES[{claim!r}] {wrong}", todo[0].upper() + todo[1:])
        return rule

    def made(claim: str, rule: Callable[[Claim], Any], of: Claim) -> Any:
        """Return the condition that a rule makes of what its claim prints."""
        with code.blamed(study.folder, f"RULES[{claim!r}] fails: ", path):
            condition = rule(of)
        return checked(claim, condition)

    conditions = {
        claim: partial(made, claim, rule) if callable(rule) else checked(claim, rule)
        for claim, rule in rules.items()
    }
    return Rules(conditions, _variations(path, module))


def _variations(path: Path, module: ModuleType) -> tuple[Variation, ...]:
    """Return those of the study; raise DataError where an experiment of an era has two."""
    variations = tuple(getattr(module, "VARIATIONS", ()))
    taken: set[tuple[str, str]] = set()
    for variation in variations:
        if not isinstance(variation, Variation):
            raise DataError.of(path, f"VARIATIONS has {variation!r}", REMEDY)
        for experiment in variation.experiments:
            if (variation.era, experiment) in taken:
                wrong = f"VARIATIONS has two of {experiment} in the era {variation.era}"
                raise DataError.of(path, wrong, "Keep the one that the testbed had")
            taken.add((variation.era, experiment))
    return variations


def _faults(rule: Any, study: StudyFolder, registry: MeasureRegistry) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a rule, each with what to do."""
    match rule:
        case Lacking() | Same():
            return
        case Check(quantities=quantities):
            for quantity in quantities:
                yield from _misnamed(quantity, study, registry)
        case Every(parts=parts) | Some(parts=parts):
            if not parts:
                yield "has no parts", REMEDY
            for part in parts:
                yield from _faults(part, study, registry)
        case _:
            yield f"is {rule!r}, not a condition", REMEDY


def _misnamed(
    quantity: Quantity, study: StudyFolder, registry: MeasureRegistry
) -> Iterator[tuple[str, str]]:
    """Yield what a quantity names that there is not. Only cells of the study count, as others are
    run for nobody who does not ask for them."""
    by_label = _points(study)
    points_of = by_label.get(quantity.experiment, ())
    names = [
        ("metric", quantity.metric, registry.metrics, ""),
        ("experiment", quantity.experiment, by_label, ""),
        ("link", quantity.link, {point.link.name for point in points_of}, quantity.experiment),
        ("qdisc", quantity.qdisc, {point.qdisc for point in points_of}, quantity.experiment),
        ("congestion control", quantity.cc, {"", *(p.cc for p in points_of)}, quantity.experiment),
    ]
    for noun, name, valid, where in names if by_label else names[:1]:
        if name not in valid:
            what, todo = unknown(noun, name, sorted(filter(None, valid)), look="see docs/claims.md")
            yield f"names the {what}{where and f' of {where!r}'}", todo
            return
    experiment = study.experiments.get(quantity.experiment)
    recorded = {name for part in registry.recorded for name in part.metrics}
    if experiment and not experiment.measure and quantity.metric not in recorded:
        cell = f"the metric {quantity.metric!r} of {quantity.experiment!r}"
        yield f"names {cell}, which has no 'measure:'", f"Give it one in {studies.FILE}"


@cache
def _points(study: StudyFolder) -> Mapping[str, Sequence[Point]]:
    """Return the points of its experiments, by their labels."""
    points: dict[str, list[Point]] = {}
    for point in (point for experiment in study.about.experiments for point in experiment.points):
        points.setdefault(point.label, []).append(point)
    return points
