"""Kernels by their names, built with their progress shown."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from qdisclab.emulation import kernel
from qdisclab.emulation.host import terminal
from qdisclab.emulation.model.series import DEFAULT_KERNEL


def named(name: str | None) -> kernel.Kernel:
    """Return the kernel of a series, the default one for None, or with a digest.

    If it is built now, its progress is shown.
    """
    with shown_progress() as progress:
        return kernel.named(DEFAULT_KERNEL if name is None else name, progress=progress)


@contextmanager
def shown_progress() -> Iterator[Callable[[str, float], None]]:
    """Yield a function that shows progress: a line of a terminal, else one per step and tenth."""
    if sys.stderr.isatty():
        with terminal.line() as show:
            yield lambda step, done: show(f"kernel: {step}" + (f" {done:.0%}" if done else ""))
        return
    last: tuple[str, int] = ("", 0)

    def lines(step: str, done: float) -> None:
        nonlocal last
        now = (step, int(done * 10))
        if now != last:
            last = now
            share = f" {now[1] * 10} %" if now[1] else ""
            print(f"kernel: {step}{share}", file=sys.stderr, flush=True)

    yield lines
