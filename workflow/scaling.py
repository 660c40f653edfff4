"""Measure how the cost of a guest grows: with rate, flows, hosts, and guests side by side.

    python -m workflow.scaling --output data/rig/scaling.csv

The machine should do nothing else; `others_cpus` says what it did. A row is one measurement, added
when it is done, so that a second call goes on where the first one stopped. A rig that a guest could
not run leaves a row with a `problem`, and is tried again with more memory.

The rig is that of gbw2015/rrul with fq_codel, other rates at the bottleneck and faster edges.
`rate` and `guests` send flent's `rrul_be` (four flows each way), `flows` its `tcp_nup` (uploads).
`hosts` has pairs of hosts at two switches of Open vSwitch around the same bottleneck, as that of
khademi2013, and iperf's flows divided among them.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from emulation import host, kernel, rootfs, speed, vm
from emulation.bench import Watch
from emulation.captures import places
from emulation.config import experiment
from emulation.errors import EmulationError
from emulation.kernel import Kernel
from emulation.model import Link, Run
from emulation.rigs import Dumbbell, RigSection
from emulation.rootfs import RootFs
from emulation.traffic import Iperf
from emulation.units import Duration, Rate

EXPERIMENT = "gbw2015/rrul"
LIKE = "10/10"  # the link whose values of fq_codel are taken
EDGE_RATE = Rate.parse("10 Gbit/s")
LENGTH = Duration.parse("10 s")  # of the load
HANG_S = 60.0

RATES = (1, 4, 10, 30, 100, 300, 1000)  # Mbit/s, both ways; 4, for tbf rounds its burst at 3
FLOWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # uploads
FLOWS_RATE = 100
GUESTS_RATES = (10, 100)
HOSTS = (2, 4, 8, 16, 32)  # half of them send
HOSTS_FLOWS = 32
RRUL_FLOWS = 8
MEMORY_MIB = 384  # of a guest
MORE_MIB = 1024  # where that is too little

#: A flent test that is another one with a parameter, and as many open files as its tools need.
CONF = """\
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
NAME = "tcp_nup"
set_test_parameter("upload_streams", {flows})
include("tcp_nup.conf")
"""


@dataclass(frozen=True)
class Point:
    """What is measured."""

    sweep: str  # `rate`, `flows`, `guests` or `hosts`: which of the four below is varied
    rate_mbit_s: int
    flows: int  # of one guest
    guests: int
    hosts: int = 2  # of one guest, beside routers and switches
    guest_memory_mib: int = MEMORY_MIB

    def run(self, seed: int) -> Run:
        """What one of the guests does."""
        source = experiment(EXPERIMENT)
        like = next(
            one for one in source.points if one.qdisc == "fq_codel" and one.link.name == LIKE
        )
        rate = Rate.parse(f"{self.rate_mbit_s} Mbit/s")
        link = Link(f"{self.rate_mbit_s}/{self.rate_mbit_s}", down=rate, up=rate)
        rig: RigSection = like.rig.model_copy(update={"edge_rate": EDGE_RATE})
        traffic = like.traffic
        if self.sweep == "flows":
            traffic = traffic.model_copy(update={"test": "/job/scale"})
        if self.sweep == "hosts":
            (base_rtt,) = rig.base_rtts
            rig = Dumbbell(
                base_rtt=base_rtt,
                edge_rate=EDGE_RATE,
                sysctls=rig.sysctls,
                pairs=self.hosts // 2,
            )
            traffic = Iperf(
                kind="iperf",
                test=traffic.test,
                length=traffic.length,
                step=traffic.step,
                start_jitter=traffic.start_jitter,
                flows=self.flows,
            )
        point = replace(like, link=link, queues=((rate, like.up),), rig=rig, traffic=traffic)
        return Run(source, point, seed, LENGTH)


@dataclass(frozen=True)
class Row:
    """A line of the table: a point, and what its guests took together."""

    cpu_model: str
    cpus: int
    kernel: str  # digest
    sweep: str
    rate_mbit_s: int
    flows: int
    guests: int
    hosts: int
    guest_memory_mib: int
    length_s: float  # of the load
    virtual_s: float = math.nan  # sum over guests
    wall_s: float = math.nan  # of the longest
    cpu_s: float = math.nan  # of the host, sum
    packets: float = math.nan  # that left both bottlenecks, sum
    carried_mbit: float = math.nan  # likewise
    memory_mib: float = math.nan  # resident, of the largest
    others_cpus: float = math.nan  # busy with something else meanwhile
    problem: str = ""


@dataclass(frozen=True)
class Taken:
    """What one guest took."""

    virtual_s: float
    wall_s: float
    cpu_s: float
    packets: int
    carried_mbit: float
    memory_mib: float


def points(cpus: int) -> list[Point]:
    """All that is measured on a machine with `cpus`."""
    return [
        *(Point("rate", rate, RRUL_FLOWS, 1) for rate in RATES),
        *(Point("flows", FLOWS_RATE, flows, 1) for flows in FLOWS),
        *(Point("hosts", FLOWS_RATE, HOSTS_FLOWS, 1, hosts) for hosts in HOSTS),
        *(
            Point("guests", rate, RRUL_FLOWS, guests)
            for rate in GUESTS_RATES
            for guests in range(1, cpus + 1)
        ),
    ]


def take(point: Point, seed: int, built: Kernel, root: RootFs) -> Taken:
    """Run one guest of `point`; raises an `EmulationError` where it fails."""
    run = point.run(seed)
    machine = vm.Machine(built.path, root.path, run.random, memory_mib=point.guest_memory_mib)
    watch = Watch()
    with vm.scratch() as folder:
        job = run.job()
        if point.sweep == "hosts":
            job["traffic"]["captures"] = []  # they would be most of the cost
        vm.prepare(folder, root.path, job)
        (folder / "job" / "scale.conf").write_text(CONF.format(flows=point.flows))
        ending = vm.run(machine, folder, watch.step, HANG_S, watch.poll)
        ending.check()
        qdiscs = json.loads((folder / "job" / "out" / "qdiscs.json").read_text())
    ports = [f"{one['node']} {one['interface']}" for one in places.under_test(run.topology)]
    return Taken(
        ending.virtual_s,
        ending.wall_s,
        ending.cpu_s,
        speed.carried_packets(qdiscs, ports),
        speed.carried_mbit(qdiscs, ports),
        watch.memory_kib / 1024,
    )


def measure(point: Point, built: Kernel, root: RootFs) -> Row:
    """The row of `point`; one with a `problem` where a guest failed."""
    about = host.about()
    row = Row(
        about["cpu_model"], about["cpus"], built.digest, **asdict(point), length_s=LENGTH.seconds
    )
    busy_before, began = busy_s(), time.monotonic()
    try:
        if point.guests == 1:
            taken = [take(point, 1, built, root)]
        else:
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(point.guests, mp_context=context) as pool:
                waiting = [
                    pool.submit(take, point, seed, built, root)
                    for seed in range(1, point.guests + 1)
                ]
                taken = [one.result() for one in waiting]
    except EmulationError as error:
        return replace(row, problem=" ".join(error.what.split())[:120])
    busy, passed = busy_s() - busy_before, time.monotonic() - began
    cpu_s = sum(one.cpu_s for one in taken)
    return replace(
        row,
        virtual_s=sum(one.virtual_s for one in taken),
        wall_s=max(one.wall_s for one in taken),
        cpu_s=cpu_s,
        packets=sum(one.packets for one in taken),
        carried_mbit=sum(one.carried_mbit for one in taken),
        memory_mib=max(one.memory_mib for one in taken),
        others_cpus=max(0.0, busy - cpu_s) / passed,
    )


def busy_s(stat: Path = Path("/proc/stat")) -> float:
    """CPU seconds that the machine's processors were not idle since it started."""
    times = [int(one) for one in stat.read_text().split("\n", 1)[0].split()[1:9]]
    idle = times[3] + times[4]  # and waiting for a disk
    return (sum(times) - idle) / os.sysconf("SC_CLK_TCK")


