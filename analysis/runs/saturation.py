"""Runs of saturated WiFi cells: what each sender got, and where its packets waited."""

from collections.abc import Sequence
from typing import Final

import pandas as pd
import pandera.pandas as pa

from analysis.errors import DataError
from analysis.runs.dataset import RunFile, read_rows
from analysis.runs.flentfile import RERUN

PLACES: Final = ("qdisc_ms", "ring_ms", "aggregation_ms", "air_ms", "reorder_ms")
"""Where a packet waits, in its order."""

_NUMBER: Final = pa.Column(float)
_WHOLE: Final = pa.Column(int)

WIFI: Final = pa.DataFrameSchema(
    {
        "set": pa.Column(
            str, pa.Check.isin(["saturation", "single", "goodput", "anomaly", "waiting", "three"])
        ),
        "traffic": pa.Column(str),
        "stations": _WHOLE,
        "rate_mbit_s": _NUMBER,
        "mcs": _WHOLE,
        "width_mhz": _WHOLE,
        "short_gi": pa.Column(bool),
        "band_ghz": _WHOLE,
        "other_mbit_s": _NUMBER,
        "backoff": pa.Column(str, pa.Check.isin(["dcf", "edca"])),
        "cw_min": _WHOLE,
        "subframes": _WHOLE,
        "payload_bytes": _WHOLE,
        "protection": pa.Column(str),
        "qdisc": pa.Column(str),
        "below": pa.Column(str),
        "flows": _WHOLE,
        "seconds": _NUMBER,
        "sender": _WHOLE,
        "quantity": pa.Column(str),
        "value": _NUMBER,
        "seed": _WHOLE,
    },
    strict=True,
)
"""One row per quantity of a sender (0: access point, -1: all) in a case and a seed."""

CASE: Final = list(WIFI.columns)[: list(WIFI.columns).index("sender")]
ALL_SENDERS: Final = -1


def read_wifi(runs: Sequence[RunFile]) -> pd.DataFrame:
    """Return the table of WIFI of `runs`; raise DataError where one has measured something
    else."""
    rows = [{**row, "seed": run.seed} for run in runs for row in read_rows(run)]
    try:
        numbers = [name for name, one in WIFI.columns.items() if str(one.dtype) == "float64"]
        return WIFI.validate(pd.DataFrame(rows).astype(dict.fromkeys(numbers, float)))
    except (ValueError, KeyError, pa.errors.SchemaError) as error:
        raise DataError.of(runs[0].data, f"no saturated cells ({error})", RERUN) from error
