"""What the upload's queue drops, packet by packet: the tables of the probe `drops`.

gbw2015 says from its captures that ACKs get lost upstream (Sec. 5.1.1), SYN packets (5.3.1), many
packets in a row, and that the flow of 10 ms waits for its retransmission timer (6.1.1).
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

import pandas as pd
import pandera.pandas as pa

from qdisclab.analysis.measures.metrics import means
from qdisclab.analysis.measures.registry import Metric, Recorded
from qdisclab.analysis.runs import recorded
from qdisclab.analysis.runs.dataset import RunFile

_COUNTS: Final = (
    "flows", "packets", "dropped", "bursts", "longest_burst", "events", "timeouts",
    "timeouts_in_a_row", "connections", "late_connections", "first_series",
)  # fmt: skip
_FLOATS: Final = ("wait_ms", "longest_wait_ms", "behind_packets")
PROBE: Final = "drops"
DROPS: Final = recorded.schema(
    {
        "kind": pa.Column(str),
        **{name: pa.Column(float, pa.Check.ge(0)) for name in _FLOATS},
        **{name: pa.Column(int, pa.Check.ge(0)) for name in _COUNTS},
    },
    rows="kind",
)
"""One row per run and kind of packets that the client sent; see emulation/captures/drops.py."""

UPLOAD: Final = "upload, "  # of the kinds of four uploads, before their round trips
SMALL_PAGE: Final = ("web_small_1up", "web_small_rrul")


METRICS: Final = {
    "ack_drops_percent": Metric("acknowledgments of downloads dropped upstream", "%"),
    "late_syn_percent": Metric("connections whose first SYN was dropped", "%"),
    "timeouts_10ms": Metric("timeouts of the flow of 10 ms", ""),
    "timeouts_10ms_in_a_row": Metric("timeouts of the flow of 10 ms in a row", ""),
    "upload_wait_ms": Metric("wait of the uploads' own packets", "ms"),
    "probe_behind_packets": Metric("full packets ahead of a probe, 99th percentile", "packets"),
    "departure_interval_ms": Metric("mean time between packets that leave the queue", "ms"),
    "first_congestions_10ms": Metric(
        "congestion events in a row of the flow of 10 ms, from the first on", ""
    ),
    "drops_together_500ms": Metric(
        "packets of the flow of 500 ms dropped within a round trip", "packets"
    ),
}


class Panel(NamedTuple):
    """What a panel shows: a group of bars a qdisc, of experiments, of kinds or of columns."""

    title: str
    experiments: tuple[str, ...]
    kinds: tuple[str, ...]  # those that begin so
    columns: tuple[str, ...]
    label: str  # of the axis


SHOWN: Final = {
    "acks": Panel("RRUL: what is dropped upstream", ("rrul",), ("acknowledgment", "upload"),
                  ("dropped_percent",), "packets dropped (%)"),
    "syn": Panel("The small page: connections that begin late", SMALL_PAGE, ("syn",),
                 ("late_percent",), "connections whose first SYN was dropped (%)"),
    "timeouts": Panel("Four uploads: timeouts of each", ("rtt_fairness",), (UPLOAD,),
                      ("timeouts_a_minute",), "retransmission timeouts a minute"),
    "row": Panel("Four uploads: timeouts without progress between", ("rtt_fairness",), (UPLOAD,),
                 ("timeouts_in_a_row",), "timeouts in a row, at most"),
    "together": Panel("Four uploads: losses that come together", ("rtt_fairness",), (UPLOAD,),
                      ("drops_an_event",), "packets dropped within a round trip, mean"),
    "probes": Panel("RRUL: probes upstream, and hash collisions", ("rrul",), ("probe",),
                    ("wait_ms", "longest_wait_ms"), "mean wait of probes (ms)"),
}  # fmt: skip

COLLISION: Final = 1.4
"""A probe that waits so many times as long as all probes of its run shares its queue with a flow
that fills it, where each flow has a queue (`spread` looks at latencies with the same bound)."""


def read_drops(runs: Iterable[RunFile]) -> pd.DataFrame:
    """Return the table of DROPS with dropped_percent, late_percent (connections whose first SYN was
    dropped), timeouts_a_minute (of a flow) and drops_an_event (packets of a flow dropped within a
    base round trip), NaN where a kind has none of it. Raises DataError for a table of another
    form."""
    table = recorded.read(runs, PROBE, DROPS)
    minutes = table["flows"] * table["length_s"] / 60
    return table.assign(
        dropped_percent=100 * table["dropped"] / table["packets"],
        late_percent=100 * table["late_connections"] / table["connections"].where(lambda n: n > 0),
        timeouts_a_minute=table["timeouts"] / minutes,
        drops_an_event=table["dropped"] / table["events"].where(lambda n: n > 0),
    )


def panel(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return what the panel `name` of SHOWN draws: qdisc, group, n_seeds, mean, std, interval
    bounds."""
    shown = SHOWN[name]
    rows = table[table["experiment"].isin(shown.experiments)]
    rows = rows[rows["kind"].str.startswith(shown.kinds)]
    by = ["qdisc", "seed", "experiment", "kind"]
    long = rows.melt(by, list(shown.columns), var_name="column", value_name="value")
    group = "column" if len(shown.columns) > 1 else "kind"
    long["group"] = long["experiment" if len(shown.experiments) > 1 else group]
    return means(long, ["qdisc", "group"], ["value"], more=["std"]).drop(columns="quantity")


