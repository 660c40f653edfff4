"""What is wrong with a YAML file, in words: pydantic's findings with the line and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from emulation.errors import Problem
from emulation.schema import Flaws, Section, unknown
from emulation.source import Path, Source

S = TypeVar("S", bound=Section)

#: What pydantic finds, in our words: type -> (what is wrong, what to do).
WORDS = {
    "missing": ("is missing", "add it"),
    "string_type": ("is not text", "write text, in quotes where YAML takes it for a number"),
    "int_type": ("is not a whole number", "write a whole number"),
    "dict_type": ("is not a mapping", "write keys with values below it"),
    "model_type": ("is not a mapping", "write keys with values below it"),
    "list_type": ("is not a list", "write [value, value]"),
    "too_short": ("is empty", "add at least one entry"),
}


def validated(
    source: Source, form: type[S], first: str, context: dict[str, Any] | None = None
) -> S | None:
    """`source` in its `form`, whose first key is `first`; None, with the problems in `source`,
    where it does not have it. `context` is handed to the checks of sections."""
    if not isinstance(source.value, dict):
        if not source.problems:
            source.problems.append(
                source.problem((), "is no experiment file", f"start with '{first}:'")
            )
        return None
    try:
        return form.model_validate(source.value, context=context)
    except ValidationError as invalid:
        for error in invalid.errors():
            source.problems += _problems(source, form, error)
        return None


def _problems(source: Source, form: type[Section], error: Any) -> Iterator[Problem]:
    """An error of pydantic in our words."""
    path: Path = tuple(step for step in error["loc"] if step != "[key]")
    kind = error["type"]
    flaws = error.get("ctx", {}).get("error")
    if isinstance(flaws, Flaws):
        for below, what, todo in flaws.flaws:
            yield source.problem((*path, *below), what, todo)
    elif kind == "extra_forbidden":
        yield source.problem(path, *unknown("key", str(path[-1]), _keys(form, path[:-1])))
    elif kind == "literal_error":
        noun = next(str(step) for step in reversed(path) if isinstance(step, str))
        valid = re.findall("'([^']*)'", error["ctx"]["expected"])
        yield source.problem(path, *unknown(noun.removesuffix("s"), str(error["input"]), valid))
    else:
        what, todo = WORDS.get(kind, (f"is not valid: {error['msg']}", "correct it"))
        yield source.problem(path, what, todo)


def _keys(form: type[Section], path: Path) -> list[str]:
    """The keys that the section of `form` at `path` may have."""
    section: Any = form
    for step in path:
        if isinstance(section, type) and issubclass(section, BaseModel):
            section = section.model_fields[str(step)].annotation
        else:
            section = get_args(section)[-1]
    return list(section.model_fields)
