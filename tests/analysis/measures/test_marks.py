"""analysis.measures.marks on what tc and the probe of sockets left of runs."""

from __future__ import annotations

import math

import pandas as pd

from analysis.measures.marks import per_flow, per_queue

#: From `tc -s -j qdisc`, without what is not read.
PORTS = {
    "router_up r1-delay": {
        "qdiscs": [
            {"kind": "tbf", "handle": "1:", "packets": 4249, "drops": 7},
            {"kind": "dualpi2", "handle": "10:", "packets": 4249, "drops": 7, "prob": 0.001,
             "pkts_in_c": 329, "pkts_in_l": 3920, "ecn_mark": 866, "step_mark": 865},
        ]
    },
    "aqm aqm-delay": {
        "qdiscs": [
            {"kind": "red", "handle": "10:", "packets": 90, "drops": 10, "marked": 9, "early": 3},
            {"kind": "cake", "handle": "11:", "packets": 40, "drops": 0,
             "tins": [{"ecn_mark": 1}, {"ecn_mark": 2}]},
            {"kind": "fq", "handle": "12:", "packets": 40, "drops": 0, "ce_mark": 4},
        ]
    },
    "idle idle-hub": {"qdiscs": [{"kind": "fq_codel", "handle": "1:", "packets": 0, "drops": 0,
                                  "ecn_mark": 0, "ce_mark": 0}]},
}  # fmt: skip


def test_each_kind_has_its_own_word_for_marks() -> None:
    table = per_queue(PORTS).set_index("kind")
    assert table["marks"].to_dict() == {
        "tbf": 0, "dualpi2": 866, "red": 9, "cake": 3, "fq": 4, "fq_codel": 0,
    }  # fmt: skip
    assert table.loc["red", "marks_percent"] == 9
    assert table.loc["red", "drops_percent"] == 10
    assert math.isnan(table.loc["fq_codel", "marks_percent"])


def samples(*rows: tuple[int, str, int, int, int, int, int, int]) -> pd.DataFrame:
    columns = ["time_ns", "node", "local_port", "remote_port", "bytes_sent", "bytes_received",
               "delivered_ce_packets", "received_ce_packets"]  # fmt: skip
    table = pd.DataFrame(rows, columns=columns)
    addresses = {"client": "10.0.1.1", "server": "10.0.4.2"}
    table["local"] = table["node"].map(addresses)
    table["remote"] = table["node"].map({"server": "10.0.1.1", "client": "10.0.4.2"})
    return table.assign(
        congestion_control="cubic", delivered_packets=1044, total_retrans_packets=2, ecn_mode=2
    )


SAMPLES = samples(
    (1, "client", 36383, 33033, 10**6, 0, 3, 0),
    (2, "client", 36383, 33033, 2 * 10**6, 0, 25, 0),
    (1, "server", 33033, 36383, 0, 10**6, 0, 4),
    (2, "server", 33033, 36383, 0, 2 * 10**6, 0, 24),
)


def test_a_flow_has_its_last_sample_and_what_its_receiver_counted() -> None:
    (row,) = per_flow(SAMPLES).to_dict("records")
    assert (row["node"], row["local_port"], row["delivered"]) == ("client", 36383, 1044)
    assert (row["ce_sender"], row["ce_receiver"], row["ecn_mode"]) == (25, 24, 2)


def test_before_linux_7_receivers_count_no_marks() -> None:
    older = SAMPLES.drop(columns=["received_ce_packets", "ecn_mode"])
    (row,) = per_flow(older).to_dict("records")
    assert row["ce_sender"] == 25
    assert math.isnan(row["ce_receiver"])
    assert math.isnan(row["ecn_mode"])
