"""Deficit round robin: serves its classes in turn, each by its quantum."""

from qdisclab.emulation.kinds.qdiscs.base import QdiscKind

KIND = QdiscKind("drr", is_of_rig=True, class_options=("quantum",))
