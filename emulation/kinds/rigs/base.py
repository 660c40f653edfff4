"""The base of all kinds of rigs: settings of hosts, and a topology around the bottleneck."""

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainValidator, ValidationInfo, WithJsonSchema

from qdisclab.emulation.model import era as eras
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.sysctls import CONTROL
from qdisclab.emulation.model.topology import Link, Port, Topology
from qdisclab.emulation.model.units import Duration, Rate
from qdisclab.emulation.model.wifi import Wifi
from qdisclab.emulation.study import schema
from qdisclab.emulation.study.schema import Flaws, LinkRate, Section, Settings, Sysctls, unknown


def _eras(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Check that the eras of nodes exist; whether they go together is checked with a run."""
    for node, era in pairs:
        try:
            eras.switches(era)
        except ValueError as error:
            what, _, todo = str(error).partition("; ")
            if todo:  # it lists the valid ones
                raise Flaws(((node,), what, todo)) from None
    return pairs


def _no_control(settings: Settings) -> Settings:
    """Refuse the congestion control among settings of hosts: ids of runs name it."""
    if CONTROL in dict(settings):
        raise Flaws(((CONTROL,), "is set by the axis 'cc'", "write it there: cc: [reno]"))
    return settings


_hosts = partial(schema.pairs, read=schema.settings_of_network)
_OF_HOSTS = WithJsonSchema({"type": "object", "additionalProperties": {"type": "object"}})
Hosts = Annotated[tuple[tuple[str, Settings], ...], PlainValidator(_hosts), _OF_HOSTS]

#: The most that a delay may vary, in packet times of the bottleneck: far more than a host's noise.
MOST_NOISE = 100

#: By how many packet times of the bottleneck each delay varies; None leaves that to the era.
Noise = Annotated[float | None, Field(ge=0, le=MOST_NOISE, allow_inf_nan=False)]


def _wifi(value: Any, info: ValidationInfo) -> Wifi:
    """Return the WiFi link with the name `value` in the file."""
    if isinstance(value, Wifi):
        return value
    defined: dict[str, Wifi] = (info.context or {}).get("wifi", {})
    if not isinstance(value, str) or value not in defined:
        raise Flaws(((), *unknown("WiFi link", str(value), defined)))
    return defined[value]


WifiLink = Annotated[Wifi, PlainValidator(_wifi)]


class RigSection(Section):
    """A rig of a study file. A kind of rig is a subclass, with its `kind` and its parameters."""

    #: Settings of the hosts that send and receive.
    sysctls: Annotated[Sysctls, AfterValidator(_no_control)] = ()
    #: (node, era) of nodes that run a release of their own.
    eras: Annotated[Settings, AfterValidator(_eras)] = ()
    #: Settings of single hosts, which override those of all: their congestion control, ECN.
    hosts: Hosts = ()

    @abstractmethod
    def topology(self, link: Link | None, queues: Mapping[Rate, Qdisc]) -> Topology:
        """Build the nodes and wires around the bottleneck `link`.

        `queues` maps each of `tested_rates` to the qdisc under test with its options at that rate.
        """

    def tested_rates(self, link: Link | None) -> tuple[Rate, ...]:
        """Return the rates that the qdisc under test is shaped to: those of the link."""
        return () if link is None else tuple(dict.fromkeys((link.up, link.down)))

    def __hash__(self) -> int:
        values = (getattr(self, name) for name in type(self).model_fields)
        return hash(tuple(value for value in values if not isinstance(value, (Mapping, list))))

    @property
    def base_rtts(self) -> tuple[Duration, ...]:
        """Return RTTs of the empty path to each address of the server, if the rig states them."""
        stated: Duration | tuple[Duration, ...] = getattr(self, "base_rtt", ())
        return stated if isinstance(stated, tuple) else (stated,)

    @property
    def host_noise(self) -> float | None:
        """Return by how many packet times delays vary, if the rig and not the era says so."""
        return getattr(self, "noise", None)

    @property
    def node_sysctls(self) -> Mapping[str, Mapping[str, str]]:
        """Map nodes to settings of their own, which override those of all hosts."""
        return {name: dict(settings) for name, settings in self.hosts}

    def counted(self, topology: Topology) -> tuple[Port, ...]:
        """Return the ports whose counters the provenance of a run keeps."""
        return tuple(topology.ports())

    @property
    def tested(self) -> bool:
        """Whether the rig has a bottleneck, whose link and qdisc a sweep varies."""
        return True


class BottleneckRig(RigSection):
    """A rig of one bottleneck, whose link may be WiFi, and of a delay beside it."""

    edge_rate: LinkRate  # of every port but those of the bottleneck
    split: Literal["symmetric", "forward", "backward"] = "symmetric"
    noise: Noise = None
    wifi: WifiLink | None = None


def halves(rtt: Duration, split: str) -> tuple[Duration, Duration]:
    """Divide a base RTT into the delays there and back.

    `split` is `symmetric` (half each), `forward` (all of it on the way there) or `backward`.
    """
    if split == "forward":
        return rtt, Duration(0)
    if split == "backward":
        return Duration(0), rtt
    there = Duration(rtt.nanoseconds // 2)
    return there, Duration(rtt.nanoseconds - there.nanoseconds)
