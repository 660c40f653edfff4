"""The numbers of battling2013's abstract: latency, total goodput, and how two qdiscs compare.

Latency is the whole round trip of all probes, as netperf-wrapper plotted it: the mean over a test's
probes (RRUL: one of ICMP, three of UDP in marks of their own) of each one's mean under load.
battling2013 is T. Høiland-Jørgensen, "Battling Bufferbloat: An experimental comparison of four
approaches to queue management in Linux", Roskilde University (2013); its abstract is public.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.flood import LATENCY, TOTAL
from qdisclab.analysis.runs.axes import axes, packets
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.analysis.runs.order import QDISC_ORDER
from qdisclab.analysis.runs.settings import Setting, linux_of
from qdisclab.analysis.runs.statement import Claim
from qdisclab.analysis.words import intervals
from qdisclab.emulation.config.ownfile import drawn

FLOOD: Final = "udp_flood"

FIFO, SFQ, FQ_CODEL = "pfifo_fast", "sfq", "fq_codel"
QUANTITIES: Final[Mapping[str, tuple[str, str]]] = {
    "fifo_ms": ("latency of pfifo_fast", "ms"),
    "fq_codel_ms": ("latency of fq_codel", "ms"),
    "gain_percent": ("latency that fq_codel saves against sfq", "%"),
    "loss_percent": ("total goodput that fq_codel loses against sfq", "%"),
}
"""Column of `per_setting` -> what it is, and its unit."""
STATED: Final = {
    "fifo_ms": "b010",
    "fq_codel_ms": "b009",
    "gain_percent": "b008",
    "loss_percent": "b007",
}
"""Column of `per_setting` -> the claim that states it."""


def families(files: Iterable[RunFile]) -> dict[str, tuple[str, int]]:
    """Return by qdisc what it is with another buffer, and of how many packets; or itself, and 0.

    `sfq_1000` is `sfq` with 1000 packets. Raises DataError where the study does not tell.
    """
    kinds = {}
    for qdisc, run in {file.qdisc: file for file in files}.items():
        if qdisc in (*QDISC_ORDER, *drawn()):
            kinds[qdisc] = (qdisc, 0)
        else:
            varied = axes(run)
            kinds[qdisc] = (varied["algorithm"], packets(varied))
    return kinds


def per_setting(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the abstract's four quantities, one row per seed of each experiment, era, link and cc.

    `numbers` is from run_numbers. Qdiscs are compared within a seed, whose runs belong together.
    Columns: experiment, era, link, cc, seed and those of QUANTITIES; NaN where a run is not there.
    DataError where none of them has a value.
    """
    keys = ["experiment", "era", "link", "cc", "seed"]
    texts = numbers.astype(dict.fromkeys(keys[:-1], str))
    wide = texts.pivot_table(
        index=keys, columns="qdisc", values=[LATENCY, TOTAL], aggfunc="mean", observed=True
    )
    of = {
        (value, qdisc): wide[value].get(qdisc, pd.Series(np.nan, wide.index))
        for value in (LATENCY, TOTAL)
        for qdisc in (FIFO, SFQ, FQ_CODEL)
    }
    table = pd.DataFrame(
        {
            "fifo_ms": of[LATENCY, FIFO],
            "fq_codel_ms": of[LATENCY, FQ_CODEL],
            "gain_percent": 100 * (1 - of[LATENCY, FQ_CODEL] / of[LATENCY, SFQ]),
            "loss_percent": 100 * (1 - of[TOTAL, FQ_CODEL] / of[TOTAL, SFQ]),
        }
    )
    if table.isna().all(axis=None):
        todo = f"Take {FIFO} or {FQ_CODEL}"
        raise DataError.of("qdiscs", "tell none of the abstract's quantities", todo)
    return table.reset_index()


def rows_of(
    experiments: Mapping[str, str], links: Sequence[str], settings: Sequence[Setting]
) -> dict[tuple[str, str, str], str]:
    """Return the name of each (experiment, link, era), in order; `experiments` maps titles to
    experiments.

    Links are named where there are several, eras other than that of the first of `settings`.
    """
    return {
        (experiment, link, shown.era): (f"{link} {title}" if len(links) > 1 else title)
        + ("" if shown == settings[0] else f", {linux_of(shown.era)}")
        for title, experiment in experiments.items()
        for link in links
        for shown in settings
    }


def stated(claims: list[Claim]) -> dict[str, tuple[float, float]]:
    """Return what the abstract says of each of QUANTITIES: (least, most) in its unit, NaN for no
    bound."""
    by_id = {claim.id: claim for claim in claims}
    printed = {}
    for name, id_ in STATED.items():
        claim = by_id[id_]
        scale = 1000.0 if claim.unit == "s" else 1  # of a latency that is printed in seconds
        printed[name] = (claim.value_low * scale, claim.value_high * scale)
    return printed


def beside_stated(table: pd.DataFrame, printed: Mapping[str, tuple[float, float]]) -> pd.DataFrame:
    """Return a table of `metrics.means` by `row` as a notebook shows it, with what is `stated`.

    Columns: setting, quantity, published, ours, interval, n_seeds.
    """
    titles = {name: f"{title}, {unit}" for name, (title, unit) in QUANTITIES.items()}
    return pd.DataFrame(
        {
            "setting": table["row"],
            "quantity": table["quantity"].map(titles),
            "published": [_range(*printed[name]) for name in table["quantity"]],
            "ours": table["mean"],
            "interval": intervals(table["ci_low"], table["ci_high"]),
            "n_seeds": table["n_seeds"],
        }
    )


def _range(low: float, high: float) -> str:
    if np.isnan(low) or np.isnan(high):
        return f"≤ {high:g}" if np.isnan(low) else f"≥ {low:g}"
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
