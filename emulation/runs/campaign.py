"""Do several runs at once: how `emulate run` and a notebook do the runs of a selection.

A run that exists already is not repeated, so that a campaign that was stopped continues where it
stopped. If a run fails, the others in progress are stopped, and its error is raised, unless the
caller asks to be told of it.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from qdisclab.emulation.errors import EmulationError, Interrupted
from qdisclab.emulation.host import terminal
from qdisclab.emulation.kernel import Kernel
from qdisclab.emulation.kinds.probes.probe import Probe
from qdisclab.emulation.machine.rootfs import RootFs
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.runs.run import Measure, Result, execute
from qdisclab.emulation.runs.speed import AROUND_LOAD_S


@dataclass(frozen=True)
class Options:
    """Whether runs are repeated, and what is stored in addition to their data."""

    keep: Path | None = None  # folder for what a failed guest leaves
    again: bool = False  # repeat runs that exist already
    stale: bool = False  # repeat those that would be made of something else today
    probes: tuple[Probe, ...] = ()  # store what they record
    raw: bool = False  # store what flent wrote
    measure: Measure | None = None  # store what it returns in place of the data


#: Called with a run and a line of its guest's status, from the thread of the run.
OnStep = Callable[[Run, dict[str, Any]], None]
#: Called with a run and its result, never by two threads at once.
OnResult = Callable[[Run, Result], None]
#: Called with a run and the error that it failed with, likewise.
OnFailure = Callable[[Run, EmulationError], None]


def do(
    runs: Sequence[Run],
    kernel: Kernel,
    root: RootFs,
    data: Path,
    *,
    jobs: int = 1,
    options: Options | None = None,
    bars: bool = False,
    on_result: OnResult = lambda run, result: None,
    on_failure: OnFailure | None = None,
) -> list[Result]:
    """Do `runs`, `jobs` at a time, into the folder `data`; return their results in order.

    With `bars`, progress is drawn, on a terminal or in a notebook.
    Raises the `EmulationError` of the first run that fails, and `KeyboardInterrupt`; then nothing
    is left of runs that were in progress. With `on_failure`, that is called with the error in its
    place, and the others are done.
    """
    options, stop, reporting = options or Options(), threading.Event(), threading.Lock()

    def check(_: object = None) -> None:
        if stop.is_set():
            raise Interrupted("stopped")

    def do_run(run: Run) -> list[Result]:
        check()
        try:
            watch = partial(on_step, run)
            result = execute(run, kernel, root, data, watch, on_poll=check, **vars(options))
        except Interrupted:
            raise
        except EmulationError as error:
            if on_failure is None:
                raise
            with reporting:
                end(run)
                on_failure(run, error)
            return []
        with reporting:
            end(run)
            on_result(run, result)
        return [result]

    with _progress(len(runs), bars) as (on_step, end):
        if jobs == 1:
            return [result for run in runs for result in do_run(run)]
        with ThreadPoolExecutor(jobs, thread_name_prefix="run") as pool:
            futures: list[Future[list[Result]]] = [pool.submit(do_run, run) for run in runs]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            finally:
                done = [future for future in futures if future.done()]
                failed = [future for future in done if future.exception() is not None]
                if failed or len(done) < len(futures):
                    stop.set()
                    pool.shutdown(cancel_futures=True)
            if failed:
                raise failed[0].exception() or RuntimeError("a run failed")
        return [result for future in futures for result in future.result()]


@contextmanager
def _progress(count: int, visible: bool) -> Iterator[tuple[OnStep, Callable[[Run], None]]]:
    """Yield what draws the step of a run and its end, in one line."""
    if not visible:
        yield (lambda run, step: None), (lambda run: None)
        return
    ended, shares, lock = 0, dict[str, float](), threading.Lock()
    with terminal.line() as show:

        def on_step(run: Run, step: dict[str, Any]) -> None:
            with lock:
                shares[run.id] = min(step["virtual_s"] / (run.length.seconds + AROUND_LOAD_S), 1)
                at_work = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
                show(f"{ended} of {count} runs; {at_work}")

        def end(run: Run) -> None:
            nonlocal ended
            with lock:
                ended += 1
                shares.pop(run.id, None)
                show("")

        yield on_step, end
