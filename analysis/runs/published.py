"""Values that the papers print or plot, as facts in `published/*.csv` of a study."""

from collections.abc import Collection
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pandera.pandas as pa

from qdisclab.analysis.errors import DataError, refused
from qdisclab.emulation import datafile

DIRECTIONS: Final = r"^(download|upload|one|round_trip|[0-9]+ ms)$"
PUBLISHED: Final = pa.DataFrameSchema(
    {
        "figure": pa.Column(str),
        "link": pa.Column(str, pa.Check.str_matches(r"^[0-9.]+/[0-9.]+$")),
        "qdisc": pa.Column(str),
        "metric": pa.Column(str, pa.Check.isin(["goodput", "induced_latency", "jain_index"])),
        "direction": pa.Column(str, pa.Check.str_matches(DIRECTIONS)),
        "value": pa.Column(float, pa.Check.ge(0)),
        "unit": pa.Column(str, pa.Check.isin(["Mbit/s", "ms", "index"])),
        "reading_error": pa.Column(float, pa.Check.gt(0)),
    },
    unique=["figure", "link", "qdisc", "metric", "direction"],
    strict=True,
)
"""One row per value. `one` is a goodput of which the paper does not say the direction, "10 ms" that
of the upload of that round trip; `reading_error` (same unit) is how exactly the value can be read
from the printed figure."""

REMEDY: Final = "Correct it, or restore it where it comes with the repository"
OTHER_FORM: Final = (ValueError, KeyError, pa.errors.SchemaError, pa.errors.SchemaErrors)
MOST_CSV: Final = 8 << 20
"""Bytes of a table; the largest that ships has 11 kB."""
LONGEST_LINE: Final = 1 << 16
"""Bytes of a line of a table: pandas takes a thousand times as much for a column."""


def read_csv(path: Path, **options: Any) -> pd.DataFrame:
    """Read a table as pandas does, which also raises ValueError for what it cannot read."""
    content = datafile.read(path, MOST_CSV, "restore it where it comes with the repository")
    if max(map(len, content.splitlines()), default=0) > LONGEST_LINE:
        wrong = f"a line is longer than {LONGEST_LINE >> 10} KiB"
        raise DataError.of(path, wrong, "Is it a table")
    try:
        table: pd.DataFrame = pd.read_csv(BytesIO(content), **options)
    except (IndexError, OverflowError, TypeError) as error:  # of pandas, over odd headers
        raise ValueError(str(error)) from error
    return table


def read_table(path: Path, schema: pa.DataFrameSchema, what: str) -> pd.DataFrame:
    """Return a table of facts of a study; a line that begins with # is a comment.

    `what` names it, "losses". Raises DataError where the file is missing or is no table of
    `schema`.
    """
    types = {name: str(column.dtype) for name, column in schema.columns.items()}
    texts = {name: str for name, kind in types.items() if kind.startswith("str")}
    with refused(path, f"not a table of {what} ({{2}})", REMEDY, *OTHER_FORM):
        table = read_csv(path, dtype=texts, comment="#")
        floats = [name for name in table if types.get(name) == "float64"]
        return schema.validate(table.astype(dict.fromkeys(floats, float)))


def read_published(
    path: Path,
    figure: str | None = None,
    *,
    qdiscs: Collection[str] | None = None,
    link: str | None = None,
) -> pd.DataFrame:
    """Return the table of PUBLISHED, of one figure ("2a") or of all, of some qdiscs or of all.

    Raises DataError when the file is missing, does not fit the schema or lacks the figure, or has
    the figure of others than `link`.
    """
    table = read_table(path, PUBLISHED, "published values")
    wanted = table if qdiscs is None else table[table["qdisc"].isin(qdiscs)]
    if figure is None:
        return wanted.reset_index(drop=True)
    there = table[table["figure"] == figure]
    if there.empty:
        figures = ", ".join(sorted(table["figure"].unique()))
        raise DataError.of(path, f"no figure {figure!r}", f"It has {figures}")
    chosen = wanted[wanted["figure"] == figure].reset_index(drop=True)
    if chosen.empty:
        wrong = f"no value of {', '.join(qdiscs or ())} in figure {figure!r}"
        raise DataError.of(path, wrong, f"It has {', '.join(sorted(there['qdisc'].unique()))}")
    others = sorted(set(chosen["link"]) - {link})
    if link is not None and others:
        wrong = f"its figure {figure!r} is of {', '.join(others)}, not of {link}"
        names = wanted[wanted["link"] == link]["figure"].unique()
        instead = f'figure = "{names[0]}", or ' if len(names) else ""
        raise DataError.of(path, wrong, f'Write {instead}published_values = "" to draw none')
    return chosen


def nothing(
    figure: str, link: str, qdiscs: Collection[str], directions: Collection[str]
) -> pd.DataFrame:
    """Return a table like PUBLISHED whose values are NaN, for a figure that the paper prints no
    values of: latency and the goodput of each of `directions` of each qdisc."""
    kinds = [("induced_latency", "round_trip", "ms")]
    kinds += [("goodput", direction, "Mbit/s") for direction in directions]
    rows = [(figure, link, qdisc, *kind, float("nan")) for qdisc in qdiscs for kind in kinds]
    names = ["figure", "link", "qdisc", "metric", "direction", "unit", "value"]
    table = pd.DataFrame(rows, columns=names).assign(reading_error=float("nan"))
    return table[list(PUBLISHED.columns)]


def read_facts(path: Path) -> pd.DataFrame:
    """Return a printed table that describes: texts under a header. Raises DataError for another
    file."""
    with refused(path, "no table ({})", REMEDY, ValueError):
        table = read_csv(path, dtype=str, keep_default_na=False)
    if table.empty or table.columns.size < 2:
        raise DataError.of(path, "has no rows or one column", REMEDY)
    return table
