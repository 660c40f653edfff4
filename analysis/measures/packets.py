"""Measures of the probe `packets`: how long packets waited, what was dropped, who got what.

Each function takes the table of a queue (docs/probes.md, "Every packet of a queue"), or that of
several runs, and columns to group by: those of the table, `class` (what DSCP and ECN say: `CS0
ECT(0)`) and `second`, since the first packet. The measures `queue`, `queue_by_class`,
`queue_by_flow` and `queue_by_second` of an experiment are numbers of whole runs.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import fairness
from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.emulation.captures import packets

QUANTILES: Final = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
ECN: Final = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")

METRICS: Final = {
    "sojourn_p50_ms": Metric("median sojourn time", "ms"),
    "sojourn_p95_ms": Metric("95th percentile of the sojourn time", "ms"),
    "dropped_percent": Metric("packets dropped", "%"),
    "marked_percent": Metric("packets marked", "%"),
    "sent_mbit_s": Metric("rate of frames that left", "Mbit/s"),
    "utilisation_percent": Metric("utilisation", "%"),
}
LEAST_SHARE: Final = 0.01
"""Of the bytes that left, with which a flow counts in Jain's index: pings do not."""
MOST_GROUPS: Final = 1000
"""Of a run whose numbers are by flow or second."""

By = str | Sequence[str]


def read(path: Path | str) -> pd.DataFrame:
    """Return the table at `path` with `class`, `second` and `sojourn_ms`.

    `left_s` is when it left, in seconds since the first packet. Raises DataError where the file is
    not a table of the probe.
    """
    table = packets.read(Path(path))
    classes = [_class(dscp, ecn) for dscp, ecn in zip(table["dscp"], table["ecn_in"], strict=True)]
    in_ns = table["in_ns"].astype("int64")
    table["class"] = pd.Categorical(classes)
    table["second"] = (in_ns - in_ns.iloc[0]) // 10**9
    waited_ns = table["sojourn_ns"].astype("Float64").to_numpy(float, na_value=np.nan)
    table["sojourn_ms"] = waited_ns / 1e6
    table["left_s"] = (in_ns - in_ns.iloc[0] + waited_ns) / 1e9
    return table


def _class(dscp: int, ecn: int) -> str:
    return f"{f'DSCP {dscp}' if dscp % 8 else f'CS{dscp // 8}'} {ECN[ecn]}"


def sojourn(table: pd.DataFrame, by: By = ()) -> pd.DataFrame:
    """Return mean, QUANTILES (`p50`) and maximum of the sojourn time in ms, and `packets`.

    Only packets that left count.
    """
    groups = _groups(table.dropna(subset="sojourn_ms"), by)["sojourn_ms"]
    quantiles = {f"p{share * 100:g}": groups.quantile(share) for share in QUANTILES}
    about = {"packets": groups.size(), "mean": groups.mean(), "most": groups.max()}
    return pd.DataFrame(about | quantiles)


def cdf(table: pd.DataFrame, by: By = ()) -> pd.DataFrame:
    """Return, for each packet that left, its `sojourn_ms` and the `share` that waited no longer."""
    left = table.dropna(subset="sojourn_ms").sort_values("sojourn_ms", kind="stable")
    groups = _groups(left, by)
    share = (groups.cumcount() + 1) / groups["sojourn_ms"].transform("size")
    return left[[*_names(by), "sojourn_ms"]].assign(share=share).reset_index(drop=True)


def shares(table: pd.DataFrame, by: By = ()) -> pd.DataFrame:
    """Return `packets` that entered, and the shares of them that were `dropped` and `marked`."""
    fates = table.assign(**{fate: table["fate"].eq(fate) for fate in ("dropped", "marked")})
    return _groups(fates, by).agg(
        packets=("fate", "size"), dropped=("dropped", "mean"), marked=("marked", "mean")
    )


