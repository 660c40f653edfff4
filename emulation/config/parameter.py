"""The path of a parameter, `rig.base_rtt` or `traffic.programs.0.start`, in a study's sections."""

from __future__ import annotations

from typing import Any

from emulation.study.schema import Flaws


def steps(path: str) -> list[str]:
    """The keys of a path; what follows `sysctls` or `options` is one key."""
    head, *tail = path.split(".")
    found = [head]
    for number, word in enumerate(tail):
        if found[-1] in ("sysctls", "options", "eras", "environment"):
            return [*found, ".".join(tail[number:])]
        found.append(word)
    return found


def put(document: dict[str, Any], path: str, value: Any) -> None:
    """Put `value` at `path` of the document."""
    *way, last = steps(path)
    here: Any = document
    for step in way:
        if isinstance(here, list):
            here = here[_index(here, step, path)]
        else:
            here = here.setdefault(step, {})
        if not isinstance(here, dict | list):
            raise Flaws(((), f"there is nothing at '{path}'", f"see the keys of '{way[0]}'"))
    if isinstance(here, list):
        here[_index(here, last, path)] = value
    else:
        here[last] = value


def get(document: Any, path: str) -> Any:
    """What is at `path`; `KeyError`, `IndexError` or `TypeError` where there is nothing."""
    for step in steps(path):
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def _index(here: list[Any], step: str, path: str) -> int:
    if not step.isdecimal() or int(step) >= len(here):
        raise Flaws(((), f"'{path}' has no place '{step}'", f"there are 0 to {len(here) - 1}"))
    return int(step)
