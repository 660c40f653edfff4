"""Boot the kernel on a root file system, watch it, and report how it ended.

A guest is an ordinary process of the host: no root, no device, no network. It reads its root file
system, its layers and the scratch folder of its job, and writes `out` and `status` of that job; the
host's kernel enforces this (`emulation.host.confine`, `SECURITY.md`), whatever runs in the guest.
The guest reports its progress in the job's `status`, a file separate from the console. All options
of the kernel are either the same for every boot or kept off its command line, since the command
line is an input of its random number generator.
"""

import json
import os
import resource
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qdisclab.emulation import errors
from qdisclab.emulation.host import confine, cpus, pool, scratch, seal, storage
from qdisclab.emulation.host.scratch import check, read_text, tame
from qdisclab.emulation.kernel import builder, module
from qdisclab.emulation.machine import busy, crash, guestcode
from qdisclab.emulation.machine.layer import Layer, names
from qdisclab.emulation.machine.patience import Patience
from qdisclab.emulation.machine.status import Status

#: Midnight UTC, 1 January 2015, when every guest starts, in nanoseconds since 1970.
START_NS = 1_420_070_400_000_000_000

#: Text in the kernel's log or console that invalidates a run; `NO_MEMORY` calls for more memory,
#: and `CRASHED` is about a program, which may be one that somebody wants to see crash.
NO_MEMORY = ("invoked oom-killer", "Out of memory")
CRASHED = "segfault at"
COMPLAINTS = (
    *(*NO_MEMORY, "WARNING:", "BUG:", "] BUG ", "UBSAN:", "Oops", "Kernel panic", "Call Trace"),
    CRASHED,
    *("blocked for more than", "rcu_sched detected stalls"),
    "child stopped with signal",  # the host stopped or signalled a user process of the guest
)
#: Most lines that tell where a complaint is from.
TRACE = 60

#: The kernel's message when it begins to reclaim memory (`mm-tell-reclaim`).
SHORT_OF_MEMORY = "free memory is short"
MORE_MEMORY = "it is short of memory: give it more `memory`"
AGAIN = (
    "run it again with the same --seed: a guest that hangs hangs every time; one with little memory"
    " left reads its programs again and again: give it more"
)

#: The kernel's message when its first process has ended.
NO_INIT = "Attempted to kill init"

#: Environment variables of the first process, to which the kernel passes options that it does not
#: know. CPU features decide which folders the dynamic loader probes, each miss being a failing
#: system call that takes virtual time, and how Go hashes: these make all CPUs look alike.
PINNED = (
    # Leaves x86-64-v2; AVX512CD brings in the loader's old folders "avx512_1".
    "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512CD",
    "GODEBUG=cpu.all=off",
    "PYTHONHASHSEED=0",
)

#: For the kernel's own C library: else the host writes to its memory at each change of process.
NO_RSEQ = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}

#: Wall seconds without a line of status after which a guest counts as hung (`patience`).
HANG_S = 120.0

#: Work whose first step is that the guest has booted (`guest/main.py`).
BOOTED = frozenset({"run", "programs", "shell", "boot"})

#: Wall seconds between two looks at the status.
POLL_S = 0.02

#: Wall seconds between two looks at how much the guest has written: some GB at most.
LOOK_S = 0.5

#: Files of the host that a guest's kernel and its C library also read, and the null device.
READ = (Path("/etc/ld.so.cache"), Path("/proc/cpuinfo"))
NULL = Path("/dev/null")

#: Most bytes of a file that a guest may leave, and of the address space that one of its processes
#: may have in addition to the guest's memory.
MOST_FILE = 64 * 2**30
MOST_BESIDES = 64 * 2**30


