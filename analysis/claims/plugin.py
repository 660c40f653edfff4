"""What a study's claims mean: its own code, `claims.py` or the package `claims/` of its folder.

It defines `RULES`, a condition by the id of a claim, and, where there are any, `VARIATIONS` of its
experiments that may explain what disagrees.
"""

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final, NamedTuple

from analysis.claims.check import Check, Condition, Every, Lacking, Quantity, Same, Some
from analysis.claims.explanation import Variation
from analysis.claims.verdict import Rule
from analysis.errors import DataError
from analysis.measures.names import METRICS
from analysis.measures.table import RECORDED
from analysis.runs.statement import Claim
from analysis.runs.study import StudyFolder
from emulation.errors import ConfigError
from emulation.model.run import Point
from emulation.study import studies, trust
from emulation.study.schema import unknown


class Rules(NamedTuple):
    """What a paper's claims mean, and what may explain those that disagree."""

    rules: Mapping[str, Rule]
    variations: Sequence[Variation]


NONE: Final = Rules(MappingProxyType({}), ())
REMEDY: Final = "Correct it; docs/claims.md says what belongs there"


def rules_of(study: StudyFolder) -> Rules:
    """The rules of a study; none where it has no such code.

    Raises DataError, with file and line, where the code fails, and where it defines something else
    or asks for a metric or a cell that there is not; so do the rules that are functions as they are
    called.
    """
    if study.rules is None:
        return NONE
    path = study.rules
    try:
        studies.inside(study.folder, str(path.relative_to(study.folder)))
        trust.require(study.folder)
    except ConfigError as error:
        raise DataError(str(error)) from error
    module = load(path.resolve())
    rules = {
        claim: _making(study, claim, rule) if callable(rule) else _checked(study, claim, rule)
        for claim, rule in _mapping(path, module, "RULES").items()
    }
    return Rules(rules, _variations(path, module))


@cache
def load(path: Path) -> ModuleType:
    """The module in a file, or the package whose `__init__.py` it is; DataError where it fails."""
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    name = f"claims_{digest}"  # two studies may have the same name for different things
    package = [str(path.parent)] if path.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=package)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # for what a package imports of itself
    sys.pycache_prefix = trust.bytecode()
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        for one in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
            del sys.modules[one]
        raise DataError.of(_place(path, error), _said(error), REMEDY) from error
    return module


def _making(
    study: StudyFolder, claim: str, rule: Callable[[Claim], Any]
) -> Callable[[Claim], Condition]:
    """A rule that makes a condition of what its claim prints; the condition is checked."""
    path = study.rules
    assert path is not None

    def make(of: Claim) -> Condition:
        try:
            made = rule(of)
        except (Exception, SystemExit) as error:
            wrong = f"RULES[{claim!r}] fails: {_said(error)}"
            raise DataError.of(_place(path, error), wrong, REMEDY) from error
        return _checked(study, claim, made)

    return make


def _checked(study: StudyFolder, claim: str, rule: Any) -> Condition:
    """`rule`, a condition whose metrics and cells all exist; raises DataError for others."""
    fault = next(_faults(rule, study), None)
    if fault is not None:
        wrong, todo = fault
        raise DataError.of(study.rules, f"RULES[{claim!r}] {wrong}", todo[0].upper() + todo[1:])
    condition: Condition = rule
    return condition


def _variations(path: Path, module: ModuleType) -> tuple[Variation, ...]:
    """Those of the study; raises DataError where an experiment of an era has two."""
    found = tuple(getattr(module, "VARIATIONS", ()))
    taken: set[tuple[str, str]] = set()
    for one in found:
        if not isinstance(one, Variation):
            raise DataError.of(path, f"VARIATIONS has {one!r}", REMEDY)
        for experiment in one.experiments:
            if (one.era, experiment) in taken:
                wrong = f"VARIATIONS has two of {experiment} in the era {one.era}"
                raise DataError.of(path, wrong, "Keep the one that the testbed had")
            taken.add((one.era, experiment))
    return found


def _faults(rule: Any, study: StudyFolder) -> Iterator[tuple[str, str]]:
    """What is wrong with a rule, each with what to do."""
    match rule:
        case Lacking() | Same():
            return
        case Check(quantities=quantities):
            for one in quantities:
                yield from _misnamed(one, study)
        case Every(parts=parts) | Some(parts=parts):
            if not parts:
                yield "has no parts", REMEDY
            for part in parts:
                yield from _faults(part, study)
        case _:
            yield f"is {rule!r}, no condition", REMEDY


def _misnamed(one: Quantity, study: StudyFolder) -> Iterator[tuple[str, str]]:
    """What a quantity names that there is not. Only cells of the study count, as others are run for
    nobody who does not ask for them."""
    points = _points(study)
    of = points.get(one.experiment, ())
    names = [
        ("metric", one.metric, METRICS, ""),
        ("experiment", one.experiment, points, ""),
        ("link", one.link, {point.link.name for point in of}, one.experiment),
        ("qdisc", one.qdisc, {point.qdisc for point in of}, one.experiment),
    ]
    if one.cc:
        controls = {point.cc for point in of}
        names.append(("congestion control", one.cc, controls, one.experiment))
    for noun, name, valid, where in names if points else names[:1]:
        if name not in valid:
            what, todo = unknown(noun, name, sorted(valid), look="see docs/claims.md")
            yield f"names the {what}{where and f' of {where!r}'}", todo
            return
    experiment = study.experiments.get(one.experiment)
    if experiment and not experiment.measure and one.metric not in RECORDED:
        what = f"names the metric {one.metric!r} of {one.experiment!r}, which has no 'measure:'"
        yield what, f"Give it one in {studies.FILE}"


@cache
def _points(study: StudyFolder) -> Mapping[str, Sequence[Point]]:
    """The points of its experiments, by their labels."""
    found: dict[str, list[Point]] = {}
    for point in (point for one in study.about.experiments for point in one.points):
        found.setdefault(point.label, []).append(point)
    return found


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}"


def _place(path: Path, error: BaseException) -> str:
    """File and line of the study's own code where `error` came up."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [one for one in frames if Path(one.filename).is_relative_to(path.parent)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else str(path)


def _mapping(path: Path, module: ModuleType, name: str) -> Mapping[str, Any]:
    found = getattr(module, name, None)
    if not isinstance(found, Mapping):
        raise DataError.of(path, f"defines no mapping {name}", REMEDY)
    return found
