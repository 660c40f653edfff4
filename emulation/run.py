"""One run: from a cell and a seed to a flent file and its provenance, whole or not at all."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulation import capture, provenance, speed, storage, trace, vm
from emulation.errors import EmulationError, GuestFailure, RigMismatch, TrafficFailure
from emulation.kernel import Kernel, module
from emulation.model import Run
from emulation.rootfs import RootFs

#: Of a run whose every packet is followed: the table, and what was counted of it.
PACKETS, COUNTS = f"run{capture.TABLE}", "packets.json"

#: Of a load between gateways: what their queues did.
QUEUES = "queues.json"

#: Status of the guest -> the error that it is. Anything else is a failure of the guest's own code.
_CAUSES: dict[str, type[EmulationError]] = {"rig": RigMismatch, "traffic": TrafficFailure}


@dataclass(frozen=True)
class Result:
    """A run in the data folder. `ending` is None where it had been there before."""

    data: Path
    provenance: Path
    ending: vm.Ending | None


#: What flent calls its runner of netperf.
NETPERF = "NetperfDemoRunner"


def paths(run: Run, data: Path) -> tuple[Path, Path]:
    """Where the flent file and the provenance of `run` are below the folder `data`."""
    return data / f"{run.id}.flent.gz", data / f"{run.id}.json"


def kernel_log(sha256: str) -> Path:
    """Where the guest's kernel log with that digest is below the data; most runs have the same."""
    return Path("kernel-logs", f"{sha256[:16]}.log.gz")


def execute(
    run: Run,
    kernel: Kernel,
    root: RootFs,
    data: Path,
    on_step: Callable[[dict[str, Any]], None] = lambda step: None,
    keep: Path | None = None,
    again: bool = False,
    captures: bool = False,
    traced: bool = False,
    on_poll: Callable[[int], None] = lambda pid: None,
) -> Result:
    """Do `run` unless the folder `data` has it already.

    `on_step` gets each line of the guest's status; `keep` takes the whole scratch folder of a run
    that failed; `again` does a run anew that is there; `captures` keeps the packets at both queues
    under test; `traced` keeps a trace of simulated time; `on_poll` is that of `vm.run`. Raises an
    `EmulationError` of the cause, and then leaves nothing in `data`.
    """
    target, record = paths(run, data)
    packets = capture.files(run.topology, target)
    history = data / f"{run.id}{trace.SUFFIX}"
    table = data / f"{run.id}{capture.TABLE}"
    observed = bool(run.topology.observed)
    wanted = [target, record, *(packets.values() if captures else ()), *([history] * traced)]
    wanted += [table] * observed
    if all(path.exists() for path in wanted) and not again:
        return Result(target, record, None)
    storage.require_room(data)
    modules = module.needed(kernel, run.job(), run.modules)
    machine = vm.Machine(
        kernel.path, root.path, run.random, run.memory_mib, trace=traced, modules=modules
    )
    with vm.scratch() as folder:
        try:
            ending = boot(run, machine, folder, on_step, captures, on_poll)
            out = folder / "job" / "out"
            identity = provenance.identity(run, machine, kernel, root)
            qdiscs = json.loads((out / "qdiscs.json").read_text())
            files = (out / "data.flent.gz", out / "kernel.log")
            told = provenance.record(run, identity, kernel, ending, qdiscs, *files)
            if observed:
                told |= provenance.observed(run, out / PACKETS, out / COUNTS, qdiscs)
            if (out / QUEUES).exists():
                told |= provenance.queues(run, out / QUEUES, qdiscs)
        except EmulationError as error:
            error.where = f"{run.id}: {error.where}" if error.where else run.id
            if keep is not None:
                shutil.rmtree(keep / run.id, ignore_errors=True)
                shutil.copytree(folder, keep / run.id, symlinks=True)
                error.todo = (
                    f"{error.todo}; " * bool(error.todo) + f"its logs are in {keep / run.id}"
                )
            raise
        capture.remove(packets)
        for node, path in packets.items() if captures else ():
            _store(out / f"{node}{capture.SUFFIX}", path)
        if observed:
            _store(out / PACKETS, table)
        _store(out / "data.flent.gz", target)
        _keep_log(out / "kernel.log", data / kernel_log(told["kernel_log_sha256"]))
        history.unlink(missing_ok=True)
        if traced:
            shutil.move(out / "trace", history)
        (out / "record.json").write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
        _store(out / "record.json", record)
    ports = [f"{place['node']} {place['interface']}" for place in capture.places(run.topology)]
    if not captures:
        about = run.experiment
        expected = speed.expected_packets(about.traffic, run.cell.link, run.length.seconds)
        carried = speed.carried_packets(qdiscs, ports)
        spent = (ending.virtual_s, ending.wall_s, carried, expected)
        speed.remember(speed.Measured(kernel.digest, about.id, *spent))
    return Result(target, record, ending)


def today(run: Run, kernel: Kernel, root: RootFs) -> dict[str, Any]:
    """The identity that `run` would have if it were done now. Builds its modules."""
    modules = module.needed(kernel, run.job(), run.modules)
    machine = vm.Machine(kernel.path, root.path, run.random, run.memory_mib, modules=modules)
    return provenance.identity(run, machine, kernel, root)


