"""What a figure shows in a sentence, computed from its table."""

from typing import Final

import pandas as pd

from qdisclab.analysis.runs.settings import in_headers, in_words
from qdisclab.analysis.site.tables import HEADERS, MISSES, agreement
from qdisclab.analysis.words import number

#: Columns of a value, of which tables without printed values are summed up by the first they have.
VALUES: Final = (
    "normalised", "median_ms", "p50", "jain_index", "Median delay (ms)", "sd_latency_ms", "effect",
    "Mean induced latency (ms)", "mean", "mean_ms", "ours",
)  # fmt: skip
#: Columns of what is compared with each other.
NAMES: Final = ("qdisc", "series", "aqm", "switch", "what", "rig")
#: Columns that tell rows of a name apart, beside those of texts.
KEYS: Final = ("x", "base_rtt_ms", "flows_per_sender")


def sentence(table: pd.DataFrame) -> str:
    """Return what the table says of its printed values, or else the least and the most of its first
    quantity in its first setting; nothing where it has neither."""
    if {"published", "ours", "agrees"} <= set(table) and table["published"].notna().any():
        return _of_printed(table)
    return _of_extremes(table)


def _of_printed(table: pd.DataFrame) -> str:
    words = agreement(table)
    pairs = table[["published", "ours"]].apply(pd.to_numeric, errors="coerce")
    printed = pairs["published"].where(pairs["published"] > 0)
    off = (pairs["ours"] - printed).abs() / printed
    counts = {word: words.count(word) for word in ("yes", *MISSES, "no")}
    rest = ", ".join(f"{n} {word}" for word, n in counts.items() if n and word != "yes")
    text = f"Of {sum(counts.values())} printed values {counts['yes']} agree"
    text += f"; of the others {rest}." if rest else "."
    if off.max() > 0.05:
        worst = int(off.fillna(-1).to_numpy().argmax())
        ours, published = (number(pairs[name].iloc[worst]) for name in ("ours", "published"))
        unit = f" {table['unit'].iloc[worst]}" if "unit" in table else ""
        text += f" The median miss is {100 * off.median():.3g} %, the greatest that of "
        text += f"{_named(table, worst)}: {ours}{unit} where {published} is printed."
    return text


def _named(table: pd.DataFrame, row: int) -> str:
    """Return what row it is: the texts before the printed value but for the figure's name."""
    before = [name for name in table.columns[: list(table).index("published")] if name != "figure"]
    several = [name for name in before if table[name].nunique() > 1 and name != "at"]
    short = {"induced_latency": "latency", "round_trip": "RTT"}
    texts = (str(table[name].iloc[row]) for name in several)
    return ", ".join(short.get(text, text) for text in texts)


def _of_extremes(table: pd.DataFrame) -> str:
    value = next((name for name in VALUES if name in table), None)
    name = next((name for name in NAMES if name in table and table[name].nunique() > 1), None)
    if value is None or name is None or table.empty:
        return ""
    texts = table.select_dtypes(exclude="number").columns
    fixed = [of for of in (*texts, *KEYS) if of in table and of not in (name, value, "interval")]
    fixed = [of for of in dict.fromkeys(fixed) if table[of].nunique() > 1]
    first = table[(table[fixed].fillna("") == table[fixed].fillna("").iloc[0]).all(axis=1)]
    values = pd.to_numeric(first[value], errors="coerce")
    ranked = first.assign(value=values)[values.notna()].sort_values("value", kind="stable")
    names, values = ranked[name], ranked["value"]
    if names.nunique() < 2 or names.iloc[0] == names.iloc[-1]:
        return ""
    least, most = (f"{number(values.iloc[i])} with {names.iloc[i]}" for i in (0, -1))
    words = {of: in_words if of == "era" else in_headers for of in fixed}
    where = ", ".join(words[of](str(first[of].iloc[0])) for of in fixed)
    what = HEADERS.get(value, value)
    return f"{what}{f', {where}' if where else ''}: least {least}, most {most}."
