"""The same runs under many conditions of the host, compared byte for byte.

    python -m tests.host_conditions.determinism --runs 300 --output results/determinism.jsonl

Each line of the output is one boot: what was run, under which conditions, and a digest of each file
that came of it. A second call goes on where the first one stopped. Where load is not to reach other
boots, give each of several calls a CPU by `taskset` and a `--part`. Conditions that need root are
left out where there is none. See docs/determinism.md.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self
from unittest import mock

from qdisclab.emulation import kernel
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.job import job_of, modules_of
from qdisclab.emulation.errors import EmulationError
from qdisclab.emulation.host import confine
from qdisclab.emulation.kernel import Kernel, module
from qdisclab.emulation.kinds.traffic.flent import check_flows
from qdisclab.emulation.machine import guestcode, rootfs, vm
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.units import Duration
from tests.host_conditions.conditions import (
    CPUS,
    MATRIX,
    NOBODY,
    PLAIN,
    Conditions,
    Disturb,
    apply,
    enter_container,
    loaded,
    pinned,
)


@dataclass(frozen=True)
class Seen:
    """What came of one boot: a digest by file, and how often the guest was stopped."""

    files: dict[str, str]
    stops: int


@dataclass(frozen=True)
class Stage:
    """What all boots share: kernel and root file system, twice: ours, and another user's copy."""

    kernel: Kernel
    root: Path
    identity: dict[str, str]  # digests of both, and of the code in the guest
    copy: Path | None = None  # a folder with `linux` and `root` for everybody to read

    @classmethod
    def build(cls, series: str | None = None) -> Self:
        """From the caches of the product; by default with the kernel of the default series."""
        built, root = kernel.build(series=series), rootfs.build()
        identity = {"kernel": built.identity, "root": root.digest, "guest": guest_digest()}
        return cls(built, root.path, identity)

    def copied(self, place: Path) -> Self:
        """With a copy in `place`, which belongs to `NOBODY`; needs root."""
        place.chmod(0o755)
        shutil.copy(self.kernel.path, place / "linux")
        subprocess.run(["cp", "-a", str(self.root), str(place / "root")], check=True)
        # A file of a copy has its own times, inode numbers and, here, owner.
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(place / "root")], check=True)
        subprocess.run(["chmod", "-R", "a+rX", str(place / "root")], check=True)
        return replace(self, copy=place)


#: Experiment, link, qdisc and congestion control of what is run: RRUL over the three links with
#: qdiscs of each kind, then one of each other kind of traffic.
TRAFFIC = (
    ("gbw2015/rrul", "10/10", "fq_codel", "cubic"),
    ("gbw2015/rrul", "10/1", "sfq", "reno"),
    ("gbw2015/rrul", "100/100", "pie", "cubic"),
    ("gbw2015/rrul", "10/10", "ared", "reno"),
    ("gbw2015/rrul", "10/1", "codel", "cubic"),
    ("gbw2015/rrul", "10/10", "pfifo_fast", "reno"),
    ("gbw2015/rrul", "100/100", "fq_nocodel", "cubic"),
    ("gbw2015/rrul", "10/1", "pie", "reno"),
    ("gbw2015/voip_1up", "10/1", "fq_codel", "cubic"),
    ("gbw2015/voip_rrul_irtt", "10/10", "sfq", "reno"),
    ("gbw2015/rtt_fairness", "10/10", "codel", "cubic"),
    ("gbw2015/web_small_1up", "10/10", "fq_codel", "reno"),
    ("khademi2013/flows_4", "10/10", "codel_5ms", "reno"),
    ("khademi2013/wifi_mixed_4", "100/100", "pie_5ms", "reno"),
    ("gbw2015/wifi_rrul", "100/100", "ared", "cubic"),
    ("codel2012/edge", "1.5/1.5", "codel", "cubic"),
    ("codel2012/window_25", "1.2/1.2", "fifo_100", "cubic"),
    ("battling2013/udp_flood", "10/10", "sfq", "cubic"),
    ("testbed/open_vswitch",),
)


def works(length: str = "3 s", seeds: int = 2) -> list[Run]:
    """The runs of `TRAFFIC`, shorter than their studies have them."""
    found: list[Run] = []
    for name, *chosen in TRAFFIC:
        link, qdisc, cc = chosen or (None, None, None)
        found += select(
            experiment(name),
            link=link,
            qdisc=qdisc,
            cc=cc,
            seed=range(1, seeds + 1),
            length=Duration.parse(length),
        )
    return found


