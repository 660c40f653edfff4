"""The WiFi link: runs of saturated cells, compared with theory (`wifi`)."""

import math
from collections.abc import Sequence
from typing import Final, get_type_hints

import pandas as pd
import pandera.pandas as pa

from qdisclab.analysis.errors import refused
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.analysis.runs.flentfile import RERUN
from qdisclab.emulation.datafile import read_rows

from ..kinds.saturation import ALL_SENDERS, Case
from . import wifi

PLACES: Final = ("qdisc_ms", "ring_ms", "aggregation_ms", "air_ms", "reorder_ms")
"""Where a packet waits, in its order."""

_CASE: Final = {name: pa.Column(kind) for name, kind in get_type_hints(Case).items()}
CASE: Final = [*_CASE]
MEASURED: Final = {"sender": int, "quantity": str, "value": float, "seed": int}
ROWS: Final = pa.DataFrameSchema(
    {**_CASE, **{name: pa.Column(kind) for name, kind in MEASURED.items()}}, strict=True
)
"""One row per quantity of a sender (0: access point, ALL_SENDERS) in a case and a seed."""

#: Relative errors that the link is held to.
AIR_TIME_ERROR: Final = 0.01
SATURATION_ERROR: Final = 0.03


def read_cells(runs: Sequence[RunFile]) -> pd.DataFrame:
    """Return the table of ROWS of `runs`; raise DataError where one has measured something else."""
    rows = [{**row, "seed": run.seed} for run in runs for row in read_rows(run.data)]
    kinds = (ValueError, KeyError, pa.errors.SchemaError)
    with refused(runs[0].data, "no saturated cells ({})", RERUN, *kinds):
        numbers = [name for name, column in ROWS.columns.items() if str(column.dtype) == "float64"]
        return ROWS.validate(pd.DataFrame(rows).astype(dict.fromkeys(numbers, float)))


