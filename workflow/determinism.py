"""The same runs under many conditions of the host, compared byte for byte.

    python -m workflow.determinism --runs 300 --jobs 2 --output results/determinism.jsonl

Each line of the output is one boot: what was run, under which conditions, and a digest of each file
that came of it. A second call goes on where the first one stopped. Where load is not to reach other
boots, give each of several calls a CPU by `taskset` and a `--part`. Conditions that need root are
left out where there is none. See docs/determinism.md.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

from emulation import kernel, rootfs, vm
from emulation.config import experiment, select
from emulation.kernel import Kernel, module
from emulation.model import DEFAULT_MEMORY, Run
from emulation.run import check_flows
from emulation.units import Duration

NOBODY = 65534

#: What a process may get without anybody's intent.
SIGNALS = (signal.SIGCONT, signal.SIGURG, signal.SIGCHLD, signal.SIGWINCH)

#: Switches that work with Open vSwitch; the work of a guest in place of a rig and its traffic.
SWITCH = """
import subprocess
import switch
from mininet.net import Mininet
from mininet.node import OVSBridge
status('booted')
switch.start()
net = Mininet(controller=None, switch=OVSBridge, autoSetMacs=True)
bridge = net.addSwitch('s1')
for number in range(1, 5):
    net.addLink(net.addHost(f'h{number}'), bridge)
net.start()
status('switching', handlers=switch.handlers())
with open('/job/out/ping.txt', 'w') as out:
    for _ in range(3):
        out.write(net.hosts[0].cmd('ping -c 5 -i 0.01', net.hosts[-1].IP()))
status('pinged', loss_percent=net.pingAll())
for name, command in (
    ('flows', ['ovs-appctl', 'dpctl/dump-flows']),
    ('ports', ['ovs-vsctl', 'list', 'Interface']),
):
    with open(f'/job/out/{name}.txt', 'w') as out:
        subprocess.run(command, stdout=out, check=True)
