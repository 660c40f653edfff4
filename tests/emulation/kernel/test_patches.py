"""The kernel's patches: what their files say, and the switches of a guest at their defaults."""

import os
import re
import signal
import tempfile
import time
from contextlib import suppress
from email import message_from_string
from pathlib import Path

import pytest

from qdisclab.emulation import kernel
from qdisclab.emulation.errors import GuestFailure
from qdisclab.emulation.host.cache import cache_dir
from qdisclab.emulation.kernel import make, recipe as recipes, source as sources
from qdisclab.emulation.kernel.recipe import RECIPE_DIR
from qdisclab.emulation.machine import rootfs, vm
from tests import captured
from tests.kernels import OLDEST, TODAY, load_module, needs_oldest, needs_today, run_script

PATCHES = RECIPE_DIR / "patches"
SERIES = [
    line.split()[1:]
    for line in (PATCHES / "series").read_text().splitlines()
    if line and not line.startswith("#")
]
FILES = sorted({words[-1] for words in SERIES if words[0] != "none"})

EACH = ["6.12", pytest.param(TODAY, marks=needs_today)]
OLD = ["6.12", pytest.param(OLDEST, marks=needs_oldest)]
ALL = [*OLD, *EACH[1:]]

#: Where a guest has a switch, what it is at first, and a value that it must not take.
SWITCHES = {
    "/sys/module/sch_pie/parameters/burst_ms": ("150", "many"),
    "/sys/module/sch_pie/parameters/dq_threshold": ("16384", "-1"),
    "/sys/module/sch_pie/parameters/derandomize": ("Y", "2"),
    "/sys/module/sch_pie/parameters/tune_steps": ("6", "7"),
    "/sys/module/sch_pie/parameters/short_prob": ("N", "2"),
    "/sys/module/sch_pie/parameters/mark_all": ("N", "2"),
    "/sys/module/tcp_cubic/parameters/hystart_early": ("N", "2"),
    "/proc/sys/net/ipv4/tcp_gso": ("1", "2"),
    "/proc/sys/net/ipv4/tcp_count_acks": ("0", "2"),
    "/proc/sys/net/ipv4/tcp_fack": ("0", "256"),
    "/sys/module/tcp_cubic/parameters/rtt_jiffies": ("N", "2"),
    "/sys/module/tcp_cubic/parameters/train_alone": ("N", "2"),
    "/proc/sys/net/ipv4/tcp_early_retransmit": ("0", "2"),
    "/proc/sys/net/ipv4/tcp_prr_grow": ("0", "2"),
    "/proc/sys/net/ipv4/tcp_tlp_delack": ("0", "2"),
}

LOOK = """
status('booted')
for path, bad in {bad!r}:
    with open(path) as file:
        found = file.read().strip()
    try:
        with open(path, 'w') as file:
            file.write(bad)
        refused = False
    except OSError:
        refused = True
    status('switch', path=path, found=found, refused=refused)
with open('/proc/cpuinfo') as file:
    status('cpu', lines=[line.split(':') for line in file.read().splitlines()])
"""


def test_every_file_is_in_the_series() -> None:
    assert {str(path.relative_to(PATCHES)) for path in PATCHES.glob("*/*.patch")} == set(FILES)


@pytest.mark.kernel
@pytest.mark.parametrize(
    "series", [one for one in recipes.all_series() if kernel.find(one) is None]
)
def test_a_series_that_is_not_built_takes_its_patches(series: str) -> None:
    """One that is built has shown it."""
    recipe = recipes.load(series)
    assert recipe.origin is not None
    with tempfile.TemporaryDirectory() as place:  # 1.5 GB, which pytest would keep
        found = sources.fetch(recipe.origin, cache_dir("kernel") / "sources")
        tree = sources.unpack(found, Path(place))
        make.apply_patches(recipe, tree, Path(place) / "log")


@pytest.mark.parametrize("name", FILES)
def test_a_patch_is_a_mail_that_names_nobody(name: str) -> None:
    text = (PATCHES / name).read_text()
    mail = message_from_string(text)
    author = "The qdisc-lab authors <authors@qdisc-lab.invalid>"
    assert text.startswith(f"From {'0' * 40} ")
    assert mail["From"] == author
    assert mail["Subject"].startswith("[PATCH] ")
    assert f"\nSigned-off-by: {author}\n" in text


@pytest.mark.parametrize("name", sorted({Path(words[-1]).stem for words in SERIES}))
def test_a_patch_is_in_one_row_of_a_table(name: str) -> None:
    rows = (RECIPE_DIR / "README.md").read_text()
    assert len(re.findall(rf"^\|.*`{re.escape(name)}`.*\|$", rows, re.M)) == 1


@pytest.mark.kernel
@pytest.mark.parametrize("series", OLD)
def test_switches_are_as_today_and_refuse_what_they_are_not(tmp_path: Path, series: str) -> None:
    bad = [(path, value) for path, (_, value) in SWITCHES.items()]
    ending = run_script(LOOK.format(bad=bad), tmp_path, series)
    seen = {step["path"]: step for step in ending.steps if step["step"] == "switch"}
    assert {path: step["found"] for path, step in seen.items()} == {
        path: default for path, (default, _) in SWITCHES.items()
    }
    assert [path for path, step in seen.items() if not step["refused"]] == []
    cpu = {words[0].strip(): words[1].strip() for words in ending.step("cpu")["lines"] if words[1:]}
    assert (cpu["host"], cpu["flags"]) == ("", "")