@dataclass(frozen=True)
class Machine:
    """What is booted.

    `kernel`: the binary; `root`: the folder of the root file system; `memory_mib`: the guest's
    memory; `seed`: that of all its random numbers; `terminal`: whether its console is the standard
    input and output of this process and its clock the host's, for a person to type at; `modules`:
    those that its kernel loads; `layers`: packages over the root; `probe`: the module that records
    (`emulation.kinds.probes.probe`); `may_crash`: whether a program that crashes is a result like
    any other.
    """

    kernel: Path
    root: Path
    seed: int
    memory_mib: int = 192
    terminal: bool = False
    modules: tuple[module.Module, ...] = ()
    layers: tuple[Layer, ...] = ()
    probe: module.Module | None = None
    may_crash: bool = False

    @property
    def loaded(self) -> tuple[module.Module, ...]:
        """Return all modules that its kernel loads."""
        return self.modules + ((self.probe,) if self.probe else ())

    def check(self) -> None:
        """Raise `DamagedCache` if a file of the cache that is booted is not as it was made."""
        builder.check(self.kernel)
        packages = (layer.path for layer in self.layers)
        for folder in (self.root, *packages, *(each.folder for each in self.loaded)):
            seal.check(folder)


#: How a problem in the status refers to the kernel's log.
SEE_LOG = "see kernel.log"

#: A cause in the status -> the error to raise; any other failure is a `GuestFailure`.
CAUSES = {"rig": errors.RigMismatch, "traffic": errors.TrafficFailure}


@dataclass
class Ending:
    """How a guest ended.

    `steps`: the lines of its status; `wall_s`, `cpu_s`: seconds on the host; `notes`: what somebody
    who uses its results should know.
    """

    steps: list[dict[str, Any]] = field(default_factory=list)
    wall_s: float = 0.0
    cpu_s: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def virtual_s(self) -> float:
        """Return the guest's clock at its last step, in seconds."""
        return float(self.steps[-1]["virtual_s"]) if self.steps else 0.0

    def check(self) -> None:
        """Raise the `EmulationError` that the last line of the status reports, if any."""
        last = self.steps[-1]
        if last["step"] != "done":
            problems = last.get("problems", ["the guest was shut down before it was done"])
            if last.get("cause") in CAUSES:
                raise CAUSES[last["cause"]]("; ".join(problems))
            steps = ["boot", *(line["step"] for line in self.steps if line["step"] != "failed")]
            raise errors.GuestFailure("; ".join(problems), f"after step '{steps[-1]}' of the guest")

    def step(self, name: str) -> dict[str, Any]:
        """Return the first line of that step; raise `GuestFailure` if it was never reached."""
        for line in self.steps:
            if line["step"] == name:
                return line
        raise errors.GuestFailure(what=f"the guest never reached the step '{name}'")


def prepare(
    folder: Path,
    machine: Machine,
    job: dict[str, Any],
    script: str | None = None,
    files: Iterable[tuple[str, Path]] = (),
) -> None:
    """Lay out the scratch `folder` of a guest: what it boots, its job and the code that does it.

    `script`: the Python program of a job whose work is `script`; `files`: (name in the guest, path)
    of each file for its programs.
    """
    if files or "programs" in job.get("traffic", {}):
        confine.require()
    (folder / "root").symlink_to(machine.root.resolve())  # hostfs follows one link and no more
    (folder / "uml").mkdir()
    (folder / "job" / "guest").mkdir(parents=True)
    layers = dict(zip(names(machine.layers), machine.layers, strict=True))
    job = {**job, "layers": list(layers)} if layers else job
    for name, content in guestcode.files(job).items():
        (folder / "job" / "guest" / name).write_bytes(content)
    module.put(machine.loaded, folder / "job")
    if script is not None:
        (folder / "job" / "script.py").write_text(script)
    for name, source in files:
        place = folder / "job" / "files" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
    for name, layer in layers.items():
        (folder / name).symlink_to(layer.path.resolve())
    (folder / "job" / "out").mkdir()
    (folder / "job" / "status").touch()  # the guest writes to it and cannot put a link there
    (folder / "job" / "job.json").write_text(json.dumps(job, sort_keys=True, indent=1))


