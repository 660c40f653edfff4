"""What a flent file says about the rig that it was measured on, whoever measured it.

flent records qdiscs, classes and offloads of the interface towards the server, and of routers where
it was given `--remote-metadata` (flent, `metadata.py`): the interface towards the server there is
`EGRESS_INFO`, the one back towards the client `INGRESS_INFO`. Files of versions 1 to 4 of its
format are read, of netperf-wrapper 0.x to flent 2.x.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from qdisclab.analysis.runs.flentfile import Floats, content_of

UP, DOWN = "upload", "download"

#: What tc appends to a rate -> Mbit/s of one of it.
_RATES: Final = {"bit": 1e-6, "kbit": 1e-3, "mbit": 1.0, "gbit": 1e3, "tbit": 1e6}
_RATE: Final = re.compile(r"([0-9.]+)([KMGT]?bit)", re.IGNORECASE)

#: Names of flows, `TCP upload BE2 server-1` and `TCP download::7`; not flent's own sums of them,
#: nor statistics of sockets, `TCP upload::7::tcp_rtt`.
_FLOW: Final = re.compile(r"TCP (upload|download)(?! (?:avg|sum|fairness))[^:]*(?:::\d+)?")
_PING: Final = re.compile(r"Ping \(ms\) ICMP")

#: Offloads that make a qdisc see packets of up to 64 kB.
_SUPERPACKETS: Final = (
    "tcp-segmentation-offload", "generic-segmentation-offload", "generic-receive-offload",
    "large-receive-offload",
)  # fmt: skip


@dataclass(frozen=True)
class Interface:
    """A network interface that flent looked at."""

    host: str  # "" for the one that flent ran on
    direction: str  # UP or DOWN: which flows of the test it sends
    name: str
    kinds: tuple[str, ...]  # of its qdiscs, as tc calls them, each once
    rate_mbit_s: float | None  # the lowest that anything on it shapes to
    offloads: tuple[str, ...]  # of _SUPERPACKETS, those that are on

    def __str__(self) -> str:
        return f"{self.name} of {self.host or 'the client'}"


@dataclass(frozen=True)
class RigRecord:
    """What one file says of its rig, and the series that the rig is compared with."""

    title: str
    file_name: str  # under which flent wrote it
    interfaces: tuple[Interface, ...]
    sysctls: Mapping[str, Mapping[str, Any]]  # of each host; "" for the one that flent ran on
    parameters: Mapping[str, str]  # of the test, as the user gave them
    failed: int  # tools that failed
    length_s: float  # of load
    delay_s: float  # without load before it
    time_s: Floats  # shape (n,), the steps of all series
    series: Mapping[str, Floats]  # flent's name -> shape (n,), NaN where there is no value

    def flows(self, direction: str) -> Mapping[str, Floats]:
        """Return the goodput of the TCP flows of UP or DOWN, Mbit/s."""
        matches = ((_FLOW.fullmatch(name), values) for name, values in self.series.items())
        return {match[0]: values for match, values in matches if match and match[1] == direction}

    @property
    def pings(self) -> Mapping[str, Floats]:
        """Round trips by ICMP, ms."""
        return {name: values for name, values in self.series.items() if _PING.match(name)}

    @property
    def loaded(self) -> NDArray[np.bool_]:
        """Which steps are under load."""
        end_s = self.delay_s + self.length_s
        return (self.time_s >= self.delay_s) & (self.time_s < end_s)


def read_rig(path: Path) -> RigRecord:
    """Read what the data file says of its rig.

    Raises DataError when it is missing, truncated, not flent's or of a newer format.
    """
    with content_of(path, "Name a data file of flent") as content:
        metadata = content["metadata"]
        hosts = {"": metadata, **_mapping(metadata, "REMOTE_METADATA")}
        time_s = np.asarray(content["x_values"], dtype=np.float64)
        length_s = float(metadata["LENGTH"])
        total_s = float(metadata.get("TOTAL_LENGTH") or length_s)
        record = RigRecord(
            title=str(metadata.get("TITLE") or ""),
            file_name=str(metadata.get("DATA_FILENAME") or path.name),
            interfaces=tuple(
                interface for host, about in hosts.items() for interface in _interfaces(host, about)
            ),
            sysctls={host: _mapping(about, "SYSCTLS") for host, about in hosts.items()},
            parameters={str(k): str(v) for k, v in _mapping(metadata, "TEST_PARAMETERS").items()},
            failed=int(metadata.get("FAILED_RUNNERS") or 0),
            length_s=length_s,
            delay_s=max((total_s - length_s) / 2, 0.0),
            time_s=time_s,
            series={str(k): np.asarray(v, np.float64) for k, v in content["results"].items()},
        )
        if any(values.shape != time_s.shape for values in record.series.values()):
            raise ValueError("a series has another number of values than there are steps")
    return record


def rate_mbit_s(text: str) -> float | None:
    """Return a rate as tc prints it, "110Mbit"; None for anything else."""
    match = _RATE.fullmatch(text)
    return float(match[1]) * _RATES[match[2].lower()] if match else None


def _mapping(metadata: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a mapping of the metadata; flent writes null where it could not find out."""
    value = metadata.get(key) or {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{key} is not a mapping")
    return value


def _interfaces(host: str, metadata: Mapping[str, Any]) -> Iterator[Interface]:
    for key, direction in (("EGRESS_INFO", UP), ("INGRESS_INFO", DOWN)):
        if info := _mapping(metadata, key):
            offloads = _mapping(info, "offloads")
            yield Interface(
                host=host,
                direction=direction,
                name=str(info.get("iface", "?")),
                kinds=tuple(dict.fromkeys(str(qdisc["name"]) for qdisc in _list(info, "qdiscs"))),
                rate_mbit_s=min(filter(None, map(rate_mbit_s, _rates(info))), default=None),
                offloads=tuple(name for name in _SUPERPACKETS if offloads.get(name)),
            )


def _rates(info: Mapping[str, Any]) -> Iterator[str]:
    """Yield the rates of the qdiscs of an interface and of their classes.

    flent splits a line of tc into pairs, which words without a value shift; the lines themselves
    are in `tc_stats_pre`, of which a rate is read where the pairs have none.
    """
    lines = [str(text).partition("\n")[0].split() for text in _list(info, "tc_stats_pre")]
    for qdisc in _list(info, "qdiscs"):
        kind, major = str(qdisc["name"]), str(qdisc["id"])
        words = [word for line in lines if line[2:3] == [major] for word in line]
        pairs = {**dict(pairwise(words)), **_mapping(qdisc, "params")}
        yield from (str(pairs.get(key, "")) for key in ("rate", "bandwidth"))
        for part in _list(info, "classes"):
            if str(part["name"]) == kind and str(part["id"]).startswith(major):
                yield str(_mapping(part, "params").get("rate", ""))


def _list(info: Mapping[str, Any], key: str) -> Sequence[Any]:
    return info.get(key) or ()
