"""Priorities: a band is served while those before it are empty."""

from qdisclab.emulation.kinds.qdiscs.base import QdiscKind

KIND = QdiscKind("prio", {"bands": int}, is_of_rig=True)
