"""What a notebook publishes: its figure, its table and the facts for the results pages."""

import html
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import pandas as pd
from IPython.display import HTML, SVG, display
from matplotlib.figure import Figure

from qdisclab.analysis.errors import refused
from qdisclab.analysis.plots.style import Palette, fitted, save, svg
from qdisclab.analysis.runs.dataset import Dataset
from qdisclab.analysis.runs.flentfile import TCP_KINDS
from qdisclab.analysis.site.tables import sentence

SUMMARY: Final = "summary.json"
TABLE: Final = "table.csv"
SERIES: Final = "series.csv"
RUNS: Final = "runs.csv"
FIGURE: Final = "figure"

MOST_CURVES: Final = 60  # of more cells nobody tells apart which is which
STEPS: Final = (100, 3000)  # at most: of a curve that a page draws, and of all curves together


@dataclass(frozen=True)
class Source:
    """What a figure was made from. Of a table that was not measured, only the paper."""

    paper: str
    cells: list[dict[str, Any]] = field(default_factory=list)
    """experiment, era, link, qdisc, cc, seeds, virtual_s, wall_s"""
    kernels: list[dict[str, str]] = field(default_factory=list)  # release, digest
    eras: list[str] = field(default_factory=list)
    setting: list[str] = field(default_factory=list)  # era and congestion control shown first
    flent_versions: list[str] = field(default_factory=list)
    lengths_s: list[float] = field(default_factory=list)  # seconds of load
    virtual_s: float = 0.0
    wall_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Summary(Source):
    """One figure's facts, as `summary.json` holds them."""

    figure: str
    title: str
    caption: str
    alt: str
    compared: int = 0  # published values that we have data for
    agreeing: int = 0
    errors_percent: list[float] = field(default_factory=list)  # of printed numbers but for zeros
    files: list[str] = field(default_factory=list)  # of the picture; none for a table
    claims: list[str] = field(default_factory=list)
    """The places of its claims: sections, figures, ids (`verdicts.of_places`)."""
    section: str = ""  # of the page of its study; empty where it stands for a figure of the paper
    lacking: list[dict[str, Any]] = field(default_factory=list)
    """Cells without a run, as `cells`, of settings that other runs are shown of."""


def show(draw: Callable[[Palette], Figure], alt: str) -> None:
    """Show what `draw` returns under a notebook's cell; `alt` is the text that stands for it."""
    _display(svg(draw), alt, svg(draw, "dark"))


def _display(drawing: str, alt: str, dark: str = "") -> None:
    metadata = {"image/svg+xml": {"alt": alt, "dark": dark}}
    display(SVG(drawing), metadata=metadata)  # type: ignore[no-untyped-call]


def answer(text: str, table: pd.DataFrame | None = None) -> HTML:
    """Return the folded answer to an exercise: what `table` says (`sentence`), and `text`."""
    if table is not None:
        plain = table.astype(dict.fromkeys(table.select_dtypes("category"), object))
        text = f"{html.escape(sentence(plain))} {text}"
    return HTML(f"<details><summary>Answer</summary>{text}</details>")  # type: ignore[no-untyped-call]


def publish(
    draw: Callable[[Palette], Figure] | None,
    table: pd.DataFrame,
    source: Dataset | Source,
    *,
    figure: str,
    title: str,
    caption: str,
    output: str,
    alt: str = "",
    digits: int = 6,
    series: pd.DataFrame | None = None,
    runs: pd.DataFrame | None = None,
) -> None:
    """Show a notebook's figure under its title, and write what the results pages need of it.

    `output` is the folder for what `style.save` draws, table.csv (numbers to `digits`
    significant digits) and summary.json; an empty one writes nothing. The summary is
    written last: a figure's results exist when it does. `draw` is None where the table is all that
    there is to see; `alt` is the text that stands for the picture. `series` are curves over
    time, for series.csv, by default those of a first run of each cell; `runs` has a row per run,
    with its seed, for runs.csv. The page draws all three.
    """
    display(HTML(f"<p><strong>{html.escape(title)}</strong></p>"))  # type: ignore[no-untyped-call]
    if not output:
        if draw:
            show(draw, alt)
        return
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    files = save(draw, folder / FIGURE) if draw else []
    if files:
        _display(fitted(files[0].read_text(encoding="utf-8")), alt)
    table.to_csv(folder / TABLE, index=False, float_format=f"%.{digits}g")
    if series is None and isinstance(source, Dataset):
        series = first_runs(source)
    for name, more in ((SERIES, series), (RUNS, runs)):
        if more is not None:
            more.to_csv(folder / name, index=False, float_format="%.5g")
    agrees = table["agrees"].dropna() if "agrees" in table else pd.Series(dtype=bool)
    compared = len(agrees)
    if {"ours", "published", "agrees"} <= set(table):  # also what one seed leaves open
        compared = int(table[["ours", "published"]].notna().all(axis=1).sum())
    summary = Summary(
        **asdict(source if isinstance(source, Source) else _of_runs(source.runs)),
        figure=figure,
        title=title,
        caption=caption,
        alt=alt,
        compared=compared,
        agreeing=int(agrees.sum()),
        errors_percent=_errors_percent(table),
        files=[path.name for path in files],
    )
    write_summary(folder / SUMMARY, summary)


