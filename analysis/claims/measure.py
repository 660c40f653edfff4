"""What each run measured, as numbers with names: one tidy table of all runs of a study.

How a run becomes numbers its experiment says, `measure:` in the study's file: one of `kinds.KINDS`,
which returns numbers by names that `METRICS` has.
"""

import hashlib
import os
import re
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pandera.pandas as pa

from analysis import drops, recorded, startup
from analysis.claims import kept
from analysis.claims.kinds import KINDS, Measure
from analysis.dataset import FEW_RUNS, RunFile, find_runs
from analysis.errors import DataError
from analysis.flentfile import RERUN
from analysis.study import Study
from emulation.model import DEFAULT_ERA
from emulation.studies import FILE


@dataclass(frozen=True)
class Metric:
    """Something that a run has one number of."""

    title: str
    unit: str


METRICS: Final = {
    # RRUL (analysis.claims.rrul)
    "induced_latency_ms": Metric("mean induced latency", "ms"),
    "steady_latency_ms": Metric("induced latency of the second half", "ms"),
    "startup_latency_ms": Metric("induced latency of the first 20 s", "ms"),
    "startup_peak_ms": Metric("peak at start-up", "ms"),
    "control_s": Metric("time to control", "s"),
    "goodput_download_mbit_s": Metric("download goodput", "Mbit/s"),
    "goodput_upload_mbit_s": Metric("upload goodput", "Mbit/s"),
    "drops_download_percent": Metric("packets dropped downstream", "%"),
    "drops_upload_percent": Metric("packets dropped upstream", "%"),
    "slowest_probe_ms": Metric("mean induced latency of the slowest probe", "ms"),
    "probe_rtt_ms": Metric("mean round trip of all probes", "ms"),
    # A UDP flood (analysis.battling)
    "unanswered_percent": Metric("steps without an answer to a ping", "%"),
    # RRUL over WiFi (analysis.claims.wifi)
    "below_qdiscs_ms": Metric("wait below the qdiscs", "ms"),
    # VoIP, web and RTT fairness (analysis.claims.voip, web and fairness)
    "voip_delay_ms": Metric("mean induced one-way delay", "ms"),
    "voip_delay_median_ms": Metric("median induced one-way delay", "ms"),
    "voip_delay_p99_ms": Metric("99th percentile of the induced one-way delay", "ms"),
    "voip_loss_percent": Metric("VoIP loss", "%"),
    "fetch_time_normalised": Metric("normalised fetch time", ""),
    "fetch_time_sd_s": Metric("standard deviation of the fetch time", "s"),
    "jain_index": Metric("Jain's index", ""),
    "goodput_total_mbit_s": Metric("total goodput", "Mbit/s"),
    "goodput_10ms_mbit_s": Metric("goodput of the flow of 10 ms", "Mbit/s"),
    "goodput_50ms_mbit_s": Metric("goodput of the flow of 50 ms", "Mbit/s"),
    "goodput_200ms_mbit_s": Metric("goodput of the flow of 200 ms", "Mbit/s"),
    "goodput_500ms_mbit_s": Metric("goodput of the flow of 500 ms", "Mbit/s"),
    # Captures of the upload's queue (analysis.drops)
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
    # The start of the upload's queue (analysis.startup)
    "uncontrolled_s": Metric("time from the first drop until the wait is under control", "s"),
    "late_drops_times": Metric(
        "share dropped in the second half of the time until control, by that in the first", ""
    ),
    "drop_power": Metric("power of time in a dropping state of 10 drops and more", ""),
    "drop_growth_percent_s": Metric(
        "growth of the share dropped in a dropping state of 10 drops and more", "points/s"
    ),
    # Every packet of khademi2013 (analysis.claims.packets)
    "queuing_p10_ms": Metric("10th percentile of the queuing delay", "ms"),
    "queuing_median_ms": Metric("median queuing delay", "ms"),
    "queuing_p90_ms": Metric("90th percentile of the queuing delay", "ms"),
    "queuing_tail_ms": Metric("queuing delay from the 10th to the 90th percentile", "ms"),
    "queuing_most_ms": Metric("greatest queuing delay", "ms"),
    "queuing_off_target_ms": Metric("median queuing delay off its target", "ms"),
    "goodput_mean_mbit_s": Metric("mean goodput", "Mbit/s"),
    "goodput_median_mbit_s": Metric("median goodput of 5 s", "Mbit/s"),
    "packets_marked": Metric("packets marked", ""),
    "packets_dropped": Metric("packets dropped", ""),
    "sawtooth_kb": Metric("a flow's data in flight from the 10th to the 90th percentile", "kB"),
    "converged_s": Metric("time until 90 % of the median goodput", "s"),
    "flow_median_ms": Metric("median queuing delay of one flow", "ms"),
    "flow_tail_ms": Metric("queuing delay of one flow from the 10th to the 90th percentile", "ms"),
    # khademi2013 over WiFi (analysis.claims.packets)
    "rtt_p10_ms": Metric("10th percentile of the round trip", "ms"),
    "rtt_median_ms": Metric("median round trip", "ms"),
    "rtt_p90_ms": Metric("90th percentile of the round trip", "ms"),
    "up_rtt_p10_ms": Metric("10th percentile of the uploads' round trip", "ms"),
    "up_rtt_median_ms": Metric("median round trip of uploads", "ms"),
    "up_rtt_p90_ms": Metric("90th percentile of the uploads' round trip", "ms"),
    "ack_wait_p10_ms": Metric("10th percentile of the wait of uploads' acknowledgments", "ms"),
    "ack_wait_median_ms": Metric("median wait of uploads' acknowledgments", "ms"),
    "ack_wait_p90_ms": Metric("90th percentile of the wait of uploads' acknowledgments", "ms"),
    "up_goodput_median_mbit_s": Metric("median goodput of uploads in 5 s", "Mbit/s"),
    "packets_dropped_percent": Metric("packets of downloads dropped", "%"),
    "acks_dropped_percent": Metric("acknowledgments of uploads dropped", "%"),
    # One connection with a fixed window of codel2012 (analysis.window)
    "second_waits_ms": Metric("how long the second packet waits", "ms"),
    "third_waits_ms": Metric("how long the third packet waits", "ms"),
    "pipe_packets": Metric("packets that fill the pipe", "packets"),
    "excess_packets": Metric("packets more than fill the pipe", "packets"),
    "queue_least_packets": Metric("least standing queue", "packets"),
    "queue_most_packets": Metric("greatest standing queue", "packets"),
    "queue_mean_packets": Metric("mean standing queue", "packets"),
    "arrivals_by_departures": Metric("arrivals by departures of the queue", ""),
    "busy_percent": Metric("time that the bottleneck sends", "%"),
    "empty_percent": Metric("time that the queue is empty", "%"),
    # Queues between gateways of codel2012 (analysis.claims.queues)
    "queue_median_ms": Metric("median packet delay", "ms"),
    "queue_p75_ms": Metric("75th percentile of the packet delay", "ms"),
    "queue_p95_ms": Metric("95th percentile of the packet delay", "ms"),
    "queue_longest_ms": Metric("longest packet delay", "ms"),
    "queue_mean_ms": Metric("mean packet delay", "ms"),
    "bulk_median_ms": Metric("median packet delay, bulk transfers alone", "ms"),
    "bursty_median_ms": Metric("median packet delay, with bursty traffic", "ms"),
    "utilisation_percent": Metric("utilisation", "%"),
    "queue_dropped_percent": Metric("packets dropped by the queue", "%"),
    "used_dropped_percent": Metric("packets dropped where more than 60 % are used", "%"),
    "queue_megabytes": Metric("sent by the queue", "MB"),
    "drop_share_jain": Metric("Jain's index of drop shares", ""),
    "back_mean_ms": Metric("mean packet delay, other direction", "ms"),
    "back_dropped_percent": Metric("packets dropped by the queue, other direction", "%"),
    "back_megabytes": Metric("sent by the queue, other direction", "MB"),
    "below_90ms_percent": Metric("time with no delay of 90 ms or more", "%"),
    "full_percent": Metric("time with the buffer at least half full", "%"),
    "start_longest_ms": Metric("longest delay of the first 10 s", "ms"),
    "fall_1_times": Metric("longest delay after the rate's first fall, by that before", ""),
    "fall_2_times": Metric("longest delay after the rate's second fall, by that before", ""),
    "fall_3_times": Metric("longest delay after the rate's third fall, by that before", ""),
    "after_falls_ms": Metric("mean delay of the 10 s after the rate's falls", "ms"),
    "first_drop_ms": Metric("until the first drop after a fall of the rate", "ms"),
    "after_rises_megabytes": Metric("sent in the 10 s after the rate's rises", "MB"),
    "elsewhere_megabytes": Metric("sent at other times", "MB"),
}