def command(machine: Machine) -> list[str]:
    """Return the command that starts a guest in its scratch folder; no argument is a host path."""
    return [
        str(machine.kernel),
        f"mem={machine.memory_mib}M",
        f"seed={machine.seed}",  # the kernel keeps it off its command line
        "hostfs=/proc/self/cwd",  # a mount names an entry of the scratch folder
        "uml_dir=uml/",  # instead of ~/.uml: the home folder may not be writable
        "umid=guest",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=root",
        "ro",
        "init=/usr/sbin/guest-init",
        *(() if machine.terminal else ("time-travel=inf-cpu", f"time-travel-start={START_NS}")),
        "con=null",
        "con0=fd:0,fd:1" if machine.terminal else "con0=null,fd:1",
        "loglevel=5",
        "panic=-1",
        "noreboot",
        *PINNED,
    ]


def run(
    machine: Machine,
    folder: Path,
    on_step: Callable[[dict[str, Any]], None] = lambda step: None,
    hang_s: float = HANG_S,
    on_poll: Callable[[int], None] = lambda pid: None,
) -> Ending:
    """Boot the guest that `prepare` laid out in `folder` and wait until it is switched off.

    `on_step` gets each line of status as it comes; `on_poll` gets the process id of the guest's
    kernel at its start and every `POLL_S`. Raises `GuestFailure` if the kernel complained or the
    guest ended without reporting, and `GuestHung` if virtual time stood still for `hang_s` wall
    seconds in which the guest had a processor or did not want one. Where the kernel crashed without
    a word on where, the guest is repeated with a console that tells it. The guest dies with this
    process, whatever kills it.
    """
    try:
        return _run(machine, folder, on_step, hang_s, on_poll)
    except errors.GuestFailure as failure:
        console = read_text(folder / "console")
        if not machine.terminal and crash.hides(console):
            at = _repeated(machine, folder, hang_s, on_poll)
            failure.what += f", at {at}" if at else ""
            if not at:
                (folder / "console").write_text(console)
        raise


def _repeated(machine: Machine, folder: Path, hang_s: float, on_poll: Callable[[int], None]) -> str:
    """Repeat a guest that has crashed in `folder`, and return where it crashes; "" if not told."""
    job = folder / "job"
    for place in (folder / "uml", job / "out"):
        storage.remove(place)
        place.mkdir()
    (job / "status").unlink(missing_ok=True)
    (job / "status").touch()
    raise_level = crash.loud(machine.kernel)

    def poll(pid: int) -> None:
        on_poll(pid)
        raise_level(pid)

    with suppress(errors.GuestFailure, errors.GuestHung):
        _run(machine, folder, lambda step: None, hang_s, poll)
    return crash.place(read_text(folder / "console"))


def _run(
    machine: Machine,
    folder: Path,
    on_step: Callable[[dict[str, Any]], None],
    hang_s: float,
    on_poll: Callable[[int], None],
) -> Ending:
    """Do what `run` does, once."""
    ending = Ending()
    began = time.monotonic()
    job = json.loads((folder / "job" / "job.json").read_text())
    begins = "booted" if job.get("work", "run") in BOOTED else ""
    with (
        confine.refusals(),
        cpus.claim() as cpu,
        scratch.folder(memory_folder(machine.memory_mib)) as memory,
        (folder / "console").open("wb") as console,
    ):
        limits = {resource.RLIMIT_FSIZE: MOST_FILE}
        limits[resource.RLIMIT_AS] = (machine.memory_mib << 20) + MOST_BESIDES
        enter = confine.confined(_reach(machine, folder, memory), limits)
        parent = os.getpid()
        process = subprocess.Popen(
            command(machine),
            stdin=None if machine.terminal else subprocess.DEVNULL,
            stdout=None if machine.terminal else console,
            stderr=console,
            cwd=folder,
            env={"TMPDIR": str(memory), "HOME": str(folder), **NO_RSEQ},
            start_new_session=True,
            preexec_fn=lambda: _before_boot(cpu, parent, enter),
        )
        try:
            on_poll(process.pid)  # a short guest may end before the next line does
            _watch(process, folder, begins, ending, on_step, hang_s, on_poll, machine.may_crash)
        except errors.GuestHung as hung:
            if at := crash.spins_at(process.pid, machine.kernel, folder / "console"):
                hung.what += f"; its kernel is at {at}"
            raise
        finally:
            _end(process)
            tame(folder)
    machine.check()  # this guest or another may have changed the cache
    _check_room(folder, ending, machine.may_crash)
    ending.wall_s = time.monotonic() - began
    _verdict(folder, ending, process.returncode, machine.may_crash)
    if _short_of_memory(folder):
        note = "its guest was short of memory, which can affect results; give it more `memory`"
        ending.notes.append(note)
    return ending


