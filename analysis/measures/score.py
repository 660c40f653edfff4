"""The numbers of a scorecard: what RFC 7928, RFC 9743 and others ask about a queue or a control.

Each is one number of a run of the study `rfc7928`. docs/score.md says what each is for.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pandas as pd
import pandera.pandas as pa

from analysis.measures.metrics import Interval, confidence_interval
from analysis.measures.table import measure_run
from analysis.runs.dataset import read_record, run_at
from analysis.runs.published import read_table

STUDY: Final = "rfc7928"
BASE_RTT_MS: Final = 50.0  # of all its rigs but that with several
SEEDS: Final = 3

#: What a run measured, by the names of its metrics -> the number.
Take = Callable[[Mapping[str, float]], float]


@dataclass(frozen=True)
class Number:
    """A row of the scorecard."""

    id: str
    title: str
    unit: str
    source: str  # who asks for it
    label: str  # of the runs: congestion_4
    take: Take
    best: str  # "low", "high", or "1": a ratio that is equal there


def _metric(name: str) -> Take:
    return lambda measured: measured[name]


def _round_trips(measured: Mapping[str, float]) -> float:
    """Round trips that a probe beside the load makes in a minute, in the second half of the load.

    Of draft-ietf-ippm-responsiveness this is the part of probes on connections of their own; by
    ICMP, so that neither a server's time nor the queue of the own connection is in it.
    """
    return 60_000 / (BASE_RTT_MS + measured["steady_latency_ms"])


def _rival(measured: Mapping[str, float]) -> float:
    """Return the goodput of the second flow by that of the first."""
    return measured["goodput_second_mbit_s"] / measured["goodput_first_mbit_s"]


NUMBERS: Final = (
    *(
        Number(f"latency_{flows}", f"induced latency, {flows} upload{'s' * (flows > 1)}", "ms",
               f"RFC 7928, {section}", f"congestion_{flows}", _metric("icmp_induced_mean_ms"),
               "low")
        for flows, section in ((1, "8.2.2"), (4, "8.2.3"), (32, "8.2.4"))
    ),
    Number("tail_32", "its 99th percentile, 32 uploads", "ms", "RFC 7928, 2.6", "congestion_32",
           _metric("icmp_induced_p99_ms"), "low"),
    *(
        Number(f"goodput_{flows}", f"goodput, {flows} upload{'s' * (flows > 1)}", "Mbit/s",
               "RFC 7928, 2.5", f"congestion_{flows}", _metric("up_goodput_mbit_s"), "high")
        for flows in (1, 4, 32)
    ),
    Number("latency_both", "induced latency, four flows each way", "ms", "RFC 7928, 9.2", "rrul",
           _metric("induced_latency_ms"), "low"),
    Number("goodput_both", "goodput of both directions, four flows each way", "Mbit/s",
           "RFC 7928, 9.2", "rrul", _metric("goodput_total_mbit_s"), "high"),
    Number("responsiveness", "responsiveness, four flows each way", "round trips/min",
           "draft-ietf-ippm-responsiveness", "rrul", _round_trips, "high"),
    Number("start_peak", "highest mean of a second as eight flows start", "ms", "RFC 7928, 7",
           "rrul", _metric("startup_peak_ms"), "low"),
    Number("drops", "packets dropped upstream, without ECN", "%", "RFC 7928, 2.3", "rrul",
           _metric("drops_upload_percent"), "low"),
    Number("drops_ecn", "the same with ECN", "%", "RFC 7928, 4.5", "rrul_ecn",
           _metric("drops_upload_percent"), "low"),
    Number("latency_ecn", "induced latency with ECN, four flows each way", "ms", "RFC 7928, 4.5",
           "rrul_ecn", _metric("induced_latency_ms"), "low"),
    Number("jain_rtt", "Jain's index of RTTs of 10, 50, 200 and 500 ms", "", "RFC 7928, 6",
           "fairness", _metric("jain_index"), "high"),
    Number("call_delay", "one-way delay of a call, 99th percentile", "ms", "RFC 7928, 9.1", "call",
           _metric("voip_delay_p99_ms"), "low"),
    Number("call_loss", "loss of the call", "%", "RFC 7928, 9.1", "call",
           _metric("voip_loss_percent"), "low"),
    Number("page", "time of a page by that without load", "", "RFC 7928, 9.1", "page",
           _metric("fetch_time_normalised"), "low"),
    Number("flood_lost", "pings unanswered beside a flood of UDP", "%", "RFC 7928, 5.3", "flood",
           _metric("unanswered_percent"), "low"),
    Number("after_join", "delay in the 10 s after 31 flows join one", "ms", "RFC 7928, 8.2.5",
           "varying", _metric("after_join_ms"), "low"),
    Number("after_leave", "delay in the 10 s after they have gone", "ms", "RFC 7928, 8.2.5",
           "varying", _metric("after_leave_ms"), "low"),
    Number("after_fall", "delay in the 10 s after the rate falls to a fifth", "ms",
           "RFC 7928, 8.2.6", "capacity", _metric("after_falls_ms"), "low"),
    Number("used", "use of the link whose rate changes", "%", "RFC 7928, 8.2.6", "capacity",
           _metric("utilisation_percent"), "high"),
    Number("share_cubic", "share of CUBIC by that of the control beside it", "",
           "RFC 7928, 5.1; RFC 9743", "share_cubic", _rival, "1"),
    Number("share_bbr", "share of BBR by that of the control beside it", "",
           "RFC 7928, 5.2; RFC 9743", "share_bbr", _rival, "1"),
    Number("share_dctcp", "share of DCTCP by that of the control beside it", "",
           "B. Briscoe, coexistence", "share_dctcp", _rival, "1"),
    Number("small_packets", "share of segments of 536 bytes by that of 1448", "",
           "RFC 7928, 4.4", "sizes", _rival, "1"),
    Number("two_queues", "share of a flow through two queues by that of one through the second", "",
           "RFC 7928, 10", "two_queues", lambda measured: 1 / _rival(measured), "1"),
)  # fmt: skip
"""The rows, in their order. Fixed before any of the runs that ship."""

#: Without load, by which the pages' times are divided; no row.
IDLE: Final = "page_idle"

LABELS: Final = tuple(dict.fromkeys(number.label for number in NUMBERS))

SCORES: Final = pa.DataFrameSchema(
    {
        "qdisc": pa.Column(str),
        "cc": pa.Column(str),
        "number": pa.Column(str, pa.Check.isin([number.id for number in NUMBERS])),
        "seed": pa.Column(int, pa.Check.ge(0)),
        "value": pa.Column(float),
        "kernel": pa.Column(str),  # identities of what the run was made of
        "guest": pa.Column(str),  # its root file system
        "code": pa.Column(str),  # what of ours runs in the guest
        "job": pa.Column(str),
        "data_sha256": pa.Column(str),
    },
    unique=["qdisc", "cc", "number", "seed"],
    strict=True,
)
"""One row per contestant, number and seed, in the number's unit."""