status('done')
"""

_NEW_NS, _NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_PID, _NEW_NET = (  # linux/sched.h
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_BIND, _PRIVATE, _RECURSIVE = 0x1000, 0x40000, 0x4000  # linux/mount.h
_NO_RANDOMIZE, _COMPAT_LAYOUT = 0x0040000, 0x0200000  # linux/personality.h


@dataclass(frozen=True)
class Work:
    """What a guest does. Exactly one of `run` and `code` (the body of `work(status)`) is given."""

    name: str
    seed: int
    run: Run | None = None
    code: str | None = None

    @property
    def memory_mib(self) -> int:
        """Of the guest."""
        return DEFAULT_MEMORY.bytes >> 20 if self.run is None else self.run.memory_mib


@dataclass(frozen=True)
class Conditions:
    """What surrounds a guest on the host. Nothing of it may reach a result."""

    name: str
    cpu: int | None = None  # of those that this process may use, by place; None takes a free one
    load: bool = False  # a busy loop on each CPU meanwhile, as nice as the guest
    stops: float = 0.0  # seconds between two stops of the guest, on average; 0: none
    signals: bool = False  # those of `SIGNALS` to it, as often
    user: int | None = None  # who runs it; None is this process's user
    new_user_namespace: bool = False  # `unshare -Ur`
    container: bool = False  # a root folder and namespaces of its own, process number 1
    environment: dict[str, str] = field(default_factory=dict)  # nothing else is in it
    umask: int = 0o022
    nice: int = 0
    limits: dict[int, int] = field(default_factory=dict)  # soft resource limits
    personality: int = 0
    parent: str = ""  # of the scratch folder; empty: where temporary files go
    memory: str = ""  # where the guest's memory goes; empty: where the product puts it
    masked: tuple[str, ...] = ()  # CPU features that the guest's glibc is told not to see
    needs_root: bool = False


PLAIN = Conditions("idle")

#: No two of these have anything in common that could be made different.
ODD = Conditions(
    "odd surroundings",
    cpu=-1,
    load=True,
    stops=0.15,
    signals=True,
    environment={
        "LANG": "tr_TR.UTF-8",
        "LC_ALL": "tr_TR.UTF-8",
        "TZ": "Asia/Kathmandu",
        "HOME": "/nonexistent",
        "USER": "somebody",
        "PYTHONHASHSEED": "77",
        "GLIBC_TUNABLES": "glibc.malloc.check=3",
        "GODEBUG": "cpu.aes=off",
        "MALLOC_PERTURB_": "170",
        "ODD": "x" * 5000,
    },
    umask=0o077,
    nice=5,
    limits={
        resource.RLIMIT_STACK: 64 << 20,
        resource.RLIMIT_NOFILE: 200,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
    },
    parent="a folder with a longer name, blanks and ünïcode",
    memory="/var/tmp",  # noqa: S108
)

MATRIX = (
    PLAIN,
    replace(PLAIN, name="first CPU", cpu=0),
    replace(PLAIN, name="last CPU", cpu=-1),
    replace(PLAIN, name="loaded", load=True),
    replace(PLAIN, name="stopped and continued", stops=0.1),
    replace(PLAIN, name="signals", signals=True, stops=0.1),
    replace(PLAIN, name="loaded and stopped", load=True, stops=0.1, nice=10),
    replace(PLAIN, name="memory on a disk", memory="/var/tmp"),  # noqa: S108
    replace(PLAIN, name="no limit of the stack", limits={resource.RLIMIT_STACK: -1}),
    replace(PLAIN, name="small stack", limits={resource.RLIMIT_STACK: 1 << 20}),
    replace(PLAIN, name="fixed addresses", personality=_NO_RANDOMIZE),
    replace(PLAIN, name="old layout of memory", personality=_COMPAT_LAYOUT),
    ODD,
    replace(PLAIN, name="user namespace", new_user_namespace=True),
    replace(ODD, name="odd surroundings in a user namespace", new_user_namespace=True),
    replace(PLAIN, name="another user", user=NOBODY, needs_root=True),
    replace(ODD, name="odd surroundings of another user", user=1234, needs_root=True),
    replace(PLAIN, name="container", container=True, needs_root=True),
    replace(ODD, name="odd surroundings in a container", container=True, needs_root=True),
)

#: CPU features that the product leaves visible to the guest's glibc. Masked, they show what another
#: CPU would do. The last ones are part of x86-64-v2, which the product asks for.
FEATURES = (
    "AVX", "FMA", "BMI1", "BMI2", "LZCNT", "MOVBE", "ERMS", "FSRM", "XSAVEC", "RTM", "SHSTK", "IBT",
    "AVX512BW", "AVX512VL", "AVX_VNNI", "Prefer_No_VZEROUPPER", "Prefer_ERMS",
    "SSE4_2", "POPCNT", "SSSE3", "SSE4_1",
)  # fmt: skip
OLDER = ("AVX", "FMA", "BMI1", "BMI2", "LZCNT", "MOVBE", "ERMS", "FSRM", "XSAVEC", "RTM")
CPUS = (
    PLAIN,
    *(replace(PLAIN, name=f"without {one}", masked=(one,)) for one in FEATURES),
    replace(PLAIN, name="CPU of 2009", masked=OLDER),
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
    def build(cls) -> Stage:
        """From the caches of the product."""
        built, root = kernel.build(), rootfs.build()
        identity = {"kernel": built.identity, "root": root.digest, "guest": guest_digest()}
        return cls(built, root.path, identity)

    def copied(self, place: Path) -> Stage:
        """With a copy in `place`, which belongs to `NOBODY`; needs root."""
        place.chmod(0o755)
        shutil.copy(self.kernel.path, place / "linux")
        subprocess.run(["cp", "-a", str(self.root), str(place / "root")], check=True)
        # A file of a copy has its own times, inode numbers and, here, owner.
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(place / "root")], check=True)
        subprocess.run(["chmod", "-R", "a+rX", str(place / "root")], check=True)
        return replace(self, copy=place)


#: (experiment, link, qdisc, congestion control) of the works: RRUL over the three links with qdiscs
#: of each kind, then one of each other kind of traffic.
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
)


def works(length: str = "3 s", seeds: int = 2) -> list[Work]:
    """Mixed traffic: that of `TRAFFIC`, and Open vSwitch."""
    found = []
    for name, link, qdisc, cc in TRAFFIC:
        for run in select(
            experiment(name),
            link=link,
            qdisc=qdisc,
            cc=cc,
            seed=range(1, seeds + 1),
            length=Duration.parse(length),
        ):
            found.append(Work(run.id, run.random, run=run))
    found += [Work(f"openvswitch/seed-{n:03d}", n, code=SWITCH) for n in range(1, seeds + 1)]
    return found


def observe(work: Work, conditions: Conditions, stage: Stage) -> Seen:
    """Boot once. Raises `RuntimeError` where that failed."""
    parent = Path(tempfile.mkdtemp(prefix="determinism-"))
    parent.chmod(0o755)
    try:
        folder = parent / conditions.parent / "scratch"
        folder.mkdir(parents=True)
        lay_out(folder, work, conditions, stage)
        with loaded(conditions.load, conditions.nice):
            child = multiprocessing.get_context("fork").Process(
                target=_child, args=(work, conditions, stage, folder)
            )
            child.start()
            child.join()
        if child.exitcode:
            said = parent / "error"
            raise RuntimeError(said.read_text() if said.exists() else f"status {child.exitcode}")
        data = folder / "job/out/data.flent.gz"
        if work.run is not None and data.exists():  # followed packets become data later
            check_flows(data, work.run)
        return Seen(digests(folder, conditions), int((parent / "stops").read_text()))
    finally:
        shutil.rmtree(parent)


def digests(folder: Path, conditions: Conditions = PLAIN) -> dict[str, str]:
    """The digest of each file that a boot in the scratch folder left, by its name."""
    paths = sorted(path for path in (folder / "job/out").iterdir() if path.is_file())
    found = {}
    for path in (*paths, folder / "job/status"):
        content = path.read_bytes()
        if path.name == "kernel.log":  # it has the command line; leave what was masked out of it
            content = content.replace(os.fsencode(pinned(conditions)[0]), os.fsencode(vm.PINNED[0]))
        found[path.name] = hashlib.sha256(content).hexdigest()[:16]
    return found


def pinned(conditions: Conditions) -> tuple[str, ...]:
    """What the guest's first process is told of the CPU."""
    tunables, *others = vm.PINNED
    return ",".join([tunables, *(f"-{name}" for name in conditions.masked)]), *others