def rates(table: pd.DataFrame, by: By = "flow", step_s: float = 1.0) -> pd.DataFrame:
    """Return Mbit/s of Ethernet frames that left in each step: one row per step, `time_s`.

    One column per group; 0 where none of it left. Steps begin with the first packet.
    """
    left = table.dropna(subset="sojourn_ms")
    step = (left["left_s"] // step_s).astype(int)
    names = _names(by)
    keys = [step.rename("step"), *(left[name] for name in names)]
    sums = left["length"].groupby(keys, observed=True).sum()
    wide = sums.unstack(names).reindex(range(int(step.max()) + 1)) if names else sums.to_frame()
    mbit_s = wide.fillna(0).astype(float) * 8e-6 / step_s
    return mbit_s.set_axis(pd.Index(step_s * mbit_s.index.to_numpy(), name="time_s"))


def jain(rates_mbit_s: pd.DataFrame) -> pd.Series:
    """Return Jain's fairness index of the columns of `rates`, at each step."""
    return rates_mbit_s.apply(fairness.jain, axis=1)


def utilisation(table: pd.DataFrame, rate_bit_s: float | None = None) -> float:
    """Return how much of the port's rate was used, from the first packet until the last left.

    The rate is that of the port's shaper unless it is given; raises DataError where it has none.
    """
    about = [*({"run", "node", "interface"} & {*table})]
    if about and len(table[about].drop_duplicates()) > 1:
        raise DataError.of("the table", "is of several queues", "Choose one run and port of it")
    rate = rate_bit_s or float(table.attrs.get("rate_bit_s", 0))
    if not rate:
        raise DataError.of("the table", "has no rate of its port", "Give the rate in bit/s")
    return 1e6 * _sent_mbit_s(table, float(table["left_s"].max())) / rate


def tables(run: RunFile) -> list[Path]:
    """Return the tables of packets beside a run; raise DataError where there are none."""
    stem = glob.escape(run.provenance.stem)
    paths = sorted(run.provenance.parent.glob(f"{stem}.*.*.packets.parquet"))
    if not paths:
        todo = "Write probes: [packets] in its experiment, and do it again"
        raise DataError.of(run.provenance, "no packets of a queue are beside it", todo)
    return paths


def numbers(run: RunFile, by: str = "") -> dict[str, float]:
    """Return the metrics of a run by name, of each queue whose packets were recorded.

    With several queues the names have the port in brackets, `sojourn_p95_ms[router r-out]`. `by`
    also gives those of each `class`, `flow` or `second`: `dropped_percent[flow 3]`. Raises
    DataError where no table is there, and for too many groups.
    """
    paths = tables(run)
    values: dict[str, float] = {}
    for path in paths:
        table = read(path)
        place = f"{table.attrs['node']} {table.attrs['interface']}" if paths[1:] else ""
        values |= _named(_numbers(table), place)
        if table.attrs.get("rate_bit_s"):
            values |= _named({"utilisation_percent": 100 * utilisation(table)}, place)
        values |= _named({fairness.JAIN: _jain(table)}, place)
        groups = table.groupby(by, observed=True) if by else ()
        if len(groups) > MOST_GROUPS:
            what = f"{len(groups)} numbers of each metric by {by}, more than {MOST_GROUPS}"
            raise DataError.of(path, what, "Take them from its table: runs.probe('packets')")
        for name, part in groups:
            group = str(name) if by == "class" else f"{by} {name}"
            span_s = 1.0 if by == "second" else float(table["left_s"].max())
            values |= _named(_numbers(part, span_s), ", ".join(filter(None, (place, group))))
    return values


def _named(values: Mapping[str, float], about: str) -> dict[str, float]:
    return {f"{name}[{about}]" if about else name: value for name, value in values.items()}


def _numbers(table: pd.DataFrame, span_s: float = 0.0) -> dict[str, float]:
    """Return numbers of packets that entered within `span_s`, by default until the last left."""
    waited, fate = table["sojourn_ms"].dropna(), table["fate"]
    return {
        "sojourn_mean_ms": float(waited.mean()),
        **{f"sojourn_p{share}_ms": float(waited.quantile(share / 100)) for share in (50, 95, 99)},
        "dropped_percent": 100 * float(fate.eq("dropped").mean()),
        "marked_percent": 100 * float(fate.eq("marked").mean()),
        "sent_mbit_s": _sent_mbit_s(table, span_s or float(table["left_s"].max())),
    }


def _sent_mbit_s(table: pd.DataFrame, span_s: float) -> float:
    left = table.dropna(subset="sojourn_ms")
    return float(8e-6 * left["length"].astype(float).sum() / span_s) if len(left) else 0.0


def _jain(table: pd.DataFrame) -> float:
    """Return Jain's index of the bytes of the flows that have LEAST_SHARE of them."""
    left = table.dropna(subset="sojourn_ms")
    sums = left["length"].astype(float).groupby(left["flow"]).sum()
    return fairness.jain(sums[sums >= LEAST_SHARE * sums.sum()])


def _groups(table: pd.DataFrame, by: By) -> pd.api.typing.DataFrameGroupBy:  # type: ignore[type-arg]
    names = _names(by)
    for name in names:
        if name not in table:
            what, todo = f"no column '{name}'", f"Columns: {', '.join(table.columns)}"
            raise DataError.of(Path(table.attrs.get("node", "")), what, todo)
    everything = pd.Series("all", index=table.index, name="packets")
    return table.groupby([table[name] for name in names] or everything, observed=True)


def _names(by: By) -> list[str]:
    return [by] if isinstance(by, str) else list(by)


def by_class(run: RunFile) -> dict[str, float]:
    """Return `numbers` of a run, and those of each class of packets."""
    return numbers(run, "class")


def by_flow(run: RunFile) -> dict[str, float]:
    """Return `numbers` of a run, and those of each flow."""
    return numbers(run, "flow")


def by_second(run: RunFile) -> dict[str, float]:
    """Return `numbers` of a run, and those of the packets that entered in each second."""
    return numbers(run, "second")


MEASURES: Final = {
    "queue": Measure(numbers, probe="packets"),
    "queue_by_class": Measure(by_class, probe="packets"),
    "queue_by_flow": Measure(by_flow, probe="packets"),
    "queue_by_second": Measure(by_second, probe="packets"),
}