NOT_AN_ERA: Final = re.compile(r"@|^linux-|^[0-9.]+(ms|s|min)$")

MEASURED: Final = pa.DataFrameSchema(
    {
        "era": pa.Column(str),
        "experiment": pa.Column(str),
        "link": pa.Column(str, pa.Check.str_matches(r"^[0-9.]+/[0-9.]+$")),
        "qdisc": pa.Column(str),
        "cc": pa.Column(str),
        "seed": pa.Column(int, pa.Check.ge(0)),
        "metric": pa.Column(str, pa.Check.isin(list(METRICS))),
        "value": pa.Column(float),
    },
    unique=["era", "experiment", "link", "qdisc", "cc", "seed", "metric"],
    strict=True,
)
"""One row per run and metric, in the metric's unit."""


def measure_study(
    study: Study,
    data: Path,
    *,
    experiments: Collection[str] | None = None,
    eras: Collection[str] | None = None,
    ccs: Collection[str] | None = None,
    jobs: int | None = None,
) -> pd.DataFrame:
    """Table of MEASURED of every run of `study` below `data`, or of some `experiments`, `eras` and
    `ccs` only.

    Runs of another kernel series or length than the experiment's, whose folder says so, and of
    experiments without a `measure` are left out, but for what probes recorded beside them. `jobs`
    is the number of processes, by default one per core. Raises DataError for a run that cannot be
    read.
    """
    kinds = {name: one.measure for name, one in study.experiments.items() if one.measure}
    work: list[tuple[str, RunFile]] = []
    for folder in sorted((data / study.name).glob("*/")):
        experiment, _, era = folder.name.partition("@")
        if experiment not in kinds or NOT_AN_ERA.search(era):
            continue
        era = era or DEFAULT_ERA
        wanted = experiments is None or experiment in experiments
        if wanted and (eras is None or era in eras):
            found = find_runs(data, study.name, folder.name)
            work += [(era, run) for run in found if ccs is None or run.cc in ccs]
    described = _described(study)
    how = {name: f"{_named(KINDS[kind])} {described}" for name, kind in kinds.items()}
    keys = [kept.key(run, how[run.experiment]) for _, run in work]
    known = kept.kept(keys)
    todo = {key: run for key, (_, run) in zip(keys, work, strict=True) if key not in known}
    todo_kinds = [kinds[run.experiment] for run in todo.values()]
    if len(todo) < FEW_RUNS or jobs == 1:
        values = list(map(_values, todo.values(), todo_kinds))
    else:
        with ProcessPoolExecutor(jobs or len(os.sched_getaffinity(0))) as pool:
            values = list(pool.map(_values, todo.values(), todo_kinds, chunksize=4))
    new = dict(zip(todo, values, strict=True))
    kept.keep(new)
    by_key = {**known, **new}
    rows = [_rows(era, run, by_key[key]) for (era, run), key in zip(work, keys, strict=True)]
    table = pd.DataFrame([row for part in rows for row in part], columns=list(MEASURED.columns))
    captured = pd.concat(
        [part.measured(recorded.find(data, study.name, part.PROBE)) for part in (drops, startup)]
    )
    for column, chosen in (("experiment", experiments), ("era", eras), ("cc", ccs)):
        if chosen is not None:
            captured = captured[captured[column].isin(chosen)]
    table = pd.concat([table, captured]) if len(captured) else table
    types = dict.fromkeys(MEASURED.columns, str) | {"seed": int, "value": float}
    return MEASURED.validate(table.astype(types))


