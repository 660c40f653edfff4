"""Measures of the probe `packets`: how long packets waited, what was dropped, who got what.

Each takes the table of a queue (docs/probes.md, "Every packet of a queue") and columns to group by:
those of the table, `class` (what DSCP and ECN say: `CS0 ECT(0)`) and `second`, since the first
packet.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from analysis.errors import DataError, as_data_error
from analysis.measures import fairness
from emulation.captures import packets

QUANTILES: Final = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
ECN: Final = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")
_NS: Final = 1e9

By = str | Sequence[str]


def read(path: Path | str) -> pd.DataFrame:
    """Return the table at `path` with `class`, `second` and `sojourn_ms`.

    Raises DataError where the file is not a table of the probe.
    """
    with as_data_error():
        table = packets.read(Path(path))
    classes = [_class(dscp, ecn) for dscp, ecn in zip(table["dscp"], table["ecn_in"], strict=True)]
    in_ns = table["in_ns"].astype("int64")
    table["class"] = pd.Categorical(classes)
    table["second"] = (in_ns - in_ns.iloc[0]) // 10**9
    table["sojourn_ms"] = (
        table["sojourn_ns"].astype("Float64").to_numpy(float, na_value=np.nan) / 1e6
    )
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
    names = _names(by)
    return left[[*names, "sojourn_ms"]].assign(share=share).reset_index(drop=True)


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
    begin_ns = int(table["in_ns"].iloc[0])
    step = (left["out_ns"].astype("int64") - begin_ns) // round(step_s * _NS)
    names = _names(by)
    columns = [left[name] for name in names]
    sums = left["length"].groupby([step.rename("step"), *columns], observed=True).sum()
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
    known = rate_bit_s or float(table.attrs.get("rate_bit_s", 0))
    if not known:
        what = "the port has no rate of its own"
        raise DataError.of(Path(table.attrs.get("node", "")), what, "Give the rate in bit/s")
    left = table.dropna(subset="sojourn_ms")
    span_ns = int(left["out_ns"].max()) - int(table["in_ns"].iloc[0])
    return float(8 * left["length"].astype(float).sum() / (known * span_ns / _NS))


def _groups(table: pd.DataFrame, by: By) -> pd.api.typing.DataFrameGroupBy:  # type: ignore[type-arg]
    names = _names(by)
    unknown = [name for name in names if name not in table]
    if unknown:
        valid = ", ".join(table.columns)
        what = f"no column '{unknown[0]}'"
        raise DataError.of(Path(table.attrs.get("node", "")), what, f"Columns: {valid}")
    keys: list[pd.Series] = [table[name] for name in names]
    everything = pd.Series("all", index=table.index, name="packets")
    return table.groupby(keys or everything, observed=True)


def _names(by: By) -> list[str]:
    return [by] if isinstance(by, str) else list(by)
