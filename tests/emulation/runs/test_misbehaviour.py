"""Programs that want to take a run down: each ends it with its cause, and leaves nothing behind."""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from qdisclab.emulation import kernel
from qdisclab.emulation.errors import EmulationError, GuestFailure, GuestHung, TrafficFailure
from qdisclab.emulation.host import scratch
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.model.units import Duration, Size
from qdisclab.emulation.runs import execution
from qdisclab.emulation.runs.execution import Execution

pytestmark = pytest.mark.kernel

#: What every program begins with.
START = """
import ctypes, glob, json, os, resource, signal, socket, struct, subprocess, sys, time
libc = ctypes.CDLL(None)
def forever(path, text, flags=os.O_WRONLY | os.O_APPEND):
    file = os.open(path, flags)
    while True:
        os.write(file, text)
def say(line):
    with open('/job/status', 'a') as file:
        file.write(line + '\\n')
def clock():
    '''The words of the clock that is lent to this process: now, until, …'''
    libc.getauxval.restype = ctypes.c_ulong
    vdso = libc.getauxval(33)
    place = ctypes.c_ulong.from_address(vdso + 4096 - 8).value
    return (ctypes.c_ulonglong * 9).from_address(place)
"""

OUT = "/job/out/programs/command"
MEMORY = "invoked oom-killer.*give it more `memory`"
STILL = "virtual time has stood still"
WROTE = "a program in the guest wrote into it"
PAGE = "Kernel panic - not syncing: time-travel: a program wrote into the clock page"
ENDED = "Attempted to kill init! exitcode=0x00000100; .*: '/job/out"
OFF = "the guest was shut down before it was done"

