"""emulation.machine.vm without a boot: what a guest's end means, where its memory goes."""

# ruff: noqa: S108
import os
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulation.errors import GuestFailure, MissingTool, RigMismatch
from qdisclab.emulation.host import confine
from qdisclab.emulation.machine import vm

DONE = vm.Ending(steps=[{"step": "booted", "virtual_s": 0.1}, {"step": "done", "virtual_s": 9.5}])


def verdict(folder: Path, console: str, log: str = "", status: int = 0) -> None:
    (folder / "job/out").mkdir(parents=True)
    (folder / "console").write_text(console)
    (folder / "job/out/kernel.log").write_text(log)
    vm._verdict(folder, DONE, status)


def test_a_quiet_console_is_fine(tmp_path: Path) -> None:
    verdict(tmp_path, "epollctl add err fd 6\nreboot: Power down\n", "6,1,2,-;Linux version\n")


def test_of_a_module_that_does_not_load_the_log_is_quoted(tmp_path: Path) -> None:
    folder = tmp_path / "job/out"
    folder.mkdir(parents=True)
    (folder / "kernel.log").write_text("4,1,2,-;taints\n3,2,3,-;tcp_mine: no\033 such\n DEVICE=x\n")
    problems = ["the kernel does not take the module tcp_mine: No such device; see kernel.log"]
    ending = vm.Ending([{"step": "failed", "virtual_s": 1.0, "cause": "rig", "problems": problems}])
    vm._quote_log(tmp_path, ending)
    with pytest.raises(RigMismatch, match=r"device; the kernel's log ends with 'tcp_mine: no.x1b"):
        ending.check()


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: CPU: 0 PID: 1 at net/sched/sch_codel.c:1",
        "BUG: kernel NULL pointer dereference",
        "UBSAN: shift-out-of-bounds in net/sched/sch_red.c:81:60",
        "[    1.000000] BUG kmalloc-64 (Tainted: G O): Object padding overwritten",
        "Kernel panic - not syncing: Attempted to kill init!",
        "python3 invoked oom-killer: gfp_mask=0x0",
        "flent[7]: segfault at 0 ip 0",
    ],
)
@pytest.mark.parametrize("place", ["console", "log"])
def test_a_complaint_of_the_kernel_fails_the_run(tmp_path: Path, line: str, place: str) -> None:
    with pytest.raises(GuestFailure) as caught:
        verdict(tmp_path, **{"console": "", place: f"before\n{line}\nafter\n"})
    assert line in str(caught.value)
    assert "9.500 s" in str(caught.value)


def test_a_guest_that_hangs_for_lack_of_memory_says_so(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "console").write_text("Out of memory: Killed process 236 (python3)\n")
    with (
        subprocess.Popen(["sleep", "60"]) as guest,
        pytest.raises(GuestFailure, match=r"Killed process 236.*more `memory`"),
    ):
        try:
            vm._watch(guest, tmp_path, "", vm.Ending([]), lambda step: None, 0, lambda pid: None)
        finally:
            guest.kill()


def test_a_kernel_that_complains_without_end_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vm.scratch, "MOST_TEXT", 200)
    frames = "[ 1.0] Call Trace:\n[ 1.0]  [<78>] ? red_dequeue+0x13/0x4c [sch_red]\n"
    (tmp_path / "console").write_text(f"[ 1.0] BUG: scheduling while atomic\n{frames}" * 9)
    with pytest.raises(GuestFailure, match=r"while atomic, at red_dequeue\+0x13/0x4c \[sch_red\];"):
        vm._check_room(tmp_path, DONE, may_crash=False)
    (tmp_path / "console").write_text("x" * 300)
    with pytest.raises(GuestFailure, match="console: the guest left more than"):
        vm._check_room(tmp_path, DONE, may_crash=False)


def test_a_status_other_than_0_fails_the_run(tmp_path: Path) -> None:
    with pytest.raises(GuestFailure, match=r"status 134: .*last words"):
        verdict(tmp_path, "first\nlast words\n", status=134)


def test_steps_of_an_ending() -> None:
    assert DONE.virtual_s == 9.5
    assert DONE.step("booted")["virtual_s"] == 0.1
    with pytest.raises(GuestFailure, match="never reached the step 'traffic'"):
        DONE.step("traffic")


def test_the_command_names_nothing_of_the_host(tmp_path: Path) -> None:
    machine = vm.Machine(Path("/cache/linux"), tmp_path, seed=7)
    words = vm.command(machine)[1:]
    assert "seed=7" in words
    assert not any(str(tmp_path) in word or "/cache" in word for word in words)


