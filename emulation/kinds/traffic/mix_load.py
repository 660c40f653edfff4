"""A load of the traffic `mix`, and the queues of the gateways whose packets are followed."""

from __future__ import annotations

from dataclasses import dataclass

from emulation.kinds.rigs.gateways import LEFT, RIGHT
from emulation.model.topology import Topology


@dataclass(frozen=True)
class Load:
    """A load; forward is from senders to receivers, the direction of downloads."""

    name: str  # `bulk_4_web_5`
    bulk: int = 0  # TCP flows without end, forward
    web: int = 0  # connections per second, on average, that fetch forward
    cbr: int = 0  # flows of constant bit rate, forward
    cbr_back: int = 0  # the same backward
    uploads: int = 0  # senders of a file, again after each pause, backward

    @property
    def both_ways(self) -> bool:
        """Whether more than acknowledgments and requests goes backward."""
        return bool(self.cbr_back or self.uploads)


def queues(load: Load) -> dict[str, tuple[str, str]]:
    """Map directions to the queue, (node, interface), whose packets are followed."""
    return {"forward": LEFT, **({"reverse": RIGHT} if load.both_ways else {})}


def ports_of(queue: tuple[str, str], topology: Topology) -> list[tuple[str, str]]:
    """Return the ports that see packets of `queue`: its own first, then those they come from."""
    ports = [(port.node, port.interface) for port in topology.ports() if port.node == queue[0]]
    return [queue, *(port for port in ports if port != queue)]
