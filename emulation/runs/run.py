"""Do one run: from a cell and a seed to a data file and its provenance, whole or not at all."""

import glob
import gzip
import json
import math
import os
import shutil
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qdisclab.emulation import datafile, errors
from qdisclab.emulation.config import remarks
from qdisclab.emulation.config.job import job_of, modules_of
from qdisclab.emulation.host import scratch, storage
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.kernel import Kernel, module
from qdisclab.emulation.kinds.probes import probe
from qdisclab.emulation.kinds.probes.probe import Probe
from qdisclab.emulation.kinds.traffic import flent
from qdisclab.emulation.kinds.traffic.programs import Programs
from qdisclab.emulation.machine import layer, provenance, rootfs, vm
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.programs.guest_root import GuestRoot
from qdisclab.emulation.programs.taken import TakenFile, mode
from qdisclab.emulation.runs import index, speed
from qdisclab.emulation.study import trust


@dataclass(frozen=True)
class Result:
    """A run in the data folder. `ending` is None if the run existed before."""

    data: Path
    provenance: Path
    ending: vm.Ending | None


#: Returns what a run measured, by name.
Measure = Callable[[index.RunFile], Mapping[str, float]]


def paths(run: Run, data: Path) -> tuple[Path, Path]:
    """Return the paths of the data file and the provenance of `run` below the folder `data`."""
    return data / f"{run.id}{run.traffic.data_end}", data / f"{run.id}.json"


def kernel_log(sha256: str) -> Path:
    """Return the path, below the data, of the kernel log with that digest; most runs share one."""
    return Path(index.KERNEL_LOGS, f"{sha256[:16]}.log.gz")


def guest_packages(digest: str) -> Path:
    """Return the path, below the data, of the versions of all packages of the root file system with
    that digest; a run's provenance has the digest."""
    return Path(index.GUESTS, f"{digest}.json")


