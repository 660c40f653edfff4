"""No rig, for traffic that builds its own network: `saturation`, Mininet scripts.

```yaml
rig: {kind: none}
```
"""

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import model_validator

from qdisclab.emulation.kinds.rigs.base import RigSection
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.topology import Link, Topology
from qdisclab.emulation.model.units import Rate
from qdisclab.emulation.study.schema import Flaws


class NoRig(RigSection):
    """A rig without nodes and without a bottleneck."""

    kind: Literal["none"]

    @model_validator(mode="after")
    def _has_no_parameters(self) -> Self:
        if names := sorted(self.model_fields_set - {"kind"}):
            raise Flaws(((names[0],), "is for a rig with nodes, this has none", "remove it"))
        return self

    @property
    def tested(self) -> bool:
        """Return False: there is no bottleneck."""
        return False

    def topology(self, link: Link | None, queues: Mapping[Rate, Qdisc]) -> Topology:
        """Return a topology without nodes and wires."""
        return Topology("none", (), ())
