"""Several runs, side by side: what `emulate run` and a notebook do with the runs of a selection.

A run that is there already is not done again, so that a campaign that was stopped goes on where it
stopped. Where one fails, those under way are stopped, and its error is raised.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulation.errors import Interrupted
from emulation.kernel import Kernel
from emulation.machine.rootfs import RootFs
from emulation.model.run import Run
from emulation.probes.probe import Probe
from emulation.runs.run import Result, execute
from emulation.runs.speed import AROUND_LOAD_S


@dataclass(frozen=True)
class Options:
    """What is kept of runs beside their data."""

    keep: Path | None = None  # folder for what a failed guest leaves
    again: bool = False  # do runs anew that are there already
    captures: bool = False  # keep packets
    traced: bool = False  # keep a trace of simulated time
    probes: tuple[Probe, ...] = ()  # keep what they record


#: Called with a run and a line of its guest's status, from the thread of the run.
OnStep = Callable[[Run, dict[str, Any]], None]
#: Called with a run and what came of it, one after the other.
OnResult = Callable[[Run, Result], None]


def do(
    runs: Sequence[Run],
    kernel: Kernel,
    root: RootFs,
    data: Path,
    *,
    jobs: int = 1,
    options: Options | None = None,
    on_step: OnStep = lambda run, step: None,
    on_result: OnResult = lambda run, result: None,
) -> list[Result]:
    """Do `runs`, `jobs` at once, into the folder `data`; what came of each, in their order.

    Raises the `EmulationError` of the first that fails, and `KeyboardInterrupt`; nothing is left
    then of runs that were under way.
    """
    options, stop, telling = options or Options(), threading.Event(), threading.Lock()

    def check(_: object = None) -> None:
        if stop.is_set():
            raise Interrupted("stopped")

    def one(run: Run) -> Result:
        check()
        result = execute(
            run,
            kernel,
            root,
            data,
            lambda step: on_step(run, step),
            keep=options.keep,
            again=options.again,
            captures=options.captures,
            traced=options.traced,
            probes=options.probes,
            on_poll=check,
        )
        with telling:
            on_result(run, result)
        return result

    if jobs == 1:
        return [one(run) for run in runs]
    with ThreadPoolExecutor(jobs, thread_name_prefix="run") as pool:
        futures: list[Future[Result]] = [pool.submit(one, run) for run in runs]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            failed = [one for one in futures if one.done() and one.exception() is not None]
            if failed or not all(one.done() for one in futures):
                stop.set()
                pool.shutdown(cancel_futures=True)
        if failed:
            raise failed[0].exception() or RuntimeError("a run failed")
    return [future.result() for future in futures]


@contextmanager
def progress(count: int, shown: bool = True) -> Iterator[tuple[OnStep, OnResult]]:
    """What to give `do` for bars: one of all runs, and one of each that is under way.

    On a terminal and in a notebook; nothing where not `shown`.
    """
    if not shown:
        yield (lambda run, step: None), (lambda run, result: None)
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, transient=True) as bars:
        whole = bars.add_task("runs", total=count, unit="")
        tasks: dict[str, TaskID] = {}
        lock = threading.Lock()

        def on_step(run: Run, step: dict[str, Any]) -> None:
            total = round(run.length.seconds + AROUND_LOAD_S)
            with lock:
                if run.id not in tasks:
                    tasks[run.id] = bars.add_task(run.id, total=total, unit="virtual s")
                bars.update(tasks[run.id], completed=min(int(step["virtual_s"]), total))

        def on_result(run: Run, result: Result) -> None:
            with lock:
                if run.id in tasks:
                    bars.remove_task(tasks.pop(run.id))
                bars.advance(whole)

        yield on_step, on_result