def memory_folder(memory_mib: int) -> Path:
    """Return a folder for the guest's memory: it has room and may be mapped executable.

    It is the first of $TMPDIR, /dev/shm, /tmp and /var/tmp that qualifies; raises `MissingTool` if
    none does.
    """
    for name in (os.environ.get("TMPDIR"), "/dev/shm", "/tmp", "/var/tmp"):  # noqa: S108
        if not name or not os.access(name, os.W_OK | os.X_OK):
            continue
        about = os.statvfs(name)
        room_mib = about.f_bavail * about.f_frsize >> 20
        if not about.f_flag & os.ST_NOEXEC and room_mib >= memory_mib:
            return Path(name)
    what = f"no temporary folder has {memory_mib} MiB of room and may hold executable memory"
    todo = "set TMPDIR to a folder on a file system mounted without noexec"
    raise errors.MissingTool(what, "$TMPDIR, /dev/shm, /tmp, /var/tmp", todo)


def _reach(machine: Machine, folder: Path, memory: Path) -> confine.Reach:
    """Return what a guest may use of the host."""
    loader, libraries = confine.libraries(machine.kernel)
    linked = (path.resolve() for path in folder.iterdir() if path.is_symlink())  # root and layers
    return confine.Reach(
        folder,
        runs=(machine.kernel, *loader),
        reads=(folder, *linked, *libraries, *READ),
        writes=(folder / "uml", folder / "job" / "out", folder / "job" / "status", memory, NULL),
    )


def _before_boot(cpu: int, parent: int, enter: Callable[[], None]) -> None:
    os.sched_setaffinity(0, {cpu})
    # hostfs keeps a file open as long as the guest remembers its inode.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    pool.follow(parent)
    enter()


def _watch(
    process: subprocess.Popen[bytes],
    folder: Path,
    begins: str,
    ending: Ending,
    on_step: Callable[[dict[str, Any]], None],
    hang_s: float,
    on_poll: Callable[[int], None],
    may_crash: bool = False,
) -> None:
    """Follow the guest's status, which `begins` with that step, until it ends."""
    patience, looked = Patience(process.pid), time.monotonic()
    with _end_of(process.pid) as end, Status(folder / "job" / "status", begins) as status:
        while True:
            ended = has_ended(process.pid)
            if steps := status.steps():
                patience.heard()
            for step in steps:
                ending.steps.append(step)
                on_step(step)
            if ended:
                status.check()
                ending.cpu_s = cpu_seconds(process.pid)
                process.wait()
                return
            if time.monotonic() - looked >= LOOK_S:
                _check_room(folder, ending, may_crash)
                looked = time.monotonic()
            if patience.waited_s() >= hang_s:
                check_complaints(folder, ending, may_crash)  # the kernel may know why it hangs
                now_s = ending.virtual_s
                what = f"virtual time has stood still at {now_s:.3f} s for {hang_s:g} s"
                where = f"step '{ending.steps[-1]['step'] if ending.steps else 'boot'}'"
                todo = MORE_MEMORY if _short_of_memory(folder) else AGAIN
                raise errors.GuestHung(what + busy.whereabouts(process.pid), where, todo)
            on_poll(process.pid)
            end.poll(POLL_S * 1000)


