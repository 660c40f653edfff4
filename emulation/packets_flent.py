"""A flent data file of a run whose packets were captured: its series at common steps.

flent (`doc/data-format.rst`) opens and plots it as a `tcp_nup` test. The value of a step at t is
that of the time since the step before: goodput of each flow, the mean round trip of all synthetic
packet pairs that began then, and what the qdisc under test said of itself at t.
"""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from emulation.model import Run
from emulation.packets import Reduced
from emulation.packets_table import TICK_NS

VERSION = 4  # of flent's data format
FLENT = "2.1.1"  # the release whose form this is
DECIMALS = 3

RTT, PING = "RTT (ms) SPP", "Ping (ms) ICMP"
#: Series of the qdisc's own: (what tc calls it in any kind, factor to the series' unit).
BELIEVED = {
    "AQM delay (ms)": (("ldelay", "delay"), 1e-3),
    "AQM probability": (("prob",), 1.0),
    "AQM queue (packets)": (("qlen",), 1.0),
}


def write(run: Run, reduced: Reduced, path: Path) -> None:
    """Write the flent file of `run` to `path`; equal input gives equal bytes."""
    text = json.dumps(content(run, reduced), sort_keys=True, separators=(",", ":"))
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())


def content(run: Run, reduced: Reduced) -> dict[str, Any]:
    """What the file holds."""
    traffic = run.experiment.traffic
    step_s = traffic.step.seconds
    steps = reduced.delivered.shape[1]
    rates = reduced.delivered * 8 / 1e6 / step_s
    series = _series(run, len(rates))
    results: dict[str, list[float | None]] = {
        name: [None, *_rounded(rate)] for name, rate in zip(series, rates, strict=True)
    }
    for kind in dict.fromkeys(name.partition("::")[0] for name in series):
        of_kind = rates[[name.startswith(kind) for name in series]]
        results[f"{kind} sum"] = [None, *_rounded(of_kind.sum(axis=0))]
        results[f"{kind} avg"] = [None, *_rounded(of_kind.mean(axis=0))]
    results[RTT] = [None, *_rtt_ms(run, reduced, steps)]
    if len(reduced.pings):
        results[PING] = [None, *_pings_ms(reduced, step_s, steps)]
    results |= _believed(reduced.believed, step_s, steps)
    began = datetime.fromtimestamp(reduced.began_ns // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    started = reduced.packets.groupby("flow")["arrived_100us"].min() * TICK_NS / 10**9
    about = {
        name: {"UNITS": "Mbits/s", "RUNNER": "iperf", "STARTED": float(started.loc[index])}
        for index, name in enumerate(series)
    }
    return {
        "version": VERSION,
        "x_values": _rounded(np.arange(steps + 1) * step_s),
        "results": results,
        # flent takes a file without any for empty.
        "raw_values": {RTT: []} | ({PING: _raw_pings(reduced)} if len(reduced.pings) else {}),
        "metadata": {
            "NAME": traffic.test,
            "TITLE": run.id,
            "DATA_FILENAME": f"{run.id.replace('/', '_')}.flent.gz",
            "FLENT_VERSION": FLENT,
            "LENGTH": run.length.seconds,
            "TOTAL_LENGTH": run.length.seconds,
            "STEP_SIZE": step_s,
            "T0": f"{began}.{reduced.began_ns % 10**9 // 1000:06d}Z",
            "TIME": f"{began}.{reduced.began_ns % 10**9 // 1000:06d}Z",
            **_about(run, len(rates)),
            "IP_VERSION": 4,
            "FAILED_RUNNERS": 0,
            "SERIES_META": about,
        },
    }


def _series(run: Run, flows: int) -> list[str]:
    """What the flows are called: as one of the WiFi stations sees them, else as the senders do."""
    if not run.topology.media:
        return [f"TCP upload::{number}" for number in range(1, flows + 1)]
    down = run.experiment.traffic.flows or 0
    return [
        *(f"TCP download::{number}" for number in range(1, down + 1)),
        *(f"TCP upload::{number}" for number in range(1, flows - down + 1)),
    ]


def _about(run: Run, flows: int) -> dict[str, Any]:
    """Whose test it was, and with how many flows."""
    if not run.topology.media:
        parameters = {"upload_streams": str(flows)}
        local, other = "sender1", "receiver1"
    else:
        down = run.experiment.traffic.flows or 0
        parameters = {"download_streams": str(down)}
        parameters |= {"upload_streams": str(flows - down)} if flows > down else {}
        local, other = "receiver1", "sender1"
    return {
        "TEST_PARAMETERS": parameters,
        "HOST": other,
        "HOSTS": [other],
        "LOCAL_HOST": local,
    }


def _rtt_ms(run: Run, reduced: Reduced, steps: int) -> list[float | None]:
    """The mean round trip of each step; None where no pair began in it."""
    pairs = reduced.packets.dropna(subset="elsewhere_100us")
    pairs = pairs[pairs["flow"] < run.experiment.traffic.flows]
    beyond = pairs["left_100us"] - pairs["arrived_100us"] + pairs["elsewhere_100us"]
    rtt_ms = run.experiment.rig.base_rtt.ms + beyond * TICK_NS / 10**6
    step = pairs["arrived_100us"] * TICK_NS // run.experiment.traffic.step.nanoseconds
    return _rounded(rtt_ms.groupby(step.astype(int)).mean().reindex(range(steps)).to_numpy())


def _pings_ms(reduced: Reduced, step_s: float, steps: int) -> list[float | None]:
    """The mean of what ping said in each step; None where it had no answer."""
    step = (reduced.pings["sent_ns"] / 1e9 // step_s).astype(int)
    return _rounded(reduced.pings["answer_ms"].groupby(step).mean().reindex(range(steps)))


def _raw_pings(reduced: Reduced) -> list[dict[str, float]]:
    """Each answer, as flent keeps ping's: `t` is when the request was sent, since 1970."""
    answered = reduced.pings.dropna(subset="answer_ms")
    times = (reduced.began_ns + answered["sent_ns"]) / 1e9
    return [
        {"seq": int(seq), "t": round(float(t), 6), "val": float(value)}
        for seq, t, value in zip(answered.index, times, answered["answer_ms"], strict=True)
    ]


def _believed(
    samples: list[dict[str, Any]], step_s: float, steps: int
) -> dict[str, list[float | None]]:
    """The series of `BELIEVED` that the qdisc has, at the steps that there is a sample of."""
    found: dict[str, list[float | None]] = {}
    for series, (names, factor) in BELIEVED.items():
        values: list[float | None] = [None] * (steps + 1)
        for sample in samples:
            (value,) = [sample[name] for name in names if name in sample] or [None]
            at = sample["time_s"] / step_s
            if value is not None and abs(at - round(at)) < 1e-3 and round(at) <= steps:
                values[round(at)] = round(value * factor, 6)
        if any(value is not None for value in values):
            found[series] = values
    return found


def _rounded(values: Any) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), DECIMALS) for value in values]
