"""The parameters of queue disciplines: what the paper prints, and what an experiment sets."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pandera.pandas as pa

from qdisclab.analysis.runs.order import in_order
from qdisclab.analysis.runs.published import read_table
from qdisclab.emulation.model.run import Point
from qdisclab.emulation.model.units import Amount, Option

PRINTED: Final = pa.DataFrameSchema(
    {
        **{name: pa.Column(str) for name in ("qdisc", "parameter", "rate", "value")},
        "note": pa.Column(str, nullable=True),
    },
    unique=["qdisc", "parameter", "rate"],
    strict=True,
)
"""One row per printed parameter, at one rate of the bottleneck; values with their units."""


def read_printed(path: Path) -> pd.DataFrame:
    """Return the table of PRINTED; raise DataError for anything else."""
    return read_table(path, PRINTED, "parameters")


def compare(printed: pd.DataFrame, cells: Iterable[Point]) -> pd.DataFrame:
    """Return one row per printed parameter: qdisc, parameter, rate, published, ours, agrees,
    note."""
    values: dict[tuple[Any, ...], Option] = {}
    for cell in cells:
        for qdisc, rate in ((cell.up, cell.link.up), (cell.down, cell.link.down)):
            options = dict(qdisc.options)
            if qdisc.txqueuelen is not None:
                options["txqueuelen"] = qdisc.txqueuelen
            values |= {(cell.qdisc, name, str(rate)): value for name, value in options.items()}
    keys = printed[["qdisc", "parameter", "rate"]].itertuples(index=False, name=None)
    ours = [values.get(key) for key in keys]
    table = printed.rename(columns={"value": "published"})
    table["ours"] = ["–" if value is None else str(value) for value in ours]
    table["agrees"] = [*map(_equal, ours, table["published"])]
    table["note"] = table["note"].fillna("")
    return table[["qdisc", "parameter", "rate", "published", "ours", "agrees", "note"]]


def laid_out(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of `compare` as the paper prints it: a row per parameter, a column per rate.

    Where ours differs, the printed value follows it in brackets.
    """
    values = table["ours"].where(table["agrees"], table["ours"] + " (" + table["published"] + ")")
    rows = dict.fromkeys(table[["qdisc", "parameter"]].itertuples(index=False, name=None))
    rates = list(dict.fromkeys(table["rate"]))
    wide = table.assign(value=values).pivot_table(
        index=["qdisc", "parameter"], columns="rate", values="value", aggfunc="first", fill_value=""
    )
    order = in_order([qdisc for qdisc, _ in rows])
    wide = wide.loc[sorted(rows, key=lambda row: order.index(row[0])), rates]
    return wide.reset_index().rename_axis(columns=None)


def _equal(ours: Option | None, printed: str) -> bool:
    """Return whether the two are the same; 125 kB is 125000 B."""
    return type(ours).parse(printed) == ours if isinstance(ours, Amount) else str(ours) == printed