MEMORY = """
status('booted')
with open('/proc/meminfo') as file:
    total = file.readline().split()[1]
with open('/proc/sys/net/ipv4/tcp_rmem') as file:
    window = file.read().split()[2]
status('memory', total_kib=int(total), window=int(window))
"""


#: MemTotal in KiB and the largest receive window in bytes, in a guest of 192 MiB.
TOTALS = {OLDEST: (184928, 1458816), "6.12": (184928, 1458816), TODAY: (183172, 1444928)}


@pytest.mark.kernel
@pytest.mark.parametrize("series", ALL)
def test_the_compiler_does_not_change_how_much_memory_there_is(tmp_path: Path, series: str) -> None:
    """A smaller kernel left more, and with it TCP a larger window: these are the shipped runs'."""
    seen = run_script(MEMORY, tmp_path, series, memory_mib=192).step("memory")
    assert (seen["total_kib"], seen["window"]) == TOTALS[series]


@pytest.mark.kernel
@pytest.mark.parametrize("series", ALL)
def test_the_compiler_does_not_decide_what_is_drawn(series: str) -> None:
    """Called, they draw four bytes also for a limit that is known: other ports, other drops."""
    listed = captured(["nm", kernel.build(series=series).path], check=True).stdout
    names = {line.split()[-1] for line in listed.splitlines()}
    assert "__get_random_u32_below" in names
    assert not [name for name in names if re.match(r"get_random_u32_(below|above|incl)", name)]


#: By the host's vsyscall page time() and, where a host has none, a signal.
OLD_CLOCK = """
import ctypes, os, time
status('booted')
reader, writer = os.pipe()
if not (child := os.fork()):
    clock = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p)(0xffffffffff600400)
    os.write(writer, str(clock(None)).encode())
    os._exit(0)
os.close(writer)
told, ended = os.read(reader, 64).decode(), os.waitpid(child, 0)[1]
status('clock', told=told, now=int(time.time()), ended=ended)
"""


@pytest.mark.kernel
@pytest.mark.parametrize("series", OLD)
def test_the_oldest_way_to_read_the_clock_reads_the_guests(tmp_path: Path, series: str) -> None:
    """The host served it, with its own time, to processes that are traced."""
    seen = run_script(OLD_CLOCK, tmp_path, series).step("clock")
    if seen["told"]:
        assert (int(seen["told"]), seen["ended"]) == (seen["now"], 0)
    else:
        assert seen["ended"] == signal.SIGSEGV
        assert "[vsyscall]" not in Path("/proc/self/maps").read_text()


#: RDTSC, and its two halves as one number.
COUNTER = """
import ctypes, mmap, time
status('booted')
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex('0f31 48c1e220 4809d0 c3'))
place = ctypes.addressof(ctypes.c_char.from_buffer(code))
counter = ctypes.CFUNCTYPE(ctypes.c_ulonglong)(place)
began, first = time.monotonic_ns(), counter()
time.sleep(1)
status('counter', passed_ns=time.monotonic_ns() - began, counted=counter() - first)
"""

#: What a driver might do.
READS_IT = """
#include <linux/module.h>
static int __init reads_init(void)
{
	u32 low, high;

	asm volatile("rdtsc" : "=a"(low), "=d"(high));
	pr_info("counter: %u %u\\n", low, high);
	return 0;
}
module_init(reads_init);
MODULE_LICENSE("GPL");
"""


@pytest.mark.kernel
@pytest.mark.parametrize("series", ALL)
def test_the_time_stamp_counter_is_the_guests(tmp_path: Path, series: str) -> None:
    seen = run_script(COUNTER, tmp_path, series).step("counter")
    assert seen["passed_ns"] == pytest.approx(1e9, rel=1e-3)
    assert seen["counted"] == pytest.approx(seen["passed_ns"], rel=1e-4)


@pytest.mark.kernel
@pytest.mark.parametrize("series", ALL)
def test_a_kernel_that_reads_the_hosts_time_ends(tmp_path: Path, series: str) -> None:
    """As user processes may not: a switch between two that differ in that is slow on some hosts."""
    with pytest.raises(GuestFailure, match="Kernel mode fault"):
        load_module(series, READS_IT, tmp_path)


#: Each thread has a rounding mode, which is part of the floating-point registers; a child has
#: that of the thread that forked it.
ROUNDING = """
import ctypes, os, threading
status('booted')
libm = ctypes.CDLL('libm.so.6')
TO_NEAREST, DOWN, UP, TO_ZERO = 0, 0x400, 0x800, 0xc00
wrong, forked = [], []

def work(mode):
    libm.fesetround(mode)
    for turn in range(200):
        os.sched_yield()
        if libm.fegetround() != mode:
            wrong.append(mode)
        if turn % 100 == 50:
            if not (child := os.fork()):
                os._exit(libm.fegetround() >> 10)
            forked.append((mode >> 10, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))

threads = [threading.Thread(target=work, args=(mode,)) for mode in (TO_NEAREST, DOWN, UP, TO_ZERO)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
status('rounded', wrong=wrong, forked=forked)
"""


