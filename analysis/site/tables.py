"""Tables as people read them: headers, units, digits, pandas' Styler around them, and what they
show in a sentence."""

import re
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from math import inf
from numbers import Real
from typing import TYPE_CHECKING, Final

import pandas as pd
from IPython.display import HTML
from pandas.io.formats.style import Styler

from qdisclab.analysis.runs.dataset import Dataset
from qdisclab.analysis.runs.order import in_order
from qdisclab.analysis.runs.settings import in_headers, in_words
from qdisclab.analysis.words import NONE, intervals, number, ranges

if TYPE_CHECKING:
    from pandas.io.formats.style_render import CSSDict

_STYLES: Final = re.compile(r'<style type="text/css">\s*(#T_.*?)</style>\s*', re.DOTALL)
#: How a column ends -> its unit.
_UNITS: Final = {
    "ms": "ms", "mbit_s": "Mbit/s", "s": "s", "percent": "%", "bytes": "bytes", "ghz": "GHz",
    "mhz": "MHz",
}  # fmt: skip
#: Headers that `header` would not make of their column.
_HEADERS: Final = {
    "metric": "Quantity",
    "allowed": "Allowed ±",
    "published_gap": "From the first, published",
    "gap": "From the first, ours",
    "n_seeds": "Seeds",
    "seeds": "Which seeds",
    "goodput_download_mbit_s": "Download (Mbit/s)",
    "goodput_upload_mbit_s": "Upload (Mbit/s)",
    "base_rtt_ms": "Base round trip (ms)",
    "jain": "Jain's index",
    "rig": "Link",
    "interval": "95 % interval",
    "tail_ms": "Mean, last 5 s (ms)",
    "distinct": "Distinct traces",
    "correlation": "Correlation of seeds, median",
    "correlation_max": "greatest",
    "apart_s": "Parted after (s)",
    "start_spread_ms": "Starts within (ms)",
    "sd_latency_ms": "σ latency (ms)",
    "sd_goodput": "σ goodput (Mbit/s)",
    "major": "Ellipse, half axes: longer",
    "minor": "shorter",
    "cv_latency": "σ divided by mean",
    "excess_max": "Slowest probe divided by median",
    "p95_ms": "95th percentile (ms)",
    "p99_ms": "99th percentile (ms)",
    "normalised": "Fetch time (unloaded = 1)",
    "std": "σ over runs",
    "fetch_s": "Fetch time (s)",
    "pages_failed": "Pages that failed",
    "jain_index": "Jain's index",
    "goodput": "Goodput (Mbit/s)",
    "base": "On top of",
    "what": "Run",
    "ci_low": "95 % interval from",
    "ci_high": "to",
    "percent": "Lower by (%)",
    "cc": "Congestion control",
    "x": "On the x axis",
    "p10": "10 %",
    "p25": "25 %",
    "p50": "Median",
    "p75": "75 %",
    "p90": "90 %",
    "most": "Greatest",
    "aqm": "AQM",
    "flows_per_sender": "Flows a sender",
    "p75_ms": "75th percentile (ms)",
    "below_90ms_percent": "Below 90 ms (%)",
    "kilobytes": "Sent (kB)",
    "core_factor": "Virtual seconds per CPU second",
    "factor": "Virtual seconds per wall second",
    "cpu_s": "CPU (s)",
    "memory_mib": "Memory taken (MiB)",
    "median_signed": "Median, with its sign",
    "n_runs": "Runs",
    "rtt_ms": "RTT (ms)",
    "short_gi": "Short guard interval",
    "mcs": "MCS",
    "cw_min": "CWmin",
    "within_raw": "Within, bias left in",
    "median_percent": "Median error (%)",
    "p90_percent": "90 % of errors below (%)",
    "largest_error": "Greatest error",
    "fifo_ms": "Latency of pfifo_fast (ms)",
    "gain_percent": "Latency that fq_codel saves against sfq (%)",
    "access_point_below_ms": "Below the qdisc, access point (ms)",
    "station_below_ms": "Below the qdisc, station (ms)",
}
QUANTITIES: Final = {
    ("induced_latency", "round_trip"): "latency",
    ("goodput", "download"): "download",
    ("goodput", "upload"): "upload",
    ("jain_index", "upload"): "Jain's index",
}
_COMPARED: Final = {  # columns of metrics.compare
    "figure", "link", "qdisc", "metric", "direction", "published", "reading_error", "ours",
    "difference", "ratio", "unit", "agrees", "n_seeds", "ci_low", "ci_high", "allowed",
    "published_gap", "gap",
}  # fmt: skip
#: By how much ours is off a printed value that does not agree -> the greatest ratio of that.
MISSES: Final = {"within 5 %": 0.05, "within 20 %": 0.2, "within 50 %": 0.5, "further off": inf}
COLORS: Final = {  # of the results pages, and in JupyterLab its own
    "yes": "color: var(--yes, var(--jp-success-color1))",
    **dict.fromkeys(("no", "further off"), "color: var(--no, var(--jp-warn-color1))"),
}

