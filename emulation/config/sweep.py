"""Which points an experiment has: from sections of a study file, the product of each axis' values.

An axis is `link`, `qdisc`, `cc` or `era`; a short name that the study defines; or the path of any
parameter: `rig.base_rtt`, `traffic.flows`, `qdisc.target`, `memory`. A sweep is a mapping of axes
to values, or a list of such mappings; where one has a single value and no list, it is fixed.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

from qdisclab.emulation.config.studyfile import Block, ExperimentSection, StudyFile
from qdisclab.emulation.model.axis import Value
from qdisclab.emulation.study.schema import Flaw, Flaws, below, refuse, unknown
from qdisclab.emulation.study.source import Path

#: Axes that every study has, in addition to paths of parameters.
BUILT_IN = ("link", "qdisc", "cc", "era")
#: Names that a study cannot give to an axis.
RESERVED = (*BUILT_IN, "memory", "experiment", "run", "seed", "length", "kernel")
SECTIONS = ("rig", "traffic", "qdisc")  # in which the path of a parameter begins
#: Of a point's id: an axis in braces, and in brackets what is left out where an axis is default.
TEMPLATE = "{experiment}/{link}/{qdisc}/{cc}"
OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
NAMED = re.compile(r"\{(\w+)\}")
_PART = re.compile(r"\w[\w.=-]*", re.ASCII)


def _is_path(text: str) -> bool:
    """Return whether it has the form of a parameter's path: `rig.base_rtt`."""
    first, _, rest = text.partition(".")
    return first in SECTIONS and all(rest.split("."))


