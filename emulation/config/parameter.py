"""The path of a parameter, `rig.base_rtt` or `traffic.programs.0.start`, in a study's sections."""

from typing import Any

from qdisclab.emulation.study.schema import Flaws


def steps(path: str) -> list[str]:
    """Split a path into keys; what follows `sysctls`, `options` and the like is one key."""
    head, *tail = path.split(".")
    keys = [head]
    for number, word in enumerate(tail):
        if keys[-1] in ("sysctls", "options", "eras", "environment"):
            return [*keys, ".".join(tail[number:])]
        keys.append(word)
    return keys


def put(document: dict[str, Any], path: str, value: Any) -> None:
    """Put `value` at `path` of the document; raise `Flaws` where there is no such place.

    What lies on the way is copied, so that another document that shares it keeps what it has.
    """
    *way, last = steps(path)
    here: Any = document
    for step in way:
        place: Any = _index(here, step, path) if isinstance(here, list) else step
        inner = here[place] if isinstance(here, list) else here.get(place, {})
        if not isinstance(inner, dict | list):
            raise Flaws(((), f"there is nothing at '{path}'", f"see the keys of '{way[0]}'"))
        here[place] = here = inner.copy()
    if isinstance(here, list):
        here[_index(here, last, path)] = value
    else:
        here[last] = value


def get(document: Any, path: str) -> Any:
    """Return the value at `path`; `KeyError`, `IndexError` or `TypeError` where there is none."""
    for step in steps(path):
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def _index(here: list[Any], step: str, path: str) -> int:
    if not step.isdecimal() or int(step) >= len(here):
        raise Flaws(((), f"'{path}' has no place '{step}'", f"choose 0 to {len(here) - 1}"))
    return int(step)
