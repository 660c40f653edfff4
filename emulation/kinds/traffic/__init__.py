"""Traffic: the programs of a run. Each kind is a module, with its schema and reducer.

To add one, write a module with a subclass of `base.TrafficSection` and name it here.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, TypeAdapter

from emulation.kinds.traffic.base import TrafficSection
from emulation.kinds.traffic.flent import Flent
from emulation.kinds.traffic.iperf import Iperf
from emulation.kinds.traffic.mix import Mix
from emulation.kinds.traffic.programs import Programs
from emulation.kinds.traffic.saturation import Saturation
from emulation.kinds.traffic.window import Window

Traffic = Annotated[
    Flent | Iperf | Mix | Programs | Saturation | Window, Field(discriminator="kind")
]

TRAFFIC: TypeAdapter[Flent | Iperf | Mix | Programs | Saturation | Window] = TypeAdapter(Traffic)

__all__ = [
    "TRAFFIC",
    "Flent",
    "Iperf",
    "Mix",
    "Programs",
    "Saturation",
    "Traffic",
    "TrafficSection",
    "Window",
]
