"""Tables on standard output: aligned and coloured at a terminal, tab-separated elsewhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Sequence

from emulation.errors import printable


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
    wrapped; `styles` has one of rich's styles per row, and `notes` are lines below the table, each
    with its style. Elsewhere the rows alone are printed, for other programs to read. A cell is one
    line, in which nothing speaks to the terminal.
    """
    rows = [[printable(" ".join(re.split(r"[\n\t]", cell))) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in (titles, *rows):
            print("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in titles:
        table.add_column(
            title,
            justify="right" if title in numbers else "left",
            overflow="fold",
            no_wrap=title in whole,
        )
    for number, row in enumerate(rows):
        table.add_row(*row, style=styles[number] if styles else None)
    console = Console()
    console.print(table, markup=False)
    for text, style in notes:
        console.print(text, style=style)
