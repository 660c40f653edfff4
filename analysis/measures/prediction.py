"""Predictions of what others measured: one row per number, from our own runs of its cell.

A study's `predictions.csv` has the keys of the campaign's tables (PREDICTED) and beside them which
runs predict a row, the value, and how sure it is. The value is the mean over seeds. `low` and
`high` bound the mean of as many new runs as the campaign made (`n_runs`), in 95 of 100 cases where
these scatter as ours do (prediction interval of the normal distribution; Hahn and Meeker,
Statistical Intervals, Sec. 4.8); with a scatter of nothing they are the value.

    python -m qdisclab.analysis.measures.prediction studies/mine --data data
"""

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pandera.pandas as pa

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import agreement, measured
from qdisclab.analysis.measures.table import measure_run
from qdisclab.analysis.runs.dataset import runs_in
from qdisclab.analysis.runs.published import read_table
from qdisclab.analysis.runs.study import StudyFolder
from qdisclab.emulation.host.storage import command

FILE: Final = "predictions.csv"
KEYS: Final = ("cell", "metric", "direction", "unit", "window", "n_runs")
FILLED: Final = ("value", "low", "high", "seeds")
PREDICTED: Final = pa.DataFrameSchema(
    {
        **{name: pa.Column(str, nullable=True) for name in (*KEYS, "run", "number", *FILLED)},
        "sure": pa.Column(str, pa.Check.isin(("high", "medium", "low", "none"))),
        "why": pa.Column(str, nullable=True),
    },
    unique=["cell", "metric", "direction"],
    strict=True,
    ordered=True,
)

BIAS: Final = "icmp_bias"
"""The metric of `measured.csv` that has how much longer, in ms, the idle round trip of those
computers is than the shortest of the same run: what is called induced latency there lacks it."""
SHARE: Final = 0.15  # of what is measured, by which a prediction may miss it,
MARGINS: Final = {"ms": 1.0, "%": 0.1, "packets": 2.0}  # or by so much, if that is more
KINDS: Final = {
    "icmp_loss": "losses and marks", "icmp": "latency", "tcp_rtt": "latency",
    "sojourn": "latency", "goodput_flow": "goodput of a flow", "goodput": "goodput",
    "drop_probability": "losses and marks", "mark_probability": "losses and marks",
    "pie_probability": "losses and marks", "drops": "packets", "marks": "packets",
    "retransmits": "packets", "backlog": "backlog", "cwnd": "window", "jain": "Jain's index",
}  # fmt: skip
"""How a campaign's metric begins -> what it is; the first that fits counts."""
ELSEWHERE: Final = pd.DataFrame(
    [
        ("Mininet against a testbed", "throughput", "less than 9 %"),
        ("Mininet-HiFi", "inter-dequeue times, 99th percentile", "5.8 %"),
    ],
    columns=["Emulator", "Quantity", "Published error"],
)
"""What others say of their emulations. Mininet-HiFi: N. Handigol et al., "Reproducible Network
Experiments Using Container-Based Emulation", CoNEXT 2012."""


def predict(
    table: pd.DataFrame, numbers: Mapping[str, Sequence[Mapping[str, float]]]
) -> pd.DataFrame:
    """Fill in FILLED; `numbers` has for each cell of runs the numbers of its seeds by name.

    Raises DataError for a row whose runs or number are not there, unless it is sure of nothing and
    names no run.
    """
    filled = []
    for line, row in enumerate(table.astype(str).to_dict("records"), start=2):
        cell, number = row["run"], row["number"]
        if not cell:
            if row["sure"] != "none":
                todo = "Name one, or be sure of none"
                raise DataError.of(Path(FILE), f"line {line} names no run", todo)
            filled.append((math.nan, math.nan, math.nan, 0))
            continue
        seeds = numbers.get(cell, ())
        values = [seed[number] for seed in seeds if number in seed]
        if not values or len(values) < len(seeds):
            what = f"line {line}: '{number}' of {cell} is in {len(values)} of {len(seeds)} runs"
            todo = "Make its runs, with the probes of docs/predictions.md"
            raise DataError.of(Path(FILE), what, todo)
        filled.append((*interval(values, int(row["n_runs"])), len(values)))
    return table.assign(**dict(zip(FILLED, zip(*filled, strict=True), strict=True)))