def observe(run: Run, conditions: Conditions, stage: Stage) -> Seen:
    """Boot once. Raises `RuntimeError` where that failed."""
    parent = Path(tempfile.mkdtemp(prefix="determinism-"))
    parent.chmod(0o755)
    try:
        folder = parent / conditions.parent / "scratch"
        folder.mkdir(parents=True)
        lay_out(folder, run, conditions, stage)
        with loaded(conditions.load, conditions.nice):
            child = multiprocessing.get_context("fork").Process(
                target=_child, args=(run, conditions, stage, folder)
            )
            child.start()
            child.join()
        if child.exitcode:
            said = parent / "error"
            raise RuntimeError(said.read_text() if said.exists() else f"status {child.exitcode}")
        data = folder / "job/out/data.flent.gz"
        if data.exists():  # followed packets and programs become data later
            check_flows(data)
        return Seen(digests(folder, conditions), int((parent / "stops").read_text()))
    finally:
        shutil.rmtree(parent)


def digests(folder: Path, conditions: Conditions = PLAIN) -> dict[str, str]:
    """The digest of each file that a boot in the scratch folder left, by its name."""
    out = folder / "job/out"
    paths = {str(path.relative_to(out)): path for path in sorted(out.rglob("*")) if path.is_file()}
    found = {}
    for name, path in (*paths.items(), ("status", folder / "job/status")):
        content = path.read_bytes()
        if name == "kernel.log":  # it has the command line; leave what was masked out of it
            content = content.replace(os.fsencode(pinned(conditions)[0]), os.fsencode(vm.PINNED[0]))
        found[name] = hashlib.sha256(content).hexdigest()[:16]
    return found


def lay_out(folder: Path, run: Run, conditions: Conditions, stage: Stage) -> None:
    """Prepare the scratch folder of a boot for the user who does it."""
    root = stage.root
    if conditions.user is not None:
        assert stage.copy is not None
        root = stage.copy / "root"
    job = job_of(run)
    modules = module.needed(stage.kernel, job, modules_of(run))
    place = Path("/guest") if conditions.container else root
    machine = vm.Machine(stage.kernel.path, place, run.random, modules=modules)
    vm.prepare(folder, machine, job, files=run.traffic.sources())
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~conditions.umask)
        if conditions.user is not None:
            os.chown(path, conditions.user, conditions.user, follow_symlinks=False)


def _child(run: Run, conditions: Conditions, stage: Stage, folder: Path) -> None:
    """The boot, in a process of its own that takes on the conditions."""
    parent = next(one for one in folder.parents if one.name.startswith("determinism-"))
    # Opened now: what follows may take the right or the way to them.
    report, stops = (os.open(parent / one, os.O_WRONLY | os.O_CREAT) for one in ("error", "stops"))
    try:
        machine = vm.Machine(stage.kernel.path, stage.root, run.random, run.memory_mib)
        if conditions.user is not None and stage.copy is not None:
            machine = replace(machine, kernel=stage.copy / "linux", root=stage.copy / "root")
        os.environ.clear()
        os.environ.update(conditions.environment)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        if conditions.memory:
            os.environ["TMPDIR"] = conditions.memory
        confine.libraries(machine.kernel)  # what it imports may be out of reach later
        apply(conditions)
        if conditions.container:
            machine, folder = enter_container(machine, folder, stage.root)
        if conditions.user is not None:
            os.setgroups([])
            os.setresgid(conditions.user, conditions.user, conditions.user)
            os.setresuid(conditions.user, conditions.user, conditions.user)
        disturb = Disturb(conditions, folder / "job" / "status")
        with mock.patch.object(vm, "PINNED", pinned(conditions)):
            ending = vm.run(machine, folder, on_poll=disturb)
        os.write(stops, str(disturb.stops).encode())
        if ending.steps[-1]["step"] != "done":
            raise RuntimeError(json.dumps(ending.steps[-1]))
    except BaseException as failure:
        os.write(report, f"{type(failure).__name__}: {failure}".encode())
        os._exit(1)
    os._exit(0)  # not by the way of the threads that it was forked beside


