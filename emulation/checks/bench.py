"""Measure guests: how fast, how large, how much of the host they take.

Quantities, of one execution of a scenario:

| name | unit | meaning |
| --- | --- | --- |
| factor | 1 | real-time factor: virtual seconds of the whole life of the guest, flent's idle pauses included, by the wall seconds from start to end; of several guests at once, the sum of their virtual seconds by the wall seconds of all |
| load_factor | 1 | the same while the load runs, from the lines of status; the mean over guests |
| packets_per_s | 1/s | packets that left both bottlenecks, by their counters, by the wall seconds |
| cpu_s_per_virtual_s | 1 | CPU seconds of the host a virtual second |
| boot_s | s | wall seconds from the start to the first command in the guest, within 0.02 s |
| wall_s | s | wall seconds from start to end |
| memory_mib | MiB | largest resident set of the guest's kernel, its shared memory, which is that of all its processes, included |
"""  # noqa: E501

from __future__ import annotations

import gzip
import hashlib
import json
import multiprocessing
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulation import kernel
from emulation.captures import places
from emulation.config.catalogue import experiment, select
from emulation.config.job import job_of
from emulation.errors import ConfigError, GuestFailure
from emulation.host import facts, scratch
from emulation.kernel import Kernel, module
from emulation.machine import vm
from emulation.machine.rootfs import RootFs
from emulation.model.run import Run
from emulation.model.units import Duration
from emulation.runs import speed
from emulation.runs.run import boot
from emulation.study import trust
from emulation.study.schema import unknown

#: Of the report.
FORMAT = 1

EXPERIMENT = "gbw2015/rrul"
WIFI_EXPERIMENT = "gbw2015/wifi_rrul"
LENGTH_S = 60.0  # of the load

#: Wall seconds between two looks at the memory.
_LOOK_S = 0.1


@dataclass(frozen=True)
class Scenario:
    """What is measured."""

    name: str
    link: str = ""  # empty: the guest is booted and switched off
    everywhere: bool = False  # one guest per core at once
    experiment: str = EXPERIMENT

    def run(self, seed: int, length_s: float) -> Run:
        """The run of one guest."""
        length = Duration.parse(f"{length_s:g} s")
        (found,) = select(
            experiment(self.experiment),
            link=self.link or "10/10",
            qdisc="fq_codel",
            cc="cubic",
            seed=seed,
            length=length,
        )
        return found


SCENARIOS = {
    one.name: one
    for one in (
        Scenario("boot"),
        Scenario("rrul-10", "10/10"),
        Scenario("rrul-100", "100/100"),
        Scenario("rrul-10-all", "10/10", everywhere=True),
        Scenario("rrul-100-all", "100/100", everywhere=True),
        Scenario("rrul-wifi", "100/100", experiment=WIFI_EXPERIMENT),
        # An Ethernet link that carries about what the WiFi link does.
        Scenario("rrul-40-3", "40/3"),
    )
}


def scenarios(names: list[str] | None) -> list[Scenario]:
    """The scenarios called `names`, all where None; `ConfigError` for one that there is not."""
    for name in names or ():
        if name not in SCENARIOS:
            what, todo = unknown("scenario", name, SCENARIOS)
            raise ConfigError(what, "--scenario", todo)
    return [SCENARIOS[name] for name in names or SCENARIOS]


def find_kernel(text: str) -> Kernel:
    """The kernel with that digest, or its first digits, or the binary at that path."""
    path = Path(text)
    if path.is_file():
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        return Kernel(path.resolve(), digest, "unknown", "unknown", {})
    found = [one for one in kernel.kernels() if one.digest.startswith(text)]
    if len(found) != 1:
        what = f"'{text}' is no kernel" if not found else f"'{text}' is {len(found)} kernels"
        raise ConfigError(what, "--compare", "name a binary, or a digest of 'emulate kernel list'")
    return found[0]


@dataclass
class Guest:
    """What one guest took and gave."""

    virtual_s: float
    wall_s: float
    cpu_s: float
    boot_s: float
    memory_mib: float
    packets: int = 0
    load_factor: float | None = None
    data_sha256: str | None = None


@dataclass
class Watch:
    """Looks at a guest while it runs: when its steps came, and its memory."""

    began: float = field(default_factory=time.monotonic)
    steps: list[tuple[float, float]] = field(default_factory=list)  # (wall, virtual), s
    memory_kib: int = 0
    looked: float = 0.0

    def step(self, line: dict[str, Any]) -> None:
        """A line of status."""
        self.steps.append((time.monotonic() - self.began, float(line["virtual_s"])))

    def poll(self, pid: int) -> None:
        """The guest lives."""
        now = time.monotonic()
        if now - self.looked >= _LOOK_S:
            self.looked = now
            with suppress(OSError):
                rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
                self.memory_kib = max(self.memory_kib, resident_kib(rollup))

    def factor(self, begin_s: float, end_s: float) -> float | None:
        """Virtual by wall seconds between two virtual instants; None for too few lines."""
        inside = [(wall, now) for wall, now in self.steps if begin_s <= now <= end_s]
        if len(inside) < 2 or inside[-1][0] <= inside[0][0]:
            return None
        return (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0])


def resident_kib(smaps_rollup: str) -> int:
    """`Rss` of the text of /proc/PID/smaps_rollup."""
    for line in smaps_rollup.splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1])
    return 0


