"""Every packet that enters a port's queue: a row each (`emulation.captures.packets`)."""

from qdisclab.emulation.kinds.probes import capture
from qdisclab.emulation.kinds.probes.base import QUEUE, ProbeKind

KIND = ProbeKind("packets", "packets[:NODE [INTERFACE]]", QUEUE, capture.places, words=2)
