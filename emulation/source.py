"""A YAML file as plain values, with the line of every key, so that an error can say where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from emulation.errors import Problem

#: Where a value is: keys of mappings and indices of sequences, from the outside in.
Path = tuple[str | int, ...]

MERGE = "<<"  # a key that brings those of another mapping, unless they are written beside it

SCALARS: dict[str, Callable[[str], Any]] = {
    "tag:yaml.org,2002:int": lambda text: int(text if "_" not in text else "", 0),  # 10_1 is text
    "tag:yaml.org,2002:float": float,
    "tag:yaml.org,2002:bool": lambda text: text.casefold() == "true",
    "tag:yaml.org,2002:null": lambda _: None,
}


def dotted(path: Path) -> str:
    """`path` for people: `experiments.rrul.sweep.link[0]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


@dataclass
class Source:
    """A parsed file."""

    value: Any = None  # dicts with text keys, lists, text, numbers, booleans
    lines: dict[Path, int] = field(default_factory=dict)  # of each key and item, from 1
    problems: list[Problem] = field(default_factory=list)  # syntax, duplicate keys, odd keys

    def line(self, path: Path) -> int:
        """The line of `path`, or of what encloses it where the file does not have it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def problem(self, path: Path, what: str, todo: str) -> Problem:
        """What is wrong with the value at `path`."""
        return Problem(self.line(path), dotted(path), what, todo)

    @classmethod
    def read(cls, text: str) -> Source:
        """Parse `text`; what YAML or this reader refuses ends up in `problems`."""
        source = cls()
        try:
            root = YAML(typ="rt").compose(text)
            source.value = source._plain(root, (), ()) if root is not None else None
        except RecursionError:
            source.problems.append(Problem(1, "", "is nested too deeply", "write it flat"))
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            what = f"is not YAML: {error.problem or error.context}"
            source.problems.append(Problem(line, "", what, "correct the syntax"))
        except (YAMLError, ValueError) as error:
            what = f"is not YAML: {error}".splitlines()[0]
            source.problems.append(Problem(1, "", what, "correct the syntax"))
        return source

    def _plain(self, node: Node, path: Path, outer: tuple[Node, ...]) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if any(node is parent for parent in outer):
            self._refuse(path, "is an alias of what encloses it", "write the value out")
            return None
        outer = (*outer, node)
        if isinstance(node, MappingNode):
            return self._mapping(node, path, outer)
        if isinstance(node, SequenceNode):
            items = enumerate(node.value)
            return [self._plain(item, (*path, index), outer) for index, item in items]
        try:
            return SCALARS.get(str(node.tag), str)(node.value)
        except ValueError:
            return str(node.value)

    def _mapping(self, node: MappingNode, path: Path, outer: tuple[Node, ...]) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, ScalarNode) and key.value == MERGE:
                found = self._plain(value, path, outer)
                if not isinstance(found, dict):
                    what = "merges something that is not a mapping"
                    self.problems.append(Problem(line, dotted(path), what, "name a mapping"))
                    continue
                merged |= found
                continue
            if not isinstance(key, ScalarNode):
                what = "has a key that is not text"
                self.problems.append(Problem(line, dotted(path), what, "write a plain key"))
                continue
            here = (*path, key.value)
            if key.value in plain:
                what = f"duplicate key, first on line {self.lines[here]}"
                self.problems.append(Problem(line, dotted(here), what, "remove one of the two"))
                continue
            self.lines[here] = line
            plain[key.value] = self._plain(value, here, outer)
        return {**merged, **plain}

    def _refuse(self, path: Path, what: str, todo: str) -> None:
        self.problems.append(self.problem(path, what, todo))