def boot(
    run: Run,
    machine: vm.Machine,
    folder: Path,
    on_step: Callable[[dict[str, Any]], None] = lambda step: None,
    captures: bool = False,
    on_poll: Callable[[int], None] = lambda pid: None,
) -> vm.Ending:
    """Do `run` in the empty `folder`; what comes of it is in `folder/job/out`.

    Raises an `EmulationError` of the cause where it fails.
    """
    job = run.job()
    if captures and not run.topology.observed:
        job["capture"] = True
    vm.prepare(folder, machine.root, job, machine.modules)
    ending = vm.run(machine, folder, on_step, on_poll=on_poll)
    _judge(ending)
    if machine.trace and not (folder / "job" / "out" / "trace").exists():
        raise GuestFailure("this kernel leaves no trace", str(machine.kernel), "use series 6.12")
    out = folder / "job" / "out"
    if run.topology.observed:
        reduce_captures(run, out, raw=captures)
    elif run.experiment.traffic.loads:
        reduce_queues(run, out)
    elif run.experiment.traffic.window:
        reduce_window(run, out)
    else:
        check_flows(out / "data.flent.gz", run)
    return ending


def reduce_captures(run: Run, out: Path, raw: bool) -> None:
    """Make the flent file, the table of packets and their counts of what a guest left in `out`.

    With `raw` also a pcap file of each capture.
    """
    # pyarrow and pandas take a second to import
    from emulation import packets, packets_flent, packets_stations

    wireless = bool(run.topology.media)
    reduced = (packets_stations if wireless else packets).reduce(run, out)
    packets.write(
        reduced.packets, out / PACKETS, run.experiment.traffic.flows if wireless else None
    )
    (out / COUNTS).write_text(json.dumps(reduced.counts))
    packets_flent.write(run, reduced, out / "data.flent.gz")
    for node, interface in run.topology.observed if raw else ():
        name = f"{node}.{interface}"
        (out / f"{name}{capture.SUFFIX}").write_bytes(packets.pcap(out, name))


def reduce_queues(run: Run, out: Path) -> None:
    """Make the flent file and `QUEUES` of what a guest left in `out`."""
    from emulation import packets_queue  # pandas takes a second to import

    content, about = packets_queue.reduce(run, out)
    packets_queue.write(content, out / "data.flent.gz")
    (out / QUEUES).write_text(json.dumps(about))


def reduce_window(run: Run, out: Path) -> None:
    """Make the flent file of what a guest left of one connection in `out`."""
    from emulation import packets_queue, packets_window  # pandas takes a second to import

    packets_queue.write(packets_window.reduce(run, out), out / "data.flent.gz")


def _judge(ending: vm.Ending) -> None:
    """Raise what the last line of the guest's status says went wrong."""
    last = ending.steps[-1]
    if last["step"] == "done":
        return
    cause = _CAUSES.get(last.get("cause", ""), GuestFailure)
    raise cause(what="; ".join(last.get("problems", [f"it stopped after '{last['step']}'"])))


def check_flows(file: Path, run: Run) -> None:
    """Raise `TrafficFailure` where a flow of the flent `file` moved no data, or where a netperf
    ended without telling how much."""
    with gzip.open(file) as stream:
        content = json.load(stream)
    results, told = content["results"], content.get("metadata", {}).get("SERIES_META", {})
    idle = sorted(
        name
        for name, samples in results.items()
        if not name.endswith("::loss") and not name.endswith("::induced_delay")  # may well be 0
        # flent drops the samples of a flow that starved at first; netperf's own count stays.
        if not any(sample for sample in samples if sample is not None)
        and not told.get(name, {}).get("BYTES_RECVD")
    )
    if idle or not results:
        raise TrafficFailure(
            what="no data moved in " + (", ".join(idle) or "any flow"),
            where=file.name,
            todo="look at flent.log",
        )
    untold = sorted(
        name
        for name, about in told.items()
        if name.startswith("TCP") and about.get("RUNNER") == NETPERF and "ELAPSED_TIME" not in about
    )
    if untold:
        raise TrafficFailure(
            what="netperf ended without its result: " + ", ".join(untold),
            where=file.name,
            todo="look at flent.log; a flow that starves can lose netperf's control connection",
        )


def _keep_log(log: Path, target: Path) -> None:
    """Keep the guest's kernel `log`, compressed, unless another run has left the same."""
    if not target.exists():
        packed = log.with_suffix(".log.gz")
        packed.write_bytes(gzip.compress(log.read_bytes(), mtime=0))
        _store(packed, target)


def _store(source: Path, target: Path) -> None:
    """Put `source` at `target` in one step: a reader sees all of it or nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        shutil.copyfile(source, partial)
        with partial.open("rb") as stream:
            os.fsync(stream.fileno())
        partial.replace(target)
    except OSError as error:
        error.filename = str(target)
        raise
    finally:
        partial.unlink(missing_ok=True)