@pytest.mark.kernel
@pytest.mark.parametrize("series", EACH)
def test_each_thread_keeps_its_floating_point_registers(tmp_path: Path, series: str) -> None:
    """They stay in the process that all threads have in common until another one needs it."""
    seen = run_script(ROUNDING, tmp_path, series).step("rounded")
    assert seen["wrong"] == []
    assert len(seen["forked"]) == 8
    assert [pair for pair in seen["forked"] if pair[0] != pair[1]] == []


#: A child rounds up and stops; its debugger, which rounds to the nearest, has it round down.
DEBUGGED = """
import ctypes, os, signal
status('booted')
libm, libc = ctypes.CDLL('libm.so.6'), ctypes.CDLL(None)
TRACEME, CONT, GETFPREGS, SETFPREGS, DOWN, UP = 0, 7, 14, 15, 0x400, 0x800
if not (child := os.fork()):
    libc.ptrace(TRACEME, 0, None, None)
    libm.fesetround(UP)
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(libm.fegetround() >> 10)
os.waitpid(child, 0)
registers = (ctypes.c_uint16 * 256)()
read = libc.ptrace(GETFPREGS, child, None, registers)
found = registers[0] & 0xc00
registers[0] ^= UP ^ DOWN
written = libc.ptrace(SETFPREGS, child, None, registers)
libc.ptrace(CONT, child, None, None)
rounds = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) << 10
status('debugged', calls=[read, written], found=found, rounds=rounds)
"""


@pytest.mark.kernel
@pytest.mark.parametrize("series", EACH)
def test_a_debugger_has_the_floating_point_registers_of_its_process(
    tmp_path: Path, series: str
) -> None:
    """It had those of the process that had run last, its own as a rule."""
    seen = run_script(DEBUGGED, tmp_path, series).step("debugged")
    assert (seen["calls"], seen["found"], seen["rounds"]) == ([0, 0], 0x800, 0x400)


#: WRGSBASE and RDGSBASE: what they write no system call tells.
BASES = """
import ctypes, mmap, os, threading
status('booted')
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex('f3480faedf c3 f3480faec8 c3'))
place = ctypes.addressof(ctypes.c_char.from_buffer(code))
write = ctypes.CFUNCTYPE(None, ctypes.c_ulong)(place)
read = ctypes.CFUNCTYPE(ctypes.c_ulong)(place + 6)
wrong, turns = [], []

def work(base):
    write(base)
    for _ in range(200):
        os.sched_yield()
        turns.append(base)
        if read() != base:
            wrong.append(base)

threads = [threading.Thread(target=work, args=(0x1000 * number,)) for number in range(1, 4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
status('based', wrong=wrong, changes=sum(a != b for a, b in zip(turns, turns[1:])))
"""


@pytest.mark.kernel
def test_each_thread_keeps_the_bases_of_its_segments(tmp_path: Path) -> None:
    if "fsgsbase" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this machine has no instruction for it")
    seen = run_script(BASES, tmp_path).step("based")
    assert seen["wrong"] == []
    assert seen["changes"] > 2


#: A system call of 32-bit code, for which the wall around guests ends a process.
OLD_CALL = """
import ctypes, mmap, os
status('booted')
if not (child := os.fork()):
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex('b814000000 cd80 c3'))
    ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
    os._exit(0)
status('called', ended=os.waitpid(child, 0)[1])
"""


@pytest.mark.kernel
@pytest.mark.parametrize("series", EACH)
def test_a_process_that_the_host_ends_ends_alone(tmp_path: Path, series: str) -> None:
    seen = run_script(OLD_CALL, tmp_path, series, may_crash=True).step("called")
    assert seen["ended"] == signal.SIGSEGV


FORKS = """
import subprocess
status('booted')
failed = 0
for _ in range(400):
    try:
        failed += subprocess.run(['/bin/true']).returncode != 0
    except OSError:
        failed += 1
status('forked', failed=failed)
"""


@pytest.mark.kernel
def test_no_fork_fails_where_the_host_sends_signals(tmp_path: Path) -> None:
    """A SIGCONT that comes as a new user process stops itself took that stop away."""
    machine = vm.Machine(kernel.build().path, rootfs.build().path, seed=1)
    vm.prepare(tmp_path, machine, {"work": "script"}, script=FORKS)
    sent = 0

    def storm(pid: int) -> None:
        nonlocal sent
        for _ in range(40 if (tmp_path / "job" / "status").stat().st_size else 0):
            with suppress(ProcessLookupError):
                os.killpg(os.getpgid(pid), signal.SIGCONT)
            sent += 1
            time.sleep(0.0002)

    ending = vm.run(machine, tmp_path, on_poll=storm)
    assert sent > 500
    assert ending.step("forked")["failed"] == 0