def compare(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per case, sender and quantity: CASE, `sender`, `quantity`, `median`, `low`,
    `high` and `seeds` over seeds, `theory` (NaN where there is none) and `error`, relative to
    it."""
    cells = (
        table.groupby([*CASE, "sender", "quantity"], sort=False)["value"]
        .agg(["median", "min", "max", "count"])
        .rename(columns={"min": "low", "max": "high", "count": "seeds"})
        .reset_index()
    )
    cells["theory"] = [theory(row) for _, row in cells.iterrows()]
    return cells.assign(error=cells["median"] / cells["theory"].where(cells["theory"] > 0) - 1)


def phy(row: pd.Series) -> wifi.Phy:
    """Return the medium and rate of a case."""
    return wifi.Phy(*row[["rate_mbit_s", "mcs", "width_mhz", "short_gi", "band_ghz"]])


def theory(row: pd.Series) -> float:
    """Return what `measures.wifi` says about a row of CASE, `sender` and `quantity`; NaN for
    nothing."""
    of, payload, quantity = phy(row), row["payload_bytes"], row["quantity"]
    if row["set"] == "saturation" and row["sender"] == ALL_SENDERS:
        model = wifi.bianchi if row["backoff"] == "edca" else wifi.frozen
        cell = model(of, payload, row["stations"], row["cw_min"])
        if quantity == "collision_probability":
            return cell.collision_probability
        return cell.goodput_mbit_s
    if row["set"] == "anomaly" and row["sender"] != ALL_SENDERS:
        other = wifi.Phy(row["other_mbit_s"], band_ghz=row["band_ghz"])
        return wifi.anomaly_mbit_s([of, other], payload)[0]
    if row["set"] == "single" or (row["set"] == "goodput" and "udp" in row["traffic"]):
        ht = row["rate_mbit_s"] == 0
        frames = wifi.frames_an_ampdu(of, payload, row["subframes"]) if ht else 1
        if quantity == "frames_a_ppdu":
            return frames
        aifsn = 3 if ht else 2
        return wifi.single_sender_mbit_s(
            of, payload, frames, aifsn, row["cw_min"], row["protection"]
        )
    return float("nan")


def verdicts(compared: pd.DataFrame) -> pd.DataFrame:
    """Return the largest errors: columns `compared`, `cases`, `largest_error`, `limit`, `holds`."""
    saturation = compared[(compared["set"] == "saturation") & (compared["sender"] == ALL_SENDERS)]
    goodput = saturation[saturation["quantity"] == "goodput_mbit_s"]
    many = saturation[
        (saturation["quantity"] == "collision_probability") & (saturation["stations"] > 1)
    ]
    single = compared[compared["set"].isin(["single", "goodput"]) & compared["theory"].notna()]
    anomaly = compared[(compared["set"] == "anomaly") & compared["theory"].notna()]
    rows = [
        ("air time: goodput of a single sender", single["error"], AIR_TIME_ERROR),
        ("goodput of saturated stations", goodput["error"], SATURATION_ERROR),
        ("their collision probability, models", many["error"], SATURATION_ERROR),
        ("their collision probability, simulated", countdown_error(many), SATURATION_ERROR),
        ("anomaly: goodput of each", anomaly["error"], SATURATION_ERROR),
    ]
    largest = [(name, len(errors), errors.abs().max(), limit) for name, errors, limit in rows]
    table = pd.DataFrame(largest, columns=["compared", "cases", "largest_error", "limit"])
    return table.assign(holds=table["largest_error"] <= table["limit"])


def countdown_error(rows: pd.DataFrame) -> pd.Series:
    """Return the collision probabilities relative to those of `wifi.countdown`."""
    cases = rows[["stations", "cw_min", "backoff"]].itertuples(index=False, name=None)
    expected = [wifi.countdown(number, cw_min, of == "edca") for number, cw_min, of in cases]
    return rows["median"] / expected - 1


#: TCP goodput in Mbit/s of two fast stations and a slow one behind ath9k: T. Høiland-Jørgensen in
#: commit 63fefa050477, "ath9k: Introduce airtime fairness scheduling between stations" (4.11).
THREE_PRINTED: Final = {"robin": (19.17, 19.83, 2.58), "stations": (25.09, 25.21, 1.77)}


#: The stations of the case `three`, by sender.
THREE: Final = {1: "fast", 2: "other_fast", 3: "slow"}


def three(compared: pd.DataFrame) -> pd.DataFrame:
    """Return two fast stations and a slow one: `below`, Mbit/s of each and of all, what was printed
    of them (NaN where nothing was), and each one's share of the air time; of each station's numbers
    the least and the greatest of a seed (`_low`, `_high`)."""
    rows = []
    for below, of in compared[compared["set"] == "three"].groupby("below", sort=False):
        wide = of.pivot(index="sender", columns="quantity", values=["median", "low", "high"])
        ours = wide["median", "goodput_mbit_s"].loc[list(THREE)].tolist()
        printed = THREE_PRINTED.get(str(below), (math.nan,) * 3)
        names = (*THREE.values(), "all")
        rows.append(
            {"below": below}
            | dict(zip(names, [*ours, sum(ours)], strict=True))
            | {
                f"{name}_printed": value
                for name, value in zip(names, [*printed, sum(printed)], strict=True)
            }
            | {
                f"{name}{quantity}{end}": wide[value, of_sender][sender]
                for value, end in (("median", ""), ("low", "_low"), ("high", "_high"))
                for quantity, of_sender in (("", "goodput_mbit_s"), ("_airtime", "airtime_share"))
                for sender, name in THREE.items()
                if quantity or end
            }
        )
    return pd.DataFrame(rows)


def waits(compared: pd.DataFrame) -> pd.DataFrame:
    """Return where packets of the access point wait: CASE, a column for each of PLACES and for
    goodput."""
    keys = ["traffic", "stations", "qdisc", "below"]
    rows = compared[compared["set"] == "waiting"]
    total = rows[(rows["sender"] == ALL_SENDERS) & (rows["quantity"] == "goodput_mbit_s")]
    ours = rows[(rows["sender"] == 0) & rows["quantity"].isin(PLACES)]
    wide = ours.pivot_table(index=keys, columns="quantity", values="median", sort=False)
    goodput = total.set_index(keys)["median"].rename("goodput_mbit_s")
    return wide[list(PLACES)].join(goodput).reset_index()