def main() -> int:
    """The command line."""
    name = "python -m tests.host_conditions.determinism"
    parser = argparse.ArgumentParser(name, description=__doc__, formatter_class=_Formatter)
    parser.add_argument("--kernel", metavar="SERIES", help="its series (default: the default one)")
    parser.add_argument("--runs", type=int, default=100, help="boots in all [100]")
    parser.add_argument("--jobs", type=int, default=1, help="boots at a time [1]")
    parser.add_argument(
        "--part",
        type=part,
        default=(1, 1),
        metavar="K/N",
        help="2/3: of the boots the second of each three [1/1]",
    )
    parser.add_argument("--minutes", type=float, default=1e9, help="start none after this time")
    parser.add_argument("--output", type=Path, default=Path("results/determinism.jsonl"))
    parser.add_argument("--cpus", action="store_true", help="vary the CPU, not the surroundings")
    options = parser.parse_args()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="stage-") as place:
        try:
            stage = Stage.build(options.kernel)
        except EmulationError as error:
            parser.error(str(error))
        if os.getuid() == 0:
            stage = stage.copied(Path(place))
        # What changes in the checkout meanwhile changes nothing here.
        guest = shutil.copytree(guestcode.FOLDER, Path(place) / "guest")
        with mock.patch.object(guestcode, "FOLDER", guest):
            _series(options, stage)
    return summarize(options.output)


def part(text: str) -> tuple[int, int]:
    """`2/3` as (2, 3); ArgumentTypeError for what is no part."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is no part: write 1/3, 2/3 or 3/3")
    return int(found[1]), int(found[2])


class _Formatter(argparse.RawDescriptionHelpFormatter):
    pass


def _series(options: argparse.Namespace, stage: Stage) -> None:
    """Boot what is not in the output yet, and add a line for each."""
    done = {
        (one["work"], one["conditions"], one["turn"])
        for one in lines(options.output)
        if one["identity"] == stage.identity
    }
    usable = [
        one
        for one in (CPUS if options.cpus else MATRIX)
        if stage.copy is not None or not one.needs_root
    ]
    jobs = works()
    if options.cpus:
        jobs = [jobs[0], jobs[-1]]
    end = time.monotonic() + 60 * options.minutes

    def one(number: int) -> None:
        # Neighbours differ in both; after all pairs the next turn begins.
        turn, pair = divmod(number, len(jobs) * len(usable))
        shift, place = divmod(pair, len(jobs))
        run, conditions = jobs[place], usable[(place + shift) % len(usable)]
        if (run.id, conditions.name, turn) in done or time.monotonic() > end:
            return
        line: dict[str, Any] = {"work": run.id, "conditions": conditions.name, "turn": turn}
        line["identity"], line["build"] = stage.identity, stage.kernel.digest
        began = time.monotonic()
        try:
            seen = observe(run, conditions, stage)
            line["files"], line["stops"] = seen.files, seen.stops
        except RuntimeError as failure:
            line["failure"] = str(failure)
        line["wall_s"] = round(time.monotonic() - began, 2)
        with options.output.open("a") as file:
            file.write(json.dumps(line) + "\n")

    with ThreadPoolExecutor(options.jobs) as pool:
        first, step = options.part
        for _ in pool.map(one, range(first - 1, options.runs, step)):
            pass


def guest_digest() -> str:
    """Digest of the code that runs in the guest and of how it is started."""
    total = hashlib.sha256(repr(vm.PINNED).encode())
    for path in sorted(guestcode.FOLDER.glob("*.*")):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


def lines(output: Path) -> list[dict[str, Any]]:
    """The lines of the output so far."""
    if not output.exists():
        return []
    return [json.loads(line) for line in output.read_text().splitlines()]


def summarize(output: Path) -> int:
    """Print how many boots are equal of how many; 1 where one is not."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    failures, stops = [], 0
    for line in lines(output):
        stops += line.get("stops", 0)
        if "failure" in line:
            failures.append(line)
        else:
            found[line["work"] + json.dumps(line["identity"])].append(line)
    equal = total = alone = 0
    odd: dict[tuple[str, str], int] = defaultdict(int)
    for group in found.values():
        if len(group) == 1:
            alone += 1
            continue
        # The most frequent files are the ones that the others are held against.
        texts = [json.dumps(one["files"], sort_keys=True) for one in group]
        usual = json.loads(max(set(texts), key=texts.count))
        for one in group:
            total += 1
            names = sorted(usual.keys() | one["files"].keys())
            differ = [name for name in names if one["files"].get(name) != usual.get(name)]
            equal += not differ
            for name in differ:
                odd[one["conditions"], name] += 1
    print(
        f"{equal} of {total} boots equal, of {len(found) - alone} kinds of work; {alone} boots "
        f"without another to compare with; {len(failures)} failed; "
        f"guests stopped and continued {stops} times"
    )
    for (conditions, name), number in sorted(odd.items()):
        print(f"  {conditions}: {name} differs in {number}")
    for line in failures:
        print(f"  {line['conditions']}: {line['work']}: {line['failure']}")
    return int(equal != total or not total or bool(failures))


if __name__ == "__main__":
    sys.exit(main())
