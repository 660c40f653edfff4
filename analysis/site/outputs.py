"""What a notebook leaves behind for the results page, and how its tables read."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import pandas as pd
from matplotlib.figure import Figure

from analysis.errors import DataError
from analysis.plots.style import Palette, save
from analysis.runs.dataset import Dataset
from analysis.runs.order import in_order
from analysis.words import NONE, intervals, number, ranges

SUMMARY: Final = "summary.json"
TABLE: Final = "table.csv"
FIGURE: Final = "figure"

HEADERS: Final = {
    "qdisc": "Qdisc",
    "metric": "Quantity",
    "published": "Published",
    "ours": "Ours",
    "difference": "Difference",
    "ratio": "Ratio",
    "allowed": "Allowed ±",
    "published_gap": "From the first, published",
    "gap": "From the first, ours",
    "at": "At",
    "time_s": "Time (s)",
    "agrees": "Agrees",
    "n_seeds": "Seeds",
    "interval": "95 % interval",
    "peak_ms": "Peak (ms)",
    "peak_after_s": "Peak after (s)",
    "mean_ms": "Mean (ms)",
    "tail_ms": "Mean, last 5 s (ms)",
    "distinct": "Distinct traces",
    "correlation": "Correlation of seeds, median",
    "correlation_max": "greatest",
    "apart_s": "Parted after (s)",
    "tcp_download_together": "Correlation of flows, download",
    "tcp_upload_together": "upload",
    "start_spread_ms": "Starts within (ms)",
    "sd_latency_ms": "σ latency (ms)",
    "sd_goodput": "σ goodput (Mbit/s)",
    "major": "Ellipse, half axes: longer",
    "minor": "shorter",
    "cv_latency": "σ by mean",
    "excess_max": "Slowest probe by median",
    "setting": "Setting",
    "beside": "Beside",
    "link": "Link",
    "samples": "Samples",
    "median_ms": "Median (ms)",
    "p95_ms": "95th percentile (ms)",
    "p99_ms": "99th percentile (ms)",
    "loss_percent": "Loss (%)",
    "normalised": "Fetch time (unloaded = 1)",
    "std": "σ over runs",
    "fetch_s": "Fetch time (s)",
    "pages": "Pages",
    "pages_failed": "Pages that failed",
    "jain_index": "Jain's index",
    "goodput": "Goodput (Mbit/s)",
    "round_trip": "Round trip",
    "parameter": "Parameter",
    "rate": "Rate",
    "note": "Note",
    "switch": "Switch",
    "restores": "Restores",
    "base": "On top of",
    "quantity": "Quantity",
    "effect": "Effect",
    "unit": "Unit",
    "experiment": "Experiment",
    "estimate": "Estimate",
    "percentile": "Percentile",
    "percent": "Lower by (%)",
    "era": "Era",
    "cc": "Congestion control",
    "x": "On the x axis",
    "series": "Series",
    "p10": "10 %",
    "p25": "25 %",
    "p50": "Median",
    "p75": "75 %",
    "p90": "90 %",
    "most": "Greatest",
    "runs": "Runs",
    "aqm": "AQM",
    "flows_per_sender": "Flows a sender",
    "part": "Part",
    "paper": "Paper",
    "here": "Here",
    "p75_ms": "75th percentile (ms)",
    "longest_ms": "Longest (ms)",
    "below_90ms_percent": "Below 90 ms (%)",
    "kilobytes": "Sent (kB)",
    "utilisation_percent": "Utilisation (%)",
    "dropped_percent": "Dropped (%)",
    "sweep": "Sweep",
    "rate_mbit_s": "Rate (Mbit/s)",
    "flows": "Flows",
    "guests": "Guests",
    "hosts": "Hosts",
    "guest_memory_mib": "Memory allowed (MiB)",
    "core_factor": "Virtual by CPU seconds",
    "factor": "Virtual by wall seconds",
    "cpu_s": "CPU (s)",
    "packets": "Packets",
    "memory_mib": "Memory taken (MiB)",
    "others_cpus": "CPUs that others took",
    "problem": "Problem",
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


@dataclass(frozen=True)
class Summary:
    """One figure's facts, as `summary.json` holds them."""

    paper: str
    figure: str
    title: str
    caption: str
    alt: str
    cells: list[dict[str, Any]]  # experiment, era, link, qdisc, cc, seeds, virtual_s, wall_s
    kernels: list[dict[str, str]]  # release, digest
    eras: list[str]
    flent_versions: list[str]
    lengths_s: list[float]  # seconds of load
    virtual_s: float
    wall_s: float
    compared: int = 0  # published values that we have data for
    agreeing: int = 0
    files: list[str] = field(default_factory=list)


