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

from collections.abc import Mapping
from inspect import isfunction
from pathlib import Path
from types import FunctionType
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.kinds.rigs.base import RigSection
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.topology import Link, Topology
from qdisclab.emulation.model.units import Rate
from qdisclab.emulation.study import code, trust
from qdisclab.emulation.study.schema import Flaws, StudySection, unknown

MODULE = "rigs"


class Python(RigSection, StudySection):
    """A rig built by a function of the study."""

    kind: Literal["python"]
    function: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    bottleneck: bool = Field(default=True, strict=True)  # whether a sweep varies link and qdisc

    @field_validator("function")
    @classmethod
    def _there(cls, name: str, info: ValidationInfo) -> str:
        if (folder := (info.context or {}).get("folder")) is None:
            return name
        if code.path_of(folder, MODULE) is None:
            file = f"{MODULE}.py"
            raise Flaws(((), f"the study has no {file}", f"write '{name}' into {folder / file}"))
        try:
            functions = _functions(folder)
        except trust.Untrusted:
            raise
        except ConfigError as error:
            raise Flaws(((), f"{error.where}: {error.what}", error.todo)) from error
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
        function = _functions(self.folder)[self.function]
        place = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
        with code.blamed(self.folder, f"{self.function} fails: ", place):
            topology = function(link, dict(queues), **self.parameters)
        if not isinstance(topology, Topology):
            what = f"{self.function} returns {type(topology).__name__}"
            raise ConfigError(what, place, "return an emulation.model.topology.Topology")
        try:
            topology.check()
        except ValueError as error:
            what = f"{self.function} returns an invalid rig: {error}"
            raise ConfigError(what, place, "correct it, or its parameters") from error
        return topology


def _functions(folder: Path) -> dict[str, FunctionType]:
    """Map the public functions of the study's file to their names, as `code.module`."""
    module = code.module(folder, MODULE)
    public = ((name, of) for name, of in vars(module).items() if isfunction(of) and name[0] != "_")
    return {name: of for name, of in public if of.__module__ == module.__name__}
