"""Three FIFOs by priority, of `txqueuelen` packets each: what a device has by default."""

from qdisclab.emulation.kinds.qdiscs.base import Look, QdiscKind

KIND = QdiscKind("pfifo_fast", look=Look("#000000", "#e8e8e8", "o", ()))