#: Columns of a value, of which tables without printed values are summed up by the first they have.
VALUES: Final = (
    "normalised",
    "median_ms",
    "p50",
    "jain_index",
    "Median delay (ms)",
    "sd_latency_ms",
    "effect",
    "Mean induced latency (ms)",
    "mean",
    "mean_ms",
    "ours",
)
#: Columns of what is compared with each other.
NAMES: Final = ("qdisc", "series", "aqm", "switch", "what", "rig")
#: Columns that say what a value is.
_OF_QUANTITY: Final = ("quantity", "metric", "direction", "unit")
#: Columns that tell rows of a name apart, beside those of texts.
KEYS: Final = ("x", "base_rtt_ms", "flows_per_sender")


def header(column: str) -> str:
    """Return the header of a column, in words: "Rate (Mbit/s)" for `rate_mbit_s`.

    A name that is no identifier in lower case is a header already.
    """
    if column in _HEADERS or not re.fullmatch("[a-z][a-z0-9_]*", column):
        return _HEADERS.get(column, column)
    end = next((f"_{end}" for end in _UNITS if column.endswith(f"_{end}")), "")
    words = column.removesuffix(end).replace("_", " ")
    words = words[:1].upper() + words[1:]
    return f"{words} ({_UNITS[end[1:]]})" if end else words


def readable(table: pd.DataFrame, none: str = "None.") -> Styler | HTML:
    """`table` as a notebook shows it: all rows, whole texts, units and digits as in `texts`.

    Columns of words are aligned to the left, all others to the right. The sentence `none` takes
    the place of a table without rows.
    """
    if table.empty:
        return HTML(f"<p>{escape(none)}</p>")  # type: ignore[no-untyped-call]
    frame = texts(table)
    frame.columns = pd.Index([str(name) for name in frame.columns])
    words = [frame[name].str[:1].str.isalpha().any() for name in frame.columns]
    places = (place for place, is_words in enumerate(words) if is_words)
    left: list[CSSDict] = [
        {"selector": f".col{place}", "props": "text-align: left"} for place in places
    ]
    name = sha256(frame.to_csv().encode()).hexdigest()[:8]  # the same table, the same bytes
    style = Styler(frame, uuid=name, cell_ids=False).hide(axis="index").format(escape="html")
    if (agrees := header("agrees")) in frame:
        style = style.map(lambda text: COLORS.get(text, ""), subset=[agrees])
    return style.set_table_styles(left)


def hoisted(page: str) -> str:
    """Return a page with the styles of its tables in its head, where alone HTML has them."""
    styles = dict.fromkeys(_STYLES.findall(page))
    head, end, rest = _STYLES.sub("", page).partition("</style>")
    return head + "".join(each for each in styles if each not in head) + end + rest if end else page


def data_found(data: Dataset, qdiscs: Sequence[str]) -> pd.DataFrame:
    """Return one row per era, congestion control and qdisc of `qdiscs`, also where there are no
    runs: era, cc, qdisc, n_seeds, seeds, kernel, flent."""
    rows = []
    for setting, there in data.runs.groupby(["era", "cc"], observed=True, sort=False):
        for qdisc in in_order(list(qdiscs)):
            runs = there[there["qdisc"] == qdisc]
            facts = (", ".join(sorted(set(runs[c]))) for c in ("kernel_release", "flent_version"))
            seeds = sorted(set(runs["seed"]))
            rows.append((*setting, qdisc, len(seeds), ranges(seeds), *facts))
    columns = ["era", "cc", "qdisc", "n_seeds", "seeds", "kernel", "flent"]
    return pd.DataFrame(rows, columns=columns)


