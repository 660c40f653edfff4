"""Measure guests: how fast they run, and how much of the host they use.

Quantities of one execution of a scenario:

| name | unit | meaning |
| --- | --- | --- |
| factor | 1 | real-time factor: virtual seconds of the whole life of the guest, flent's idle pauses included, by the wall seconds from start to end; of several guests at once, the sum of their virtual seconds by the wall seconds of all |
| load_factor | 1 | the same while the load runs, from the lines of status; the mean over guests |
| packets_per_s | 1/s | packets that left both bottlenecks, by their counters, by the wall seconds |
| hops_per_s | 1/s | packets times the links that each has crossed, by all counters of the rig, by the wall seconds of the load: the unit of simulators |
| startup_s | s | wall seconds that are not load: boot, rig, flent's start and end; the mean over guests |
| cpu_s_per_virtual_s | 1 | CPU seconds of the host a virtual second |
| boot_s | s | wall seconds from the start to the first command in the guest, within 0.02 s |
| wall_s | s | wall seconds from start to end |
| memory_mib | MiB | largest resident set of the guest's kernel, its shared memory, which is that of all its processes, included |

JSON also has virtual_s, cpu_s, packets and hops, the sums over all guests.

Of the scenario `command` only wall_s and factor are known: they are those of the whole command
`emulate run`, from the shell and back.
"""  # noqa: E501

import gzip
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qdisclab.emulation import kernel
from qdisclab.emulation.checks import ns3
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import ConfigError, GuestFailure
from qdisclab.emulation.host import confine, facts, scratch
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.host.pool import workers
from qdisclab.emulation.kernel import Kernel, module
from qdisclab.emulation.machine import vm
from qdisclab.emulation.machine.rootfs import RootFs
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.runs.run import boot
from qdisclab.emulation.study import source, studies, trust
from qdisclab.emulation.study.schema import unknown

#: Version of the report's format.
FORMAT = 1

#: The file of the scenarios.
FILE = studies.SHIPPED / "testbed/bench.yaml"
LENGTH_S = 60.0  # of the load


@dataclass(frozen=True)
class Scenario:
    """What is measured."""

    name: str
    experiment: str
    link: str = ""  # empty: the guest is booted and switched off
    everywhere: bool = False  # one guest per core at once
    shell: bool = False  # as a command, with all that it does before and after the guest
    cell: Run | None = None  # of an experiment

    def run(self, seed: int, length_s: float) -> Run:
        """Return the run of one guest."""
        if self.cell is not None:
            return self.cell
        length, link = Duration(round(length_s * 10**9)), self.link or "10/10"
        axes: dict[str, Any] = {"link": link, "qdisc": "fq_codel", "cc": "cubic"}
        (run,) = select(experiment(self.experiment), **axes, seed=seed, length=length)
        return run


SCENARIOS = {
    name: Scenario(name, **about) for name, about in source.ParsedFile.of(FILE).value.items()
}


def scenarios(names: list[str] | None) -> list[Scenario]:
    """Return the scenarios called `names`, or all; raise `ConfigError` for an unknown name."""
    for name in names or ():
        if name not in SCENARIOS:
            what, todo = unknown("scenario", name, SCENARIOS)
            raise ConfigError(what, "--scenario", todo)
    return [SCENARIOS[name] for name in names or SCENARIOS]


def cells(name: str, length_s: float | None) -> list[Scenario]:
    """Return the first repetition of each cell of that experiment; `length_s` None is its own."""
    length = None if length_s is None else Duration(round(length_s * 10**9))
    runs = select(experiment(name), seed=1, length=length)
    return [Scenario(run.id, name, run.link.name, cell=run) for run in runs]


def find_kernel(text: str) -> Kernel:
    """Return the kernel with that digest, or its first digits, or the binary at that path."""
    path = Path(text)
    if path.is_file():
        digest = sha256(path)[:16]
        return Kernel(path.resolve(), digest, "unknown", "unknown", {})
    kernels = [built for built in kernel.kernels() if built.digest.startswith(text)]
    if len(kernels) != 1:
        what = f"'{text}' is not a kernel" if not kernels else f"'{text}' is {len(kernels)} kernels"
        todo = "name a binary, a digest of 'emulate kernel list', or the folder of a checkout"
        raise ConfigError(what, "--compare", todo)
    return kernels[0]


