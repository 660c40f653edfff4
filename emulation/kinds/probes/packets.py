"""Every packet that enters a port's queue: a row each (`emulation.captures.packets`)."""

from qdisclab.emulation.kinds.probes import base, capture

KIND = base.ProbeKind("packets", "packets[:NODE [INTERFACE]]", base.QUEUE, capture.places, words=2)
