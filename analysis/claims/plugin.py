"""What a study's claims mean: its own code, `claims.py` or the package `claims/` of its folder.

It defines `RULES`, a condition by the id of a claim, and, where there are any, `VARIATIONS` of its
experiments that may explain what disagrees.
"""

import difflib
import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final, NamedTuple

from analysis.claims.check import Check, Condition, Every, Lacking, Same, Some
from analysis.claims.explanation import Variation
from analysis.claims.verdict import Rule
from analysis.errors import DataError
from analysis.measures.names import METRICS
from analysis.runs.statement import Claim
from analysis.runs.study import Study
from emulation.errors import ConfigError
from emulation.study import studies, trust


class Rules(NamedTuple):
    """What a paper's claims mean, and what may explain those that disagree."""

    rules: Mapping[str, Rule]
    variations: Sequence[Variation]


NONE: Final = Rules(MappingProxyType({}), ())
REMEDY: Final = "Correct it; docs/claims.md says what belongs there"


def rules_of(study: Study) -> Rules:
    """The rules of a study; none where it has no such code.

    Raises DataError, with file and line, where the code fails, and where it defines something else
    or asks for a metric that there is not; so do the rules that are functions as they are called.
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
        claim: _making(path, claim, rule) if callable(rule) else _checked(path, claim, rule)
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


def _making(path: Path, claim: str, rule: Callable[[Claim], Any]) -> Callable[[Claim], Condition]:
    """A rule that makes a condition of what its claim prints; the condition is checked."""

    def make(of: Claim) -> Condition:
        try:
            made = rule(of)
        except (Exception, SystemExit) as error:
            wrong = f"RULES[{claim!r}] fails: {_said(error)}"
            raise DataError.of(_place(path, error), wrong, REMEDY) from error
        return _checked(path, claim, made)

    return make


def _checked(path: Path, claim: str, rule: Any) -> Condition:
    """`rule`, a condition whose metrics all exist; raises DataError for others."""
    wrong = next(_faults(rule), None)
    if wrong is not None:
        raise DataError.of(path, f"RULES[{claim!r}] {wrong}", REMEDY)
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


def _faults(rule: Any) -> Iterator[str]:
    match rule:
        case Lacking() | Same():
            return
        case Check(quantities=quantities):
            for one in quantities:
                if one.metric not in METRICS:
                    close = difflib.get_close_matches(one.metric, METRICS, n=1)
                    hint = f"; did you mean {close[0]!r}?" if close else ""
                    yield f"asks for the metric {one.metric!r}, which there is not{hint}"
        case Every(parts=parts) | Some(parts=parts):
            if not parts:
                yield "has no parts"
            for part in parts:
                yield from _faults(part)
        case _:
            yield f"is {rule!r}, no condition"


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
