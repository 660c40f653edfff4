"""Round-trip times by synthetic packet pairs (Zander and Armitage, LCN 2013)."""

import pandas as pd


def round_trips(data: pd.DataFrame, back: pd.DataFrame) -> pd.DataFrame:
    """Return the synthetic packet pairs of flows, with the round-trip time of each.

    `data` and `back` have one row per packet, with `time_ns` when it was sent and `time_ns_then`
    when it arrived, NaN if it did not. A packet that a receiver sends is paired with the last
    packet of its flow that had arrived by then, and each packet begins at most one pair, the first;
    the time between the two at the receiver is not part of the round trip. Columns: `begins` and
    `ends`, the labels in `data` and `back` of the packets that begin and end a pair, and `rtt_ns`.
    """
    there, here = (
        table.dropna(subset="time_ns_then").astype({"time_ns_then": "int64"})
        for table in (data, back)
    )
    there = there.sort_values("time_ns_then", kind="stable")
    here = here.sort_values("time_ns", kind="stable")
    flow = ["sender", "port"]
    pairs = pd.merge_asof(
        here.assign(ends=here.index)[[*flow, "time_ns", "time_ns_then", "ends"]],
        pd.DataFrame(
            {
                **{name: there[name] for name in flow},
                "arrived_ns": there["time_ns_then"],
                "there_ns": there["time_ns_then"] - there["time_ns"],
                "begins": there.index,
            }
        ),
        left_on="time_ns",
        right_on="arrived_ns",
        by=flow,
    ).dropna(subset="begins")
    pairs = pairs.drop_duplicates("begins", keep="first")
    pairs = pairs.astype({"begins": "int64", "there_ns": "int64"})
    pairs["rtt_ns"] = pairs["there_ns"] + pairs["time_ns_then"] - pairs["time_ns"]
    return pairs[["begins", "ends", "rtt_ns"]].reset_index(drop=True)
