"""A YAML file as plain values, with the line of every key for error messages."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from emulation import datafile
from emulation.errors import ConfigError, DamagedData, Problem, printable

#: The place of a value: keys of mappings and indices of sequences, from the outside in.
Path = tuple[str | int, ...]

#: Limits of a file in characters and, aliases included, in keys, items and values. The largest
#: study that ships has 21,572 characters and 1294 values; a file at the limits takes 3 s to read.
MOST_TEXT = 1 << 17
MOST_VALUES = 20_000
#: Levels of nested mappings and lists; studies that ship have 6.
MOST_DEPTH = 32
#: A whole number that every tool between here and the guest's kernel can hold.
MOST_NUMBER = 2**63

MERGE = "<<"  # a key that adds those of another mapping which are not written out

SCALARS: dict[str, Callable[[str], Any]] = {
    "tag:yaml.org,2002:int": lambda text: int(text if "_" not in text else "", 0),  # 10_1 is text
    "tag:yaml.org,2002:float": float,
    "tag:yaml.org,2002:bool": lambda text: text.casefold() == "true",
    "tag:yaml.org,2002:null": lambda _: None,
}
#: Tags of other values: those that end up as text, and those that hold other values.
TEXTS = tuple(f"tag:yaml.org,2002:{name}" for name in ("str", "timestamp", "merge", "value"))
HOLDERS = tuple(f"tag:yaml.org,2002:{name}" for name in ("map", "seq"))


def dotted(path: Path) -> str:
    """Write `path` for people: `experiments.rrul.sweep.link[0]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


def _brackets(text: str) -> int:
    """Return the deepest nesting of brackets, even in text.

    ruamel.yaml would take seconds to find out that it is thousands.
    """
    depth = most = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth = max(0, depth + (1 if bracket in "[{" else -1))
        most = max(most, depth)
    return most


class _TooMany(Exception):
    """A file that is refused before it has been read completely."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.what)


@dataclass
class Source:
    """A parsed file."""

    value: Any = None  # dicts with text keys, lists, text, numbers, booleans
    lines: dict[Path, int] = field(default_factory=dict)  # of each key and item, from 1
    problems: list[Problem] = field(default_factory=list)  # syntax, duplicate keys, odd keys
    values: int = 0  # made of the text so far

    def line(self, path: Path) -> int:
        """Return the line of `path`; where the file does not have it, that of its parent."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def problem(self, path: Path, what: str, todo: str) -> Problem:
        """Return a problem of the value at `path`, with its line."""
        return Problem(self.line(path), dotted(path), what, todo)

    @classmethod
    def of(cls, path: FilePath) -> Source:
        """Parse the file at `path`, as `read`; raise `ConfigError` where it cannot be read."""
        try:
            text = datafile.read(path, 4 * MOST_TEXT).decode()  # bytes of a character
        except (DamagedData, UnicodeDecodeError) as error:
            reason = error.what if isinstance(error, DamagedData) else "is not UTF-8 text"
            raise ConfigError(reason, str(path), "name a readable file") from None
        return cls.read(text)

    @classmethod
    def read(cls, text: str) -> Source:
        """Parse `text`; `problems` has what YAML or this reader refuses."""
        source = cls()
        if len(text) > MOST_TEXT:
            what = f"is longer than {MOST_TEXT >> 10} KiB"
            source.problems.append(Problem(1, "", what, "split it into several studies"))
            return source
        try:
            if _brackets(text) > MOST_DEPTH:
                raise RecursionError
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ReusedAnchorWarning)
                root = YAML(typ="rt").compose(text)
            source.value = source._plain(root, (), ()) if root is not None else None
        except _TooMany as error:
            source.problems = [error.problem]
            source.value = None
        except RecursionError:
            source.problems.append(Problem(1, "", "is nested too deeply", "write it flat"))
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            what = f"is not YAML: {error.problem or error.context}"
            source.problems.append(Problem(line, "", what, "correct the syntax"))
        except (
            YAMLError,
            ValueError,
            ArithmeticError,
            LookupError,
            TypeError,
            AttributeError,
            AssertionError,
        ) as error:  # ruamel.yaml, over odd text
            what = f"is not YAML: {error}".splitlines()[0]
            source.problems.append(Problem(1, "", what, "correct the syntax"))
        return source

    def _plain(self, node: Node, path: Path, outer: tuple[Node, ...]) -> Any:
        line = self.lines.setdefault(path, node.start_mark.line + 1)
        self.values += 1
        if self.values > MOST_VALUES:
            what = f"has more than {MOST_VALUES} values, aliases included"
            raise _TooMany(Problem(line, dotted(path), what, "split it into several studies"))
        if len(outer) > MOST_DEPTH:
            raise _TooMany(Problem(line, dotted(path), "is nested too deeply", "write it flat"))
        if any(node is parent for parent in outer):
            self._refuse(path, "is an alias of a value around it", "write the value out")
            return None
        if str(node.tag) not in (*SCALARS, *TEXTS, *HOLDERS):
            self._refuse(path, f"has the tag {str(node.tag)[:40]!r}", "leave the tag out")
            return None
        outer = (*outer, node)
        if isinstance(node, MappingNode):
            return self._mapping(node, path, outer)
        if isinstance(node, SequenceNode):
            items = enumerate(node.value)
            return [self._plain(item, (*path, index), outer) for index, item in items]
        return self._scalar(node, path)

    def _scalar(self, node: Node, path: Path) -> Any:
        text = str(node.value)
        if getattr(node, "style", None) == ">":
            text = text.replace("\a", "")  # where ruamel.yaml remembers a line's end
        if printable(text) != text:
            self._refuse(path, "has a character that cannot be printed", "remove the character")
            return None
        try:
            value = SCALARS.get(str(node.tag), str)(text)
        except (ValueError, OverflowError):
            value = math.nan if str(node.tag).endswith(":float") or len(text) > 80 else text
        huge = isinstance(value, int) and abs(value) >= MOST_NUMBER
        if huge or (isinstance(value, float) and not math.isfinite(value)):
            self._refuse(path, f"'{text[:40]}' is not a usable number", "write a smaller one")
            return None
        return value

    def _mapping(self, node: MappingNode, path: Path, outer: tuple[Node, ...]) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, ScalarNode) and key.value == MERGE:
                mapping = self._plain(value, path, outer)
                if not isinstance(mapping, dict):
                    what = "merges something that is not a mapping"
                    self.problems.append(Problem(line, dotted(path), what, "name a mapping"))
                    continue
                merged |= mapping
                continue
            if not isinstance(key, ScalarNode):
                what = "has a key that is not text"
                self.problems.append(Problem(line, dotted(path), what, "write a plain key"))
                continue
            here = (*path, key.value)
            if printable(key.value) != key.value:
                what = "has a key that cannot be printed"
                self.problems.append(Problem(line, dotted(path), what, "write a plain key"))
                continue
            if key.value in plain:
                what = f"duplicate key, first on line {self.lines[here]}"
                self.problems.append(Problem(line, dotted(here), what, "remove one of the two"))
                continue
            self.lines[here] = line
            plain[key.value] = self._plain(value, here, outer)
        return {**merged, **plain}

    def _refuse(self, path: Path, what: str, todo: str) -> None:
        self.problems.append(self.problem(path, what, todo))