#: Program, error, what is said of it.
CASES: dict[str, tuple[str, type[EmulationError], str]] = {
    # more of something than there is
    "fork bomb": ("while True:\n  try: os.fork()\n  except OSError: pass", EmulationError,
                  f"{MEMORY}|{STILL}"),
    "sleepers": ("while True:\n  try:\n    if not os.fork(): time.sleep(1e4)\n"
                 "  except OSError: pass", EmulationError, f"{MEMORY}|{STILL}"),
    "memory": ("x = []\nwhile True: x.append(bytearray(1 << 20))", GuestFailure, MEMORY),
    "tmpfs": ("for place in '/tmp', '/dev/shm', '/run', '/root/work':\n"
              "  try:\n    with open(f'{place}/x', 'wb') as file:\n"
              "      while True: file.write(bytes(1 << 20))\n"
              "  except OSError: pass", EmulationError, f"{MEMORY}|{STILL}"),
    "output": ("while True: os.write(1, bytes(1 << 16))", GuestFailure,
               "command/stdout: the guest left more than 64 MiB"),
    "console": ("forever('/dev/console', b'x' * 4096)", GuestFailure,
                "console: the guest left more than 16 MiB"),
    "kernel log": ("forever('/dev/kmsg', b'<0>' + b'x' * 900)", GuestHung, STILL),
    "written log": ("forever('/job/out/kernel.log', bytes(1 << 16), os.O_CREAT | os.O_WRONLY)",
                    GuestFailure, "kernel.log: the guest left more than 16 MiB"),
    "sparse file": (f"os.truncate(os.open('{OUT}/x', os.O_CREAT | os.O_RDWR), 1 << 35)",
                    GuestFailure, "command/x: the guest left more than 64 MiB"),
    "kept file": ("os.truncate(os.open('x', os.O_CREAT | os.O_RDWR), 1 << 27)", GuestFailure,
                  "files/x: the guest left more than 64 MiB"),
    "files": ("for i in range(1 << 20): open(f'/job/out/{i}', 'w')", GuestFailure,
              "the guest left more than 500 files"),
    "deep folders": ("os.chdir('/job/out')\nwhile True:\n  try:\n"
                     "    os.mkdir('a'); os.chdir('a')\n  except OSError: break", GuestFailure,
                     "job/out/a/a: the guest left more than 32 folders in each other"),
    "descriptors": ("resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))\nx = []\n"
                    "while True:\n  try: x.append(open('/job/job.json'))\n  except OSError: pass",
                    GuestHung, STILL),
    # no end
    "sleeps": ("time.sleep(1e5)", TrafficFailure, "has not ended by 5 s"),
    "reads the clock": ("while True: time.monotonic()", TrafficFailure, "has not ended by 5 s"),
    "computes": ("while True: pass", GuestHung, STILL),
    "system calls": ("while True: os.getppid()", GuestHung, STILL),
    "real-time priority": ("os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))\n"
                           "while True: pass", GuestHung, STILL),
    # what the host reads
    "endless status": ("forever('/job/status', b'{\"step\": \"x\", \"virtual_s\": 2}\\n' * 999)",
                       GuestFailure, "status.* longer than 16 MiB|job/status: .* more than 64 MiB"),
    "garbage": ("say('garbage')", GuestFailure, f"not JSON: garbage; {WROTE}"),
    "endless line": ("forever('/job/status', b'x' * 65536)", GuestFailure,
                     "a line of more than 1048576 bytes|job/status: .* more than 64 MiB"),
    "deep JSON": ("say('[' * 100000)", GuestFailure, "a line that is not JSON"),
    "other types": ("say('{\"step\": 5, \"virtual_s\": \"x\"}')", GuestFailure, "not a step"),
    "no number": ("say('{\"step\": \"x\", \"virtual_s\": NaN}')", GuestFailure, "not a step"),
    "says done": ("say('{\"step\": \"done\", \"virtual_s\": 2}')", GuestFailure,
                  f"goes on after 'done'; {WROTE}"),
    "says done and ends": ("say('{\"step\": \"done\", \"virtual_s\": 2}')\n"
                           "libc.reboot(0x4321FEDC)", GuestFailure,
                           "what the guest left cannot be read: .*programs.json"),
    "another time": ("say('{\"step\": \"x\", \"virtual_s\": 1e300}')", GuestFailure,
                     "goes back in time"),
    "empties the status": ("os.truncate('/job/status', 0)", GuestFailure,
                           "has become shorter|is not what it was|does not begin"),
    "removes its output": (f"os.unlink('{OUT}/stdout')", GuestFailure, "cannot be read: .*stdout"),
    # the first process and its files
    "its memory": ("maps = open('/proc/1/maps').read().splitlines()\n"
                   "memory = os.open('/proc/1/mem', os.O_RDWR)\n"
                   "for line in maps:\n"
                   "  a, b = (int(word, 16) for word in line.split()[0].split('-'))\n"
                   "  try: os.pwrite(memory, b'\\xcc' * min(b - a, 1 << 16), a)\n"
                   "  except OSError: pass\n"
                   "time.sleep(5)", GuestFailure, "Attempted to kill init!"),
    "its folder": ("subprocess.run(['rm', '-rf', '/job/out'])", GuestFailure,
                   "what the guest left cannot be read"),
    "its mount": ("os.system('umount -l /job')", GuestFailure, ENDED),
    "over its mount": ("os.system('mount -t tmpfs tmpfs /job')", GuestFailure, ENDED),
    "power off": ("libc.reboot(0x4321FEDC)", GuestFailure, OFF),
    "restart": ("libc.reboot(0x01234567)", GuestFailure, OFF),
    "halt": ("libc.reboot(0xCDEF0123)", GuestFailure, OFF),
    # virtual time
    "time back": ("clock()[0] = 5; os.getpid()", GuestFailure, PAGE),
    "time forward": ("clock()[0] += 256 * 10**10; os.getpid()", GuestFailure, PAGE),
    "the next event": ("clock()[0] = clock()[1]; os.getpid()", GuestFailure, PAGE),
    "between ticks": ("clock()[0] += 1; os.getpid()", GuestFailure, PAGE),
    "a longer loan": ("c = clock()\nfor _ in range(20000): c[1] = 1 << 60; time.monotonic()\n"
                      "os.getpid()",
                      GuestFailure, PAGE),
    "no loan": ("c = clock(); c[1] = 0; c[0] = 7; os.getpid()", GuestFailure, PAGE),
    "the end of time": ("clock()[0] = (1 << 63) - 1; os.getpid()", GuestFailure, PAGE),
}  # fmt: skip