def missing(rows: list[dict[str, str]], cpu_model: str, digest: str, cpus: int) -> Iterator[Point]:
    """The points without a row of this machine and kernel; larger guests where a row failed.

    Where a guest was too small for fewer flows, no more flows are tried with it.
    """
    done: dict[tuple[str, ...], str] = {
        tuple(row[name] for name in _KEY): row["problem"]
        for row in rows
        if (row["cpu_model"], row["cpus"], row["kernel"]) == (cpu_model, str(cpus), digest)
    }
    failed = {
        (row["sweep"], row["rate_mbit_s"], row["guest_memory_mib"]): int(row["flows"])
        for row in rows
        if row["problem"]
    }
    for point in points(cpus):
        for memory_mib in (MEMORY_MIB, MORE_MIB):
            one = replace(point, guest_memory_mib=memory_mib)
            too_many = failed.get((one.sweep, str(one.rate_mbit_s), str(memory_mib)), one.flows)
            if too_many < one.flows:
                continue
            problem = done.get(tuple(str(getattr(one, name)) for name in _KEY))
            if problem is None:
                yield one
            if not problem:
                break


_KEY = tuple(one.name for one in fields(Point))


def read(path: Path) -> list[dict[str, str]]:
    """The rows so far."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def append(path: Path, row: Row) -> None:
    """Add `row`, below a header where the file is new."""
    new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    told = {
        name: "" if isinstance(value, float) and math.isnan(value) else _text(value)
        for name, value in asdict(row).items()
    }
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(told), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(told)


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m workflow.scaling",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", type=Path, required=True, help="the table; it grows")
    parser.add_argument(
        "--sweep", choices=("rate", "flows", "hosts", "guests"), help="only this one"
    )
    given = parser.parse_args(arguments)
    built, root, about = kernel.build(), rootfs.build(), host.about()
    while True:
        left = missing(read(given.output), about["cpu_model"], built.digest, about["cpus"])
        point = next((one for one in left if given.sweep in (None, one.sweep)), None)
        if point is None:
            return 0
        row = measure(point, built, root)
        append(given.output, row)
        told = row.problem or f"{row.wall_s:.2f} s, {row.virtual_s / row.wall_s:.2f} x real time"
        print(f"{point}: {told}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
