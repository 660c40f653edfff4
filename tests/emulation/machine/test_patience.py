"""emulation.machine.patience: what counts as waiting, on processes that a test makes up."""

from pathlib import Path

import pytest

from qdisclab.emulation.machine import patience
from qdisclab.emulation.machine.patience import Patience


class Host:
    """A clock and a /proc that stand still until they are moved."""

    def __init__(self, proc: Path) -> None:
        self.proc, self.now = proc, 100.0
        self.process(1, children=[2])
        self.process(2)

    def process(
        self, pid: int, delayed_s: float = 0, children: list[int] | None = None, ran_s: float = 0
    ) -> None:
        task = self.proc / str(pid) / "task" / str(pid)
        task.mkdir(parents=True, exist_ok=True)
        (self.proc / str(pid) / "schedstat").write_text(
            f"{round(ran_s * 1e9)} {round(delayed_s * 1e9)} 3\n"
        )
        (task / "children").write_text(" ".join(map(str, children or [])))


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host(tmp_path)
    monkeypatch.setattr(patience.time, "monotonic", lambda: made.now)
    return made


def pass_(host: Host, waiting: Patience, seconds: int) -> float:
    for _ in range(seconds):
        host.now += 1
        waited = waiting.waited_s()
    return waited


def test_a_guest_that_says_nothing_is_waited_for(host: Host) -> None:
    waiting = Patience(1, host.proc)
    assert waiting.waited_s() == 0
    assert pass_(host, waiting, 7) == 7
    waiting.heard()
    assert waiting.waited_s() == 0
    assert pass_(host, waiting, 3) == 3


def test_time_without_a_processor_does_not_count(host: Host) -> None:
    waiting = Patience(1, host.proc)
    host.process(1, 0.25, [2])
    host.process(2, 0.5)
    assert pass_(host, waiting, 1) == pytest.approx(0.25)
    host.process(2, 10.5)  # more than has passed
    assert pass_(host, waiting, 1) == pytest.approx(0.25)
    assert pass_(host, waiting, 2) == pytest.approx(2.25)


def test_processes_that_yield_to_each_other_have_a_processor(host: Host) -> None:
    waiting = Patience(1, host.proc)
    host.process(1, 0.7, [2], ran_s=0.3)
    host.process(2, 0.3, ran_s=0.7)
    assert pass_(host, waiting, 1) == pytest.approx(1)
    host.process(1, 1.45, [2], ran_s=0.55)  # somebody else has half of it
    host.process(2, 1.05, ran_s=0.95)
    assert pass_(host, waiting, 1) == pytest.approx(1.5)


def test_time_in_which_this_process_was_stopped_does_not_count(host: Host) -> None:
    waiting = Patience(1, host.proc)
    host.now += 3600
    assert waiting.waited_s() == patience.MOST_S


def test_a_process_that_has_ended_or_a_host_that_does_not_tell(host: Host) -> None:
    host.process(1, children=[2, 3])
    waiting = Patience(1, host.proc)
    (host.proc / "2" / "schedstat").unlink()
    assert pass_(host, waiting, 2) == 2
    assert pass_(host, Patience(77, host.proc), 2) == 2


def test_a_sign_of_life_takes_no_look_at_the_host(host: Host) -> None:
    waiting = Patience(1, host.proc)
    host.process(1, 0.25)
    waiting.heard()
    assert pass_(host, waiting, 2) == pytest.approx(1.75)
    assert pass_(host, waiting, 1) == pytest.approx(2.75)