def lay_out(folder: Path, work: Work, conditions: Conditions, stage: Stage) -> None:
    """Prepare the scratch folder of a boot for the user who does it."""
    root = stage.root
    if conditions.user is not None:
        assert stage.copy is not None
        root = stage.copy / "root"
    job = _job(work)
    modules = module.needed(stage.kernel, job, work.run.modules if work.run else ())
    vm.prepare(folder, Path("/guest") if conditions.container else root, job, modules)
    if work.code is not None:
        replace_work(folder, work.code)
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~conditions.umask)
        if conditions.user is not None:
            os.chown(path, conditions.user, conditions.user, follow_symlinks=False)


def replace_work(folder: Path, code: str) -> None:
    """Have the guest laid out in `folder` do the body of a function `code`, which has `status`."""
    guest = folder / "job" / "guest"
    shutil.copy(vm.GUEST_CODE / "switch.py", guest)
    (guest / "main.py").rename(guest / "product.py")
    body = "\n".join(f"    {line}" for line in code.splitlines())
    (guest / "main.py").write_text(
        "import sys\nsys.path.insert(0, '/job/guest')\nimport product\n"
        f"def work(status):\n{body}\nproduct.work = work\nproduct.main()\n"
    )


def _job(work: Work) -> dict[str, Any]:
    return {} if work.run is None else work.run.job()


