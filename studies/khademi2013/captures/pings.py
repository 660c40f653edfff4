"""Pings: the round trips that ping printed, joined to the requests that it sent."""

import re
from pathlib import Path

import pandas as pd

from qdisclab.emulation.errors import GuestFailure

LOG = "ping.log"

_ANSWER = re.compile(r"icmp_seq=([0-9]+) .*time=([0-9.]+) ms")


def read_pings(out: Path, sent: pd.DataFrame, began_ns: int) -> pd.DataFrame:
    """Return one row per ping, in order, with sent_ns and answer_ms.

    sent_ns is since the load began; answer_ms is the round trip that ping printed, NaN if there was
    no answer. `sent` has the requests in the captures, with columns seq and time_ns. Raises
    `GuestFailure` for an answer to a request that was not sent.
    """
    log = out / LOG
    lines = _ANSWER.findall(log.read_text()) if log.exists() else []
    answers = pd.Series({int(seq): float(ms) for seq, ms in lines}, dtype="float64")
    strange = sorted(set(answers.index) - set(sent["seq"]))
    if strange:
        raise GuestFailure(f"ping has an answer to {strange[0]}, which was not sent", LOG)
    times = sent.sort_values("time_ns").set_index("seq")["time_ns"] - began_ns
    return pd.DataFrame({"sent_ns": times, "answer_ms": answers.reindex(times.index)})