class Sweep:
    """The values of an experiment's axes: those of the sweep in its file, and any others."""

    def __init__(self, file: StudyFile, name: str, joining: Iterable[str] = ()) -> None:
        """Read the axes; the qdiscs `joining`, of `own.yaml`, join every sweep over several."""
        self.file, self.name = file, name
        self.section: ExperimentSection = file.experiments[name]
        self.joining = tuple(name for name in joining if name in file.qdiscs)

    @cached_property
    def blocks(self) -> list[Block]:
        """Return the blocks of the sweep, with the qdiscs that join it."""
        blocks = []
        for block in self.section.sweep:
            qdiscs = block.get("qdisc")
            if isinstance(qdiscs, list) and len(qdiscs) > 1 and self.joining:
                block = {**block, "qdisc": [*qdiscs, *self.joining]}
            blocks.append(block)
        return blocks

    def check_axes(self) -> None:
        """Raise `Flaws` for unknown axes, repeated values and an invalid template of ids."""
        flaws: list[Flaw] = []
        for number, block in enumerate(self.section.sweep):
            where = ("sweep", number) if len(self.section.sweep) > 1 else ("sweep",)
            for axis, values in block.items():
                try:
                    self.check_axis(axis)
                    several = values if isinstance(values, list) else [values]
                    for index, value in enumerate(several):
                        if value in several[:index]:
                            what = f"'{value}' appears twice"
                            raise Flaws(((index,), what, "remove one of the two"))
                except Flaws as error:
                    flaws += error.below(*where, axis)
        template = self.section.id or TEMPLATE
        shortest, longest = (OPTIONAL.sub(optional, template) for optional in ("", r"\1"))
        ids = [NAMED.sub("_", text).split("/") for text in (shortest, longest)]
        if not all(len(parts) == 4 and all(map(_PART.fullmatch, parts)) for parts in ids):
            what = f"'{template}' is not four parts of letters, digits and names of axes"
            flaws.append((("id",), what, f"write e.g. {TEMPLATE}"))
        else:
            _, *places = template.split("/")
            if places[0] != "{link}" or "{qdisc}" not in places[1] or places[2] != "{cc}":
                what = f"'{template}' lacks link, qdisc or cc in its last three parts"
                flaws.append((("id",), what, f"write e.g. {TEMPLATE}"))
        for axis in NAMED.findall(template):
            if axis == "era":
                what = "names the axis 'era', which has a place of its own in each id"
                flaws.append((("id",), what, "leave it out"))
            elif axis != "experiment" and axis not in (*BUILT_IN, *self.file.axes):
                valid = ("experiment", "link", "qdisc", "cc", *self.file.axes)
                flaws.append((("id",), *unknown("axis", axis, valid)))
        refuse(flaws)

    @staticmethod
    def check_names(file: StudyFile) -> list[Flaw]:
        """Return what is wrong with the axes that a study defines and its qdiscs name."""
        flaws: list[Flaw] = []
        for name, axis in file.axes.items():
            where: Path = ("axes", name)
            if name in RESERVED:
                flaws.append((where, f"'{name}' is a reserved name", "choose another name"))
            paths: list[tuple[Path, str]] = [(("sets",), axis.sets)] if axis.sets else []
            pairs = ((value, path) for value, of in axis.values.items() for path in of)
            paths += [(("values", value, path), path) for value, path in pairs]
            for place, path in paths:
                if path not in ("era", "memory") and not _is_path(path):
                    what, todo = unknown("parameter", path, ("era", "memory", *SECTIONS))
                    todo += "; e.g. rig.base_rtt or qdisc.target"
                    flaws.append(((*where, *place), what, todo))
        for name, qdisc in file.qdiscs.items():
            for axis_name in qdisc.by:
                valid = ("link", "cc", *file.axes)
                if axis_name not in valid:
                    place_ = ("qdiscs", name, "by", axis_name)
                    flaws.append((place_, *unknown("axis", axis_name, valid)))
        return flaws

    def check_axis(self, axis: str) -> None:
        """Raise `Flaws` where no axis is called `axis`."""
        valid = (*BUILT_IN, "memory", *self.file.axes)
        if axis not in valid and not _is_path(axis):
            what, todo = unknown("axis", axis, valid)
            raise Flaws(((), what, f"{todo}; or the path of a parameter: rig.base_rtt"))

    def products(self) -> Iterator[list[Value]]:
        """Yield the values of each point of the sweep: in each block the product of its axes."""
        for block in self.blocks:
            axes = []
            for axis, values in block.items():
                several = isinstance(values, list)
                swept = several and len(self.all_values(axis)) > 1
                items = values if several else [values]
                axes.append([Value(axis, item, swept, False) for item in items])
            yield from map(list, product(*axes))

    @property
    def size(self) -> int:
        """Return the number of points, without making them."""
        axes = (
            [len(values) if isinstance(values, list) else 1 for values in block.values()]
            for block in self.blocks
        )
        return sum(map(math.prod, axes))

    def varied(
        self, values: Sequence[Value], requested: Mapping[str, Sequence[Any]]
    ) -> Iterator[list[Value]]:
        """Yield the values of a point with those requested in their place or after them."""
        axes = {value.axis: [value] for value in values}
        for axis, requests in sorted(requested.items()):  # in a fixed order, for a unique id
            with below(axis):
                self.check_axis(axis)
            axes[axis] = [Value(axis, self._spelt(axis, value), True, True) for value in requests]
        yield from map(list, product(*axes.values()))

    def _spelt(self, axis: str, value: Any) -> Any:
        """Return `value` as the sweep writes it, where it has the same under another spelling."""
        asked = Value(axis, value, True, True)
        same = (each.value for each in self._values(axis) if each.meaning == asked.meaning)
        return value if asked.text in self.all_values(axis) else next(same, value)

    def _values(self, axis: str) -> Iterator[Value]:
        for block in self.blocks:
            if axis in block:
                values = block[axis] if isinstance(block[axis], list) else [block[axis]]
                yield from (Value(axis, value, True, False) for value in values)

    def all_values(self, axis: str) -> list[str]:
        """Return every value of an axis in the sweep, as text."""
        return list(dict.fromkeys(value.text for value in self._values(axis)))