def _child(work: Work, conditions: Conditions, stage: Stage, folder: Path) -> None:
    """The boot, in a process of its own that takes on the conditions."""
    parent = next(one for one in folder.parents if one.name.startswith("determinism-"))
    # Opened now: what follows may take the right or the way to them.
    report, stops = (os.open(parent / one, os.O_WRONLY | os.O_CREAT) for one in ("error", "stops"))
    try:
        machine = vm.Machine(stage.kernel.path, stage.root, work.seed, work.memory_mib)
        if conditions.user is not None and stage.copy is not None:
            machine = replace(machine, kernel=stage.copy / "linux")
        os.environ.clear()
        os.environ.update(conditions.environment)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        if conditions.memory:
            os.environ["TMPDIR"] = conditions.memory
        apply(conditions)
        if conditions.container:
            machine, folder = enter_container(machine, folder, stage)
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


def apply(conditions: Conditions) -> None:
    """Give this process the conditions that need no other place."""
    if conditions.cpu is not None:
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[conditions.cpu]})
    os.umask(conditions.umask)
    os.nice(conditions.nice)
    for what, soft in conditions.limits.items():
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (soft if hard == -1 else min(soft, hard), hard))
    libc = ctypes.CDLL(None, use_errno=True)
    if conditions.personality:
        libc.personality(conditions.personality)
    if conditions.new_user_namespace:
        user, group = os.getuid(), os.getgid()
        _call(libc.unshare(_NEW_USER), "unshare")
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"0 {user} 1"),
            ("gid_map", f"0 {group} 1"),
        ):
            Path("/proc/self", name).write_text(text)


