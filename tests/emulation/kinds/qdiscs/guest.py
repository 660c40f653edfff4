"""The guest's module `readback`, with the functions of all kinds of qdiscs."""

from types import ModuleType

from qdisclab.emulation.kinds import qdiscs
from qdisclab.emulation.machine import guestcode

readback = ModuleType("readback")
source = guestcode.read(guestcode.FOLDER / guestcode.READBACK) + guestcode.read_back(qdiscs.KINDS)
exec(compile(source, guestcode.READBACK, "exec"), vars(readback))  # noqa: S102