@dataclass(frozen=True)
class Checkout:
    """Another checkout of this project: its own code boots its own kernel."""

    path: Path
    release: str = "its own"

    @property
    def digest(self) -> str:
        """Return its name in the report."""
        return str(self.path)

    def measure(self, scenario: Scenario, length_s: float) -> dict[str, Any]:
        """Measure with its own `emulate bench`; raise `GuestFailure` with that command's error."""
        words = ["bench", "--json", "--repeat", "1", "--scenario", scenario.name]
        environment = {**os.environ, "PYTHONPATH": str(self.path)}
        printed = _emulate(words, length_s, str(self.path), cwd=self.path, env=environment)
        (entry,) = printed["scenarios"]
        medians = {name: (entry.get(name) or {}).get("median") for name in QUANTITIES}
        return {"guests": entry["guests"], "data_sha256": entry["data_sha256"], **medians}


def _emulate(words: list[str], length_s: float, where: str, **options: Any) -> dict[str, Any]:
    """Return the JSON that `emulate` prints; raise `GuestFailure` with its last error."""
    words = [sys.executable, "-m", "qdisclab.emulate.cli", *words, "--length", f"{length_s:g}"]
    done = subprocess.run(words, **options, capture_output=True, text=True)
    if done.returncode:
        error = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise GuestFailure(f"'emulate {words[3]}' failed: {error}", where)
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def second(text: str) -> Kernel | Checkout:
    """Return what to compare today's kernel with: a checkout, or a kernel by `find_kernel`."""
    folder = Path(text).resolve()
    if (folder / "emulate" / "commands" / "bench.py").is_file():
        return Checkout(folder)
    return find_kernel(text)


@dataclass
class Guest:
    """What one guest used and delivered."""

    virtual_s: float
    wall_s: float
    cpu_s: float
    boot_s: float
    memory_mib: float
    packets: int = 0
    hops: int = 0
    load_s: float | None = None
    load_factor: float | None = None
    data_sha256: str | None = None


@dataclass
class Watch:
    """Observes a guest while it runs: the times of its steps, and its memory."""

    began: float = field(default_factory=time.monotonic)
    steps: list[tuple[float, float]] = field(default_factory=list)  # (wall, virtual), s
    memory_kib: int = 0

    def step(self, line: dict[str, Any]) -> None:
        """Note the time of a line of status."""
        self.steps.append((time.monotonic() - self.began, float(line["virtual_s"])))

    def poll(self, pid: int) -> None:
        """Look at the guest's memory."""
        with suppress(OSError):
            status = Path(f"/proc/{confine.program_of(pid)}/status").read_text()
            self.memory_kib = max(self.memory_kib, peak_kib(status))

    def factor(self, begin_s: float, end_s: float) -> float | None:
        """Return virtual per wall seconds between two virtual times; None for too few lines."""
        inside = [(wall, now) for wall, now in self.steps if begin_s <= now <= end_s]
        if len(inside) < 2 or inside[-1][0] <= inside[0][0]:
            return None
        return (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0])


def peak_kib(status: str) -> int:
    """Return the most that a process had resident so far, of the text of /proc/PID/status.

    The host counts it anyway; /proc/PID/smaps_rollup would walk all of the guest's pages for it.
    """
    peaks = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(next(peaks, 0))


def guest(scenario: Scenario, seed: int, length_s: float, built: Kernel, root: RootFs) -> Guest:
    """Run one guest of `scenario`."""
    run = scenario.run(seed, length_s)
    trust.require(run.experiment.folder)
    modules = module.needed(built, job_of(run))
    machine = vm.Machine(built.path, root.path, run.random, run.memory_mib, modules=modules)
    with scratch.folder() as folder:
        if not scenario.link:
            vm.prepare(folder, machine, {"work": "boot"})
        watch = Watch()
        if scenario.link:
            ending = boot(run, machine, folder, watch.step, on_poll=watch.poll)
        else:
            ending = vm.run(machine, folder, watch.step, on_poll=watch.poll)
            if ending.steps[-1]["step"] != "done":
                raise GuestFailure("; ".join(ending.steps[-1].get("problems", ["no last word"])))
        spent = (ending.virtual_s, ending.wall_s, ending.cpu_s)
        measured = Guest(*spent, watch.steps[0][0], watch.memory_kib / 1024)
        if scenario.link:
            _add_load(measured, run, watch, folder / "job" / "out")
    return measured