def guest(scenario: Scenario, seed: int, length_s: float, built: Kernel, root: RootFs) -> Guest:
    """Run one guest of `scenario`."""
    run = scenario.run(seed, length_s)
    trust.require(run.experiment.folder)
    modules = module.needed(built, job_of(run))
    machine = vm.Machine(built.path, root.path, run.random, run.memory_mib, modules=modules)
    with scratch.folder() as folder:
        if not scenario.link:
            vm.prepare(folder, root.path, {"work": "boot"})
            watch = Watch()
            ending = vm.run(machine, folder, watch.step, on_poll=watch.poll)
            if ending.steps[-1]["step"] != "done":
                raise GuestFailure("; ".join(ending.steps[-1].get("problems", ["no last word"])))
        else:
            watch = Watch()
            ending = boot(run, machine, folder, watch.step, on_poll=watch.poll)
        measured = Guest(
            ending.virtual_s,
            ending.wall_s,
            ending.cpu_s,
            watch.steps[0][0],
            watch.memory_kib / 1024,
        )
        if scenario.link:
            out = folder / "job" / "out"
            _add_load(measured, run, watch, out)
    return measured


def _add_load(measured: Guest, run: Run, watch: Watch, out: Path) -> None:
    data = out / "data.flent.gz"
    ports = [f"{one['node']} {one['interface']}" for one in places.under_test(run.topology)]
    qdiscs = json.loads((out / "qdiscs.json").read_text())
    measured.packets = speed.carried_packets(qdiscs, ports)
    measured.data_sha256 = hashlib.sha256(data.read_bytes()).hexdigest()
    with gzip.open(data) as stream:
        content = json.load(stream)
    about = content["metadata"]["SERIES_META"]
    first = min(
        float(told["STARTED"])
        for name, told in about.items()
        if name.startswith("TCP") and "STARTED" in told
    )
    begin_s = first - vm.START_NS / 1e9
    measured.load_factor = watch.factor(begin_s, begin_s + run.length.seconds)


def measure(scenario: Scenario, length_s: float, built: Kernel, root: RootFs) -> dict[str, Any]:
    """One execution of `scenario`: the quantities of this module, and `data_sha256` by guest."""
    began = time.monotonic()
    if scenario.everywhere:
        cores = int(facts.about()["cpus"])
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(cores, mp_context=context) as pool:
            waiting = [
                pool.submit(guest, scenario, seed, length_s, built, root)
                for seed in range(1, cores + 1)
            ]
            guests = [one.result() for one in waiting]
        # From the first guest's start: the pool's own processes take no part.
        wall_s = max(one.wall_s for one in guests)
    else:
        guests = [guest(scenario, 1, length_s, built, root)]
        wall_s = guests[0].wall_s
    return {"guests": len(guests), **quantities(guests, wall_s), "took_s": time.monotonic() - began}


def quantities(guests: list[Guest], wall_s: float) -> dict[str, Any]:
    """The quantities of guests that ran side by side for `wall_s`."""
    virtual_s = sum(one.virtual_s for one in guests)
    loads = [one.load_factor for one in guests if one.load_factor is not None]  # not of `boot`
    found: dict[str, Any] = {
        "factor": virtual_s / wall_s if loads else None,
        "load_factor": statistics.fmean(loads) if loads else None,
        "packets_per_s": sum(one.packets for one in guests) / wall_s if loads else None,
        "cpu_s_per_virtual_s": sum(one.cpu_s for one in guests) / virtual_s if loads else None,
        "boot_s": max(one.boot_s for one in guests),
        "wall_s": wall_s,
        "memory_mib": max(one.memory_mib for one in guests),
    }
    hashes = [one.data_sha256 for one in guests if one.data_sha256]
    return {**found, "data_sha256": hashes}


#: Quantities that are reported, in their order.
QUANTITIES = (
    "factor", "load_factor", "packets_per_s", "cpu_s_per_virtual_s",
    "boot_s", "wall_s", "memory_mib",
)  # fmt: skip


def spread(values: list[float | None]) -> dict[str, float] | None:
    """Least, median and greatest of the repeats; None where it was not measured."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return {"min": min(known), "median": statistics.median(known), "max": max(known)}


def report(scenario: Scenario, built: Kernel, repeats: list[dict[str, Any]]) -> dict[str, Any]:
    """The entry of `scenarios` in the report for one kernel."""
    return {
        "scenario": scenario.name,
        "kernel": built.digest,
        "guests": repeats[0]["guests"],
        "repeats": len(repeats),
        **{name: spread([one[name] for one in repeats]) for name in QUANTITIES},
        "same_data": len({tuple(one["data_sha256"]) for one in repeats}) == 1,
        "data_sha256": repeats[0]["data_sha256"],
    }


def comparison(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """Ratios of medians, the first kernel's by the second's, and whether the data is the same."""
    ratios = {}
    for name in QUANTITIES:
        pair = [one[name]["median"] for one in (a, b) if one[name]]
        ratios[name] = pair[0] / pair[1] if len(pair) == 2 and pair[1] else None
    same = a["data_sha256"] == b["data_sha256"] and a["same_data"] and b["same_data"]
    return {"scenario": a["scenario"], "kernels": [a["kernel"], b["kernel"]], "ratio": ratios} | {
        "identical": same if a["data_sha256"] else None
    }