def interval(values: Sequence[float], new: int) -> tuple[float, float, float]:
    """Return the mean of `values`, and the bounds of the mean of `new` further ones; all NaN for
    one."""
    mean, n = float(np.mean(values)), len(values)
    if n < 2:
        return mean, math.nan, math.nan
    half = float(agreement.spread(np.std(values, ddof=1), n, repetitions=new))
    return mean, mean - half, mean + half


def read(path: Path) -> pd.DataFrame:
    """Return the table of predictions; raise DataError for other columns or degrees of
    certainty."""
    return read_table(path, PREDICTED, "predictions").fillna("")


def beside(study: StudyFolder, file: str = FILE) -> pd.DataFrame:
    """Return a row per number that is predicted, in `file` of the study, and measured.

    It has `source` (the study), `quantity` (of KINDS), `unit`, `qdisc`, `detail`, `sure`,
    `published` (measured), `ours` (predicted), `ci_low` and `ci_high`, the relative `error`, and
    whether the two are `within` SHARE or MARGINS.

    Of induced latencies `published` has the BIAS of its cell added; `raw` is without that, and
    `within_raw` compares with it. Without rows before there are values.
    """
    theirs = measured.values(study)
    bias = theirs[theirs["metric"] == BIAS].set_index("cell")["value"]
    both = read(study.folder / file).merge(
        theirs, on=list(measured.KEYS), suffixes=("", "_theirs"), validate="one_to_one"
    )
    both = both[both["value"] != ""]
    numbers = both[["value", "low", "high"]].replace("", np.nan).astype(float)
    kind = both["metric"].map(lambda name: next(KINDS[of] for of in KINDS if name.startswith(of)))
    raw = both["value_theirs"]
    induced = both["metric"].str.startswith("icmp_induced")
    real = raw + both["cell"].map(bias).fillna(0).where(induced, 0)
    units = both["unit"].where(kind != "packets", "packets")
    allowed = np.fmax(SHARE * raw, units.map(MARGINS).fillna(0))
    return pd.DataFrame(
        {
            "source": study.name, "quantity": kind, "unit": both["unit"],
            "qdisc": both["run"].map(lambda cell: cell.split("/")[-2]),
            "detail": both["cell"] + " " + both["metric"] + " " + both["direction"],
            "sure": both["sure"], "published": real, "raw": raw, "reading_error": 0.0,
            "ours": numbers["value"], "ci_low": numbers["low"], "ci_high": numbers["high"],
            "error": (numbers["value"] / real - 1).where(real > 0),
            "within": (numbers["value"] - real).abs() <= allowed,
            "within_raw": (numbers["value"] - raw).abs() <= allowed,
        }
    )  # fmt: skip


def scores(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return a row per group of `by` of the rows of `beside`: how many numbers, how many are within
    the bounds, with the bias and without it, and median and 90th percentile of |error|."""
    percent = 100 * table["error"].abs()
    grouped = table.assign(percent=percent).groupby(list(by), sort=False)
    return grouped.agg(
        numbers=("within", "size"),
        within=("within", "sum"),
        within_raw=("within_raw", "sum"),
        median_percent=("percent", "median"),
        p90_percent=("percent", lambda sizes: sizes.quantile(0.9)),
    ).reset_index()


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Fill in a study's predictions from its runs."""
    name = "python -m qdisclab.analysis.measures.prediction"
    parser = argparse.ArgumentParser(name, description=main.__doc__)
    parser.add_argument("study", type=Path, help="the folder of the study")
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of the runs")
    target = f"where the table goes (default: {FILE} of the study)"
    parser.add_argument("--output", type=Path, help=target)
    options = parser.parse_args(arguments)
    output = options.output or options.study / FILE
    table = read(options.study / FILE)
    cells = dict.fromkeys(cell for cell in table["run"] if cell)
    runs_of = {cell: runs_in(options.data, options.data / cell) for cell in cells}
    done = predict(table, {cell: [*map(measure_run, runs)] for cell, runs in runs_of.items()})
    for name in FILLED[:3]:
        done[name] = [f"{value:.6g}" if math.isfinite(value) else "" for value in done[name]]
    output.parent.mkdir(parents=True, exist_ok=True)
    done.to_csv(output, index=False, lineterminator="\n")
    print(f"{output}: {len(done)} numbers of {done['cell'].nunique()} cells, {len(cells)} of ours")
    return 0


if __name__ == "__main__":
    sys.exit(main())
