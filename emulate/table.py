"""Tables on standard output: aligned and coloured at a terminal, tab-separated elsewhere."""

import re
import shutil
import sys
from collections.abc import Collection, Sequence
from itertools import zip_longest
from textwrap import wrap

from qdisclab.emulation.errors import printable

#: What a terminal calls them.
_STYLES = {"bold": 1, "dim": 2}

#: Characters that a column keeps where a line is too long.
_NARROWEST = 8


def print_table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Collection[str] = (),
    whole: Collection[str] = (),
    styles: Sequence[str | None] = (),
    notes: Sequence[tuple[str, str]] = (),
) -> None:
    """Print `rows` under `titles`.

    At a terminal, columns named in `numbers` are aligned to the right and those in `whole` are not
    wrapped; `styles` has None or a key of `_STYLES` per row, and `notes` are lines below the table,
    each with its style. Elsewhere the rows alone are printed, for other programs to read. A cell is
    one line, in which nothing speaks to the terminal.
    """
    rows = [[printable(" ".join(re.split(r"[\n\t]", cell))) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in (titles, *rows):
            print("\t".join(row))
        return
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    narrower = [number for number, title in enumerate(titles) if title not in whole]
    while narrower and sum(widths) + 2 * len(widths) > shutil.get_terminal_size().columns:
        widest = max(narrower, key=widths.__getitem__)
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    for row, style in zip((titles, *rows), ("bold", *(styles or [None] * len(rows))), strict=True):
        wrapped = [wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
        for parts in zip_longest(*wrapped, fillvalue=""):
            texts = [
                part.rjust(width) if title in numbers else part.ljust(width)
                for part, width, title in zip(parts, widths, titles, strict=True)
            ]
            _print("  ".join(texts).rstrip(), style)
    for text, style in notes:
        _print(text, style)


def _print(text: str, style: str | None) -> None:
    print(f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style else text)