def experiments_found(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per era, congestion control and experiment of a Dataset's `runs`: links,
    qdiscs, n_runs, seeds, kernel."""
    by = ["era", "cc", "experiment"]
    cells = runs.astype({"kernel_release": str}).groupby(by, observed=True, sort=False)
    table = cells.agg(
        links=("link", "nunique"),
        qdiscs=("qdisc", "nunique"),
        n_runs=("run", "nunique"),
        seeds=("seed", lambda seeds: ranges(sorted(set(seeds)))),
        kernel=("kernel_release", lambda names: ", ".join(sorted(set(names)))),
    )
    return table.reset_index()


def ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in the order of style.in_order, rows of one qdisc in theirs."""
    rank = in_order(table["qdisc"].astype(str)).index
    return table.sort_values(
        "qdisc", key=lambda names: names.astype(str).map(rank), kind="stable", ignore_index=True
    )


def texts(table: pd.DataFrame) -> pd.DataFrame:
    """Return every cell of `table` as a text, under the header that a reader expects.

    Numbers have four significant digits, with their unit next to them or in the header, and a dash
    stands for a missing value. Tables of metrics.compare, and those with peaks of latency, get an
    interval in place of two bounds, which needs two seeds, no columns of published values where
    there are none, and the medians of other settings (settings.beside) last; any other table keeps
    its columns.
    """
    if not {"metric", "peak_ms"} & set(table.columns):
        return _plain(table)
    columns = pd.DataFrame(index=table.index)
    several = ["link"] if "link" in table and table["link"].nunique() > 1 else []
    for name in ("setting", *several, "qdisc"):
        if name in table:
            columns[name] = table[name].astype(str)
    others: list[str] = []
    if "metric" in table:
        others = [name for name in table.columns if name not in _COMPARED]
        pairs = zip(table["metric"], table["direction"], strict=True)
        units = zip(pairs, table["unit"], strict=True)
        columns["metric"] = [f"{QUANTITIES.get(pair, pair[1])}, {unit}" for pair, unit in units]
        printed = zip(table["published"], table["reading_error"], strict=True)
        columns["published"] = [NONE if pd.isna(v) else f"{v:g} ± {e:g}" for v, e in printed]
        columns["ours"] = table["ours"].map(number)
        columns["difference"] = table["difference"].map(_signed)
        columns["ratio"] = [NONE if pd.isna(value) else f"{value:.2f}" for value in table["ratio"]]
        columns["allowed"] = table["allowed"].map(number)
        columns["agrees"] = agreement(table)
        if table["published"].isna().all():
            of_printed = ["published", "difference", "ratio", "allowed", "agrees"]
            columns = columns.drop(columns=of_printed)
        if table["published_gap"].notna().any():
            columns["published_gap"] = table["published_gap"].map(_signed)
            columns["gap"] = table["gap"].map(_signed)
        bounds = ("ci_low", "ci_high")
    else:
        for name in ("peak_ms", "peak_after_s", "mean_ms", "tail_ms"):
            columns[name] = table[name].map(number)
        bounds = ("ci_low_ms", "ci_high_ms")
    columns["n_seeds"] = table["n_seeds"].astype(str)
    columns["interval"] = intervals(table[bounds[0]], table[bounds[1]])
    for name in others:
        columns[name] = table[name].map(number)
    return columns.rename(columns=header).reset_index(drop=True)


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    words = header if table.columns.name is None else str  # pivoted, columns are named by values
    columns = {
        words(name): agreement(table)
        if name == "agrees"
        else [number(value) if _is_number(value) else str(value) for value in table[name]]
        for name in table.columns
    }
    return pd.DataFrame(columns)


def agreement(table: pd.DataFrame) -> list[str]:
    """Return for each row whether its printed value agrees, or else by how much ours is off: "yes",
    or one of MISSES; "no" of what is no number, and a dash where either is missing."""
    words = []
    numbers = table.reindex(columns=["ours", "published"]).apply(pd.to_numeric, errors="coerce")
    agrees = table.reindex(columns=["agrees"])["agrees"]
    for ours, published, equal in zip(numbers["ours"], numbers["published"], agrees, strict=True):
        if pd.isna(equal) and (pd.isna(ours) or pd.isna(published)):
            words.append(NONE)
        elif pd.notna(equal) and equal:
            words.append("yes")
        elif pd.isna(published):
            words.append("no")
        else:
            off = abs(ours - published) / published if published else inf
            words.append(next(word for word, limit in MISSES.items() if off <= limit))
    return words


def _is_number(value: object) -> bool:
    return isinstance(value, float) or value is pd.NA


def _signed(value: float) -> str:
    return NONE if pd.isna(value) else f"{value:+.3g}".replace("-", "−")


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
    missed = off.where([word != "yes" for word in words])
    if missed.max() > 0.05:
        worst = int(missed.fillna(-1).to_numpy().argmax())
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
    texts = (_valued(name, table[name].iloc[row]) for name in several)
    return ", ".join(short.get(text, text) for text in texts)


def _valued(column: str, value: object) -> str:
    """Return a value as a text, a number with the header of its column: "time (s) 15", "x = 4"."""
    if not isinstance(value, Real):
        return str(value)
    words = header(column)
    return f"{'x =' if column == 'x' else words[:1].lower() + words[1:]} {value:g}"


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
    where = {of: _valued(of, first[of].iloc[0]) for of in fixed if of not in _OF_QUANTITY}
    words = [(in_words if of == "era" else in_headers)(text) for of, text in where.items()]
    return f"{', '.join((_measured(first.iloc[0], value), *words))}: least {least}, most {most}."


def _measured(row: pd.Series, value: str) -> str:
    """Return what a row's `value` is of, as in "Round-trip time (ms), median"."""
    statistic = header(value)
    if not {"quantity", "metric"} & {*row.index}:
        return statistic
    pair = str(row.get("metric")), str(row.get("direction"))
    text = QUANTITIES.get(pair) or header(str(row.get("quantity", row.get("metric"))))
    text = text[:1].upper() + text[1:] + (f" ({row['unit']})" if "unit" in row else "")
    if value == "ours" or statistic in text:
        return text
    return f"{text}, {statistic.lower()}"
