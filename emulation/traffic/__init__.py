"""Traffic: the programs of a run. Each kind is a module, with its schema and reducer.

To add one, write a module with a subclass of `base.TrafficSection` and name it here.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, TypeAdapter

from emulation.traffic.base import TrafficSection
from emulation.traffic.flent import Flent
from emulation.traffic.iperf import Iperf
from emulation.traffic.mix import Mix
from emulation.traffic.programs import Programs
from emulation.traffic.saturation import Saturation
from emulation.traffic.window import Window

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