def data_found(data: Dataset, qdiscs: Sequence[str]) -> pd.DataFrame:
    """One row per era, congestion control and qdisc of `qdiscs`, data or not: era, cc, qdisc,
    n_seeds, seeds, kernel, flent."""
    rows = []
    for setting, there in data.runs.groupby(["era", "cc"], observed=True, sort=False):
        for qdisc in in_order(list(qdiscs)):
            runs = there[there["qdisc"] == qdisc]
            facts = (", ".join(sorted(set(runs[c]))) for c in ("kernel_release", "flent_version"))
            seeds = sorted(set(runs["seed"]))
            rows.append((*setting, qdisc, len(seeds), ranges(seeds), *facts))
    columns = ["era", "cc", "qdisc", "n_seeds", "seeds", "kernel", "flent"]
    return pd.DataFrame(rows, columns=columns)


def ordered(table: pd.DataFrame) -> pd.DataFrame:
    """The rows in the order of style.in_order, rows of one qdisc in theirs."""
    rank = {name: place for place, name in enumerate(in_order(list(table["qdisc"].astype(str))))}
    place = table["qdisc"].astype(str).map(rank)
    return table.loc[place.sort_values(kind="stable").index].reset_index(drop=True)


LONG: Final = 30  # characters, of a text that is read as a line
LEFT: Final = ' style="text-align: left"'


class Whole(pd.DataFrame):
    """A table that a notebook shows with all of its rows and the whole of its texts.

    Long texts begin at the left. Where there is no row, `attrs["none"]` stands for the table.
    """

    def _repr_html_(self) -> str:
        if not len(self):
            return f"<p>{escape(self.attrs.get('none', 'None.'))}</p>"
        with pd.option_context("display.max_rows", None, "display.max_colwidth", None):
            html = str(super()._repr_html_())  # type: ignore[misc]
        left = [self[name].astype(str).str.len().max() > LONG for name in self.columns]
        head, body = html.split("</thead>")
        head = _aligned(head, "th", [False, *left])  # the first is the index's
        return f"{head}</thead>{_aligned(body, 'td', left)}"


def _aligned(html: str, tag: str, left: list[bool]) -> str:
    """Rows of cells of that `tag`, those of some columns to the left."""
    columns = cycle(left)
    return re.sub(f"<{tag}>", lambda _: f"<{tag}{LEFT if next(columns) else ''}>", html)


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """A table of metrics.compare or metrics.transient_metrics as texts, for people.

    Four significant digits; units beside the numbers or in the header; a dash where there is no
    value. An interval needs two seeds. Medians of other settings (settings.beside) come last. Of
    any other table all columns are shown as they are.
    """
    if not {"metric", "peak_ms"} & set(table.columns):
        return Whole(_plain(table))
    shown = pd.DataFrame(index=table.index)
    several = ["link"] if "link" in table and table["link"].nunique() > 1 else []
    for name in ("setting", *several, "qdisc"):
        if name in table:
            shown[name] = table[name].astype(str)
    others: list[str] = []
    if "metric" in table:
        others = [name for name in table.columns if name not in _COMPARED]
        pairs = zip(table["metric"], table["direction"], strict=True)
        units = zip(pairs, table["unit"], strict=True)
        shown["metric"] = [f"{QUANTITIES.get(pair, pair[1])}, {unit}" for pair, unit in units]
        shown["published"] = [
            NONE if pd.isna(value) else f"{value:g} ± {error:g}"
            for value, error in zip(table["published"], table["reading_error"], strict=True)
        ]
        shown["ours"] = table["ours"].map(number)
        shown["difference"] = table["difference"].map(_signed)
        shown["ratio"] = table["ratio"].map(
            lambda value: NONE if pd.isna(value) else f"{value:.2f}"
        )
        shown["allowed"] = table["allowed"].map(number)
        shown["agrees"] = table["agrees"].map(_yes)
        if table["published_gap"].notna().any():
            shown["published_gap"] = table["published_gap"].map(_signed)
            shown["gap"] = table["gap"].map(_signed)
        bounds = ("ci_low", "ci_high")
    else:
        for column in ("peak_ms", "peak_after_s", "mean_ms", "tail_ms"):
            shown[column] = table[column].map(number)
        bounds = ("ci_low_ms", "ci_high_ms")
    shown["n_seeds"] = table["n_seeds"].astype(str)
    shown["interval"] = intervals(table[bounds[0]], table[bounds[1]])
    for name in others:
        shown[name] = table[name].map(number)
    return Whole(shown.rename(columns=HEADERS).reset_index(drop=True))


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    shown = {
        HEADERS.get(name, name): [
            _yes(value) if name == "agrees" else number(value) if _is_number(value) else str(value)
            for value in table[name]
        ]
        for name in table.columns
    }
    return pd.DataFrame(shown)


def _is_number(value: object) -> bool:
    return isinstance(value, float) or value is pd.NA


def _yes(value: object) -> str:
    return NONE if pd.isna(value) else "yes" if value else "no"  # type: ignore[call-overload]