def enter_container(machine: vm.Machine, folder: Path, stage: Stage) -> tuple[vm.Machine, Path]:
    """Go where a container would be; the machine and the scratch folder as they are named there.

    The programs and libraries are those of the guest's root file system, /proc is the only file
    system of the kernel, and the next process is number 1.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    jail = folder.parent / "jail"
    namespaces = _NEW_NS | _NEW_UTS | _NEW_IPC | _NEW_PID | _NEW_NET
    _call(libc.unshare(namespaces), "unshare")

    def mount(source: Path | str, target: str, kind: str | None, flags: int) -> None:
        place = jail / target
        place.mkdir(parents=True, exist_ok=True)
        words = (os.fsencode(source), os.fsencode(place), kind and kind.encode())
        _call(libc.mount(*words, ctypes.c_ulong(flags), None), f"mount {target}")

    _call(libc.mount(b"none", b"/", None, ctypes.c_ulong(_PRIVATE | _RECURSIVE), None), "mount")
    (jail / "bin").mkdir(parents=True)
    shutil.copy(machine.kernel, jail / "bin/linux")
    mount(stage.root / "usr", "usr", None, _BIND)
    for name in ("lib", "lib64"):
        (jail / name).symlink_to(f"usr/{name}")
    mount(stage.root, "guest", None, _BIND)
    mount("/proc", "proc", None, _BIND | _RECURSIVE)
    mount("/dev", "dev", None, _BIND | _RECURSIVE)
    mount("tmpfs", "tmp", "tmpfs", 0)
    mount(folder, "lab", None, _BIND)
    host = b"a-container"
    _call(libc.sethostname(host, len(host)), "sethostname")
    os.chroot(jail)
    os.chdir("/")
    os.environ.update(XDG_CACHE_HOME="/lab/cache", TMPDIR="/tmp")  # noqa: S108
    return replace(machine, kernel=Path("/bin/linux"), root=Path("/guest")), Path("/lab")


def _call(status: int, what: str) -> None:
    if status:
        raise OSError(ctypes.get_errno(), what)


class Disturb:
    """Stops the guest and sends it signals, at times that are different each time.

    Its kernel and its user processes get them, as from a batch scheduler. The latter do from the
    first line of `status` on: a kernel that starts tries the host's ptrace on a process of its own,
    which has to be left alone.
    """

    def __init__(self, conditions: Conditions, status: Path) -> None:
        self.stops = 0
        self._conditions, self._status = conditions, status
        self._chance = random.SystemRandom()
        self._next = time.monotonic() + self._chance.uniform(0, conditions.stops)

    def __call__(self, pid: int) -> None:
        every = self._conditions.stops
        if not every or time.monotonic() < self._next:
            return
        send = os.killpg if self._status.exists() else os.kill
        if self._conditions.signals:
            for number in SIGNALS:
                send(pid, number)
        send(pid, self._chance.choice((signal.SIGSTOP, signal.SIGTSTP)))
        time.sleep(self._chance.uniform(0.001, 0.05))
        send(pid, signal.SIGCONT)
        self.stops += 1
        self._next = time.monotonic() + self._chance.uniform(0, 2 * every)


@contextmanager
def loaded(wanted: bool = True, nice: int = 0) -> Iterator[None]:
    """A busy loop on each CPU that this process may use."""
    loops = []
    try:
        for cpu in sorted(os.sched_getaffinity(0)) if wanted else ():
            # It ends by itself, too, where this process is killed.
            code = f"import os; os.sched_setaffinity(0, {{{cpu}}}); os.nice({nice})\n"
            code += "me = os.getppid()\nwhile os.getppid() == me:\n  for _ in range(10**6): pass"
            loops.append(subprocess.Popen([sys.executable, "-S", "-c", code]))
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Formatter)
    parser.add_argument("--runs", type=int, default=100, help="boots in all [100]")
    parser.add_argument("--jobs", type=int, default=1, help="boots at a time [1]")
    parser.add_argument(
        "--part", default="1/1", help="2/3: of the boots the second of each three [1/1]"
    )
    parser.add_argument("--minutes", type=float, default=1e9, help="start none after this time")
    parser.add_argument("--output", type=Path, default=Path("results/determinism.jsonl"))
    parser.add_argument("--cpus", action="store_true", help="vary the CPU, not the surroundings")
    options = parser.parse_args()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="stage-") as place:
        stage = Stage.build()
        if os.getuid() == 0:
            stage = stage.copied(Path(place))
        # What changes in the checkout meanwhile changes nothing here.
        guest = shutil.copytree(vm.GUEST_CODE, Path(place) / "guest")
        with mock.patch.object(vm, "GUEST_CODE", guest):
            _series(options, stage)
    return summarize(options.output)


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
        work, conditions = jobs[place], usable[(place + shift) % len(usable)]
        if (work.name, conditions.name, turn) in done or time.monotonic() > end:
            return
        line: dict[str, Any] = {"work": work.name, "conditions": conditions.name, "turn": turn}
        line["identity"], line["build"] = stage.identity, stage.kernel.digest
        began = time.monotonic()
        try:
            seen = observe(work, conditions, stage)
            line["files"], line["stops"] = seen.files, seen.stops
        except RuntimeError as failure:
            line["failure"] = str(failure)
        line["wall_s"] = round(time.monotonic() - began, 2)
        with options.output.open("a") as file:
            file.write(json.dumps(line) + "\n")

    with ThreadPoolExecutor(options.jobs) as pool:
        part, parts = (int(number) for number in options.part.split("/"))
        for _ in pool.map(one, range(part - 1, options.runs, parts)):
            pass


def guest_digest() -> str:
    """Digest of the code that runs in the guest and of how it is started."""
    total = hashlib.sha256(repr(vm.PINNED).encode())
    for path in sorted(vm.GUEST_CODE.glob("*.*")):
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
    return int(equal != total or bool(failures))


if __name__ == "__main__":
    sys.exit(main())