def _check_room(folder: Path, ending: Ending, may_crash: bool) -> None:
    """Raise `GuestFailure` if the guest has left too much; what its kernel complains of is why."""
    try:
        check(folder)
    except errors.GuestFailure:
        check_complaints(folder, ending, may_crash)
        raise


def _end(process: subprocess.Popen[bytes]) -> None:
    """Make sure that the guest is gone."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def _end_of(pid: int) -> Iterator[select.poll]:
    """Yield what waits for the end of the guest; for nothing where the host cannot tell it."""
    end = select.poll()
    with ExitStack() as stack:
        with suppress(OSError):  # Linux before 5.3
            descriptor = os.pidfd_open(pid)
            stack.callback(os.close, descriptor)
            end.register(descriptor, select.POLLIN)
        yield end


def has_ended(pid: int) -> bool:
    """Return whether the guest has ended; its resource usage can still be read then."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process and of its children that have ended (proc(5), `stat`)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def check_complaints(folder: Path, ending: Ending, may_crash: bool = False) -> None:
    """Raise `GuestFailure` with the first complaint of the guest's kernel, if any.

    With `may_crash`, the crash of a program is none.
    """
    complaints = [text for text in COMPLAINTS if text != CRASHED or not may_crash]
    for name in ("console", "job/out/kernel.log"):
        last_words = ""
        lines = read_text(folder / name).splitlines()
        for number, line in enumerate(lines):
            if NO_INIT in line:
                what = f"the guest's kernel says: {line.strip()}{last_words}"
                todo = "a program killed its first process, or removed that one's files"
                raise errors.GuestFailure(what, f"{ending.virtual_s:.3f} s", todo)
            if line.strip() and not line.startswith("["):  # the kernel's begin with the time
                last_words = f"; last output: {line.strip()[:200]}"
            if any(complaint in line for complaint in complaints):
                short = any(complaint in line for complaint in NO_MEMORY)
                what = f"the guest's kernel says: {line.strip()}"
                at = crash.place("\n".join(lines[number : number + TRACE]))
                what += f", at {at}" if at and at not in line else ""
                todo = "give it more `memory` in the experiment" if short else f"see {name}"
                raise errors.GuestFailure(what, f"{ending.virtual_s:.3f} s", todo)


def _short_of_memory(folder: Path) -> bool:
    """Return whether the guest's kernel had to reclaim memory."""
    return SHORT_OF_MEMORY in read_text(folder / "console")


def _quote_log(folder: Path, ending: Ending) -> None:
    """Put what the guest's kernel said last into problems that refer to its log."""
    last = ending.steps[-1] if ending.steps else {}
    if any(SEE_LOG in problem for problem in last.get("problems", ())):
        lines = read_text(folder / "job/out/kernel.log").splitlines()
        words = next((line for line in reversed(lines) if line[:1].isdigit()), "").partition(";")[2]
        text = f"the kernel's log ends with '{errors.printable(words[:200])}'"
        last["problems"] = [problem.replace(SEE_LOG, text) for problem in last["problems"]]


def _verdict(folder: Path, ending: Ending, status: int, may_crash: bool = False) -> None:
    """Raise the failure that the console, the kernel's log or the exit status shows, if any."""
    check_complaints(folder, ending, may_crash)
    _quote_log(folder, ending)
    if status or not ending.steps:
        tail = read_text(folder / "console").strip().splitlines()[-3:]
        what = f"the guest ended with status {status}: " + " / ".join(tail)
        todo = "something killed it: check whether the host ran out of memory (dmesg), and run it"
        todo += " again, with fewer at once (--jobs)"
        todo = todo if status == -signal.SIGKILL else ""
        raise errors.GuestFailure(what, f"{ending.virtual_s:.3f} s", todo)
