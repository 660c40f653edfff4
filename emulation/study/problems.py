"""Problems of a YAML file in words: what pydantic found to be wrong, and what to do."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.study.schema import Flaw, Flaws, Section, unknown
from qdisclab.emulation.study.source import ParsedFile, Path

S = TypeVar("S", bound=Section)

#: Errors of pydantic in our words: type -> (what is wrong, what to do).
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


def validated(source: ParsedFile, form: type[S], first: str) -> S:
    """Return the content of `source` in its `form`, whose first key is `first`.

    Raises `ConfigError` with all problems where it does not have this form.
    """
    if not isinstance(source.value, dict):
        if not source.problems:
            source.add((), "is not a mapping", f"start with '{first}:'")
        source.check()
    try:
        return form.model_validate(source.value)
    except ValidationError as error:
        for flaw in flaws(error, source.value, form):
            source.add(*flaw)
        raise ConfigError.of(source.file, source.problems) from None


def read(adapter: TypeAdapter[Any], value: Any, form: Any, context: dict[str, Any]) -> Any:
    """Return `value` as `adapter` reads it; raise `Flaws`. `form` is the adapter's annotation."""
    try:
        return adapter.validate_python(value, context=context)
    except ValidationError as error:
        raise Flaws(*flaws(error, value, form)) from None
    except ConfigError as error:
        place = f"{error.where}: " if error.where else ""
        raise Flaws(((), f"{place}{error.what}", error.todo)) from None


def flaws(invalid: ValidationError, value: Any, form: Any) -> Iterator[Flaw]:
    """Yield pydantic's errors about `value`, which should have the `form`, as flaws."""
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
            tag = context.get("tag", error["input"])
            here = (*path, "kind") if kind == "union_tag_invalid" else path
            yield here, *unknown(noun, str(tag), re.findall("'([^']*)'", tags))
        elif kind == "union_tag_not_found":
            yield path, "has no kind", "add 'kind:'"
        elif kind == "too_short":
            least, count = context["min_length"], len(error["input"])
            if count == 0:
                yield path, "is empty", "add at least one entry"
            elif count < least:  # else an entry is wrong, which has an error of its own
                noun = "entry" if count == 1 else "entries"
                yield path, f"has {count} {noun}", f"write {least} or more"
        else:
            what, todo = WORDS.get(kind, (f"is not valid: {error['msg']}", "correct it"))
            yield path, what, todo


def _noun(path: Path) -> str:
    words = (step for step in reversed(path) if isinstance(step, str))
    return next(words, "value").removesuffix("s")


def _path(value: Any, location: Sequence[str | int], is_key: bool = False) -> Path:
    """Return the path in `value` of pydantic's location, which also has the tags of unions.

    `is_key` says that the last step is a key of the file, whatever its name.
    """
    path: list[str | int] = []
    last = len(location) - 1
    tagged = False  # whether the tag of `value` has been passed
    for number, step in enumerate(location):
        if is_key and number == last:
            path.append(step)
            break
        if step == "[key]":
            continue
        if not tagged and isinstance(value, Mapping) and value.get("kind") == step:
            tagged = True
            continue
        is_item = isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)
        if is_item or (isinstance(value, Mapping) and step in value):
            path.append(step)
            value, tagged = value[step], False
        elif number == last:
            path.append(step)
    return tuple(path)


def _keys(form: Any, value: Any, path: Path) -> list[str]:
    """Return the valid keys of the section at `path` of a value of `form`."""
    section = _section(form, value)
    for step in path:
        value = value[step]
        if isinstance(section, type) and issubclass(section, BaseModel):
            fields = {field.alias or name: field for name, field in section.model_fields.items()}
            section = _section(fields[str(step)].annotation, value)
        else:
            entry = [form for form in get_args(section) if form is not ...][-1]  # of tuple[X, ...]
            section = _section(entry, value)
    fields = section.model_fields
    return [field.alias or name for name, field in fields.items() if name != "folder"]


def _section(form: Any, value: Any) -> Any:
    """Return the model that an annotation stands for; of a union that of `value`'s kind."""
    if get_origin(form) is Annotated:
        form = get_args(form)[0]
    arguments = [argument for argument in get_args(form) if argument is not NoneType]
    if get_origin(form) in (Union, UnionType) and len(arguments) == 1:  # or None
        return _section(arguments[0], value)
    models = [of for of in get_args(form) if isinstance(of, type) and issubclass(of, BaseModel)]
    if get_origin(form) in (dict, list, tuple) or not models:
        return form
    kind = value.get("kind") if isinstance(value, Mapping) else None
    for model in models:
        field = model.model_fields.get("kind")
        if field is not None and kind in get_args(field.annotation):
            return model
    return models[0]
