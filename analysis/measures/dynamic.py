"""A link whose rate changes (codel2012, Fig. 7): what its queue did step by step."""

from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd

from analysis.errors import DataError
from analysis.measures.metrics import confidence_interval
from analysis.measures.queues import NAMES, family, read_runs
from analysis.runs.axes import axes, packets
from analysis.runs.dataset import RunFile
from analysis.runs.flentfile import RERUN
from analysis.runs.packets import read_series
from analysis.runs.statement import Claim
from analysis.words import NONE, intervals

MOST_MS: Final = 90.0  # Dynamic Links: "less than 90ms 95% of the total simulation time"


def steps(file: RunFile, direction: str = "forward") -> pd.DataFrame:
    """A row per step of the load: time_s at its end, least_ms, median_ms and longest_ms of the
    delay (NaN where nothing was sent), mbit_s, dropped, and kilobytes sent since the load began."""
    series = read_series(file)
    try:
        time_s = series["time_s"][1:]
        table = pd.DataFrame(
            {
                "time_s": time_s,
                **{
                    f"{name}_ms": series[f"Queue delay (ms) {name}::{direction}"][1:]
                    for name in ("least", "median", "longest")
                },
                "mbit_s": series[f"Sent (Mbit/s)::{direction}"][1:],
                "dropped": series[f"Dropped (packets)::{direction}"][1:],
            }
        )
    except KeyError as error:
        raise DataError.of(file.data, f"lacks the series {error}", RERUN) from error
    step_s = float(series["time_s"][1] - series["time_s"][0])
    return table.assign(kilobytes=(table["mbit_s"] * step_s * 1e3 / 8).cumsum())


def below_percent(table: pd.DataFrame, most_ms: float) -> float:
    """Percent of the steps in which no packet had waited as long as `most_ms`.

    codel2012 gives this of "the total simulation time" (Dynamic Links).
    """
    return 100 * float((table["longest_ms"].fillna(0) < most_ms).mean())


def longest_ms(table: pd.DataFrame, at_s: float, within_s: float = 10.0) -> float:
    """The longest delay of the `within_s` after `at_s`."""
    after = table[(table["time_s"] > at_s) & (table["time_s"] <= at_s + within_s)]
    return float(after["longest_ms"].max())


def first_drop_ms(table: pd.DataFrame, at_s: float) -> float:
    """From `at_s` to the end of the first step in which a packet was dropped; NaN for none."""
    dropping = table[(table["time_s"] > at_s + 1e-9) & (table["dropped"] > 0)]
    return 1000 * float(dropping["time_s"].iloc[0] - at_s) if len(dropping) else float("nan")


def totals(files: Sequence[RunFile], table: pd.DataFrame) -> pd.DataFrame:
    """One row per qdisc, means over seeds: n_seeds, delays, kilobytes, utilisation and drops."""
    under = {file.run: below_percent(steps(file), MOST_MS) for file in files}
    forward = table[table["direction"] == "forward"]
    forward = forward.assign(below_90ms_percent=forward["run"].map(under))
    names = [
        "median_ms", "p75_ms", "p95_ms", "longest_ms", "below_90ms_percent", "kilobytes",
        "utilisation_percent", "dropped_percent",
    ]  # fmt: skip
    grouped = forward.groupby("qdisc", sort=False)
    means = grouped[names].mean()
    means.insert(0, "n_seeds", grouped["seed"].nunique())
    varied = {file.qdisc: axes(file.run) for file in files}
    order = sorted(means.index, key=lambda name: _place(varied[name]))
    return means.loc[order].reset_index()


def _place(run_axes: Mapping[str, str]) -> tuple[int, int]:
    """To sort by: the larger buffer first, in each the article's order; then others."""
    known, name = list(NAMES), family(run_axes)
    place = known.index(name) if name in known else len(known)
    return -packets(run_axes), place


def printed(files: Sequence[RunFile], claims: Mapping[str, Claim]) -> pd.DataFrame:
    """What the paper prints of Fig. 7, by the ids of its `claims`, beside ours.

    Columns: Quantity, published, ours (the mean over seeds) and interval.
    """
    table = read_runs(files)
    table = table[table["direction"] == "forward"]
    under = {file.run: below_percent(steps(file), MOST_MS) for file in files}
    per = {str(qdisc): runs.set_index("seed") for qdisc, runs in table.groupby("qdisc")}
    rows = []
    if "codel_830" in per:
        codel = per["codel_830"]
        rows += [
            ("CoDel: median delay, ms", claims["c049"].value_high, codel["median_ms"]),
            ("CoDel: 75th percentile of the delay, ms", claims["c050"].value_high, codel["p75_ms"]),
            (f"CoDel: below {MOST_MS:g} ms, % of the time", 95.0, codel["run"].map(under)),
        ]
        for small, called in (
            ("codel_10", "CoDel"),
            ("tail_drop_10", "Tail Drop"),
            ("red_10", "RED"),
        ):
            if small in per:
                name = f"{called} with 10 packets: kilobytes, % of CoDel's with 830"
                share = 100 * per[small]["kilobytes"] / codel["kilobytes"]
                rows.append((name, claims["c048"].value_high, share))
        if "tail_drop_830" in per:
            share = 100 * codel["kilobytes"] / per["tail_drop_830"]["kilobytes"]
            name = 'CoDel: kilobytes, % of Tail Drop\'s ("almost the same")'
            rows.append((name, 100 * claims["c043"].value_high, share))
    for qdisc, id_, name, factor in (
        ("tail_drop_830", "c035", "Tail Drop: longest delay, s", 1e-3),
        ("tail_drop_10", "c047", "Tail Drop with 10 packets: longest delay, ms", 1.0),
    ):
        if qdisc in per:
            rows.append((name, claims[id_].value_high, factor * per[qdisc]["longest_ms"]))
    found = [(name, value, float(ours.mean()), interval(ours)) for name, value, ours in rows]
    return pd.DataFrame(found, columns=["Quantity", "published", "ours", "interval"])


def interval(values: "pd.Series[float]") -> str:
    """The 95 % interval of the mean over seeds (Student's t); a dash for one seed."""
    taken = values.dropna()
    if len(taken) < 2:
        return NONE
    found = confidence_interval(taken)
    return intervals([found.low], [found.high])[0]
