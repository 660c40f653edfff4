"""A rig that the study builds in Python: a function of its `rigs.py`.

```yaml
rig:
  kind: python
  function: parking_lot
  parameters: {hops: 3, delay: 10 ms}
  bottleneck: true       # whether sweeps vary link and qdisc; true by default
```

The function gets the sweep's link (None without a bottleneck), the qdiscs under test and the
parameters from the file, and returns an `emulation.model.topology.Topology`, whose ports have what
`emulation.model.egress` has:

```python
def parking_lot(link, queues, hops, delay):
    ...
    return Topology("parking_lot", nodes, wires)
```

`queues[rate]` is the qdisc under test with its options at a rate of the link.
"""

from __future__ import annotations

import runpy
import traceback
from collections.abc import Mapping
from functools import lru_cache
from inspect import isfunction
from pathlib import Path
from types import FunctionType
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from emulation.errors import ConfigError
from emulation.kinds.rigs.base import RigSection
from emulation.model.qdisc import Qdisc
from emulation.model.topology import Link, Topology
from emulation.model.units import Rate
from emulation.study import studies, trust
from emulation.study.schema import Flaws, StudySection, unknown

FILE = "rigs.py"


class Python(RigSection, StudySection):
    """A rig built by a function of the study."""

    kind: Literal["python"]
    function: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    bottleneck: bool = Field(default=True, strict=True)  # whether a sweep varies link and qdisc

    @field_validator("function")
    @classmethod
    def _there(cls, name: str, info: ValidationInfo) -> str:
        folder = (info.context or {}).get("folder")
        if folder is None:
            return name
        path = folder / FILE
        if not path.is_file():
            raise Flaws(((), f"the study has no {FILE}", f"write '{name}' into {path}"))
        studies.inside(folder, FILE)
        trust.require(folder)
        functions = _functions(path, path.stat().st_mtime_ns)
        if name not in functions:
            raise Flaws(((), *unknown("function", name, functions)))
        return name

    @property
    def tested(self) -> bool:
        """Whether a sweep varies its link and qdisc."""
        return self.bottleneck

    def topology(self, link: Link | None, queues: Mapping[Rate, Qdisc]) -> Topology:
        """Return what the function builds; raise `ConfigError` where it fails or returns no rig."""
        assert self.folder is not None
        path = self.folder / FILE
        function = _functions(path, path.stat().st_mtime_ns)[self.function]
        first = function.__code__.co_firstlineno
        try:
            topology = function(link, dict(queues), **self.parameters)
        except (Exception, SystemExit) as error:
            line = _line(error, path, first)
            what = f"{self.function} fails: {type(error).__name__}: {error}"
            raise ConfigError(what, f"{path}:{line}", "correct it, or its parameters") from error
        if not isinstance(topology, Topology):
            what = f"{self.function} returns {type(topology).__name__}"
            raise ConfigError(
                what, f"{path}:{first}", "return an emulation.model.topology.Topology"
            )
        try:
            topology.check()
        except ValueError as error:
            what = f"{self.function} returns an invalid rig: {error}"
            raise ConfigError(what, f"{path}:{first}", "correct it, or its parameters") from error
        return topology


@lru_cache(maxsize=16)
def _functions(path: Path, changed: int) -> dict[str, FunctionType]:
    """Map the public functions of a file to their names; `Flaws` where it cannot be executed.

    This is the only place that executes a study's rigs, in this process: confine them here, if
    anywhere.
    """
    try:
        names = runpy.run_path(str(path))
    except SyntaxError as error:
        where = f"{error.filename}:{error.lineno}"
        raise Flaws(((), f"{where}: {type(error).__name__}: {error.msg}", "correct it")) from error
    except (Exception, SystemExit) as error:
        what = f"{path}:{_line(error, path, 1)}: {type(error).__name__}: {error}"
        raise Flaws(((), what, "correct it")) from error
    return {
        name: value
        for name, value in names.items()
        if isfunction(value) and value.__code__.co_filename == str(path) and name[0] != "_"
    }


def _line(error: BaseException, path: Path, otherwise: int) -> int:
    """Return the line of `path` at which it failed; `otherwise` where it was not executed."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = (frame.lineno for frame in reversed(frames) if frame.filename == str(path))
    return next(lines, None) or otherwise
