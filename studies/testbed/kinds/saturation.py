"""Saturated WiFi cells of its own, whose results theory predicts: a test of the WiFi link.

```yaml
rig: {kind: none}
traffic:
  kind: saturation
  set: single            # one of the sets of cases below
  length: 5 s            # of the measurement of each case, after it has settled
  step: 100 ms           # between two readings of a backlog, in the set `waiting`
```

The data are a table with one row per case, sender and quantity.
`studies/testbed/measures/validation.py` compares it with theory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from qdisclab.emulation import datafile
from qdisclab.emulation.kinds.rigs.base import RigSection
from qdisclab.emulation.kinds.traffic.base import TrafficSection
from qdisclab.emulation.model.topology import Topology
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.study.schema import Flaws, Span, TestName

if TYPE_CHECKING:
    from qdisclab.emulation.model.run import Run

SETTLE_S = 1.0
DATAGRAM, SMALL = 1472, 200
DELAY_MS = 50  # of the server, in `waiting`
ALL_SENDERS = -1
Set = Literal["saturation", "single", "goodput", "anomaly", "waiting", "three"]

#: A driver without aggregation, like ath5k of Linux 3.8: docs/wifi.md.
G_DRIVER = {"aifsn": 2, "subframes": 1, "ahead": 1, "ring": 51, "wake": 24, "retries": 7}

#: Limits of the driver's queue: as in 2014, and bounded in three ways.
BELOW: dict[str, dict[str, Any]] = {
    "2014": {},
    "bytes": {"limit_bytes": 30_000},
    "airtime": {"limit_airtime_us": 5_000},
    "stations": {"overflow": "drop", "scheduler": "airtime", "ring": 1000, "wake": 999},
    "robin": {"overflow": "drop", "scheduler": "robin", "ring": 1000, "wake": 999},
}

#: Those of the set `waiting`.
_WAITING = ("2014", "bytes", "airtime", "stations")


class Saturation(TrafficSection):
    """All cases of a set, one after the other."""

    data_end: ClassVar[str] = datafile.ROWS

    tools = {
        "saturation": (
            *("modules.py", "namespace.py", "wifi.py", "wifi_netlink.py"),
            Path(__file__).parent / "guest/saturation.py",
        )
    }

    kind: Literal["saturation"]
    set: Set
    test: TestName = "saturation"
    step: Span = Duration(10**8)
    start_jitter: Span = Duration(1)

    def check(self, rig: RigSection, topology: Topology) -> None:
        """Raise `Flaws` where there is a rig."""
        if topology.nodes:
            what = f"'{self.kind}' builds cells of its own, not the rig '{topology.name}'"
            raise Flaws((("kind",), what, "write 'rig: {kind: none}'"))

    def job(self, run: Run, topology: Topology) -> dict[str, Any]:
        """Return the job with the parameters of all cases."""
        all_cases = cases(self.set, run.length.seconds)
        return {"work": "saturation", "cases": [case.job(self.step.seconds) for case in all_cases]}

    @property
    def modules(self) -> tuple[str, ...]:
        """Return the driver of the link."""
        return ("wifi",)

    def reduce(self, run: Run, out: Path) -> None:
        """Make the table from the counters of the devices."""
        answers = json.loads((out / "cases.json").read_text())
        rows = (
            {**asdict(case), "sender": sender, "quantity": quantity, "value": float(f"{value:.8g}")}
            for case, answer in zip(cases(self.set, run.length.seconds), answers, strict=True)
            for sender, quantity, value in quantities(case, answer)
        )
        datafile.write_rows(rows, out / f"data{self.data_end}")


@dataclass(frozen=True)
class Case:
    """The parameters of a case, which are columns of the table.

    All stations have the same rate, except in `anomaly` and `waiting`, where the second station has
    `other_mbit_s` if that is not 0, and in `three`, where the third one has MCS 0.
    """

    set: str
    traffic: str  # `udp` or `tcp`, and `up`, `down` or `both`
    stations: int = 1
    rate_mbit_s: float = 54  # of OFDM; 0: the MCS counts
    mcs: int = 0
    width_mhz: int = 20
    short_gi: bool = False
    band_ghz: int = 5
    other_mbit_s: float = 0
    backoff: str = "edca"
    cw_min: int = 15
    subframes: int = 1  # at most in an A-MPDU
    payload_bytes: int = DATAGRAM
    protection: str = "none"
    qdisc: str = "pfifo"
    below: str = "2014"
    flows: int = 1  # of each station and direction
    seconds: float = 5.0

    def job(self, poll_s: float = 0.1) -> dict[str, Any]:
        """Return the parameters of the guest's `saturation.do`."""
        theory = self.set in ("saturation", "anomaly")
        device: dict[str, Any] = {} if self.rate_mbit_s == 0 else dict(G_DRIVER)
        device |= {"protection": self.protection, "cw_min": self.cw_min}
        if self.rate_mbit_s == 0:
            device["subframes"] = self.subframes
        if theory:
            device["retries"] = 254  # the models have no limit
        device |= BELOW[self.below]
        medium = {"band_ghz": self.band_ghz, "backoff": self.backoff, "eifs": not theory}
        return {
            "access_point": {**device, **medium},
            "stations": [{**device, **self._channels(i)} for i in range(self.stations)],
            "flows": [list(flow) for flow in self._flows()],
            "seconds": self.seconds,
            "settle_s": SETTLE_S,
            "qdisc": self.qdisc,
            "poll_s": poll_s if self.set == "waiting" else 0,
            "delay_ms": DELAY_MS,
        }

    def _channels(self, station: int) -> dict[str, Any]:
        rate = self.other_mbit_s if station and self.other_mbit_s else self.rate_mbit_s
        mcs = 0 if self.set == "three" and station == 2 else self.mcs
        ht = {"mcs": mcs, "width_mhz": self.width_mhz, "short_gi": self.short_gi}
        channel = {"rate_100kbit_s": round(10 * rate)} if rate else ht
        return {"up": channel, "down": channel}

    def _flows(self) -> Iterator[tuple[int, int, str, int]]:
        """Yield flows: (from, to, protocol, bytes).

        In `waiting` and `three` the other end is a server behind the access point, so that no
        socket notices how full the queue of the access point is.
        """
        protocol, direction = self.traffic.split()
        other = self.stations + 1 if self.set in ("waiting", "three") else 0
        for station in range(1, self.stations + 1):
            for _ in range(self.flows):
                if direction in ("up", "both"):
                    yield station, other, protocol, self.payload_bytes
                if direction in ("down", "both"):
                    yield other, station, protocol, self.payload_bytes


