"""A link whose rate changes (codel2012, Fig. 7): what its queue did step by step."""

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.measures.metrics import confidence_interval
from analysis.runs.axes import axes, packets
from analysis.runs.dataset import RunFile
from analysis.runs.statement import Claim
from analysis.words import NONE, intervals

from .gateways import MOST_MS, below_percent, steps
from .queues import NAMES, family, read_runs


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
    varied = {file.qdisc: axes(file) for file in files}
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
