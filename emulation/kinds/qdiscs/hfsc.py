"""Hierarchical fair service curve: classes with guaranteed and with shared rates."""

from emulation.kinds.qdiscs.base import QdiscKind, TcOption
from emulation.kinds.qdiscs.htb import read_back

KIND = QdiscKind(
    "hfsc", {"default": TcOption(int, is_class=True)}, is_of_rig=True, read_back=read_back
)