_HT: dict[str, Any] = {"rate_mbit_s": 0, "mcs": 15, "subframes": 32}
_FOUR = {**_HT, "flows": 4}
_CHANNELS = ((0, 20, False), (3, 20, False), (7, 20, False), (7, 20, True), (15, 20, False),
             (7, 40, False), (15, 40, True))  # fmt: skip
_RATES: tuple[dict[str, Any], ...] = (
    {"rate_mbit_s": 54, "band_ghz": 2},
    {**_HT, "mcs": 7},
    _HT,
    {**_HT, "width_mhz": 40, "short_gi": True},
)
SETS: dict[str, list[Case]] = {
    "saturation": [
        Case("saturation", "udp up", n, backoff=backoff, cw_min=cw_min)
        for backoff, cw_min in (("edca", 31), ("edca", 15), ("dcf", 15))
        for n in range(1, 21)
    ],
    "single": [
        Case("single", "udp up", rate_mbit_s=0, mcs=mcs, width_mhz=width, short_gi=short_gi,
             subframes=subframes, payload_bytes=payload)
        for mcs, width, short_gi in _CHANNELS
        for subframes in (1, 8, 32)
        for payload in (DATAGRAM, SMALL)
    ] + [
        Case("single", "udp up", rate_mbit_s=rate, band_ghz=2, protection=protection)
        for rate in (6, 9, 12, 18, 24, 36, 48, 54)
        for protection in ("none", "cts-to-self", "rts-cts")
    ],
    "goodput": [
        Case("goodput", traffic, **rate)
        for rate in _RATES
        for traffic in ("udp down", "udp up", "tcp down", "tcp up")
    ],
    "anomaly": [Case("anomaly", "udp up", 2, other_mbit_s=rate) for rate in (54, 36, 24, 12, 6)],
    "waiting": [
        Case("waiting", traffic, qdisc=qdisc, below=below, **_FOUR)
        for traffic in ("tcp down", "tcp both")
        for qdisc in ("pfifo_fast", "codel", "fq_codel")
        for below in _WAITING
    ] + [
        Case("waiting", "tcp down", 2, other_mbit_s=6, qdisc="fq_codel", below=below, **_FOUR)
        for below in _WAITING
    ],
    "three": [
        Case("three", "tcp down", 3, qdisc="fq_codel", below=below, **_HT)
        for below in ("2014", "robin", "stations")
    ],
}  # fmt: skip
"""The cases of each set."""


