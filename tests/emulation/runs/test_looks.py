"""`emulate exec --looks`: what a program does to wait without sleeping takes time."""

from pathlib import Path

import pytest

from qdisclab.emulate import cli
from tests.kernels import TODAY, needs_today

pytestmark = pytest.mark.kernel

LOOKS = """\
import os, resource, select, threading, time
poll, epoll = select.poll(), select.epoll()
looks = {
    "times": os.times,
    "coarse": lambda: time.clock_gettime(6),
    "cpu": time.process_time,
    "getrusage": lambda: resource.getrusage(0),
    "yield": os.sched_yield,
    "poll": lambda: poll.poll(0),
    "epoll": lambda: epoll.poll(0),
    "select": lambda: select.select([], [], [], 0),
    "getppid": os.getppid,
}
for name, look in looks.items():
    begin = time.monotonic_ns()
    for _ in range(1000):
        look()
    print(name, round((time.monotonic_ns() - begin) / 1000))
"""

WAIT = """\
import os, threading, time
done = []
threading.Thread(target=lambda: (time.sleep(0.001), done.append(1))).start()
while not done:
    os.sched_yield()
print("done")
"""


@pytest.mark.parametrize("kernel", ["6.12", pytest.param(TODAY, marks=needs_today)])
@pytest.mark.parametrize("with_looks", [True, False])
def test_each_look_takes_as_long_as_one_at_the_clock(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    with_looks: bool,
    kernel: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("looks.py").write_text(LOOKS)
    words = ["exec", "--kernel", kernel, *(["--looks"] if with_looks else [])]
    assert cli.main([*words, "--", "python3", "looks.py"]) == 0
    spent = dict(line.split() for line in capfd.readouterr().out.splitlines())
    assert spent.pop("getppid") == "0"
    assert len(spent) == 8
    assert (16_000 < int(spent["times"]) < 17_000) is with_looks  # one answer lasts for 10 ms
    # Python asks select(2) for nothing else, and for the clock around poll(2) and its like.
    assert all(int(ns) >= 256 for ns in spent.values()) is with_looks
    assert (spent["times"] == "0") is not with_looks


def test_a_thread_that_yields_until_another_has_slept_gets_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wait.py").write_text(WAIT)
    assert cli.main(["exec", "--looks", "--", "python3", "wait.py"]) == 0
    assert capfd.readouterr().out == "done\n"
