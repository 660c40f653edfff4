"""`um-yield`: when a guest's kernel and its user processes stay awake, by its code on its own."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from qdisclab.emulation.kernel.recipe import RECIPE_DIR

pytestmark = pytest.mark.kernel  # for the compiler

PATCHES = [RECIPE_DIR / "patches" / series / "um-yield.patch" for series in ("6.12", "7.2")]

#: Beside the patch's code: a host that gives the turn after some yields, and its clock.
HOST = """
#include <time.h>
#include <stub-data.h>
int answers = 1, ticks, yields;
static unsigned int turn;
static long now;
int clock_gettime(clockid_t clock, struct timespec *time)
{
    time->tv_sec = 0;
    time->tv_nsec = now;
    return clock == CLOCK_MONOTONIC_COARSE ? 0 : -1;
}
int sched_yield(void)
{
    if (++yields == answers)
        turn = 1;
    return 0;
}
int stop(struct stub_yield *stub, int nr)
{
    return stub_yields(stub, nr);
}
int run(struct stub_yield *stub)
{
    yields = 0;
    yield_begin(stub);
    turn = 0;
    now += ticks;
    yield_wait(&turn, 0);
    return yields;
}
"""


class Stub(ctypes.Structure):
    """`struct stub_yield`, and what comes after it."""

    _fields_ = (
        ("times", ctypes.c_int),
        ("in_vain", ctypes.c_int),
        ("nr", ctypes.c_int),
        ("slept", ctypes.c_ubyte * 64),
        ("after", ctypes.c_ubyte * 64),
    )


def added(patch: Path, name: str) -> str:
    """Return a file that a patch makes."""
    lines = patch.read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("+++") and name in line)
    text = []
    for line in lines[begin + 2 :]:
        if not line.startswith("+"):
            break
        text.append(line[1:])
    return "\n".join(text) + "\n"


class Turns:
    """The kernel's side, and a host of ours."""

    def __init__(self, library: Path) -> None:
        self.code = ctypes.CDLL(str(library))
        self.stub = Stub(nr=-1)

    def host(self, name: str, value: int) -> None:
        """Set what the host does: yields until it `answers`, and the `ticks` of a turn."""
        ctypes.c_int.in_dll(self.code, name).value = value

    def stop(self, nr: int = -1, stub: Stub | None = None) -> int:
        """A user process stops; return how often it yields."""
        return int(self.code.stop(ctypes.byref(stub or self.stub), nr))

    def run(self, times: int = 1, stub: Stub | None = None) -> set[int]:
        """It is let run; return how often the kernel yields each time."""
        return {self.code.run(ctypes.byref(stub or self.stub)) for _ in range(times)}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("yield")
    (folder / "yield.h").write_text(added(PATCHES[0], "yield.h"))
    (folder / "yield.c").write_text(added(PATCHES[0], "yield.c"))
    (folder / "stub-data.h").write_text("#include <yield.h>\n")
    (folder / "host.c").write_text(HOST)
    words = ["gcc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I.", "-Wl,-Bsymbolic"]
    subprocess.run([*words, "yield.c", "host.c", "-o", "turns.so"], cwd=folder, check=True)
    return folder / "turns.so"


@pytest.fixture
def turns(library: Path, tmp_path: Path) -> Turns:
    return Turns(Path(shutil.copy(library, tmp_path)))  # a copy has variables of its own


def test_both_series_have_the_same_code() -> None:
    for name in ("yield.h", "yield.c"):
        first, second = (added(patch, name) for patch in PATCHES)
        assert first == second
        assert len(first.splitlines()) > 30


def test_both_sides_stay_awake_while_turns_are_short(turns: Turns) -> None:
    assert turns.run(5000) == {1}
    assert turns.stop() == 4


def test_long_turns_let_both_sleep_for_longer_each_time(turns: Turns) -> None:
    turns.host("ticks", 1)
    assert turns.run(3) == {1}
    for pause in (256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 65536):
        assert turns.run(pause) == {0}
        assert turns.stop() == 0
        assert turns.run() == {1}  # a look at how it goes now
    turns.host("ticks", 0)
    assert turns.run(65536) == {0}
    assert turns.run(256) == {1}
    turns.host("ticks", 1)
    assert turns.run(3) == {1}
    assert turns.run(256) == {0}  # as at first


def test_a_long_turn_among_short_ones_is_none_of_these(turns: Turns) -> None:
    for _ in range(1000):
        turns.host("ticks", 1)
        assert turns.run() == {1}
        turns.host("ticks", 0)
        assert turns.run(8) == {1}


def test_a_host_that_runs_the_same_process_again(turns: Turns) -> None:
    turns.host("answers", 1000)
    assert turns.run(3) == {4}
    assert turns.run(256) == {0}


def test_a_user_process_that_yielded_in_vain(turns: Turns) -> None:
    other = Stub(nr=-1)
    for _ in range(100):  # while another one ran
        turns.stub.in_vain = 1
        assert turns.run() == {1}
        assert turns.run(stub=other) == {1}
    turns.run()
    for _ in range(3):
        turns.stub.in_vain = 1
        assert turns.run() == {1}
    assert turns.run(256) == {0}


def test_a_system_call_that_waits_for_others(turns: Turns) -> None:
    other = Stub(nr=-1)
    for nr in (0, 45, 511):
        turns.run()
        assert turns.stop(nr) == 4
        turns.run(stub=other)
        turns.run()
        assert turns.stop(nr) == 0
        assert turns.stop(nr ^ 1) == 4
        turns.stop(nr)
        turns.run()  # nobody else ran
        assert turns.stop(nr) == 4


@pytest.mark.parametrize("nr", [-1, -(2**31), 512, 2**31 - 1])
def test_what_is_no_system_call_is_not_noted(turns: Turns, nr: int) -> None:
    other = Stub(nr=-1)
    turns.run()
    assert turns.stop(nr) == 4
    turns.run(stub=other)
    turns.run()
    assert not any(turns.stub.slept)
    assert not any(turns.stub.after)
    assert turns.stop(nr) == 4
