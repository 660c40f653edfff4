"""Measure how the cost of a guest grows: with rate, flows, hosts, and guests side by side.

    python -m workflow.scaling --output data/rig/scaling.csv

The machine should do nothing else; `others_cpus` says what it did. A row is one measurement, added
when it is done, so that a second call goes on where the first one stopped. A rig that a guest could
not run leaves a row with a `problem`.

What is run are the experiments `scaling_rate`, `scaling_flows` and `scaling_hosts` of
`studies/testbed`; `guests` has runs of the first side by side.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from emulation import kernel
from emulation.captures import places
from emulation.checks.bench import Watch
from emulation.config.catalogue import experiment, select
from emulation.errors import EmulationError
from emulation.host import facts, scratch
from emulation.kernel import Kernel
from emulation.kinds.traffic import Iperf
from emulation.machine import rootfs
from emulation.machine.rootfs import RootFs
from emulation.model.run import Run
from emulation.runs import speed
from emulation.runs.run import boot, machine_of

SWEEPS = ("rate", "flows", "hosts")  # of the study
GUESTS_RATES = (10, 100)  # Mbit/s, of guests side by side
RRUL_FLOWS = 8


@dataclass(frozen=True)
class Point:
    """What is measured: a run in each of several guests."""

    sweep: str  # `rate`, `flows`, `hosts` or `guests`
    runs: tuple[Run, ...]

    @property
    def key(self) -> dict[str, Any]:
        """The columns that say what it is; `flows` and `hosts` are those of one guest."""
        run = self.runs[0]
        flows = dict(run.point.axes).get("flows", RRUL_FLOWS)
        return {
            "sweep": self.sweep,
            "rate_mbit_s": round(run.link.up.mbit_per_s),
            "flows": run.traffic.flows if isinstance(run.traffic, Iperf) else int(flows),
            "guests": len(self.runs),
            "hosts": 2 * max(1, len(run.topology.pairs)),  # beside routers and switches
            "guest_memory_mib": run.memory_mib,
        }


@dataclass(frozen=True)
class Row:
    """A line of the table: a point (`Point.key`), and what its guests took together."""

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
    swept = {name: experiment(f"testbed/scaling_{name}") for name in SWEEPS}
    return [
        *(Point(name, (run,)) for name, about in swept.items() for run in select(about, seed=1)),
        *(
            Point("guests", select(swept["rate"], link=f"{rate}/{rate}", seed=range(1, guests + 1)))
            for rate in GUESTS_RATES
            for guests in range(1, cpus + 1)
        ),
    ]


def take(run: Run, built: Kernel, root: RootFs) -> Taken:
    """Do `run`, keep nothing of it; raises an `EmulationError` where it fails."""
    watch = Watch()
    with scratch.folder() as folder:
        machine = machine_of(run, built, root)
        ending = boot(run, machine, folder, watch.step, on_poll=watch.poll)
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
    about = facts.about()
    length_s = point.runs[0].length.seconds
    row = Row(about["cpu_model"], about["cpus"], built.digest, **point.key, length_s=length_s)
    busy_before, began = busy_s(), time.monotonic()
    try:
        with ThreadPoolExecutor(len(point.runs)) as pool:
            taken = list(pool.map(lambda run: take(run, built, root), point.runs))
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
    """The points without a row of this machine and kernel."""
    todo = points(cpus)
    done = {
        tuple(row[name] for name in todo[0].key)
        for row in rows
        if (row["cpu_model"], row["cpus"], row["kernel"]) == (cpu_model, str(cpus), digest)
    }
    for point in todo:
        if tuple(str(value) for value in point.key.values()) not in done:
            yield point


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
    parser.add_argument("--sweep", choices=(*SWEEPS, "guests"), help="only this one")
    given = parser.parse_args(arguments)
    built, root, about = kernel.build(), rootfs.build(), facts.about()
    while True:
        left = missing(read(given.output), about["cpu_model"], built.digest, about["cpus"])
        point = next((one for one in left if given.sweep in (None, one.sweep)), None)
        if point is None:
            return 0
        row = measure(point, built, root)
        append(given.output, row)
        told = row.problem or f"{row.wall_s:.2f} s, {row.virtual_s / row.wall_s:.2f} x real time"
        print(f"{point.runs[0].id} x {len(point.runs)}: {told}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
