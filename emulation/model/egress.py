"""What a port does to the packets that it sends: shape, delay, or hand them to the air."""

from dataclasses import dataclass, field

from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.tree import Attached, Tree
from qdisclab.emulation.model.units import Duration, Packets, Rate, Size
from qdisclab.emulation.model.wifi import Options

#: The handle of the qdisc under test.
HANDLE = "10:"

BURST = Size(1514)  # of the bottleneck's tbf: one full Ethernet frame
EDGE_BURST = Size(64 * 1024)  # of the edges' tbf
SHAPER_LIMIT = Size(12_500_000)  # never reached: a child holds the queue, or the edge is faster
DELAY_LIMIT = Packets(100_000)  # never reached: 25 ms at 1 Gbit/s are 2 065 full packets


class _OneWay:
    """What all packets of a port pass in the same way."""

    def filters(self) -> tuple[str, ...]:
        """Return no filters."""
        return ()


@dataclass(frozen=True)
class Shaper(_OneWay):
    """A token bucket (`tbf`), around the queue under test or around its own FIFO."""

    rate: Rate  # at which packets leave
    burst: Size  # of the bucket
    limit: Size  # of the FIFO, where there is no qdisc
    qdisc: Qdisc | None = None  # the queue inside

    def attached(self) -> tuple[Attached, ...]:
        """Return the root qdisc and its child, if it has one."""
        options = (("rate", self.rate), ("burst", self.burst), ("limit", self.limit))
        root = Attached("root", "1:", Qdisc("tbf", "tbf", options))
        return (root,) if self.qdisc is None else (root, Attached("1:1", HANDLE, self.qdisc))


@dataclass(frozen=True)
class Hierarchy(_OneWay):
    """A hierarchical token bucket (`htb`) with one class, around the queue under test."""

    rate: Rate  # at which packets leave
    burst: Size  # of each of the class's two buckets
    qdisc: Qdisc  # the queue inside
    between: Qdisc | None = None  # a qdisc between the class and the queue

    def attached(self) -> tuple[Attached, ...]:
        """Return the root qdisc, its child and, if there is one between, its child's child."""
        root = Attached("root", "1:", Qdisc("htb", "htb", (("default", 1),)))
        if self.between is None:
            return (root, Attached("1:1", HANDLE, self.qdisc))
        return (root, Attached("1:1", "5:", self.between), Attached("5:1", HANDLE, self.qdisc))

    def classes(self) -> tuple[dict[str, str | int], ...]:
        """Return the one class, which all packets go to."""
        names: dict[str, str | int] = {"parent": "1:", "classid": "1:1", "kind": "htb"}
        return ({**names, "rate_bit_s": self.rate.bits_per_second, "burst": self.burst.bytes},)


@dataclass(frozen=True)
class Delay(_OneWay):
    """A delay (`netem`) with a finite rate: constant, at the ticks of a clock, or with noise."""

    delay: Duration  # of one direction, on average
    rate: Rate  # at which packets leave
    limit: Packets  # that may be under way
    bottleneck: Rate | None = None  # of the packets that are delayed; None where a rig has none
    clock: str = ""  # the qdisc in the place of netem: `ticks` or `card` (qdisc/src)
    jitter: Duration | None = None  # how far the delay of a packet may be from `delay`

    @property
    def each(self) -> tuple[Duration, ...]:
        """Return the one delay."""
        return (self.delay,)

    def attached(self) -> tuple[Attached, ...]:
        """Return the one qdisc, which delays packets."""
        netem = _netem(self.delay, self.rate, self.limit, self.jitter)
        return (Attached("root", "1:", Qdisc(self.clock, self.clock) if self.clock else netem),)


@dataclass(frozen=True)
class Delays:
    """A constant delay (`netem`) for each of two or more addresses, each with a finite rate.

    The root is a `prio` qdisc whose filters send each packet to the band of its address.
    """

    delays: tuple[tuple[str, Duration], ...]  # (address, delay of one direction)
    match: str  # `dst` or `src`: which address of a packet
    rate: Rate  # at which packets leave, per address
    limit: Packets  # that may be under way, per address
    bottleneck: Rate | None = None  # of the packets that are delayed
    jitter: Duration | None = None  # how far the delay of a packet may be from its address's

    @property
    def each(self) -> tuple[Duration, ...]:
        """Return the delay of each address."""
        return tuple(delay for _, delay in self.delays)

    def attached(self) -> tuple[Attached, ...]:
        """Return the root with its bands and, in each band, the qdisc that delays packets."""
        root = Attached("root", "1:", Qdisc("prio", "prio", (("bands", len(self.delays)),)))
        netems = (_netem(delay, self.rate, self.limit, self.jitter) for delay in self.each)
        bands = (Attached(f"1:{at}", f"{10 * at}:", netem) for at, netem in enumerate(netems, 1))
        return (root, *bands)

    def filters(self) -> tuple[str, ...]:
        """Return what follows `tc filter add dev X`, one filter per address."""
        return tuple(
            f"parent 1: protocol ip prio 1 u32 match ip {self.match} {address}/32 flowid 1:{band}"
            for band, (address, _) in enumerate(self.delays, start=1)
        )


def _netem(delay: Duration, rate: Rate, limit: Packets, jitter: Duration | None) -> Qdisc:
    """Return a delay line. As it has a rate, a packet never leaves before those that came first."""
    varies = (("jitter", jitter),) if jitter else ()
    return Qdisc("netem", "netem", (("delay", delay), *varies, ("rate", rate), ("limit", limit)))


@dataclass(frozen=True)
class Radio(_OneWay):
    """A WiFi device under the queue under test: it sends as fast as the air and the others let it.

    The queue below the qdisc, the rates and the channel are `options` (docs/wifi.md).
    """

    qdisc: Qdisc
    options: Options = field(default_factory=dict, hash=False)

    def attached(self) -> tuple[Attached, ...]:
        """Return the queue under test, which is the root of the device."""
        return (Attached("root", HANDLE, self.qdisc),)


#: What a port does to the packets that it sends.
Egress = Shaper | Hierarchy | Delay | Delays | Radio | Tree