def _add_load(measured: Guest, run: Run, watch: Watch, out: Path) -> None:
    ports = [f"{port.node} {port.interface}" for port in run.topology.queues()]
    qdiscs = json.loads((out / "qdiscs.json").read_text())
    measured.packets = carried_packets(qdiscs, ports)
    measured.hops = carried_packets(qdiscs, qdiscs)  # each port sends over one link
    data = out / "data.flent.gz"
    measured.data_sha256 = sha256(data)
    series = json.loads(gzip.decompress(data.read_bytes()))["metadata"]["SERIES_META"]
    flows = (about for name, about in series.items() if name.startswith("TCP"))
    starts = [float(about["STARTED"]) for about in flows if "STARTED" in about]
    if not starts:  # programs that are not flent's
        return
    begin_s = min(starts) - vm.START_NS / 1e9
    measured.load_factor = watch.factor(begin_s, begin_s + run.length.seconds)
    if measured.load_factor:
        measured.load_s = run.length.seconds / measured.load_factor


def carried_packets(qdiscs: dict[str, Any], ports: Iterable[str]) -> int:
    """Return how many packets the root qdiscs of `ports` ("node interface") have sent."""
    roots = (next(qdisc for qdisc in qdiscs[port]["qdiscs"] if qdisc.get("root")) for port in ports)
    return sum(int(root["packets"]) for root in roots)


def measure(scenario: Scenario, length_s: float, built: Kernel, root: RootFs) -> dict[str, Any]:
    """Execute `scenario` once; return this module's quantities, and `data_sha256` by guest."""
    if scenario.shell:
        return command(scenario, length_s, built)
    began = time.monotonic()
    if scenario.everywhere:
        cores = int(facts.about()["cpus"])
        with workers(cores, "spawn") as pool:
            seeds = range(1, cores + 1)
            waiting = [pool.submit(guest, scenario, at, length_s, built, root) for at in seeds]
            guests = [future.result() for future in waiting]
        # From the first guest's start: the pool's own processes take no part.
        wall_s = max(guest.wall_s for guest in guests)
    else:
        guests = [guest(scenario, 1, length_s, built, root)]
        wall_s = guests[0].wall_s
    return {"guests": len(guests), **quantities(guests, wall_s), "took_s": time.monotonic() - began}


def command(scenario: Scenario, length_s: float, built: Kernel) -> dict[str, Any]:
    """Execute `scenario` by `emulate run`; return what `measure` does.

    Raises `GuestFailure` with that command's error.
    """
    run = scenario.run(1, length_s)
    words = ["run", scenario.experiment, "--json", "--link", run.link.name]
    words += ["--qdisc", run.qdisc, "--cc", run.cc, "--seed", "1"]
    if built != kernel.find():
        words += ["--kernel", built.digest]
    with scratch.folder() as folder:
        began = time.monotonic()
        printed = _emulate([*words, "--output", str(folder)], length_s, scenario.name)
        wall_s = time.monotonic() - began
        data = sha256(Path(printed["data"]))
    times = {"factor": printed["virtual_s"] / wall_s, "wall_s": wall_s, "took_s": wall_s}
    return {"guests": 1, **dict.fromkeys(QUANTITIES), **times, "data_sha256": [data]}


def quantities(guests: list[Guest], wall_s: float) -> dict[str, Any]:
    """Return the quantities of guests that ran at the same time for `wall_s`."""
    virtual_s = sum(guest.virtual_s for guest in guests)
    loads = [guest.load_factor for guest in guests if guest.load_factor is not None]  # not `boot`
    timed = [(guest, guest.load_s) for guest in guests if guest.load_s]
    waits = [guest.wall_s - load_s for guest, load_s in timed]
    return {
        "factor": virtual_s / wall_s if loads else None,
        "load_factor": statistics.fmean(loads) if loads else None,
        "packets_per_s": sum(guest.packets for guest in guests) / wall_s if loads else None,
        "hops_per_s": sum(guest.hops / load_s for guest, load_s in timed) if timed else None,
        "startup_s": statistics.fmean(waits) if timed else None,
        "cpu_s_per_virtual_s": sum(guest.cpu_s for guest in guests) / virtual_s if loads else None,
        "boot_s": max(guest.boot_s for guest in guests),
        "wall_s": wall_s,
        "memory_mib": max(guest.memory_mib for guest in guests),
        **{name: sum(getattr(guest, name) for guest in guests) for name in TOTALS},
        "data_sha256": [guest.data_sha256 for guest in guests if guest.data_sha256],
    }