def first_runs(data: Dataset) -> pd.DataFrame | None:
    """Return flent's series of the run with the least seed of each cell: what tells cells apart,
    time_s, and the means in equal steps of round trips, of a call's delays, of the times of pages,
    and of the sum of all flows in a direction.

    None where there are no series, or more than MOST_CURVES cells.
    """
    cell = ["experiment", "link", "qdisc", "era", "cc"]
    first = data.runs.sort_values("seed", kind="stable").drop_duplicates(cell)
    if data.samples.empty or len(first) > MOST_CURVES:
        return None
    samples = data.samples[data.samples["run"].isin(first["run"])]
    steps = min(STEPS[0], STEPS[1] // len(first))
    step_s = max(0.2, float(f"{samples['time_s'].max() / steps:.1g}"))
    keys, curves = ["run", "time_s"], {}
    for column in ("rtt_ms", "delay_ms", "page_ms"):
        curves[column] = samples.groupby(keys, observed=True)[column].mean()
    for way, kind in zip(("download", "upload"), TCP_KINDS, strict=True):
        flows = samples[samples["kind"] == kind].groupby(keys, observed=True)
        curves[f"goodput_{way}_mbit_s"] = flows["goodput_mbit_s"].sum(min_count=1)
    table = pd.DataFrame(curves).reset_index()
    table["time_s"] = table["time_s"] // step_s * step_s
    table = table.groupby(keys, observed=True).mean().reset_index()
    about = first[["run", *(name for name in cell if first[name].nunique() > 1)]]
    return about.merge(table, on="run").drop(columns="run").dropna(axis="columns", how="all")


def write_summary(path: Path, summary: Summary) -> None:
    """Write a summary.json for `read_summary`."""
    text = json.dumps(asdict(summary), indent=1, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def _errors_percent(table: pd.DataFrame) -> list[float]:
    """Return how far each number of ours is from the printed one."""
    if not {"ours", "published"} <= set(table):
        return []
    both = table[["ours", "published"]].apply(pd.to_numeric, errors="coerce").dropna()
    both = both[both["published"] != 0]
    errors = 100 * (both["ours"] / both["published"] - 1).abs()
    return [round(float(error), 2) for error in errors]


def _of_runs(runs: pd.DataFrame) -> Source:
    kernels = runs[["kernel_release", "kernel_digest"]].drop_duplicates().astype(str)
    by = ["experiment", "era", "link", "qdisc", "cc"]
    return Source(
        paper=str(runs["paper"].iloc[0]),
        cells=[
            {
                **dict(zip(by, cell, strict=True)),
                "seeds": sorted(int(seed) for seed in of_cell["seed"]),
                **{name: round(float(of_cell[name].sum()), 3) for name in ("virtual_s", "wall_s")},
            }
            for cell, of_cell in runs.groupby(by, observed=True)
        ],
        kernels=[{"release": of[0], "digest": of[1]} for of in kernels.itertuples(index=False)],
        eras=sorted(set(runs["era"].astype(str))),
        setting=[str(runs[name].iloc[0]) for name in ("era", "cc")],
        flent_versions=sorted(set(runs["flent_version"])),
        lengths_s=sorted(set(runs["length_s"])),
        virtual_s=round(float(runs["virtual_s"].sum()), 3),
        wall_s=round(float(runs["wall_s"].sum()), 3),
    )


def read_summary(path: Path) -> Summary:
    """Return a summary.json as `publish` writes it; raise DataError for anything else."""
    kinds = (OSError, ValueError, TypeError, RecursionError)
    with refused(path, "not a summary ({})", "Make the figure again", *kinds):
        return Summary(**json.loads(path.read_text(encoding="utf-8")))