def contexts(table: pd.DataFrame) -> Sequence[tuple[str, str]]:
    """The eras and congestion controls that `table` has anything of."""
    pairs = table[["era", "cc"]].drop_duplicates()
    return sorted((str(era), str(cc)) for era, cc in pairs.itertuples(index=False))


def _named(measure: Measure) -> str:
    return f"{measure.__module__}:{measure.__qualname__}"


def _described(study: Study) -> str:
    """Digest of what the study's files say of its experiments."""
    digest = hashlib.sha256()
    for path in (study.folder / FILE, study.axes):
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def _values(run: RunFile, kind: str) -> Mapping[str, float]:
    try:
        values = KINDS[kind](run)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        wrong = f"cannot be measured as '{kind}' ({type(error).__name__}: {error})"
        raise DataError.of(run.provenance, wrong, RERUN) from error
    unknown = sorted(set(values) - set(METRICS))
    if unknown:
        wrong = f"the measure '{kind}' has the unknown metric {', '.join(unknown)}"
        raise DataError.of(run.provenance, wrong, "Add it to METRICS of analysis/claims/measure.py")
    return {name: float(value) for name, value in values.items()}


def _rows(era: str, run: RunFile, values: Mapping[str, float]) -> list[tuple[Any, ...]]:
    cell = (era, run.experiment, run.link, run.qdisc, run.cc, run.seed)
    return [(*cell, name, value) for name, value in values.items()]
