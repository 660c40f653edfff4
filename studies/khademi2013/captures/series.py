"""The flent file of a run of bulk flows: series by step.

flent opens and plots the file as a test of its own. The value of a step at t is for the time since
the step before: goodput of each flow, and the mean round trip of all synthetic packet pairs that
began then; the statistics of the qdisc under test are those at t.
"""

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from qdisclab.emulation.captures import flent
from qdisclab.emulation.model.units import Duration

from .flows import Reduced
from .table import TICK_NS

Series = list[float | None]  # by step; None where a step has no value

DECIMALS = 3
RTT, PING = "RTT (ms) SPP", "Ping (ms) ICMP"
#: Series of the qdisc's statistics: (its names in tc, by kind of qdisc; factor to the unit).
SAMPLED = {
    "AQM delay (ms)": (("ldelay", "delay"), 1e-3),
    "AQM probability": (("prob",), 1.0),
    "AQM queue (packets)": (("qlen",), 1.0),
}


def content(
    about: flent.About, reduced: Reduced, flows: int, base_rtt: Duration, *, wireless: bool = False
) -> dict[str, Any]:
    """Return the content of the file of a run in which `flows` flows go to the receivers.

    With `wireless`, directions are as a receiver, a station, sees them, else as the senders do.
    """
    rates = reduced.delivered * 8 / 1e6 / about.step.seconds
    down, up = (flows, len(rates) - flows) if wireless else (0, len(rates))
    series = [f"TCP download::{number}" for number in range(1, down + 1)]
    series += [f"TCP upload::{number}" for number in range(1, up + 1)]
    results: dict[str, Series] = {
        name: [None, *rounded(rate)] for name, rate in zip(series, rates, strict=True)
    }
    for kind in dict.fromkeys(name.partition("::")[0] for name in series):
        of_kind = rates[[name.startswith(kind) for name in series]]
        results[f"{kind} sum"] = [None, *rounded(of_kind.sum(axis=0))]
        results[f"{kind} avg"] = [None, *rounded(of_kind.mean(axis=0))]
    results[RTT] = [None, *_rtt_ms(about, reduced.packets, flows, base_rtt)]
    raw_values: dict[str, Any] = {RTT: []}  # without any, flent would regard the file as empty
    if len(reduced.pings):
        results[PING] = [None, *_pings_ms(about, reduced.pings)]
        raw_values[PING] = _raw_pings(reduced)
    results |= _sampled(about, reduced.sampled)
    began = datetime.fromtimestamp(reduced.began_ns // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    began = f"{began}.{reduced.began_ns % 10**9 // 1000:06d}Z"
    started = reduced.packets.groupby("flow")["arrived_100us"].min() * TICK_NS / 10**9
    local, other = ("receiver1", "sender1") if wireless else ("sender1", "receiver1")
    streams = {"download_streams": down, "upload_streams": up}
    return flent.content(
        about,
        results,
        {name: str(number) for name, number in streams.items() if number},
        raw_values=raw_values,
        series={
            name: {"UNITS": "Mbits/s", "RUNNER": "iperf", "STARTED": float(started.loc[index])}
            for index, name in enumerate(series)
        },
        decimals=DECIMALS,
        T0=began,
        TIME=began,
        HOST=other,
        HOSTS=[other],
        LOCAL_HOST=local,
        IP_VERSION=4,
        FAILED_RUNNERS=0,
    )


def _rtt_ms(about: flent.About, packets: pd.DataFrame, flows: int, base_rtt: Duration) -> Series:
    """Return the mean round trip of each step; None if no pair began in it."""
    pairs = packets.dropna(subset="elsewhere_100us")
    pairs = pairs[pairs["flow"] < flows]
    beyond = pairs["left_100us"] - pairs["arrived_100us"] + pairs["elsewhere_100us"]
    rtt_ms = base_rtt.ms + beyond * TICK_NS / 10**6
    step = pairs["arrived_100us"] * TICK_NS // about.step.nanoseconds
    return rounded(rtt_ms.groupby(step.astype(int)).mean().reindex(range(about.steps)).to_numpy())


def _pings_ms(about: flent.About, pings: pd.DataFrame) -> Series:
    """Return the mean round trip that ping printed in each step; None if it had no answer."""
    step = (pings["sent_ns"] / 1e9 // about.step.seconds).astype(int)
    return rounded(pings["answer_ms"].groupby(step).mean().reindex(range(about.steps)))


def _raw_pings(reduced: Reduced) -> list[dict[str, float]]:
    """Return each answer in flent's form; `t` is when the request was sent, since 1970."""
    answered = reduced.pings.dropna(subset="answer_ms")
    times = (reduced.began_ns + answered["sent_ns"]) / 1e9
    return [
        {"seq": int(seq), "t": round(float(t), 6), "val": float(value)}
        for seq, t, value in zip(answered.index, times, answered["answer_ms"], strict=True)
    ]


def _sampled(about: flent.About, samples: list[dict[str, Any]]) -> dict[str, Series]:
    """Return the series of `SAMPLED` that the qdisc has, with values at the sampled steps."""
    sampled: dict[str, Series] = {}
    for series, (names, factor) in SAMPLED.items():
        values: Series = [None] * (about.steps + 1)
        for sample in samples:
            (value,) = [sample[name] for name in names if name in sample] or [None]
            at = sample["time_s"] / about.step.seconds
            if value is not None and abs(at - round(at)) < 1e-3 and round(at) <= about.steps:
                values[round(at)] = round(value * factor, 6)
        if any(value is not None for value in values):
            sampled[series] = values
    return sampled


def rounded(values: Iterable[float]) -> Series:
    """Return `values` rounded to `DECIMALS`, with None for NaN."""
    return [None if math.isnan(value) else round(float(value), DECIMALS) for value in values]