def write_outputs(
    folder: Path,
    draw: Callable[[Palette], Figure],
    table: pd.DataFrame,
    data: Dataset,
    *,
    figure: str,
    title: str,
    caption: str,
    alt: str,
) -> Summary:
    """Write figure.svg, figure-dark.svg, figure.png, table.csv and summary.json into `folder`.

    The summary is written last: a figure's results exist when it does.
    """
    runs = data.runs
    kernels = runs[["kernel_release", "kernel_digest"]].drop_duplicates()
    summary = Summary(
        paper=str(runs["paper"].iloc[0]),
        figure=figure,
        title=title,
        caption=caption,
        alt=alt,
        cells=_cells(runs),
        kernels=[
            {"release": str(release), "digest": str(digest)}
            for release, digest in kernels.itertuples(index=False)
        ],
        eras=sorted(set(runs["era"].astype(str))),
        flent_versions=sorted(set(runs["flent_version"])),
        lengths_s=sorted(set(runs["length_s"])),
        virtual_s=round(float(runs["virtual_s"].sum()), 3),
        wall_s=round(float(runs["wall_s"].sum()), 3),
    )
    return _write(folder, draw, table, summary)


def write_facts(
    folder: Path,
    draw: Callable[[Palette], Figure],
    table: pd.DataFrame,
    *,
    paper: str,
    figure: str,
    title: str,
    caption: str,
    alt: str,
) -> Summary:
    """Write what write_outputs does, of something that was not run."""
    nothing: Any = {"cells": [], "kernels": [], "eras": [], "flent_versions": [], "lengths_s": []}
    summary = Summary(
        paper=paper, figure=figure, title=title, caption=caption, alt=alt, **nothing,
        virtual_s=0.0, wall_s=0.0,
    )  # fmt: skip
    return _write(folder, draw, table, summary)


def write_scaling(
    folder: Path,
    draw: Callable[[Palette], Figure],
    table: pd.DataFrame,
    *,
    title: str,
    caption: str,
    alt: str,
) -> None:
    """Write what `write_outputs` does, of measurements that are no runs."""
    files = save(draw, folder / FIGURE)
    columns = ["sweep", "rate_mbit_s", "flows", "guests", "hosts", "guest_memory_mib",
               "core_factor", "factor", "cpu_s", "packets", "memory_mib", "others_cpus",
               "problem"]  # fmt: skip
    table[columns].to_csv(folder / TABLE, index=False, float_format="%.4g")
    links = sorted({f"{rate:g}/{rate:g}" for rate in table["rate_mbit_s"]})
    seeds = list(range(1, int(table["guests"].max()) + 1))
    facts = Summary(
        paper="testbed",
        figure="scaling",
        title=title,
        caption=caption,
        alt=alt,
        cells=[{"link": one, "qdisc": "fq_codel", "cc": "cubic", "seeds": seeds} for one in links],
        kernels=[],
        eras=["modern"],
        flent_versions=[],
        lengths_s=sorted(set(table["length_s"])),
        virtual_s=float(table["virtual_s"].sum()),
        wall_s=float(table["wall_s"].sum()),
        files=[path.name for path in files],
    )
    text = json.dumps(asdict(facts), indent=1, sort_keys=True, ensure_ascii=False)
    (folder / SUMMARY).write_text(text + "\n", encoding="utf-8")


def _write(
    folder: Path, draw: Callable[[Palette], Figure], table: pd.DataFrame, summary: Summary
) -> Summary:
    files = save(draw, folder / FIGURE)
    table.to_csv(folder / TABLE, index=False, float_format="%.6g")
    agrees = table["agrees"].dropna() if "agrees" in table else pd.Series(dtype=bool)
    compared = len(agrees)
    if {"ours", "published", "agrees"} <= set(table):  # also what one seed leaves open
        compared = int(table[["ours", "published"]].notna().all(axis=1).sum())
    whole = replace(
        summary,
        compared=compared,
        agreeing=int(agrees.sum()),
        files=[path.name for path in files],
    )
    text = json.dumps(asdict(whole), indent=1, sort_keys=True, ensure_ascii=False)
    (folder / SUMMARY).write_text(text + "\n", encoding="utf-8")
    return whole


def read_summary(path: Path) -> Summary:
    """A summary.json as written by write_outputs; raises DataError for anything else."""
    try:
        return Summary(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise DataError.of(path, f"not a summary ({error})", "Make the figure again") from error


def _cells(runs: pd.DataFrame) -> list[dict[str, Any]]:
    by = ["experiment", "era", "link", "qdisc", "cc"]
    return [
        {
            **dict(zip(by, cell, strict=True)),
            "seeds": sorted(int(seed) for seed in of_cell["seed"]),
            "virtual_s": round(float(of_cell["virtual_s"].sum()), 3),
            "wall_s": round(float(of_cell["wall_s"].sum()), 3),
        }
        for cell, of_cell in runs.groupby(by, observed=True)
    ]


def _signed(value: float) -> str:
    return NONE if pd.isna(value) else f"{value:+.3g}".replace("-", "−")
