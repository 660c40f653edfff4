"""What each case measures. `bugs.py` says how."""

from collections.abc import Mapping
from typing import Final

from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.emulation.datafile import read_rows

METRICS: Final = {
    "codel_stale": Metric("pings lost beside eight uploads through fq_codel", "%"),
    "codel_mtu": Metric("RTT through CoDel that gets TCP's aggregates", "ms"),
    "fq_tstamp": Metric("stamped packets lost in fq", "%"),
    "htb_low_rate": Metric("rate of a class of 8 kbit/s", "kbit/s"),
    "htb_atm": Metric("rate of small packets over ATM's cells", "kbit/s"),
    "netem_duplicate": Metric("arrivals per packet that is duplicated", ""),
    "netem_slot": Metric("shortest time between slots of 3 to 8 s", "s"),
    "netem_limit": Metric("packets in a netem for 20", "packets"),
    "netem_reseed": Metric("fates of 100 packets that a change changes", ""),
    "netem_child": Metric("rate of a netem with fq_codel in it, of 1 Mbit/s", "kbit/s"),
    "tbf_gso": Metric("bytes that wait in an empty tbf", "B"),
    "cubic_round": Metric("window at which CUBIC leaves slow start", "packets"),
    "tcp_mss_ack": Metric("time until a full segment is acknowledged", "ms"),
    "bbr_bdp": Metric("share of the smaller of two flows of BBR", "%"),
    "pie_precision": Metric("RTT through PIE at 10 Mbit/s", "ms"),
    "rack_lost": Metric("timeouts per 100 segments sent again", ""),
    "sack_acks": Metric("acknowledgments per 100 segments beside losses", ""),
}


def cases(file: RunFile) -> Mapping[str, float]:
    """Return the number of each case that could be run."""
    rows = read_rows(file.provenance.with_suffix(".rows.jsonl.gz"))
    return {row["case"]: float(row["value"]) for row in rows if "value" in row}


MEASURES: Final = {"cases": Measure(cases, traffic="programs")}
