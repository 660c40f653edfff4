"""What is wrong with a value of a YAML file, in words: pydantic's findings and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from emulation.errors import ConfigError
from emulation.study.schema import Flaw, Flaws, Section, unknown
from emulation.study.source import Path, Source

S = TypeVar("S", bound=Section)

#: What pydantic finds, in our words: type -> (what is wrong, what to do).
WORDS = {
    "missing": ("is missing", "add it"),
    "string_type": ("is not text", "write text, in quotes where YAML takes it for a number"),
    "int_type": ("is not a whole number", "write a whole number"),
    "bool_type": ("is not true or false", "write true or false"),
    "dict_type": ("is not a mapping", "write keys with values below it"),
    "model_type": ("is not a mapping", "write keys with values below it"),
    "model_attributes_type": ("is not a mapping", "write keys with values below it"),
    "list_type": ("is not a list", "write [value, value]"),
    "tuple_type": ("is not a list", "write [value, value]"),
}


def validated(source: Source, form: type[S], first: str) -> S | None:
    """`source` in its `form`, whose first key is `first`; None, with the problems in `source`,
    where it does not have it."""
    if not isinstance(source.value, dict):
        if not source.problems:
            source.problems.append(source.problem((), "is no study", f"start with '{first}:'"))
        return None
    try:
        return form.model_validate(source.value)
    except ValidationError as error:
        source.problems += [source.problem(*flaw) for flaw in flaws(error, source.value, form)]
        return None


def read(adapter: TypeAdapter[Any], value: Any, form: Any, context: dict[str, Any]) -> Any:
    """`value` as `adapter` reads it; `Flaws` with all that is wrong. `form` is its annotation."""
    try:
        return adapter.validate_python(value, context=context)
    except ValidationError as error:
        raise Flaws(*flaws(error, value, form)) from None
    except ConfigError as error:
        raise Flaws(((), str(error), error.todo)) from None


def flaws(invalid: ValidationError, value: Any, form: Any) -> Iterator[Flaw]:
    """pydantic's findings about `value`, which should have the `form`."""
    for error in invalid.errors():
        kind, context = error["type"], error.get("ctx", {})
        path = _path(value, error["loc"], kind == "extra_forbidden")
        inner = context.get("error")
        if isinstance(inner, Flaws):
            for below, what, todo in inner.flaws:
                yield (*path, *below), what, todo
        elif kind == "extra_forbidden":
            yield path, *unknown("key", str(path[-1]), _keys(form, value, path[:-1]))
        elif kind in ("literal_error", "union_tag_invalid"):
            tags = context.get("expected_tags") or context["expected"]
            noun = "kind" if kind == "union_tag_invalid" else _noun(path)
            found = context.get("tag", error["input"])
            here = (*path, "kind") if kind == "union_tag_invalid" else path
            yield here, *unknown(noun, str(found), re.findall("'([^']*)'", tags))
        elif kind == "union_tag_not_found":
            yield path, "has no kind", "add 'kind:'"
        elif kind == "too_short":
            least, found = context["min_length"], len(error["input"])
            if found == 0:
                yield path, "is empty", "add at least one entry"
            elif found < least:  # else one of the entries is wrong, which has a finding of its own
                yield (
                    path,
                    f"has {found} entry" if found == 1 else f"has {found} entries",
                    (f"write {least} or more"),
                )
        else:
            what, todo = WORDS.get(kind, (f"is not valid: {error['msg']}", "correct it"))
            yield path, what, todo


def _noun(path: Path) -> str:
    words = (step for step in reversed(path) if isinstance(step, str))
    return next(words, "value").removesuffix("s")


def _path(value: Any, location: Sequence[str | int], is_key: bool = False) -> Path:
    """Where in `value` a finding is: pydantic's location has the tags of unions between.

    `is_key`: the last step is a key of the file, whatever it is called.
    """
    path: list[str | int] = []
    last = len(location) - 1
    tagged = False  # whether the tag of `value` has been there
    for number, step in enumerate(location):
        if is_key and number == last:
            path.append(step)
            break
        if step == "[key]":
            continue
        if not tagged and isinstance(value, Mapping) and value.get("kind") == step:
            tagged = True
            continue
        there = (isinstance(value, Mapping) and step in value) or (
            isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)
        )
        if there:
            path.append(step)
            value, tagged = value[step], False
        elif number == last:
            path.append(step)
    return tuple(path)


def _keys(form: Any, value: Any, path: Path) -> list[str]:
    """The keys that the section of `form` at `path` may have."""
    section = _section(form, value)
    for step in path:
        value = value[step]
        if isinstance(section, type) and issubclass(section, BaseModel):
            fields = {one.alias or name: one for name, one in section.model_fields.items()}
            section = _section(fields[str(step)].annotation, value)
        else:
            entry = [one for one in get_args(section) if one is not ...][-1]  # of tuple[X, ...]
            section = _section(entry, value)
    fields = section.model_fields
    return [one.alias or name for name, one in fields.items() if name != "folder"]


def _section(form: Any, value: Any) -> Any:
    """The model that an annotation stands for: of a union the one of `value`'s kind."""
    if get_origin(form) is Annotated:
        form = get_args(form)[0]
    other = [one for one in get_args(form) if one is not NoneType]
    if get_origin(form) in (Union, UnionType) and len(other) == 1:  # or None
        return _section(other[0], value)
    models = [one for one in get_args(form) if isinstance(one, type) and issubclass(one, BaseModel)]
    if get_origin(form) in (dict, list, tuple) or not models:
        return form
    kind = value.get("kind") if isinstance(value, Mapping) else None
    for model in models:
        field = model.model_fields.get("kind")
        if field is not None and kind in get_args(field.annotation):
            return model
    return models[0]