def execute(
    run: Run,
    kernel: Kernel,
    root: rootfs.RootFs,
    data: Path,
    on_step: Callable[[dict[str, Any]], None] = lambda step: None,
    keep: Path | None = None,
    again: bool = False,
    stale: bool = False,
    on_poll: Callable[[int], None] = lambda pid: None,
    probes: tuple[Probe, ...] = (),
    raw: bool = False,
    measure: Measure | None = None,
) -> Result:
    """Do `run` unless the folder `data` has it already.

    `on_step` gets each line of the guest's status, `on_poll` is passed to `vm.run`, and `keep` is a
    folder for the scratch folder of a failed run. With `again` an existing run is repeated, with
    `stale` one that would be made of something else today; what is stored beside its data goes if
    they come out otherwise. Stored next to the data are, with `raw`, what flent wrote, and what the
    probes record, those of its experiment and `probes`. If only such a file is missing, the run is
    repeated for it and must give the existing data again. With `measure`, what it returns is stored
    in the provenance, in place of the data. Raises an `EmulationError` that names the cause, and
    then leaves nothing in `data`.
    """
    probes = probe.of_run(run, probes)
    probe.check(probes, run)
    target, record = paths(run, data)
    more = {name: data / f"{run.id}{end}" for name, end in run.traffic.leaves.items()}
    recorded = probe.files(probes, run)
    if raw:
        require_flent(run)
        recorded[flent.RAW] = datafile.RAW
    tables = {name: data / f"{run.id}{end}" for name, end in recorded.items()}
    more |= tables
    # Of a reduced run neither the data nor what the traffic leaves was stored.
    whole = () if datafile.is_reduced(record) else (target, *more.values())
    wanted = {record, *tables.values(), *whole}
    again = again or (stale and _entry(record, "identity") != today(run, kernel, root))
    if not again:
        probe.check_there(probes, run, data)
    if all(path.exists() for path in wanted) and not again:
        return Result(target, record, None)
    stays = not again and target.exists() and record.exists()
    storage.require_room(data)
    library = module.SOURCES / probe.MODULE
    sampler = module.build(kernel, library, is_ours=True) if probes else None
    machine = replace(machine_of(run, kernel, root), probe=sampler)
    warnings = warnings_of(run, machine)
    # Taken before the boot, as somebody may change a program of the study during the run.
    identity = provenance.identity(run, machine, kernel, root)
    with scratch.folder() as folder:
        try:
            ending = boot(run, machine, folder, on_step, on_poll, probes, raw)
            out = folder / "job" / "out"
            nodes = run.topology.nodes
            measured = out / f"data{run.traffic.data_end}"
            files = (measured, out / "kernel.log")
            with scratch.reading():
                qdiscs = json.loads((out / "qdiscs.json").read_text()) if nodes else {}
                ending.notes.extend(remarks.of_counters(qdiscs))
                ports = run.rig.counted(run.topology)
                names = {f"{port.node} {port.interface}" for port in ports}
                counters = {name: of for name, of in qdiscs.items() if name in names}
                entries = provenance.record(run, identity, kernel, ending, counters, *files)
                if (rows := out / "rows.jsonl.gz").exists():  # told, and in the data as rows
                    ending.notes.extend(remarks.of_rows(datafile.read_rows(rows)))
                entries |= {"warnings": warnings} if warnings else {}
                entries |= {"probes": list(map(str, probes))} if probes else {}
                entries |= run.traffic.record(run, out, ending.steps, qdiscs)
            if measure is not None:
                numbers = _measured(run, entries, measured, more, folder, measure)
                entries[datafile.MEASURES] = numbers
            if stays and entries["data_sha256"] != sha256(target):
                what = "differs from the existing run, which other code or tools made"
                raise errors.ConfigError(what, str(target), "add --again to replace that one")
        except errors.EmulationError as error:
            error.where = f"{run.id}: {error.where}" if error.where else run.id
            if keep is not None:
                scratch.keep(folder, keep / run.id)
                remedy = f"{error.todo}; " if error.todo else ""
                error.todo = f"{remedy}its logs are in {keep / run.id}"
            raise
        if not stays and entries["data_sha256"] != _entry(record, "data_sha256"):
            _remove(record)
        stored = more if measure is None else tables
        for name, path in stored.items():
            if not (stays and path.exists()):
                _store(out / name, path)
        if not stays:
            if measure is None:
                _store(measured, target)
            _keep_log(out / "kernel.log", data / kernel_log(entries["kernel_log_sha256"]))
            packages = json.dumps(root.packages, indent=1, sort_keys=True) + "\n"
            _keep(packages.encode(), out / "packages.json", data / guest_packages(root.digest))
            (out / "record.json").write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n")
            _store(out / "record.json", record)
            if measure is not None:
                _remove(record, {record, *stored.values()})
    speed.remember(run, ending.virtual_s, ending.wall_s)
    return Result(target, record, ending)


def require_flent(run: Run) -> None:
    """Raise `ConfigError` if it is not flent that writes the data file of `run`."""
    if not isinstance(run.traffic, flent.Flent):
        raise errors.ConfigError("flent does not write its data", run.id, "leave out --raw")


def today(run: Run, kernel: Kernel, root: rootfs.RootFs) -> dict[str, Any]:
    """Return the identity that `run` would have if it were done now; this builds its modules."""
    return provenance.identity(run, machine_of(run, kernel, root), kernel, root)


def machine_of(run: Run, kernel: Kernel, root: rootfs.RootFs) -> vm.Machine:
    """Return the machine to boot for `run`; this builds its modules and the layer of its packages.

    Raises `Untrusted` if nobody has agreed to what its study executes.
    """
    trust.require(run.experiment.folder)
    layers = [layer.build(root, run.traffic.debian)] if run.traffic.debian else []
    if isinstance(run.traffic, Programs) and run.traffic.surroundings:
        layers.append(layer.system(root))
    modules = module.needed(kernel, job_of(run), modules_of(run))
    booted = (kernel.path, root.path, run.random, run.memory_mib)
    return vm.Machine(*booted, modules=modules, layers=tuple(layers))


