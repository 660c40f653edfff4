"""The packets at a port, both ways: 128 bytes of each."""

from qdisclab.emulation.kinds.probes.base import CAPTURE, ProbeKind, Where
from qdisclab.emulation.model.run import Run


def places(run: Run) -> list[Where]:
    """Return the queues under test."""
    return [(port.node, port.interface) for port in run.topology.queues()]


KIND = ProbeKind("capture", "capture[:NODE [INTERFACE]]", CAPTURE, places, words=2)
