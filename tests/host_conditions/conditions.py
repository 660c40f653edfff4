"""What surrounds a guest on the host, as `tests.host_conditions.determinism` varies it.

Nothing of it may reach a result.
"""

import ctypes
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

from qdisclab.emulation.host import confine
from qdisclab.emulation.machine import vm

NOBODY = 65534

#: What a process may get without anybody's intent.
SIGNALS = (signal.SIGCONT, signal.SIGURG, signal.SIGCHLD, signal.SIGWINCH)

_NEW_NS, _NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_PID, _NEW_NET = (  # linux/sched.h
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_BIND, _PRIVATE, _RECURSIVE = 0x1000, 0x40000, 0x4000  # linux/mount.h
_NO_RANDOMIZE, _COMPAT_LAYOUT = 0x0040000, 0x0200000  # linux/personality.h


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


def pinned(conditions: Conditions) -> tuple[str, ...]:
    """What the guest's first process is told of the CPU."""
    tunables, *others = vm.PINNED
    return ",".join([tunables, *(f"-{name}" for name in conditions.masked)]), *others


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


def enter_container(machine: vm.Machine, folder: Path, root: Path) -> tuple[vm.Machine, Path]:
    """Go where a container would be; the machine and the scratch folder as they are named there.

    The programs and libraries are those of the guest's root file system, /proc is the only file
    system of the kernel, and the next process is number 1.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    jail = folder.parent / "jail"
    namespaces = _NEW_NS | _NEW_UTS | _NEW_IPC | _NEW_NET
    _call(libc.unshare(namespaces), "unshare")

    def mount(source: Path | str, target: str, kind: str | None, flags: int) -> None:
        place = jail / target
        place.mkdir(parents=True, exist_ok=True)
        words = (os.fsencode(source), os.fsencode(place), kind and kind.encode())
        _call(libc.mount(*words, ctypes.c_ulong(flags), None), f"mount {target}")

    _call(libc.mount(b"none", b"/", None, ctypes.c_ulong(_PRIVATE | _RECURSIVE), None), "mount")
    (jail / "bin").mkdir(parents=True)
    shutil.copy(machine.kernel, jail / "bin/linux")
    (jail / "bin/bash").symlink_to("/usr/bin/bash")
    shutil.copy(shutil.which("ldd") or "/usr/bin/ldd", jail / "bin/ldd")  # a script of bash
    mount(root / "usr", "usr", None, _BIND)
    for name in ("lib", "lib64"):
        (jail / name).symlink_to(f"usr/{name}")
    mount(root, "guest", None, _BIND)
    mount("/proc", "proc", None, _BIND | _RECURSIVE)
    mount("/dev", "dev", None, _BIND | _RECURSIVE)
    mount("tmpfs", "tmp", "tmpfs", 0)
    mount(folder, "lab", None, _BIND)
    host = b"a-container"
    _call(libc.sethostname(host, len(host)), "sethostname")
    confine.system_calls(False)  # now: they are in a file of this package
    os.chroot(jail)
    os.chdir("/")
    os.environ.update(XDG_CACHE_HOME="/lab/cache", TMPDIR="/tmp")  # noqa: S108
    kernel = Path("/bin/linux")
    confine.libraries(kernel)  # now: it starts a process
    _call(libc.unshare(_NEW_PID), "unshare")
    return replace(machine, kernel=kernel, root=Path("/guest")), Path("/lab")


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
        self._pid = 0

    def __call__(self, pid: int) -> None:
        # By a timer: on a busy machine whoever polls looks twice while a short guest runs. Not by
        # a thread: there is none to be had once the processes to come have a namespace of theirs.
        if self._conditions.stops and not self._pid:
            self._pid = pid
            signal.signal(signal.SIGALRM, self._due)
            self._later()

    def _later(self) -> None:
        wait_s = max(0.001, self._chance.uniform(0, 2 * self._conditions.stops))
        signal.setitimer(signal.ITIMER_REAL, wait_s)

    def _due(self, number: int, frame: FrameType | None) -> None:
        with suppress(ChildProcessError, ProcessLookupError):  # it was waited for
            if not vm.has_ended(self._pid):
                self._stop(self._pid)
                self._later()

    def _stop(self, pid: int) -> None:
        booted = self._status.exists() and self._status.stat().st_size
        # Behind namespaces the guest's kernel is not the first process of its group.
        send, pid = (os.killpg, os.getpgid(pid)) if booted else (os.kill, pid)
        if self._conditions.signals:
            for number in SIGNALS:
                send(pid, number)
        send(pid, self._chance.choice((signal.SIGSTOP, signal.SIGTSTP)))
        time.sleep(self._chance.uniform(0.001, 0.05))
        send(pid, signal.SIGCONT)
        self.stops += 1


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
