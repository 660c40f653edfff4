"""What a queue between the gateways did in each step of 50 ms: the table of the probe `steps`."""

from pathlib import Path

import numpy as np
import pandas as pd

from qdisclab.emulation.captures.places import Place
from qdisclab.emulation.model.run import Run

from . import passages


def write(run: Run, place: Place, packets: Path, table: Path) -> None:
    """Write the steps of the queue at `place`."""
    there = passages.read(run, place, packets)
    steps = of(there, 50_000_000)
    packed = dict.fromkeys(steps, "DELTA_BINARY_PACKED")
    steps.to_parquet(
        table, index=False, compression="zstd", use_dictionary=False, column_encoding=packed
    )


def of(there: passages.PlacePassages, step_ns: int) -> pd.DataFrame:
    """Return one row per step: least, median and longest delay in us, bytes sent, packets dropped.

    A packet belongs to the step in which it left, a dropped packet to that in which it arrived. A
    step in which no packet left has no delays.
    """
    count = -(-there.length_ns // step_ns)
    seen = there.within()
    step = seen["left_ns"].to_numpy() // step_ns
    lost = seen["delay_ns"].to_numpy() < 0
    delays = (seen["delay_ns"] / 1e3)[~lost].groupby(step[~lost])
    columns = {
        "least_us": delays.min().reindex(range(count)),
        "median_us": delays.median().reindex(range(count)),
        "longest_us": delays.max().reindex(range(count)),
    }
    sizes = seen["length"].to_numpy()
    return pd.DataFrame(
        {
            **{name: values.round().astype("Int32") for name, values in columns.items()},
            "bytes": np.bincount(step[~lost], sizes[~lost], count).astype(np.int32),
            "dropped": np.bincount(step[lost], minlength=count).astype(np.int32),
        }
    )
