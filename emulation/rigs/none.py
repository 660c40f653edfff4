"""No rig at all, for what builds all that it sends over: `saturation`, scripts of Mininet's.

```yaml
rig: {kind: none}
```
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import model_validator

from emulation.model.qdisc import Qdisc
from emulation.model.topology import Link, Topology
from emulation.model.units import Rate
from emulation.rigs.base import RigSection
from emulation.study.schema import Flaws


class NoRig(RigSection):
    """Nothing: no node, no bottleneck."""

    kind: Literal["none"]

    @model_validator(mode="after")
    def _says_nothing(self) -> Self:
        said = sorted(self.model_fields_set - {"kind"})
        if said:
            raise Flaws(((said[0],), "is for a rig with nodes, here are none", "remove it"))
        return self

    @property
    def tested(self) -> bool:
        """It has no bottleneck."""
        return False

    def topology(self, link: Link | None, queues: Mapping[Rate, Qdisc]) -> Topology:
        """No node and no wire."""
        return Topology("none", (), ())
