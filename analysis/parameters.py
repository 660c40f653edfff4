"""The parameters of queue disciplines: what the paper prints, and what an experiment sets."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pandera.pandas as pa
from matplotlib.figure import Figure

from analysis.published import read_table
from analysis.style import Palette, in_order
from emulation.model import Option, Point, Qdisc
from emulation.units import Quantity, Rate

PRINTED: Final = pa.DataFrameSchema(
    {
        "qdisc": pa.Column(str),
        "parameter": pa.Column(str),
        "rate": pa.Column(str),
        "value": pa.Column(str),
        "note": pa.Column(str, nullable=True),
    },
    unique=["qdisc", "parameter", "rate"],
    strict=True,
)
"""One row per printed parameter, at one rate of the bottleneck; values with their units."""
ROW_INCH: Final = 0.3


def read_printed(path: Path) -> pd.DataFrame:
    """Table of PRINTED (gbw2015, Table 1); raises DataError for anything else."""
    return read_table(path, PRINTED, "parameters", dict.fromkeys(PRINTED.columns, str))


def in_force(cells: Iterable[Point]) -> dict[tuple[str, str, str], Option]:
    """The value of each parameter by qdisc, parameter and rate, of both directions of all links."""
    found: dict[tuple[str, str, str], Option] = {}
    for cell in cells:
        for qdisc, rate in ((cell.up, cell.link.up), (cell.down, cell.link.down)):
            found.update(_parameters(cell.qdisc, qdisc, rate))
    return found


def _parameters(name: str, qdisc: Qdisc, rate: Rate) -> dict[tuple[str, str, str], Option]:
    found = {(name, option, str(rate)): value for option, value in qdisc.options}
    if qdisc.txqueuelen is not None:
        found[name, "txqueuelen", str(rate)] = qdisc.txqueuelen
    return found


def compare(printed: pd.DataFrame, cells: Iterable[Point]) -> pd.DataFrame:
    """One row per printed parameter: qdisc, parameter, rate, published, ours, agrees, note."""
    values = in_force(cells)
    keys = printed[["qdisc", "parameter", "rate"]].itertuples(index=False, name=None)
    ours = [values.get(key) for key in keys]
    table = printed.rename(columns={"value": "published"})
    table["ours"] = ["–" if value is None else str(value) for value in ours]
    pairs = zip(ours, table["published"], strict=True)
    # 125 kB is 125000 B
    table["agrees"] = [_equal(a, b) for a, b in pairs]
    table["note"] = table["note"].fillna("")
    return table[["qdisc", "parameter", "rate", "published", "ours", "agrees", "note"]]


def _equal(ours: Option | None, printed: str) -> bool:
    return type(ours).parse(printed) == ours if isinstance(ours, Quantity) else str(ours) == printed


def parameter_table(table: pd.DataFrame, palette: Palette) -> Figure:
    """The parameters as the paper lays them out: a row per parameter, a column per rate.

    `table` is from compare. A value that differs from the printed one stands before it.
    """
    rates = list(dict.fromkeys(table["rate"]))
    rows = list(dict.fromkeys(table[["qdisc", "parameter"]].itertuples(index=False, name=None)))
    order = in_order([qdisc for qdisc, _ in rows])
    rows.sort(key=lambda row: order.index(row[0]))
    keys = table[["qdisc", "parameter", "rate"]].itertuples(index=False, name=None)
    known = dict(zip(keys, table.to_dict("records"), strict=True))
    figure = Figure(figsize=(7.6, 0.5 + ROW_INCH * (len(rows) + 1)))
    axes = figure.add_axes((0.02, 0.01, 0.96, 0.98))
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(len(rows) + 0.5, -0.9)
    places = [0.4 + 0.2 * number for number in range(len(rates))]
    for x, rate in zip(places, rates, strict=True):
        axes.text(x, -0.35, rate, ha="left", va="center", color=palette.soft, fontsize=11)
    for y, (qdisc, parameter) in enumerate(rows):
        if y == 0 or rows[y - 1][0] != qdisc:
            axes.axhline(y + 0.1, color=palette.grid, linewidth=0.9)
            axes.text(0, y + 0.6, qdisc, va="center", color=palette.color(qdisc),
                      fontweight="bold", fontsize=11)  # fmt: skip
        axes.text(0.2, y + 0.6, parameter, va="center", fontsize=11)
        for x, rate in zip(places, rates, strict=True):
            if (qdisc, parameter, rate) in known:
                text = _shown(known[qdisc, parameter, rate])
                axes.text(x, y + 0.6, text, va="center", fontsize=11)
    return figure


def _shown(row: Mapping[Any, Any]) -> str:
    return str(row["published"]) if row["agrees"] else f"{row['ours']} ({row['published']})"


def describe_parameters(table: pd.DataFrame) -> str:
    """The text that stands for parameter_table."""
    parts = [f"{row.qdisc} {row.parameter} at {row.rate} {row.ours}" for row in table.itertuples()]
    return f"Table of the qdiscs' parameters: {'; '.join(parts)}."
