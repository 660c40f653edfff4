"""How much each flow has in flight: its window, seen by the captures at its ends."""

import numpy as np
import pandas as pd

from qdisclab.emulation.captures import frames

SHARES = {"p10": 0.1, "p50": 0.5, "p90": 0.9}


def flights(data: pd.DataFrame, back: pd.DataFrame) -> dict[str, int]:
    """Return percentiles of the bytes that a flow has in flight as it sends, averaged over flows.

    Bytes are in flight when they have been sent and not been acknowledged in sequence. `data` has
    the packets of the senders, `back` those of the receivers; `time_ns` is when a packet was sent,
    `time_ns_then` when it arrived, NaN if it did not.
    """
    begins = data[(data["flags"] & frames.SYN) != 0].groupby(["sender", "port"])["seq"].first()
    returned = back.dropna(subset="time_ns_then")
    events = pd.concat(
        [
            data.assign(at_ns=data["time_ns"], number=data["seq"] + data["payload"], sends=True),
            returned.assign(at_ns=returned["time_ns_then"], number=returned["ack"], sends=False),
        ]
    ).sort_values("at_ns", kind="stable")
    events = events.join(begins.rename("begin"), on=["sender", "port"])
    offset = (events["number"] - events["begin"] - 1) % 2**32
    events["offset"] = offset.where(offset < 2**31, 0)  # of the SYN itself -1
    by_flow = []
    for _, flow in events.groupby(["sender", "port"]):
        number, sends = flow["offset"].to_numpy(), flow["sends"].to_numpy()
        sent = np.maximum.accumulate(np.where(sends, number, 0))
        acked = np.maximum.accumulate(np.where(sends, 0, number))
        by_flow.append(np.quantile((sent - acked)[sends], list(SHARES.values())))
    mean = np.mean(by_flow, axis=0) if by_flow else np.zeros(len(SHARES))
    return {name: round(float(value)) for name, value in zip(SHARES, mean, strict=True)}
