"""What is printed beside a result: notes, and a line that changes while work goes on."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from qdisclab.emulation.errors import printable


def warn(text: str) -> None:
    """Print a warning."""
    print(f"warning: {printable(text)}", file=sys.stderr, flush=True)


def note(text: str) -> None:
    """Print a note."""
    print(f"note: {printable(text)}", file=sys.stderr, flush=True)


@contextmanager
def line() -> Iterator[Callable[[str], None]]:
    """Yield what writes a text over the one before, on standard error; at the end it is removed."""
    shown = False

    def show(text: str) -> None:
        nonlocal shown
        shown = True
        width = shutil.get_terminal_size().columns - 1  # a full line would begin the next
        print(f"\r{text[:width]}\x1b[K", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if shown:
            show("")