#: Quantities that are reported, in their order.
QUANTITIES = (
    "factor", "load_factor", "packets_per_s", "hops_per_s", "cpu_s_per_virtual_s",
    "startup_s", "boot_s", "wall_s", "memory_mib",
)  # fmt: skip

#: Sums over guests, which are reported as JSON.
TOTALS = ("virtual_s", "cpu_s", "packets", "hops")


def simulator(scenario: Scenario, length_s: float, python: Path) -> dict[str, float]:
    """Simulate `scenario` once with ns-3; return those of the quantities that it has."""
    result = ns3.simulate(scenario.run(1, length_s), python)
    return {
        "factor": length_s / result.wall_s,
        "load_factor": length_s / result.load_s,
        "packets_per_s": result.packets / result.wall_s,
        "hops_per_s": result.hops / result.load_s,
        "startup_s": result.wall_s - result.load_s,
        "wall_s": result.wall_s,
        "goodput_mbit_s": result.received_bytes * 8 / 1e6 / length_s,
    }


#: Quantities that are compared with a simulator's, and the power of their ratio that tells how much
#: faster a guest is: high rates are better, and low times.
AGAINST = {"load_factor": 1, "hops_per_s": 1, "startup_s": -1, "wall_s": -1}


def against(entry: dict[str, Any], repeats: list[dict[str, float]]) -> dict[str, Any]:
    """Return the report's entry of `against`: a simulator's quantities and how much faster we are.

    Our quantities are in `entry`; `faster` has the ratios by load, packet-hops, start-up and run.
    """
    theirs = {name: spread([repeat[name] for repeat in repeats]) for name in repeats[0]}
    ratios = {}
    for name, power in AGAINST.items():
        here, there = entry[name], theirs[name]
        if here and there:
            ratios[name] = (here["median"] / there["median"]) ** power
    return {
        "scenario": entry["scenario"],
        "simulator": ns3.REQUIREMENT,
        "repeats": len(repeats),
        **theirs,
        "faster": ratios,
    }


def spread(values: Sequence[float | None]) -> dict[str, float] | None:
    """Return minimum, median and maximum of the repeats; None if nothing was measured."""
    if not (numbers := [value for value in values if value is not None]):
        return None
    return {"min": min(numbers), "median": statistics.median(numbers), "max": max(numbers)}


def report(
    scenario: Scenario, built: Kernel | Checkout, repeats: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the report's entry of `scenarios` for one kernel."""
    names = (*QUANTITIES, *TOTALS)
    spreads = {name: spread([repeat.get(name) for repeat in repeats]) for name in names}
    return {
        "scenario": scenario.name,
        "kernel": built.digest,
        "experiment": scenario.experiment,
        "axes": dict(scenario.cell.point.axes) if scenario.cell else {},
        "length_s": scenario.cell.length.seconds if scenario.cell else None,
        "guests": repeats[0]["guests"],
        "repeats": len(repeats),
        **spreads,
        "same_data": len({tuple(repeat["data_sha256"]) for repeat in repeats}) == 1,
        "data_sha256": repeats[0]["data_sha256"],
    }


def comparison(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """Return ratios of medians, the first kernel's to the second's, and whether data are equal."""
    ratios = {}
    for name in QUANTITIES:
        pair = [entry[name]["median"] for entry in (a, b) if entry[name]]
        ratios[name] = pair[0] / pair[1] if len(pair) == 2 and pair[1] else None
    same = a["data_sha256"] == b["data_sha256"] and a["same_data"] and b["same_data"]
    about = {"scenario": a["scenario"], "kernels": [a["kernel"], b["kernel"]], "ratio": ratios}
    return about | {"identical": same if a["data_sha256"] else None}