def overview(table: pd.DataFrame) -> pd.DataFrame:
    """Return all panels as one table: quantity, qdisc, group, mean, ci_low, ci_high, n_seeds."""
    parts = [panel(table, name).assign(quantity=SHOWN[name].label) for name in SHOWN]
    columns = ["quantity", "qdisc", "group", "mean", "ci_low", "ci_high", "n_seeds"]
    return pd.concat(parts, ignore_index=True)[columns]


def collisions(table: pd.DataFrame) -> pd.DataFrame:
    """Return rows of queues a flow in which one probe waits more than COLLISION times the mean of
    all: experiment, qdisc, seed, wait_ms, longest_wait_ms, and runs, how many were looked at."""
    rows = table[(table["kind"] == "probe") & table["qdisc"].isin(QUEUES_A_FLOW)]
    runs = rows.groupby(["experiment", "qdisc"])["seed"].transform("size")
    apart = rows.assign(runs=runs)[rows["longest_wait_ms"] > COLLISION * rows["wait_ms"]]
    return apart[["experiment", "qdisc", "seed", "wait_ms", "longest_wait_ms", "runs"]]


ALL: Final = "all"  # kinds of packets together


def _with_all(table: pd.DataFrame) -> pd.DataFrame:
    """`table` and a row per run of ALL kinds: interval_ms, mean time between packets that left."""
    left = (table["packets"] - table["dropped"]).rename("left")
    by = [*recorded.KEY, "length_s"]
    runs = table.assign(left=left).groupby(by, as_index=False)["left"].sum()
    every = runs.assign(kind=ALL, interval_ms=1000 * runs["length_s"] / runs["left"])
    whole: pd.DataFrame = pd.concat([table, every.drop(columns="left")], ignore_index=True)
    return whole


QUEUES_A_FLOW: Final = ("sfq", "fq_nocodel", "fq_codel")

#: metric of analysis.measures.table -> experiments, kind, column
CLAIMED: Final = {
    "ack_drops_percent": (("rrul",), "acknowledgment", "dropped_percent"),
    "late_syn_percent": (SMALL_PAGE, "syn", "late_percent"),
    "timeouts_10ms": (("rtt_fairness",), f"{UPLOAD}10 ms", "timeouts"),
    "timeouts_10ms_in_a_row": (("rtt_fairness",), f"{UPLOAD}10 ms", "timeouts_in_a_row"),
    "drops_together_500ms": (("rtt_fairness",), f"{UPLOAD}500 ms", "drops_an_event"),
    "upload_wait_ms": (("rrul",), "upload", "wait_ms"),
    "probe_behind_packets": (("rrul",), "probe", "behind_packets"),
    "first_congestions_10ms": (("rtt_fairness",), f"{UPLOAD}10 ms", "first_series"),
    "departure_interval_ms": (SMALL_PAGE, ALL, "interval_ms"),
}


def measured(runs: Iterable[RunFile]) -> pd.DataFrame:
    """Return what claims ask of the tables beside `runs`: recorded.KEY, metric, value.

    Raises DataError for a table of another form.
    """
    columns = [*recorded.KEY, "metric", "value"]
    table = _with_all(read_drops(runs))
    parts = [
        table[table["experiment"].isin(experiments) & (table["kind"] == kind)]
        .rename(columns={column: "value"})
        .assign(metric=metric)[columns]
        .dropna()
        for metric, (experiments, kind, column) in CLAIMED.items()
    ]
    return pd.concat(parts, ignore_index=True)


RECORDED: Final = Recorded(PROBE, measured, frozenset(METRICS))