#: Programs that cannot do what they want. They run one after the other, in one guest.
HARMLESS = {
    "kills the first process": "os.kill(1, 9); os.kill(1, 19); os.kill(-1, 18)",
    "removes the status": "os.rename('/job/status', '/job/gone')",
    "a pipe in its place": "os.mkfifo('/job/status')",
    "links in the output": f"os.symlink('/etc/passwd', '{OUT}/link'); os.mkfifo('{OUT}/pipe')",
    "a closed folder": f"os.mkdir('{OUT}/closed'); os.chmod('{OUT}/closed', 0)",
    "panic by sysrq": "open('/proc/sysrq-trigger', 'w').write('c')",
    "memory of the kernel": "os.open('/dev/mem', os.O_RDWR)",
    "a module": "assert libc.syscall(175, bytes(99), 99, b'') == -1",
    "sets the date": "time.clock_settime(time.CLOCK_REALTIME, 5e9)",
    "switches of the scheduler": "[open(p, 'w').write('1') for p in "
    "glob.glob('/proc/sys/kernel/sched_rt*')]",
    "removes all": "os.system('rm -rf --no-preserve-root /usr/share /etc 2>/dev/null')",
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the scratch folders are; small limits; afterwards, nothing is left of a guest."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(scratch, "MOST_BYTES", 64 << 20)
    monkeypatch.setattr(scratch, "MOST_FILES", 500)
    yield folder
    assert not list(folder.iterdir())
    for _ in range(100):  # a killed process holds its folder until its memory is free
        if not (left := [at for at in at_work() if str(folder) in at]):
            break
        time.sleep(0.1)
    assert not left
    assert not (tmp_path / "out").exists()


def at_work() -> list[str]:
    """The working folders of all processes."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            found.append(os.readlink(link))  # noqa: PTH115
        except OSError:
            continue
    return found


def wanted(program: str) -> Execution:
    command = ("python3", "-c", START + program)
    return Execution(command, timeout=Duration(5 * 10**9), memory=Size(96 << 20))


@pytest.mark.parametrize("name", CASES)
def test_its_cause_is_told_and_nothing_kept(name: str, tmp_path: Path) -> None:
    program, kind, said = CASES[name]
    kept, hang_s = tmp_path / "kept", 1.5 if STILL in said else 30
    with pytest.raises(kind, match=f"(?s){said}") as caught:
        execution.execute(
            wanted(program), kernel.build(), rootfs.build(), tmp_path / "out",
            hang_s=hang_s, keep=kept,
        )  # fmt: skip
    assert len(str(caught.value)) < 600
    assert sum(path.lstat().st_size for path in kept.rglob("*")) < 300 << 20
    assert not any(path.is_symlink() or path.is_fifo() for path in (kept / "job").rglob("*"))


@pytest.mark.parametrize("series", kernel.all_series()[1:])  # 6.1 has no time in that memory
def test_every_series_refuses_a_time_that_a_program_wrote(series: str, tmp_path: Path) -> None:
    built = kernel.find(series)
    if built is None:
        pytest.skip(f"no kernel {series} is in the cache")
    program = wanted(CASES["time forward"][0])
    with pytest.raises(GuestFailure, match=PAGE):
        execution.execute(program, built, rootfs.build(), tmp_path / "out")


def test_what_has_no_effect_changes_nothing(tmp_path: Path) -> None:
    """The agent goes on, and what came of the command is there."""
    lines = [f"{name!r}: {program!r}," for name, program in HARMLESS.items()]
    program = (
        "programs = {" + "".join(lines) + "}\nfor name, program in programs.items():\n"
        "  done = subprocess.run([sys.executable, '-c', START + program])\n"
        "  print(name, done.returncode)\n"
    )
    asked = wanted(f"START = {START!r}\n{program}")
    root = rootfs.build()
    outcome = execution.execute(asked, kernel.build(), root, tmp_path / "out")
    said = (outcome.folder / "stdout").read_text()
    assert outcome.status == 0
    assert [line.rsplit(" ", 1)[0] for line in said.splitlines()] == list(HARMLESS)
    assert not (outcome.folder / "link").is_symlink()
    assert (outcome.folder / "closed").is_dir()
    assert (root.path / "etc/passwd").exists()
    for path in sorted(outcome.folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    outcome.folder.rmdir()
