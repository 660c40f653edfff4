"""What root of a guest, and a module in its kernel, try against the host (SECURITY.md).

Each list is tried behind each wall, and without one: there most tries succeed, so that none passes
for want of a host that could be reached.
"""

import errno
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from qdisclab.emulation import kernel
from qdisclab.emulation.errors import ConfigError, KernelBuildError, MissingTool
from qdisclab.emulation.host import confine
from qdisclab.emulation.host.confine import Wall
from qdisclab.emulation.kernel import make, module
from qdisclab.emulation.machine import rootfs, vm
from qdisclab.emulation.programs import executables
from qdisclab.emulation.runs import execution
from tests import captured
from tests.kernels import LOAD

WALLS = ("landlock", "namespaces")
all_walls = pytest.mark.parametrize("wall", [*WALLS, "none"], indirect=True)


@pytest.fixture(params=WALLS)
def wall(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The wall that there is; a test is skipped on a host without it."""
    name: str = request.param
    monkeypatch.setenv(confine.VARIABLE, name)
    if not confine._has(Wall(name)):
        pytest.skip(f"this host has no {name}")
    return name


@dataclass(frozen=True)
class Call:
    """A system call of the host that a module makes by itself.

    `code`: its number and arguments in C; SECRET, ROOT, VICTIM and OUT stand for a file of the
    host's user, one in a layer over the guest's root file system, another process and the run's
    folder.
    `landlock`, `namespaces`: the errors that stop it behind either wall.
    """

    name: str
    code: str
    landlock: int
    namespaces: int


def filtered(name: str, code: str) -> Call:
    """A call that the seccomp filter does not know."""
    return Call(name, code, errno.ENOSYS, errno.ENOSYS)


CALLS = (
    Call("read a file", "2, SECRET, 0", errno.EACCES, errno.ENOENT),
    Call("write a file", "2, SECRET, 2", errno.EACCES, errno.ENOENT),
    Call("list a folder", "2, HOME, 0200000", errno.EACCES, errno.ENOENT),
    Call("write the root file system", "2, ROOT, 2", errno.EACCES, errno.EROFS),
    Call("write beside the kernel", "2, KERNEL, 2", errno.EACCES, errno.ENOENT),
    Call("memory of a process", "2, MEM, 2", errno.EACCES, errno.ENOENT),
    Call("a terminal", '2, "/dev/ptmx", 2', errno.EACCES, errno.ENOENT),
    Call("make a file", '2, HOME "/new", 0101, 0600', errno.EACCES, errno.ENOENT),
    Call("make a folder", '83, HOME "/folder", 0700', errno.EACCES, errno.ENOENT),
    Call("link a file in", '86, SECRET, OUT "/hard"', errno.EXDEV, errno.ENOENT),
    Call("rename a file in", '82, HOME "/spare", OUT "/spare"', errno.EACCES, errno.ENOENT),
    Call("remove a file", '87, HOME "/old"', errno.EACCES, errno.ENOENT),
    Call("make a link", '88, "/etc", HOME "/link"', errno.EACCES, errno.ENOENT),
    Call("a link beside the status", '88, "/etc", OUT "/../link"', errno.EACCES, errno.EROFS),
    Call("make a device", '133, OUT "/null", 020666, 0x103', errno.EACCES, errno.EPERM),
    Call("signal a process", "62, VICTIM, 0", errno.EPERM, errno.ESRCH),
    Call("signal what started it", "62, RUNNER, 0", errno.EPERM, errno.ESRCH),
    Call("trace a process", "101, 0x4206, VICTIM, 0, 0", errno.EPERM, errno.ESRCH),
    Call("own a descriptor's signals", "72, FD, 8, VICTIM", 0, errno.ESRCH),
    filtered("change a mode by path", "90, SECRET, 0666"),
    filtered("change an owner by path", "92, SECRET, -1, -1"),
    filtered("cut a file by path", "76, SECRET, 3"),
    filtered("change times by path", "280, -100, SECRET, 0, 0"),
    filtered("an attribute by path", '188, SECRET, "user.a", "b", 1, 0'),
    filtered("a socket of the network", "41, 2, 1, 0"),
    filtered("a socket with a name", "41, 1, 1, 0"),
    filtered("a raw socket", "41, 16, 3, 0"),
    filtered("a pair of datagrams", "53, 1, 2, 0, PAIR"),
    filtered("connect", "42, 0, 0, 0"),
    filtered("limits of a process", "302, VICTIM, 7, 0, PAIR"),
    filtered("memory of a process by call", "310, VICTIM, 0, 0, 0, 0, 0"),
    filtered("a descriptor of a process", "434, VICTIM, 0"),
    filtered("processor of a process", "203, VICTIM, 0, 0"),
    filtered("a key", "250, 0, -4, 0, 0, 0"),
    filtered("io_uring", "425, 1, 0"),
    filtered("BPF", "321, 0, 0, 0"),
    filtered("performance counters", "298, 0, 0, -1, -1, 0"),
    filtered("page faults of a process", "323, 0"),
    filtered("mount", "165, 0, 0, 0, 0, 0"),
    filtered("another root", '161, "/nonexistent"'),
    filtered("a namespace", "272, 0"),
    filtered("clone into a namespace", "56, 0x10000200, 0, 0, 0, 0"),
    filtered("enter a namespace", "308, -1, 0"),
    filtered("a handle of a file", "304, -1, 0, 0"),
    filtered("watch files", "294, 0"),
    filtered("shared memory of the host", "29, 0x7a11, 4096, 0"),
    filtered("swap to a file", "167, 0, 0"),
    filtered("restart the host", "169, 0, 0, 0"),
    filtered("type at a terminal", '16, FD, 0x5412, "x"'),
    filtered("x32", "0x40000000 | 41, 2, 1, 0"),
)  # fmt: skip

#: Would end the guest where it succeeds, and is tried behind walls alone.
EXECUTE = Call("start a program", '59, "/bin/true", ARGV, 0', errno.EACCES, errno.ENOENT)

#: What no host does, or not every one (Yama), or what does no harm where signals are confined.
REFUSED = {"x32", "trace a process", "own a descriptor's signals"}

SOURCE = """
#include <linux/module.h>
#include <linux/kernel.h>

static long host(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;

	asm volatile("syscall" : "=a"(ret)
		: "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		: "rcx", "r11", "memory");
	return ret;
}

static long PAIR[16];
static long ARGV[2];

#define ARGS(nr, a, b, c, d, e, f, ...) \\
	(long)(nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)
#define TRY(name, ...) pr_info("wall:%s:%ld\\n", name, host(ARGS(__VA_ARGS__, 0, 0, 0, 0, 0, 0)))

static int __init hostile_init(void)
{
	long FD = host(2, (long)"/dev/null", 0, 0, 0, 0, 0);

TRIES
	return 0;
}
module_init(hostile_init);
MODULE_LICENSE("GPL");
"""


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """Another process of the user."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def words(text: str, known: dict[str, str]) -> str:
    return re.sub(r"\b[A-Z]{3,}\b", lambda found: known.get(found[0], found[0]), text)


def quoted(path: Path) -> str:
    return '"' + str(path) + '"'


@pytest.mark.kernel
@all_walls
def test_a_module_reaches_nothing_of_the_host(
    wall: str, tmp_path: Path, victim: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    built, root = kernel.build(), rootfs.build()
    names = ("home", "guest", "layer", "kernel")
    home, folder, layer, beside = (tmp_path / name for name in names)
    for place in (home, folder, layer, beside):
        place.mkdir()
    (home / "secret").write_text("secret")
    # Files of the user's own, with a mode that lets the user write: the wall alone refuses that.
    for path in (home / "old", home / "spare", layer / "hostname", beside / "config"):
        path.touch(0o600)
    binary = Path(shutil.copy(built.path, beside))
    known = {
        "SECRET": quoted(home / "secret"),
        "HOME": quoted(home),
        "ROOT": quoted(layer / "hostname"),
        "KERNEL": quoted(beside / "config"),
        "OUT": quoted(folder / "job/out"),
        "MEM": quoted(Path(f"/proc/{victim.pid}/mem")),
        "VICTIM": str(victim.pid),
        "RUNNER": str(os.getpid()),
    }
    tries = (*CALLS, EXECUTE) if wall != "none" else CALLS
    lines = [f'\tTRY("{one.name}", {words(one.code, known)});' for one in tries]
    source = tmp_path / "hostile"
    source.mkdir()
    (source / "Kbuild").write_text("obj-m := hostile.o\n")
    (source / "hostile.c").write_text(SOURCE.replace("TRIES", "\n".join(lines)))
    hostile = module.build(built, source, tmp_path)
    machine = vm.Machine(binary, root.path, 1, modules=(hostile,))
    vm.prepare(folder, machine, {"work": "script"}, script=LOAD)
    (folder / "layer").symlink_to(layer)
    if wall == "none":
        monkeypatch.setattr(vm, "tame", lambda folder: None)
    ending = vm.run(machine, folder)
    assert ending.step("loaded")["error"] == 0
    log = (folder / "job/out/kernel.log").read_text()
    found = {name: int(text) for name, text in re.findall(r"wall:([^:]+):(-?\d+)", log)}
    assert found.keys() == {one.name for one in tries}
    if wall == "none":
        assert {one.name for one in CALLS if min(found[one.name], 0) == -one.landlock} <= REFUSED
        return
    stopped = {one.name: getattr(one, wall) for one in tries}
    if wall == "landlock" and confine.landlock_abi() < confine._WHOLE_ABI:
        stopped |= {name: 0 for name in stopped if name.startswith("signal ")}
    assert {name: -min(value, 0) for name, value in found.items()} == stopped
    assert (home / "secret").read_text() == "secret"
    assert {path.name for path in home.iterdir()} == {"secret", "old", "spare"}


#: What root of a guest tries with hostfs and its like: a name, the code, and the error that it gets
#: from the guest's kernel, whatever the wall is.
MOUNTS = {
    "": errno.EPERM, "/": errno.EPERM, ".": errno.EPERM, "..": errno.EPERM, "./job": errno.EPERM,
    "/../../../..HOME": errno.EPERM, "../../../..HOME": errno.EPERM, "HOME": errno.EPERM,
    "job/../../../../..HOME": errno.EPERM, "root/etc": errno.EPERM, "job/out": errno.EPERM,
    "/proc": errno.EPERM, "/proc/1/root": errno.EPERM, "job/out/link": errno.EPERM,
    "none": errno.ENOENT, "job": 0, "root": 0,
}  # fmt: skip

TRIES = """
import ctypes, errno, os
status('booted')
libc = ctypes.CDLL(None, use_errno=True)

def call(function, *words):
    words = [word.encode() if isinstance(word, str) else word for word in words]
    return ctypes.get_errno() if function(*words) < 0 else 0

def tried(name, function, *arguments):
    try:
        function(*arguments)
        number = 0
    except OSError as error:
        number = error.errno
    status('tried', name=name, error=number)

os.mkdir('/tmp/at')
for option in {options!r}:
    number = call(libc.mount, 'none', '/tmp/at', 'hostfs', ctypes.c_ulong(0), option)
    status('mounted', option=option, error=number)
    if option == 'root' and not number:
        tried('write the root file system', open, '/tmp/at/etc/written', 'w')
        again = call(libc.mount, 'none', '/tmp/at', 'hostfs', ctypes.c_ulong(32), 'root')
        status('tried', name='remount the root file system', error=again)
    if not number:
        libc.umount2(b'/tmp/at', 2)
# The same by the newer calls, whose options add up.
fd = libc.syscall(430, b'hostfs', 0)
for word in ('job', '/../../../..{home}'):
    call(libc.syscall, 431, fd, 1, 'hostfs', word, 0)
status('tried', name='options that add up', error=call(libc.syscall, 431, fd, 6, None, None, 0))

os.chdir('/job/out')
tried('a link to an absolute path', os.symlink, '/etc', 'link')
tried('a link upwards', os.symlink, '../../root', 'link')
tried('a link upwards through a folder', os.symlink, 'a/../../..', 'link')
tried('a link that stays', os.symlink, 'a/..b', 'stays')
tried('a device', os.mknod, 'device', 0o020666, os.makedev(1, 3))
tried('a file in the job', open, '/job/mine', 'w')
tried('the job itself', open, '/job/job.json', 'a')
if {walled}:
    tried('the guest code', os.unlink, '/job/guest/main.py')
    tried('the status', os.unlink, '/job/status')
open('plain', 'w').close()
os.sync()
tried('its own mode', os.chmod, 'plain', 0o4755)
tried('its own size', os.truncate, 'plain', 3)
tried('its own times', os.utime, 'plain', (1, 1))
for path in ('/dev/ubda', '/dev/mem', '/sys/block', '/proc/mconsole', '/dev/fuse'):
    tried(path, os.stat, path)
"""

#: What the others come to.
TRIED = {
    "write the root file system": errno.EROFS, "remount the root file system": errno.EROFS,
    "options that add up": errno.EPERM, "a link to an absolute path": errno.EPERM,
    "a link upwards": errno.EPERM, "a link upwards through a folder": errno.EPERM,
    "a link that stays": 0, "a device": errno.EPERM, "its own mode": 0, "its own size": 0,
    "its own times": 0, "/dev/ubda": errno.ENOENT, "/dev/mem": errno.ENOENT,
    "/sys/block": errno.ENOENT, "/proc/mconsole": errno.ENOENT, "/dev/fuse": errno.ENOENT,
}  # fmt: skip

#: These are the host's to refuse.
WALLED = ("a file in the job", "the job itself", "the guest code", "the status")


@pytest.mark.kernel
@all_walls
def test_root_of_a_guest_reaches_nothing_of_the_host(
    wall: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, root = kernel.build(), rootfs.build()
    home, folder = tmp_path / "home", tmp_path / "guest"
    for place in (home, folder):
        place.mkdir()
    (home / "secret").write_text("secret")
    options = {option.replace("HOME", str(home)): number for option, number in MOUNTS.items()}
    script = TRIES.format(options=list(options), home=home, walled=wall != "none")
    machine = vm.Machine(built.path, root.path, 1)
    vm.prepare(folder, machine, {"work": "script"}, script=script)
    looked: dict[str, str] = {}

    def look(pid: int) -> None:
        """At the first process of the guest that is its kernel."""
        place = Path(f"/proc/{pid}")
        if wall != "namespaces" and not looked:
            fds: list[str] = []
            with suppress(OSError):  # it has ended
                for path in (place / "fd").iterdir():
                    with suppress(FileNotFoundError):  # a file that was closed meanwhile
                        fds.append(str(path.readlink()))
                looked.update(
                    environ=(place / "environ").read_text(),
                    fds="\n".join(fds),
                    status=(place / "status").read_text(),
                )

    monkeypatch.setenv("SECRET_TOKEN", "secret")
    with (home / "secret").open() as inherited:
        os.set_inheritable(inherited.fileno(), True)
        ending = vm.run(machine, folder, on_poll=look)
    mounted = {step["option"]: step["error"] for step in ending.steps if step["step"] == "mounted"}
    assert mounted == options
    tried = {step["name"]: step["error"] for step in ending.steps if step["step"] == "tried"}
    assert {name: tried[name] for name in TRIED} == TRIED
    walled = {"landlock": errno.EACCES, "namespaces": errno.EROFS, "none": 0}[wall]
    assert {tried[name] for name in WALLED if name in tried} == {walled}
    assert not (root.path / "etc/written").exists()
    plain = (folder / "job/out/plain").stat()
    assert (plain.st_mode & 0o7777, plain.st_size, plain.st_mtime) == (0o755, 3, 1)
    if wall != "namespaces":
        assert {line.split("=")[0] for line in looked["environ"].split("\0") if line} == {
            "GLIBC_TUNABLES", "HOME", "TMPDIR",
        }  # fmt: skip
        assert str(home) not in looked["fds"]
        state = dict(re.findall(r"^(\w+):\t(.*)$", looked["status"], re.M))
        assert (state["NoNewPrivs"], state["Seccomp"]) == (
            ("1", "2") if wall == "landlock" else (state["NoNewPrivs"], "0")
        )


#: A Kbuild that reads a file of the user's, and one that writes beside its sources.
PRIES = "obj-m := own.o\n$(info $(shell cat SECRET; echo x > HOME/written; chmod 777 HOME))\n"


@pytest.mark.kernel
@all_walls
def test_a_build_of_others_sources_reaches_the_compiler_alone(
    wall: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = kernel.build()
    home, source, cache = (tmp_path / name for name in ("home", "source", "cache"))
    for place in (home, source, cache):
        place.mkdir(mode=0o700)
    secret = home / "secret.h"
    secret.write_text("stolen")
    text = PRIES.replace("SECRET", str(secret)).replace("HOME", str(home))
    (source / "Kbuild").write_text(text)
    (source / "own.c").write_text(f'#include "{secret}"\n')
    log: list[str] = []
    run = make.run

    def kept(command: list[str], folder: Path, path: Path, *more: object, **named: object) -> int:
        status = run(command, folder, path, *more, **named)  # type: ignore[arg-type]
        log.append(path.read_text())
        return status

    monkeypatch.setattr(make, "run", kept)
    with pytest.raises(KernelBuildError, match="does not build"):
        module.build(built, source, cache)
    opened = wall == "none"
    assert ("stolen" in log[0]) is opened
    assert (home / "written").exists() is opened
    assert (home.stat().st_mode & 0o777 == 0o777) is opened


def run_python(code: str, reach: confine.Reach, limits: dict[int, int] | None = None) -> str:
    """What Python prints of `code` behind the wall."""
    done = captured(
        [sys.executable, "-I", "-S", "-c", code],
        cwd=reach.folder,
        preexec_fn=confine.confined(reach, limits),
    )
    return done.stdout.strip() or done.stderr.strip()


def python_reach(folder: Path, *writes: Path) -> confine.Reach:
    here = Path(sys.executable).resolve().parent.parent
    system = (Path("/usr"), Path("/lib"), Path("/lib64"), Path("/bin"), Path(sys.prefix), here)
    reads = (folder, Path("/etc/ld.so.cache"))
    return confine.Reach(folder, system, reads, (*writes, Path("/dev/null")), builds=True)


def test_what_is_written_is_what_was_named(
    wall: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "file").touch()
    code = """
import os
for path in 'out/new', 'file', 'other', 'nothing/../other':
    try:
        with open(path, 'w') as file:
            file.write('x' * 5000)
        print(path)
    except OSError as error:
        print(path, error.errno)
"""
    reach = python_reach(tmp_path, tmp_path / "out", tmp_path / "file", tmp_path / "missing")
    refused = {"landlock": errno.EACCES, "namespaces": errno.EROFS}[wall]
    assert run_python(code, reach).splitlines() == [
        "out/new", "file", f"other {refused}", "nothing/../other 2",
    ]  # fmt: skip
    limits = {resource.RLIMIT_FSIZE: 4096, resource.RLIMIT_AS: 2**40}
    assert run_python(code, reach, limits).splitlines()[:2] == ["out/new 27", "file 27"]
    limits[resource.RLIMIT_AS] = 2**28
    assert "MemoryError" in run_python("bytearray(2**28)", reach, limits)


def test_it_ends_as_its_program_does(wall: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reach = python_reach(Path("/usr"))
    for code, status in (
        ("raise SystemExit(3)", 3),
        ("import os; os.abort()", -signal.SIGABRT),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ):
        enter = confine.confined(reach)
        command = [sys.executable, "-I", "-S", "-c", code]
        done = subprocess.run(command, preexec_fn=enter, capture_output=True)
        assert done.returncode == status


def test_a_host_without_walls_runs_no_programs_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(confine.VARIABLE, raising=False)
    monkeypatch.setattr(confine, "_has", lambda kind: kind is Wall.NONE)
    job, machine = execution.Execution(("true",)).job(), vm.Machine(tmp_path, tmp_path, 1)
    with pytest.raises(MissingTool, match="--unconfined"):
        vm.prepare(tmp_path, machine, job)
    with pytest.raises(MissingTool, match="--unconfined"):
        vm.prepare(tmp_path, machine, {"work": "boot"}, files=[("file", tmp_path)])
    built = kernel.Kernel(tmp_path, "0", "6.12", "6.12", {})
    with pytest.raises(MissingTool, match="--unconfined"):
        module.build(built, tmp_path, tmp_path)
    assert confine.wall() is Wall.NONE  # what ships runs all the same
    confine.confined(confine.Reach(tmp_path))()
    monkeypatch.setenv(confine.VARIABLE, "")
    confine.unconfined()
    vm.prepare(tmp_path, machine, job)


@pytest.mark.parametrize("wall", ["landlock"], indirect=True)
def test_a_wall_that_the_host_refuses_is_told(
    wall: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_many = dict.fromkeys(map(str, range(5000)), 10**9)  # longer than a filter may be
    monkeypatch.setattr(confine, "system_calls", lambda builds: too_many)
    reach = confine.Reach(tmp_path)
    with pytest.raises(MissingTool, match="set EMULATE_WALL to another"):
        make.run(["true"], tmp_path, tmp_path / "log", reach=reach)


def test_the_wall_is_the_best_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(confine.VARIABLE, raising=False)
    for abi, lacking, best in (
        (6, (), Wall.LANDLOCK),
        (2, (), Wall.NAMESPACES),  # Debian 12
        (2, (Wall.NAMESPACES,), Wall.LANDLOCK),
        (0, (Wall.LANDLOCK,), Wall.NAMESPACES),
        (0, (Wall.LANDLOCK, Wall.NAMESPACES), Wall.NONE),
    ):
        monkeypatch.setattr(confine, "landlock_abi", lambda abi=abi: abi)
        monkeypatch.setattr(confine, "_has", lambda kind, no=lacking: kind not in no)
        assert confine.wall() is best
    monkeypatch.setattr(confine, "_has", lambda kind: kind is not Wall.LANDLOCK)
    monkeypatch.setenv(confine.VARIABLE, "landlock")
    with pytest.raises(MissingTool, match="this host lacks this wall"):
        confine.wall()
    monkeypatch.setenv(confine.VARIABLE, "paper")
    with pytest.raises(ConfigError, match="is not a wall"):
        confine.wall()


def test_the_page_names_what_is_let_through_in_part_and_what_is_read(root: Path) -> None:
    page = (root / "SECURITY.md").read_text()
    assert set(confine._FORMS) | {"utimensat"} <= set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    for path in vm.READ:
        assert f"`{path}`" in page


def test_numbers_of_calls_are_those_of_the_host() -> None:
    known = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not known.exists():
        pytest.skip("the host has no headers of its kernel")
    numbers = dict(re.findall(r"#define __NR_(\w+) (\d+)", known.read_text()))
    forms = {name: form[0] for name, form in confine._FORMS.items()}
    calls = {**confine.system_calls(builds=True), **forms, "utimensat": confine._UTIMENSAT}
    assert {name: int(numbers[name]) for name in calls} == calls


def test_what_a_program_is_loaded_by(tmp_path: Path) -> None:
    python, static = Path(sys.executable).resolve(), Path("/sbin/ldconfig")
    for program in (python, static):
        elf = executables.read_elf(program)
        loader, _ = confine.libraries(program)
        assert elf is not None and [str(path) for path in loader] == (
            [elf.loader] if elf.loader else []
        )
    assert any("libc.so" in path.name for path in confine.libraries(python)[1])
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    (tmp_path / "broken").write_bytes(python.read_bytes()[:4096])
    for name in ("script", "broken"):  # neither can be started
        assert confine.libraries(tmp_path / name) == ((), ())
