"""A figure's table as points that `draw.js` draws in the page of the figure.

Each has a quantity, a value for each of several names (qdisc, setting, rate …), and an interval
where the table has one of it.
"""

from typing import Any, Final

import pandas as pd

from qdisclab.analysis.plots.style import look
from qdisclab.analysis.runs.order import in_order
from qdisclab.analysis.runs.settings import in_headers, linux_of
from qdisclab.analysis.site.tables import VALUES as FIRST, header

#: Columns whose values are of the quantity that another column names; without one of them all
#: columns of numbers are quantities.
VALUES: Final = ("ours", "mean", "effect")
#: Columns that name a quantity, with its unit.
QUANTITY: Final = ("quantity", "metric", "direction", "unit")
#: What an interval is of that does not say: the first of these.
INTERVAL_OF: Final = (
    *VALUES,
    "rtt_ms",
    "mean_ms",
    "normalised",
    "jain_index",
    "mean error",
    "Dropped (%)",
)
BOUNDS: Final = (("ci_low", "ci_high"), ("ci_low_ms", "ci_high_ms"), ("low", "high"))
#: Numbers that are parameters of a run.
PARAMETERS: Final = ("x", "time_s", "flows", "stations", "base_rtt_ms", "flows_per_sender",
                     "rate_mbit_s", "guests", "hosts")  # fmt: skip
QDISCS: Final = ("qdisc", "series", "aqm")
LINUX: Final = ("setting", "era", "whose")  # which name says the Linux, that a slider chooses
SEED: Final = "seed"
NEITHER: Final = ("figure", "run", "twin", "n_seeds", "runs", "samples", "pages", "interval",
                  "note", "restores", "problem", "agrees", "at")  # fmt: skip
WHOSE: Final = "whose"
PRINTED: Final = header("published")
OURS: Final = header("ours")
NUMBERS: Final = ("value", "low", "high")
MOST_NAMES: Final = 60  # of one kind: more are no names


def points(table: pd.DataFrame, ours: str = "") -> dict[str, Any] | None:
    """Return `quantities`, `names` (each with label, values, colors), which of them is `along` the
    axis at first, and `points`: quantity and names as places in these lists, value and, where there
    is an interval, low and high.

    Where names are of several Linux, `linux` is which of them, and `stops` those of its values;
    `seed` is the name of runs. `ours` is the setting of our values beside printed ones.
    None where the table has no names, or several rows of the same.
    """
    table = table.reset_index(drop=True).dropna(axis="columns", how="all")
    rows = _rows(table, next((name for name in VALUES if name in table), ""))
    names = [name for name in rows.columns[4:] if rows[name].nunique() > 1]
    if not names or len(rows) < 2 or rows.duplicated(["quantity", *names]).any():
        return None
    places = {name: _values(rows[name], name) for name in names}
    quantities = rows["quantity"].unique().tolist()
    ranked = sorted(names, key=lambda name: (name not in PARAMETERS, name in QDISCS))
    others = [name for name in reversed(ranked) if name not in (*QDISCS, SEED)]
    if SEED in names:  # a strip of runs per qdisc
        others = [name for name in ranked if name in QDISCS]
    along = ranked[0] if ranked[0] in PARAMETERS else next(iter(others), ranked[0])
    values = [quantities, *places.values()]
    linux = next((name for name in LINUX if name in names), "")
    stops = [place for place, value in enumerate(places.get(linux, ())) if value != PRINTED]
    return {
        "quantities": quantities,
        "along": names.index(along),
        **({"linux": names.index(linux), "stops": stops} if len(stops) > 1 else {}),
        **({"seed": names.index(SEED)} if SEED in names else {}),
        "names": [_name(name, places[name], ours) for name in names],
        "points": [
            [
                *(each.index(name) for each, name in zip(values, at, strict=True)),
                *(float(f"{number:.6g}") for number in numbers if pd.notna(number)),
            ]
            for at, numbers in zip(
                rows[["quantity", *names]].to_numpy().tolist(),
                rows[[*NUMBERS]].astype(float).to_numpy().tolist(),
                strict=True,
            )
        ],
    }


def _rows(table: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return a row per point: quantity, value, low, high, and the columns that name it."""
    bounds = [name for pair in BOUNDS for name in pair]
    left = {*NEITHER, *QUANTITY, *bounds}
    texts = [
        name for name in table.select_dtypes(exclude="number").columns
        if name not in {*left, "published"} and not name.endswith((")", "%"))
        and table[name].nunique() <= MOST_NAMES
    ]  # fmt: skip
    numbered = (name for name in (*PARAMETERS, SEED) if name in table and name not in texts)
    kinds = [*texts, *numbered]
    numbers = [of for of in map(str, table.select_dtypes("number")) if of not in {*kinds, *left}]
    if value == "ours":
        numbers = [name for name in numbers if name in (value, "published") or "Linux" in name]
    elif value:
        numbers = [value]
    of = [of for of in QUANTITY if of in table and (of == "quantity" or table[of].nunique() > 1)]
    named = table[of].fillna("").astype(str)
    worded = named.map(header) if of == ["quantity"] else named.replace("_", " ", regex=True)
    words = worded.agg(", ".join, axis=1) if of else None
    parts = []
    for number in sorted(numbers, key=lambda name: name not in FIRST and not value):
        label = in_headers(header(number))
        low, high = _interval(table, number)
        part = pd.DataFrame({"quantity": label, "value": table[number], "low": low, "high": high})
        if words is not None:
            part["quantity"] = words if value else words + f": {label}"
        elif value:
            part["quantity"] = "Value"
        part[kinds] = table[kinds].astype(str)
        parts.append(part.assign(**{WHOSE: label}) if value else part)
    rows = pd.concat(parts) if parts else pd.DataFrame(columns=["quantity", *NUMBERS])
    return rows[rows["value"].notna()]


def _interval(table: pd.DataFrame, number: str) -> tuple[Any, Any]:
    """Return the ends of the intervals of a column, where the table has them."""
    first = next((name for name in INTERVAL_OF if name in table), "")
    pair = next((pair for pair in BOUNDS if {*pair} <= {*table.columns}), None)
    if pair and number == first:
        return table[pair[0]], table[pair[1]]
    text = "interval" if number == first else f"{number}, 95 %"
    if text not in table:
        return None, None
    ends = table[text].astype(str).str.extract(r"(\S+) to (\S+)").astype(float)
    return ends[0], ends[1]


def _values(column: pd.Series, name: str) -> list[str]:
    values = column.unique().tolist()
    return in_order(values) if name in QDISCS else values


def _name(name: str, values: list[str], ours: str) -> dict[str, Any]:
    colors = [[of.color, of.dark_color] for of in map(look, values)] if name in QDISCS else []
    if name == "era":
        values = [linux_of(value) for value in values]
    if name == WHOSE and ours:
        values = [ours if value == OURS else value for value in values]
    label = header(name)
    return {"label": label, "values": [in_headers(value) for value in values], "colors": colors}
