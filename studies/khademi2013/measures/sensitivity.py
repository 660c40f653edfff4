"""What target, interval, load, base RTT and ECN do to an AQM, as khademi2013 varies them.

khademi2013 is N. Khademi, D. Ros, M. Welzl, "The New AQM Kids on the Block: Much Ado About
Nothing?", Technical Report 434, University of Oslo, 2013.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pandas as pd
import pandera.pandas as pa

from qdisclab.analysis.errors import DataError, require_several
from qdisclab.analysis.measures.metrics import means, over_seeds
from qdisclab.analysis.runs.axes import axes, span_ms
from qdisclab.analysis.runs.dataset import RunFile, twins
from qdisclab.analysis.runs.published import read_table
from qdisclab.analysis.runs.settings import Setting
from qdisclab.analysis.words import intervals
from qdisclab.emulation.config import ownfile

from ..packets import QUANTILES, QUANTITIES, mean_quantiles, read_packets, run_row

AQMS: Final = ("codel", "pie", "ared", "fq_codel")


def aqm(run_axes: Mapping[str, str]) -> str:
    """Return one of AQMS; for any other qdisc, and the user's own, the name of the qdisc."""
    studied = run_axes["algorithm"] in AQMS and run_axes["qdisc"] not in ownfile.drawn()
    return run_axes["algorithm" if studied else "qdisc"]


def with_axes(per_run: pd.DataFrame, files: Sequence[RunFile]) -> pd.DataFrame:
    """`per_run` (with a column run, of `files`) with the parameters of each run's qdisc.

    Columns aqm (one of AQMS, or the name of a qdisc of the user's own), target_ms, interval_ms (of
    PIE that of its updates; both NaN where the qdisc has none) and ecn.
    """
    of_runs = {}
    for file in files:
        varied = axes(file)
        spans = (span_ms(varied, name) for name in ("target", "interval"))
        of_runs[file.run] = (aqm(varied), *spans, varied["ecn"] == "true")
    rows = [of_runs[run] for run in per_run["run"].astype(str)]
    names = ["aqm", "target_ms", "interval_ms", "ecn"]
    return per_run.join(pd.DataFrame(rows, columns=names, index=per_run.index))


AXES: Final = {  # what the x axis shows -> its title
    "target_ms": "Target delay (ms)",
    "interval_ms": "Interval (ms)",
    "flows": "Flows",
    "base_rtt_ms": "Base RTT (ms)",
}


def boxes(
    per_run: pd.DataFrame, files: Sequence[RunFile], x: Sequence[str], series: Sequence[str]
) -> pd.DataFrame:
    """Return one row per box: era, x and series (texts), quantity, n_seeds, QUANTILES, mean and
    most (means over runs), and ci_low and ci_high of the median over runs (Student's t).

    `per_run` is from packets.run_quantiles of `files`. `x` and `series` name columns of AXES,
    `aqm` or `ecn`; several are joined.
    """
    table = with_axes(per_run, files)
    require_several("x", x, [*AXES, "aqm", "ecn"])
    order = [*x, *series]
    keys = ["era", "cc", *order, "quantity"]
    table = table.sort_values(order, key=_rank)
    quantiles = mean_quantiles(table, keys)
    bounds, marked = [], []
    table["twin"] = table["run"].astype(str).map(twins(files))
    for _, group in table.groupby(keys, observed=True, sort=False, dropna=False):
        interval = over_seeds(group, "p50")
        bounds.append((interval.low, interval.high))
        marked.append([_only(group[name]) for name in ("target_ms", "base_rtt_ms")])
    quantiles["ci_low"], quantiles["ci_high"] = zip(*bounds, strict=True)
    quantiles["box_target_ms"], quantiles["box_base_rtt_ms"] = zip(*marked, strict=True)
    names = {
        name: [_label(row, columns) for _, row in quantiles.iterrows()]
        for name, columns in (("x", x), ("series", series))
    }
    return quantiles.assign(**names)


def targets(quantiles: pd.DataFrame, quantity: str) -> dict[str, float]:
    """Return where the target lies at each name of x, in ms; none at those with several, or where
    the quantity is no delay. `quantiles` is from boxes."""
    if quantity.endswith("goodput"):
        return {}
    above = quantiles["box_base_rtt_ms"] if quantity.endswith("rtt") else 0.0
    at = (quantiles["box_target_ms"] + above).dropna().groupby(quantiles["x"], sort=False)
    return {str(x): float(values.iloc[0]) for x, values in at if values.nunique() == 1}


