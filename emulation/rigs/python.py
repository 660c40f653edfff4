"""A rig that the study builds in Python: a function of its `rigs.py`.

```yaml
rig:
  kind: python
  function: parking_lot
  parameters: {hops: 3, delay: 10 ms}
  bottleneck: true       # whether sweeps vary link and qdisc; true unless it says otherwise
```

The function gets the sweep's link (None without a bottleneck), the qdiscs under test and the
parameters as the file has them, and returns an `emulation.model.topology.Topology`:

```python
def parking_lot(link, queues, hops, delay):
    ...
    return Topology("parking_lot", nodes, wires)
```

`queues[rate]` is the qdisc under test with its values for a rate of the link.
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
from emulation.model.qdisc import Qdisc
from emulation.model.topology import Link, Topology
from emulation.model.units import Rate
from emulation.rigs.base import RigSection
from emulation.study import studies, trust
from emulation.study.schema import Flaws, StudySection, unknown

FILE = "rigs.py"


class Python(RigSection, StudySection):
    """A rig that a function of the study returns."""

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
        """What the function returns; `ConfigError` where it fails or returns something else."""
        assert self.folder is not None
        path = self.folder / FILE
        function = _functions(path, path.stat().st_mtime_ns)[self.function]
        first = function.__code__.co_firstlineno
        try:
            found = function(link, dict(queues), **self.parameters)
        except (Exception, SystemExit) as error:
            line = _line(error, path, first)
            what = f"{self.function} fails: {type(error).__name__}: {error}"
            raise ConfigError(what, f"{path}:{line}", "correct it, or its parameters") from error
        if not isinstance(found, Topology):
            what = f"{self.function} returns {type(found).__name__}"
            raise ConfigError(
                what, f"{path}:{first}", "return an emulation.model.topology.Topology"
            )
        try:
            found.check()
        except ValueError as error:
            what = f"{self.function} returns no rig: {error}"
            raise ConfigError(what, f"{path}:{first}", "correct it, or its parameters") from error
        return found


@lru_cache(maxsize=16)
def _functions(path: Path, changed: int) -> dict[str, FunctionType]:
    """The functions of a file by name; `Flaws` where it cannot be executed.

    Here alone a study's rigs are executed, in this process: confine it here, if anywhere.
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
        name: one
        for name, one in names.items()
        if isfunction(one) and one.__code__.co_filename == str(path) and name[0] != "_"
    }


def _line(error: BaseException, path: Path, otherwise: int) -> int:
    """The line of `path` at which it failed; `otherwise` where it was not executed."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = (one.lineno for one in reversed(frames) if one.filename == str(path))
    return next(lines, None) or otherwise
