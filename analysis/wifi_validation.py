"""The WiFi link beside theory: the table of workflow/wifi.py, compared with analysis.wifi."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Final

import pandas as pd
import pandera.pandas as pa
from matplotlib.figure import Figure

from analysis import wifi
from analysis.errors import DataError
from analysis.outputs import FIGURE, SUMMARY, TABLE, Summary
from analysis.style import Palette, save

_NUMBER: Final = pa.Column(float)
_WHOLE: Final = pa.Column(int)

WIFI: Final = pa.DataFrameSchema(
    {
        "set": pa.Column(
            str, pa.Check.isin(["saturation", "single", "goodput", "anomaly", "waiting"])
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
        "kernel": pa.Column(str),
        "module": pa.Column(str),
        "seed": _WHOLE,
        "sender": _WHOLE,
        "quantity": pa.Column(str),
        "value": _NUMBER,
    },
    strict=True,
)
"""One row per quantity of a sender (0: access point, -1: all) in a case and a seed."""

CASE: Final = list(WIFI.columns)[: list(WIFI.columns).index("kernel")]
ALL_SENDERS: Final = -1

#: Relative errors that the link is held to.
AIR_TIME_ERROR: Final = 0.01
SATURATION_ERROR: Final = 0.03


def read_wifi(path: Path) -> pd.DataFrame:
    """The table of WIFI; raises DataError for any other file."""
    try:
        numbers = [name for name, one in WIFI.columns.items() if str(one.dtype) == "float64"]
        text = pd.read_csv(path, dtype=dict.fromkeys(("kernel", "module", "below"), str))
        return WIFI.validate(text.astype(dict.fromkeys(numbers, float)))
    except (OSError, ValueError, KeyError, pa.errors.SchemaError) as error:
        remedy = "Measure with `python -m workflow.wifi`"
        raise DataError.of(path, f"no table of measurements ({error})", remedy) from error


def compare(table: pd.DataFrame) -> pd.DataFrame:
    """One row per case, sender and quantity: CASE, `sender`, `quantity`, `median`, `low`, `high`
    and `seeds` over seeds, `theory` (NaN where there is none) and `error`, relative to it."""
    found = (
        table.groupby([*CASE, "sender", "quantity"], sort=False)["value"]
        .agg(["median", "min", "max", "count"])
        .rename(columns={"min": "low", "max": "high", "count": "seeds"})
        .reset_index()
    )
    found["theory"] = [theory(row) for _, row in found.iterrows()]
    return found.assign(error=found["median"] / found["theory"].where(found["theory"] > 0) - 1)


def phy(row: pd.Series) -> wifi.Phy:
    """The medium and rate of a case."""
    return wifi.Phy(
        row["rate_mbit_s"], row["mcs"], row["width_mhz"], row["short_gi"], row["band_ghz"]
    )


def theory(row: pd.Series) -> float:
    """What analysis.wifi says about a row of CASE, `sender` and `quantity`; NaN for nothing."""
    of, payload, quantity = phy(row), row["payload_bytes"], row["quantity"]
    if row["set"] == "saturation" and row["sender"] == ALL_SENDERS:
        model = wifi.bianchi if row["backoff"] == "edca" else wifi.frozen
        found = model(of, payload, row["stations"], row["cw_min"])
        if quantity == "collision_probability":
            return found.collision_probability
        return found.goodput_mbit_s
    if row["set"] == "anomaly" and row["sender"] != ALL_SENDERS:
        other = wifi.Phy(row["other_mbit_s"], band_ghz=row["band_ghz"])
        return wifi.anomaly_mbit_s([of, other], payload)[0]
    single = row["set"] == "single" or (row["set"] == "goodput" and "udp" in row["traffic"])
    if single:
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
    """The largest errors: columns `compared`, `cases`, `largest_error`, `limit`, `holds`."""
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
    table = pd.DataFrame(
        {
            "compared": [name for name, _, _ in rows],
            "cases": [len(errors) for _, errors, _ in rows],
            "largest_error": [errors.abs().max() for _, errors, _ in rows],
            "limit": [limit for _, _, limit in rows],
        }
    )
    return table.assign(holds=table["largest_error"] <= table["limit"])


def countdown_error(rows: pd.DataFrame) -> pd.Series:
    """Collision probabilities relative to those of analysis.wifi.countdown."""
    expected = [
        wifi.countdown(stations, cw_min, busy_slot_counts=backoff == "edca")
        for stations, cw_min, backoff in zip(
            rows["stations"], rows["cw_min"], rows["backoff"], strict=True
        )
    ]
    return rows["median"] / expected - 1


PLACES: Final = ("qdisc_ms", "ring_ms", "aggregation_ms", "air_ms", "reorder_ms")


def waits(compared: pd.DataFrame) -> pd.DataFrame:
    """Where packets of the access point wait: CASE, a column for each of PLACES and for goodput."""
    keys = ["traffic", "stations", "qdisc", "below"]
    rows = compared[compared["set"] == "waiting"]
    total = rows[(rows["sender"] == ALL_SENDERS) & (rows["quantity"] == "goodput_mbit_s")]
    ours = rows[(rows["sender"] == 0) & rows["quantity"].isin(PLACES)]
    wide = ours.pivot_table(index=keys, columns="quantity", values="median", sort=False)
    goodput = total.set_index(keys)["median"].rename("goodput_mbit_s")
    return wide[list(PLACES)].join(goodput).reset_index()


def write_wifi(
    folder: Path,
    draw: Callable[[Palette], Figure],
    table: pd.DataFrame,
    measured: pd.DataFrame,
    *,
    figure: str,
    title: str,
    caption: str,
    alt: str,
) -> None:
    """Write what analysis.outputs.write_outputs does, of measurements that are no runs."""
    files = save(draw, folder / FIGURE)
    table.to_csv(folder / TABLE, index=False, float_format="%.5g")
    cases = measured.drop_duplicates([*CASE, "seed"])
    facts = Summary(
        paper="testbed",
        figure=figure,
        title=title,
        caption=caption,
        alt=alt,
        cells=[],
        kernels=[],
        eras=["modern"],
        flent_versions=[],
        lengths_s=sorted(set(cases["seconds"])),
        virtual_s=float(cases["seconds"].sum()),
        wall_s=0.0,
        files=[path.name for path in files],
    )
    text = json.dumps(asdict(facts), indent=1, sort_keys=True, ensure_ascii=False)
    (folder / SUMMARY).write_text(text + "\n", encoding="utf-8")