MEDIANS: Final = pa.DataFrameSchema(
    {
        "quantity": pa.Column(str, pa.Check.isin(list(QUANTITIES))),
        "flows": pa.Column(int, pa.Check.gt(0)),
        "aqm": pa.Column(str, pa.Check.isin(list(AQMS))),
        "low": pa.Column(float),
        "high": pa.Column(float),
    },
    unique=["quantity", "flows", "aqm"],
    strict=True,
)
"""One row per printed median, or the range that one is in, in the quantity's unit."""


def read_medians(path: Path) -> pd.DataFrame:
    """Return printed medians; DataError where the file is not a table of them."""
    return read_table(path, MEDIANS, "medians")


def with_medians(quantiles: pd.DataFrame, medians: pd.DataFrame) -> pd.DataFrame:
    """`quantiles`, from boxes over flows, with printed_low and printed_high, or NaN."""
    printed = medians.assign(x=medians["flows"].astype(str)).drop(columns="flows")
    printed = printed.rename(columns={"low": "printed_low", "high": "printed_high"})
    both: pd.DataFrame = quantiles.merge(printed, on=["quantity", "x", "aqm"], how="left")
    return both


def reductions(per_run: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Return by how many percent percentiles of the queuing delay are lower with `second` than
    `first`.

    One row per era, number of flows and percentile: percent, interval (Student's
    t over the seeds that both have, which are compared pairwise) and n_seeds. Negative where it is
    higher.
    """
    queuing = per_run[per_run["quantity"] == "queuing"]
    by = ["era", "flows", "seed"]
    percentiles = ["p10", "p50", "p90"]
    a, b = (
        queuing[queuing["qdisc"] == name].set_index(by)[percentiles] for name in (first, second)
    )
    lower = means((100 * (1 - b / a)).dropna().reset_index(), by[:2], percentiles)
    lower["interval"] = intervals(lower["ci_low"], lower["ci_high"])
    lower = lower.sort_values(by[:2], kind="stable", ignore_index=True)
    lower = lower.rename(columns={"quantity": "percentile", "mean": "percent"})
    return lower[["era", "flows", "percentile", "percent", "interval", "n_seeds"]]


def one_flow(files: Sequence[RunFile], setting: Setting, seed: int) -> pd.DataFrame:
    """Return the round trips of the first flow of each run of a seed: time_s, rtt_ms, qdisc, aqm,
    flows.

    As khademi2013, Fig. 12. Raises DataError where there is no run of that seed.
    """
    of_seed = [file for file in files if (file.era, file.cc, file.seed) == (*setting, seed)]
    if not of_seed:
        raise DataError.of(f"seed {seed}", "no run of it", "Take a seed that there are runs of")
    parts = []
    for file in of_seed:
        packets = read_packets(file)
        of_flow = packets[packets["flow"] == 0].dropna(subset="rtt_ms")
        about = {"qdisc": file.qdisc, "aqm": aqm(axes(file)), "flows": run_row(file)["flows"]}
        parts.append(of_flow.assign(time_s=of_flow["arrived_ms"] / 1000, **about))
    table = pd.concat(parts, ignore_index=True)
    return table[["time_s", "rtt_ms", "qdisc", "aqm", "flows"]]


def overview(quantiles: pd.DataFrame) -> pd.DataFrame:
    """Return a table of `boxes` as a notebook shows it: quantiles, maximum, interval of the
    median."""
    words = {name: "{} ({})".format(*of) for name, of in QUANTITIES.items()}
    table = quantiles.assign(
        quantity=quantiles["quantity"].map(words),
        interval=intervals(quantiles["ci_low"], quantiles["ci_high"]),
    )
    columns = ["era", "cc", "x", "series", "quantity", *QUANTILES, "most", "interval", "n_seeds"]
    columns += [name for name in ("printed_low", "printed_high") if name in quantiles]
    return table[columns].reset_index(drop=True)


def _only(column: pd.Series) -> float:
    """Return the value that all rows share, NaN where there are several."""
    return float(column.iloc[0]) if column.nunique() == 1 else float("nan")


def _rank(column: pd.Series) -> pd.Series:
    if column.name == "aqm":
        return column.map({name: rank for rank, name in enumerate(AQMS)}).fillna(len(AQMS))
    return column


def _label(row: pd.Series, names: Sequence[str]) -> str:
    """`codel, ECN`, `16 flows`, `5`."""
    words = []
    for name in names:
        value = row[name]
        if name == "ecn":
            words += ["ECN"] if value else []
        elif name == "flows" and len(names) > 1:
            words.append(f"{value} flows")
        elif isinstance(value, float):
            words.append("–" if math.isnan(value) else f"{value:g}")  # a qdisc without that axis
        else:
            words.append(str(value))
    return ", ".join(words)
