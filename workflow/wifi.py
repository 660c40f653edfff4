"""Measure what the WiFi link does where theory says what it should.

    python -m workflow.wifi --output data/rig/wifi.csv

Virtual time: how busy the machine is does not matter. The table gets the rows of all seeds anew;
a row is one quantity of one sender in one case. `analysis.wifi_validation` compares it with theory.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from emulation import kernel, rootfs, vm
from emulation.kernel import Kernel, module
from emulation.kernel.module import Module
from emulation.rootfs import RootFs

SEEDS = (1, 2, 3)
SETTLE_S = 1.0
DATAGRAM, SMALL = 1472, 200
POLL_S = 0.1
DELAY_MS = 50  # of the server, in `waiting`
SETS = ("saturation", "single", "goodput", "anomaly", "waiting")

#: A driver without aggregation, as ath5k of Linux 3.8: docs/wifi.md.
G_DRIVER = {"aifsn": 2, "subframes": 1, "ahead": 1, "ring": 51, "wake": 24, "retries": 7}

#: What the driver's queue may hold: as in 2014, and bounded in three ways.
BELOW: dict[str, dict[str, Any]] = {
    "2014": {},
    "bytes": {"limit_bytes": 30_000},
    "airtime": {"limit_airtime_us": 5_000},
    "stations": {"overflow": "drop", "scheduler": "airtime", "ring": 1000, "wake": 999},
}


@dataclass(frozen=True)
class Case:
    """What is done; the first columns of the table. Every station is at the same rate but in
    `anomaly` and `waiting`, where the second one is at `other_mbit_s` if that is not 0."""

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

    def job(self) -> dict[str, Any]:
        """What the guest is told, for `wifi_saturation.do`."""
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
            "poll_s": POLL_S if self.set == "waiting" else 0,
            "delay_ms": DELAY_MS,
        }

    def _channels(self, station: int) -> dict[str, Any]:
        rate = self.other_mbit_s if station and self.other_mbit_s else self.rate_mbit_s
        channel = (
            {"rate_100kbit_s": round(10 * rate)}
            if rate
            else {"mcs": self.mcs, "width_mhz": self.width_mhz, "short_gi": self.short_gi}
        )
        return {"up": channel, "down": channel}

    def _flows(self) -> Iterator[tuple[int, int, str, int]]:
        """(from, to, protocol, bytes). In `waiting` the other end is a server behind the access
        point, so that no socket feels how full the queue of the access point is."""
        protocol, direction = self.traffic.split()
        other = self.stations + 1 if self.set == "waiting" else 0
        for station in range(1, self.stations + 1):
            for _ in range(self.flows):
                if direction in ("up", "both"):
                    yield station, other, protocol, self.payload_bytes
                if direction in ("down", "both"):
                    yield other, station, protocol, self.payload_bytes


@dataclass(frozen=True)
class Row:
    """The last columns of the table. `sender`: 0 is the access point, -1 all together."""

    kernel: str  # digests
    module: str
    seed: int
    sender: int
    quantity: str
    value: float


def cases(which: str) -> list[Case]:
    """All cases of a set."""
    if which == "saturation":
        return [
            Case(which, "udp up", n, backoff=backoff, cw_min=cw_min, seconds=20)
            for backoff, cw_min in (("edca", 31), ("edca", 15), ("dcf", 15))
            for n in range(1, 21)
        ]
    if which == "single":
        ht = ((0, 20, False), (3, 20, False), (7, 20, False), (7, 20, True), (15, 20, False),
              (7, 40, False), (15, 40, True))  # fmt: skip
        return [
            Case(which, "udp up", rate_mbit_s=0, mcs=mcs, width_mhz=width, short_gi=short_gi,
                 subframes=subframes, payload_bytes=payload)
            for mcs, width, short_gi in ht
            for subframes in (1, 8, 32)
            for payload in (DATAGRAM, SMALL)
        ] + [
            Case(which, "udp up", rate_mbit_s=rate, band_ghz=2, protection=protection)
            for rate in (6, 9, 12, 18, 24, 36, 48, 54)
            for protection in ("none", "cts-to-self", "rts-cts")
        ]  # fmt: skip
    if which == "goodput":
        rates: list[dict[str, Any]] = [
            {"rate_mbit_s": 54, "band_ghz": 2},
            {"rate_mbit_s": 0, "mcs": 7, "subframes": 32},
            {"rate_mbit_s": 0, "mcs": 15, "subframes": 32},
            {"rate_mbit_s": 0, "mcs": 15, "width_mhz": 40, "short_gi": True, "subframes": 32},
        ]
        traffic = ("udp down", "udp up", "tcp down", "tcp up")
        return [Case(which, kind, **rate) for rate in rates for kind in traffic]
    if which == "anomaly":
        return [
            Case(which, "udp up", 2, other_mbit_s=rate, seconds=20) for rate in (54, 36, 24, 12, 6)
        ]
    ht_link: dict[str, Any] = {"rate_mbit_s": 0, "mcs": 15, "subframes": 32, "seconds": 20}
    return [
        Case(which, traffic, qdisc=qdisc, below=below, flows=4, **ht_link)
        for traffic in ("tcp down", "tcp both")
        for qdisc in ("pfifo_fast", "codel", "fq_codel")
        for below in BELOW
    ] + [
        Case(
            which, "tcp down", 2, other_mbit_s=6, qdisc="fq_codel", below=below, flows=4, **ht_link
        )
        for below in BELOW
    ]


def do(which: str, seed: int, built: Kernel, own: Module, root: RootFs) -> list[dict[str, Any]]:
    """The rows of a set and a seed, from a guest of their own."""
    todo = cases(which)
    answers = saturate([case.job() for case in todo], seed, built, own, root)
    return [
        {**asdict(case), **asdict(Row(built.digest, own.digest, seed, *found))}
        for case, answer in zip(todo, answers, strict=True)
        for found in quantities(case, answer)
    ]


def saturate(
    jobs: list[dict[str, Any]], seed: int, built: Kernel, own: Module, root: RootFs
) -> list[dict[str, Any]]:
    """What `wifi_saturation.do` answers to each of `jobs`; raises `GuestFailure`."""
    with vm.scratch() as folder:
        vm.prepare(folder, root.path, {"work": "saturation", "cases": jobs}, [own])
        ending = vm.run(vm.Machine(built.path, root.path, seed), folder)
        ending.check()
        answers: list[dict[str, Any]] = json.loads((folder / "job/out/cases.json").read_text())
        return answers


def quantities(case: Case, answer: dict[str, Any]) -> Iterator[tuple[int, str, float]]:
    """(sender, quantity, value) of a case."""
    protocol, direction = case.traffic.split()
    seconds = answer["seconds"]
    total = 0.0
    stations = list(range(1, case.stations + 1))
    senders = {"down": [0], "up": stations, "both": [0, *stations]}[direction]
    for sender in senders:
        counted = Counted(answer["devices"][sender], "up" if sender else "down")
        if protocol == "udp":
            mbit_s = 8e-6 * case.payload_bytes * counted["packets"] / seconds
            total += mbit_s
            if case.stations > 1:
                yield sender, "goodput_mbit_s", mbit_s
        if case.set == "waiting":
            yield from waits(sender, counted, answer["backlogs"][sender], seconds)
        if case.set == "single":
            yield sender, "frames_a_ppdu", counted["subframes"] / counted["ppdus"]
    if protocol == "tcp":
        received: dict[int, float] = {}
        for (_, target, _, _), count in zip(case._flows(), answer["received"], strict=True):
            received[target] = received.get(target, 0) + 8e-6 * count / seconds
        total = sum(received.values())
        if len(received) > 1:
            for target, mbit_s in received.items():
                name = "upload_mbit_s" if target > case.stations else "goodput_mbit_s"
                yield target, name, mbit_s
    yield -1, "goodput_mbit_s", total
    if case.set == "saturation":
        sent = [Counted(device, "up") for device in answer["devices"][1:]]
        collided = sum(one["collisions"] for one in sent)
        yield -1, "collision_probability", collided / sum(one["ppdus"] for one in sent)


def waits(
    sender: int, counted: Counted, backlog: float, seconds: float
) -> Iterator[tuple[int, str, float]]:
    """Where a packet waits, means in ms. In the qdisc by Little's law, below it as counted."""
    packets = counted["packets"]
    yield sender, "qdisc_ms", 1e3 * backlog * seconds / packets
    for place in ("ring", "aggregation", "air", "reorder"):
        yield sender, f"{place}_ms", 1e-6 * counted[f"{place}_ns"] / packets


class Counted:
    """The counters of one direction of a device."""

    def __init__(self, counters: dict[str, int], direction: str) -> None:
        self._counters, self._direction = counters, direction

    def __getitem__(self, name: str) -> int:
        return self._counters[f"{self._direction}_{name}"]


COLUMNS = [one.name for kind in (Case, Row) for one in fields(kind)]


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m workflow.wifi",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", type=Path, required=True, help="the table")
    parser.add_argument("--jobs", type=int, default=2, help="guests at once")
    given = parser.parse_args(arguments)
    built, root = kernel.build(), rootfs.build()
    own = module.build(built, module.SOURCES / "wifi")
    todo = [(which, seed) for which in SETS for seed in SEEDS]
    with ProcessPoolExecutor(given.jobs) as pool:
        found = pool.map(partial(do, built=built, own=own, root=root), *zip(*todo, strict=True))
        rows = [row for one in found for row in one]
    given.output.parent.mkdir(parents=True, exist_ok=True)
    partial_file = given.output.with_suffix(".partial")
    with partial_file.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, "value": f"{row['value']:.8g}"})
    partial_file.replace(given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