def measured(root: Path, provenances: Iterable[Path]) -> pd.DataFrame:
    """Return the table SCORES of the runs below `root` with these provenances.

    Raises DataError for a run that cannot be measured.
    """
    rows = []
    for path in provenances:
        run = run_at(root, path)
        numbers = [number for number in NUMBERS if number.label == run.experiment]
        if not numbers:
            continue
        found, told = measure_run(run), read_record(run)
        rows += [
            {
                "qdisc": run.qdisc,
                "cc": run.cc,
                "number": number.id,
                "seed": run.seed,
                "value": round(number.take(found), 6),
                "kernel": told["identity"]["kernel"]["digest"],
                "guest": told["identity"]["root"]["digest"],
                "code": told["identity"]["guest"],
                "job": told["identity"]["job"],
                "data_sha256": told["data_sha256"],
            }
            for number in numbers
        ]
    return SCORES.validate(pd.DataFrame(rows, columns=list(SCORES.columns)))


def known(folder: Path) -> pd.DataFrame:
    """Return the table SCORES of queues and controls that come along, from the folder of the
    study."""
    return read_table(folder / "known.csv", SCORES, "scores")


def intervals(scores: pd.DataFrame) -> dict[tuple[str, str, str], Interval]:
    """Return by qdisc, control and number: the mean over seeds with its 95 % interval."""
    found = {}
    for (qdisc, cc, number), group in scores.groupby(["qdisc", "cc", "number"], sort=False):
        found[str(qdisc), str(cc), str(number)] = confidence_interval(group["value"].to_numpy())
    return found
