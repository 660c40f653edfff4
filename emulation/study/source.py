"""A YAML file as plain values, with the line of every key for error messages.

Read by libyaml, which takes 0.05 s for all studies that ship where ruamel.yaml takes 0.39 s, with
the scalars of the core schema of YAML 1.2 (10.3.2): `no` and `1:30` are text.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Self

from yaml import AliasEvent, CBaseLoader, MappingNode, Node, ScalarNode, SequenceNode, YAMLError
from yaml.composer import Composer

from qdisclab.emulation import datafile
from qdisclab.emulation.errors import ConfigError, DamagedData, Problem, printable

#: The place of a value: keys of mappings and indices of sequences, from the outside in.
Path = tuple[str | int, ...]

#: Limits of a file in characters and, aliases included, in keys, items and values. The largest
#: study that ships has 27,915 characters and 1763 values; a file at the limits takes 0.2 s to read.
MOST_TEXT = 1 << 17
MOST_VALUES = 20_000
#: Levels of nested mappings and lists; studies that ship have 6.
MOST_DEPTH = 32
#: A whole number that every tool between here and the guest's kernel can hold.
MOST_NUMBER = 2**63

MERGE = "<<"  # a key that adds those of another mapping which are not written out

#: Plain scalars that are no text: tag -> (pattern, its first characters, what makes the value).
SCALARS: dict[str, tuple[str, str, Callable[[str], Any]]] = {
    "bool": ("true|True|TRUE|false|False|FALSE", "tTfF", lambda text: text.casefold() == "true"),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789", lambda text: int(text, 0)),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
        r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
        float,
    ),
    "null": ("null|Null|NULL|~|", "nN~", lambda _: None),
}
TAG = "tag:yaml.org,2002:"
TAGS = frozenset(TAG + name for name in (*SCALARS, "str", "seq", "map"))


class _Reader(Composer, CBaseLoader):
    """Reads a text into nodes: libyaml finds the parts, and Python's recursion, which has an end,
    puts them together."""

    def __init__(self, text: str) -> None:
        CBaseLoader.__init__(self, text)
        Composer.__init__(self)

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        event = self.peek_event()
        if not isinstance(event, AliasEvent):
            # An anchor may be given again (YAML 1.2, 3.2.2.2).
            self.anchors.pop(getattr(event, "anchor", None), None)
        return super().compose_node(parent, index)


for _tag, (_pattern, _first, _) in SCALARS.items():
    _Reader.add_implicit_resolver(TAG + _tag, re.compile(rf"(?:{_pattern})\Z"), [*_first, ""])


def dotted(path: Path) -> str:
    """Write `path` for people: `experiments.rrul.sweep.link[0]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


class _TooMany(Exception):
    """The problem of a file that is refused before it has been read completely."""


@dataclass
class ParsedFile:
    """A parsed file."""

    file: str = ""  # its path
    value: Any = None  # dicts with text keys, lists, text, numbers, booleans
    lines: dict[Path, int] = field(default_factory=dict)  # of each key and item, from 1
    problems: list[Problem] = field(default_factory=list)  # syntax, duplicate keys, odd keys
    values: int = 0  # made of the text so far

    def line(self, path: Path) -> int:
        """Return the line of `path`; where the file does not have it, that of its parent."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def add(self, path: Path, what: str, todo: str, line: int = 0) -> None:
        """Add a problem of the value at `path`, with the value's line or that of its key."""
        self.problems.append(Problem(line or self.line(path), dotted(path), what, todo))

    def check(self) -> None:
        """Raise `ConfigError` with all problems, if there are any."""
        if self.problems:
            raise ConfigError.of(self.file, self.problems)

    @classmethod
    def of(cls, path: FilePath) -> Self:
        """Parse the file at `path`, as `read`; raise `ConfigError` where it cannot be read."""
        try:
            text = datafile.read(path, 4 * MOST_TEXT).decode()  # bytes of a character
        except (DamagedData, UnicodeDecodeError) as error:
            reason = error.what if isinstance(error, DamagedData) else "is not UTF-8 text"
            raise ConfigError(reason, str(path), "name a readable file") from None
        return cls.read(text, str(path))

    @classmethod
    def read(cls, text: str, file: str = "") -> Self:
        """Parse `text`; `problems` has what YAML or this reader refuses."""
        source = cls(file)
        if len(text) > MOST_TEXT:
            what = f"is longer than {MOST_TEXT >> 10} KiB"
            source.add((), what, "split it into several studies")
            return source
        try:
            root = _Reader(text).get_single_node()
            source.value = source._plain(root, (), ()) if root is not None else None
        except _TooMany as error:
            source.problems, source.value = [*error.args], None
        except RecursionError:
            source.add((), "is nested too deeply", "write it flat")
        except (YAMLError, UnicodeEncodeError) as error:
            mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
            reason = getattr(error, "problem", None) or getattr(error, "context", None) or error
            what = f"is not YAML: {reason}".splitlines()[0]
            source.add((), what, "correct the syntax", mark.line + 1 if mark else 1)
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
            self.add(path, "is an alias of a value around it", "write the value out")
            return None
        if node.tag not in TAGS:
            self.add(path, f"has the tag {node.tag[:40]!r}", "leave the tag out")
            return None
        outer = (*outer, node)
        if isinstance(node, MappingNode):
            return self._mapping(node, path, outer)
        if isinstance(node, SequenceNode):
            items = enumerate(node.value)
            return [self._plain(item, (*path, index), outer) for index, item in items]
        return self._scalar(node, path)

    def _scalar(self, node: Node, path: Path) -> Any:
        text, kind = node.value, node.tag.removeprefix(TAG)
        if printable(text) != text:
            self.add(path, "has a character that cannot be printed", "remove the character")
            return None
        try:
            value = SCALARS[kind][2](text) if kind in SCALARS else text
        except (ValueError, OverflowError):
            value = math.nan if kind == "float" or len(text) > 80 else text
        huge = isinstance(value, int) and abs(value) >= MOST_NUMBER
        if huge or (isinstance(value, float) and not math.isfinite(value)):
            self.add(path, f"'{text[:40]}' is not a usable number", "write a smaller one")
            return None
        return value

    def _mapping(self, node: MappingNode, path: Path, outer: tuple[Node, ...]) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, ScalarNode) and key.value == MERGE:
                mapping = self._plain(value, path, outer)
                if isinstance(mapping, dict):
                    merged |= mapping
                else:
                    self.add(path, "merges something that is not a mapping", "name a mapping", line)
            elif not isinstance(key, ScalarNode):
                self.add(path, "has a key that is not text", "write a plain key", line)
            elif printable(key.value) != key.value:
                self.add(path, "has a key that cannot be printed", "write a plain key", line)
            elif (here := (*path, key.value))[-1] in plain:
                what = f"duplicate key, first on line {self.lines[here]}"
                self.add(here, what, "remove one of the two", line)
            else:
                self.lines[here] = line
                plain[key.value] = self._plain(value, here, outer)
        return {**merged, **plain}