def test_the_layout_of_a_job(tmp_path: Path) -> None:
    root = tmp_path / "rootfs"
    folder = tmp_path / "scratch"
    folder.mkdir()
    vm.prepare(folder, vm.Machine(tmp_path, root, 1), {"work": "boot"})
    assert (folder / "root").readlink() == root
    assert (folder / "job/job.json").is_file()
    assert (folder / "job/guest/main.py").is_file()
    assert not list(folder.rglob("__pycache__"))


Stat = namedtuple("Stat", "f_bavail f_frsize f_flag")


def memory_folder(monkeypatch: pytest.MonkeyPatch, places: dict[str, Stat]) -> Path:
    def statvfs(name: Any) -> Stat:
        return places[str(name)]

    monkeypatch.setattr(os, "access", lambda name, mode: str(name) in places)
    monkeypatch.setattr(os, "statvfs", statvfs)
    return vm.memory_folder(192)


def mib(room: int, flags: int = 0) -> Stat:
    return Stat(room * 256, 4096, flags)


def test_memory_goes_where_it_fits_and_may_be_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    wide, narrow, noexec = mib(9999), mib(64), mib(9999, os.ST_NOEXEC)
    choose = {"/dev/shm": wide, "/tmp": wide}
    assert memory_folder(monkeypatch, choose) == Path("/dev/shm")
    assert memory_folder(monkeypatch, {**choose, "/dev/shm": narrow}) == Path("/tmp")
    assert memory_folder(monkeypatch, {**choose, "/dev/shm": noexec}) == Path("/tmp")
    monkeypatch.setenv("TMPDIR", "/mine")
    assert memory_folder(monkeypatch, {**choose, "/mine": wide}) == Path("/mine")
    with pytest.raises(MissingTool, match="192 MiB"):
        memory_folder(monkeypatch, {"/mine": narrow, "/tmp": noexec})


@pytest.mark.parametrize("linked", ["job/out", "job"])
def test_links_of_a_guest_lead_nowhere(
    tmp_path: Path, linked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "scratch"
    (outside / "out").mkdir(parents=True)
    (outside / "secret").write_text("secret")
    (outside / "job.json").write_text("{}")
    (folder / "job/out/sub").mkdir(parents=True)
    (folder / "job/out/sub/file").write_text("file")
    (folder / "job/job.json").write_text("{}")
    script = "import os; os.chdir('job/out/sub'); os.mkfifo('pipe')\n"
    script += f"for at in 'one', '../two': os.symlink('{outside}', at)\n"
    script += f"os.symlink('{outside}/secret', '../kernel.log')\n"
    script += "os.chmod('file', 0o6755); os.chmod('.', 0)\nraise SystemExit(3)"
    guest = [sys.executable, "-c", script]
    monkeypatch.setattr(vm, "command", lambda machine: guest)
    monkeypatch.setenv(confine.VARIABLE, "none")
    with pytest.raises(GuestFailure, match="ended with status 3"):
        vm.run(vm.Machine(Path(sys.executable), tmp_path, 1), folder)
    assert {str(path.relative_to(folder / "job/out")) for path in folder.rglob("out/**/*")} == {
        "sub", "sub/file",
    }  # fmt: skip
    assert (folder / "job/out/sub").stat().st_mode & 0o700 == 0o700
    assert (folder / "job/out/sub/file").stat().st_mode & 0o7000 == 0
    (folder / linked).rename(folder / "away")
    (folder / linked).symlink_to(outside)
    guest[2] = "raise SystemExit(3)"
    with pytest.raises(GuestFailure, match="ended with status 3"):
        vm.run(vm.Machine(Path(sys.executable), tmp_path, 1), folder)
    assert not (folder / linked).exists()
    assert (outside / "secret").exists()


def test_the_end_of_a_guest_is_seen_at_once() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        with vm._end_of(process.pid) as end:
            assert not end.poll(10)
            assert process.stdin
            process.stdin.close()
            assert end.poll(60_000)
        assert vm.has_ended(process.pid)
        with vm._end_of(process.pid) as end:
            assert end.poll(60_000)


def test_a_host_that_cannot_tell_the_end_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(pid: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", missing)
    with vm._end_of(os.getpid()) as end:
        began = time.monotonic()
        assert not end.poll(20)
        assert time.monotonic() - began >= 0.019
