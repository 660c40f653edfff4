"""Rigs: the network around the queue under test.

A kind is a module with a subclass of `base.RigSection`, here or in a study's folder `kinds`.
"""

from qdisclab.emulation.kinds.rigs.base import RigSection
from qdisclab.emulation.kinds.sections import Sections

KINDS = Sections("rig", __name__, RigSection)  # type: ignore[type-abstract]