def warnings_of(run: Run, machine: vm.Machine) -> list[str]:
    """Return what the programs of `run` have that neither virtual time nor the seed decides.

    Raises `MissingTool` if the guest cannot start one.
    """
    if not (programs := job_of(run).get("traffic", {}).get("programs", ())):
        return []
    from qdisclab.emulation.programs import instructions  # a disassembler

    files = [TakenFile(name, path, mode(path)) for name, path in run.traffic.sources()]
    guest = GuestRoot([*(layer.path for layer in machine.layers), machine.root], files)
    return instructions.of_programs(guest, [program["command"][0] for program in programs], files)


def boot(
    run: Run,
    machine: vm.Machine,
    folder: Path,
    on_step: Callable[[dict[str, Any]], None] = lambda step: None,
    on_poll: Callable[[int], None] = lambda pid: None,
    probes: tuple[Probe, ...] = (),
    raw: bool = False,
) -> vm.Ending:
    """Do `run` in the empty `folder`, and reduce what it leaves in `folder/job/out`.

    Raises an `EmulationError` that names the cause if it fails.
    """
    job = job_of(run)
    if raw:
        job["traffic"]["raw"] = True
    if machine.probe:
        job["probes"] = probe.LIBRARY
    vm.prepare(folder, machine, job, files=run.traffic.sources())
    if machine.probe:
        (folder / "job" / probe.PLACES).write_bytes(probe.for_module(probes, run))
    ending = vm.run(machine, folder, on_step, on_poll=on_poll)
    ending.check()
    out = folder / "job" / "out"
    with scratch.reading():
        if probes:
            probe.reduce(probes, run, out)
        run.traffic.reduce(run, out)
    return ending


def _entry(record: Path, key: str) -> Any:
    """Return an entry of the provenance of the run that is there; None where none is."""
    try:
        return datafile.read_json(record)[key]
    except (errors.DamagedData, LookupError):
        return None


def _remove(record: Path, but: Collection[Path] = ()) -> None:
    """Remove a run, its `record` first, with all that was stored beside its data.

    Where a part stays, the tables of probes do, too.
    """
    for path in (record, *sorted(record.parent.glob(f"{glob.escape(record.stem)}.*"))):
        if path not in but and not (but and path.suffix == ".csv"):
            path.unlink(missing_ok=True)


def _measured(
    run: Run,
    record: dict[str, Any],
    data: Path,
    more: Mapping[str, Path],
    folder: Path,
    measure: Measure,
) -> dict[str, float]:
    """Return what `measure` says of a run that is still in its scratch folder."""
    target, provenance = paths(run, folder / "measured")
    provenance.parent.mkdir(parents=True)
    shutil.copyfile(data, target)
    for name, path in more.items():
        shutil.copyfile(data.with_name(name), provenance.with_name(path.name))
    provenance.write_text(json.dumps(record))
    numbers = dict(measure(index.run_file(folder / "measured", provenance)))
    wrong = next((name for name, value in numbers.items() if not math.isfinite(value)), None)
    if wrong or not numbers:
        what = f"has no value of {wrong}" if wrong else "its experiment names no measure"
        raise errors.ConfigError(what, "", "keep its data: leave out --reduced")
    return numbers


def _keep_log(log: Path, target: Path) -> None:
    """Store the guest's kernel `log`, compressed."""
    _keep(gzip.compress(log.read_bytes(), mtime=0), log.with_suffix(".log.gz"), target)


def _keep(content: bytes, scratch_file: Path, target: Path) -> None:
    """Store what several runs share, unless another run has."""
    if not target.exists():
        scratch_file.write_bytes(content)
        _store(scratch_file, target)


def _store(source: Path, target: Path) -> None:
    """Copy `source` to `target` in one step: a reader sees all of it or nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    # Runs of one process may store the same kernel log at the same time.
    partial = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}")
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