def cases(which: Set, seconds: float) -> list[Case]:
    """Return all cases of a set, each `seconds` long."""
    return [replace(case, seconds=seconds) for case in SETS[which]]


def quantities(case: Case, answer: dict[str, Any]) -> Iterator[tuple[int, str, float]]:
    """Yield (sender, quantity, value); sender 0 is the access point."""
    protocol, direction = case.traffic.split()
    seconds = answer["seconds"]
    total = 0.0
    stations = list(range(1, case.stations + 1))
    senders = {"down": [0], "up": stations, "both": [0, *stations]}[direction]
    for sender in senders:
        counts = counted(answer["devices"][sender], "up" if sender else "down")
        if protocol == "udp":
            mbit_s = 8e-6 * case.payload_bytes * counts["packets"] / seconds
            total += mbit_s
            if case.stations > 1:
                yield sender, "goodput_mbit_s", mbit_s
        if case.set == "waiting":
            yield from waits(sender, counts, answer["backlogs"][sender], seconds)
        if case.set == "single":
            yield sender, "frames_a_ppdu", counts["subframes"] / counts["ppdus"]
    if protocol == "tcp":
        received: dict[int, float] = {}
        for (_, target, _, _), count in zip(case._flows(), answer["received"], strict=True):
            received[target] = received.get(target, 0) + 8e-6 * count / seconds
        total = sum(received.values())
        if len(received) > 1:
            for target, mbit_s in received.items():
                name = "upload_mbit_s" if target > case.stations else "goodput_mbit_s"
                yield target, name, mbit_s
    yield ALL_SENDERS, "goodput_mbit_s", total
    if case.set == "three":
        devices = [answer["devices"][station] for station in stations]
        air_ns = [device["up_airtime_ns"] + device["down_airtime_ns"] for device in devices]
        for station, ns in zip(stations, air_ns, strict=True):
            yield station, "airtime_share", ns / sum(air_ns)
    if case.set == "saturation":
        uplinks = [counted(device, "up") for device in answer["devices"][1:]]
        collisions = sum(uplink["collisions"] for uplink in uplinks)
        transmissions = sum(uplink["ppdus"] for uplink in uplinks)
        yield ALL_SENDERS, "collision_probability", collisions / transmissions


def waits(
    sender: int, counts: dict[str, int], backlog: float, seconds: float
) -> Iterator[tuple[int, str, float]]:
    """Yield mean waiting times in ms: in the qdisc by Little's law, below it as counted."""
    packets = counts["packets"]
    yield sender, "qdisc_ms", 1e3 * backlog * seconds / packets
    for place in ("ring", "aggregation", "air", "reorder"):
        yield sender, f"{place}_ms", 1e-6 * counts[f"{place}_ns"] / packets


def counted(device: dict[str, int], direction: str) -> dict[str, int]:
    """Return the counters of one direction of a device, by their names without it."""
    start = f"{direction}_"
    return {name.removeprefix(start): n for name, n in device.items() if name.startswith(start)}
