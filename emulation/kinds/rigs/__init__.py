"""Rigs: the network around the queue under test. Each kind is a module.

To add one, write a module with a subclass of `base.RigSection` and name it here.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, TypeAdapter

from emulation.kinds.rigs.base import RigSection
from emulation.kinds.rigs.daisy_chain import DaisyChain
from emulation.kinds.rigs.dumbbell import Dumbbell
from emulation.kinds.rigs.gateways import Gateways
from emulation.kinds.rigs.nodes import Nodes
from emulation.kinds.rigs.none import NoRig
from emulation.kinds.rigs.python import Python

Rig = Annotated[
    DaisyChain | Dumbbell | Gateways | Nodes | NoRig | Python, Field(discriminator="kind")
]

RIG: TypeAdapter[DaisyChain | Dumbbell | Gateways | Nodes | NoRig | Python] = TypeAdapter(Rig)

__all__ = [
    "RIG",
    "DaisyChain",
    "Dumbbell",
    "Gateways",
    "NoRig",
    "Nodes",
    "Python",
    "Rig",
    "RigSection",
]
