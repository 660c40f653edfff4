"""What all rigs have in common: settings of their hosts, and a topology around the bottleneck."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, PlainValidator, ValidationInfo

from emulation.model import era as eras
from emulation.model.qdisc import Qdisc
from emulation.model.sysctls import CONTROL
from emulation.model.topology import Link, Topology
from emulation.model.units import Duration, Rate
from emulation.model.wifi import Wifi
from emulation.study.schema import Flaws, Section, Settings, Sysctls, unknown


def _eras(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Pairs of a node and an era that there is; what goes together is seen in a run."""
    for node, era in pairs:
        try:
            eras.switches(era)
        except ValueError as error:
            what, _, todo = str(error).partition("; ")
            if todo:  # it lists the valid ones
                raise Flaws(((node,), what, todo)) from None
    return pairs


def _no_control(settings: Settings) -> Settings:
    """Settings of all hosts without their congestion control, which the ids of runs name."""
    if CONTROL in dict(settings):
        raise Flaws(((CONTROL,), "is what the axis 'cc' sets", "write it there: cc: [reno]"))
    return settings


class RigSection(Section):
    """A rig of a study file. A kind of rig is a subclass, with its `kind` and its parameters."""

    #: Of the hosts that send and receive.
    sysctls: Annotated[Sysctls, AfterValidator(_no_control)] = ()
    eras: Annotated[
        Settings, AfterValidator(_eras)
    ] = ()  # (node, era) of nodes that run another release than the others

    @abstractmethod
    def topology(self, link: Link | None, queues: Mapping[Rate, Qdisc]) -> Topology:
        """The nodes and wires around the bottleneck `link`.

        `queues` has the qdisc under test with its values for each of `tested_rates`.
        """

    def tested_rates(self, link: Link | None) -> tuple[Rate, ...]:
        """The rates that the qdisc under test is shaped to: those of the link."""
        return () if link is None else tuple(dict.fromkeys((link.up, link.down)))

    @property
    def base_rtts(self) -> tuple[Duration, ...]:
        """Round-trip times of the empty path to each address of the server, where the rig says."""
        return ()

    @property
    def node_sysctls(self) -> Mapping[str, Mapping[str, str]]:
        """Settings of single nodes, which go before those of all hosts."""
        return {}

    @property
    def tested(self) -> bool:
        """Whether it has a bottleneck, whose link and qdisc a sweep varies."""
        return True


def halves(rtt: Duration, split: str) -> tuple[Duration, Duration]:
    """What of a base RTT the way there and the way back take.

    `split` is `symmetric` (half each), `forward` (all of it on the way there) or `backward`.
    """
    if split == "forward":
        return rtt, Duration(0)
    if split == "backward":
        return Duration(0), rtt
    there = Duration(rtt.nanoseconds // 2)
    return there, Duration(rtt.nanoseconds - there.nanoseconds)


def _wifi(value: Any, info: ValidationInfo) -> Wifi:
    """The WiFi link of that name in the file."""
    if isinstance(value, Wifi):
        return value
    defined: dict[str, Wifi] = (info.context or {}).get("wifi", {})
    if not isinstance(value, str) or value not in defined:
        raise Flaws(((), *unknown("WiFi link", str(value), defined)))
    return defined[value]


WifiLink = Annotated[Wifi, PlainValidator(_wifi)]
