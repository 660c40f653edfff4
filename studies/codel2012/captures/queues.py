"""What the queues between the gateways did while the load lasted: the table of the probe `queues`.

One row per queue and source of its packets, and one of all together.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from qdisclab.emulation.captures.places import Place
from qdisclab.emulation.model.run import Run

from . import passages

ALL = "all"
QUANTILES = (0, 5, 25, 50, 75, 90, 95, 99, 100)  # of the delay, percent
DECIMALS = 4


def write(run: Run, place: Place, packets: Path, table: Path) -> None:
    """Add the rows of the queue at `place` to the table."""
    there = passages.read(run, place, packets)
    seen = there.within()
    groups = [(ALL, seen), *seen.groupby("source")]
    rows = [
        {"load": there.load, "direction": there.direction, "source": name, **measured(group, there)}
        for name, group in groups
    ]
    pd.DataFrame(rows).to_csv(table, mode="a", header=not table.exists(), index=False)


def measured(group: pd.DataFrame, there: passages.PlacePassages) -> dict[str, float]:
    """Return packets that were sent and dropped, bytes that were sent, and delays in ms."""
    sent = group[group["delay_ns"] >= 0]
    delay_ms = sent["delay_ns"].to_numpy() / 1e6
    at = np.percentile(delay_ms, QUANTILES) if len(sent) else [np.nan] * len(QUANTILES)
    quantiles = {f"p{q}_ms": round(value, DECIMALS) for q, value in zip(QUANTILES, at, strict=True)}
    size = int(sent["length"].sum())
    return {
        "sent": len(sent),
        "dropped": len(group) - len(sent),
        "bytes": size,
        "utilisation": round(8 * size / there.capacity_bits, 6),
        "mean_ms": round(float(delay_ms.mean()), DECIMALS) if len(sent) else np.nan,
        **quantiles,
    }
