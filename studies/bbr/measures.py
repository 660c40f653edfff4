"""What each case measures. `cases.py` says how."""

from collections.abc import Mapping
from typing import Final

from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.emulation.datafile import read_rows

METRICS: Final = {
    "a1_error": Metric("A.1: error of the estimate as STARTUP ends", "%"),
    "a1_rounds": Metric("A.1: rounds without growth before", ""),
    "a1_drain": Metric("A.1: STARTUP ends in DRAIN", "%"),
    "a2_rounds": Metric("A.2: rounds from loss to the end of STARTUP", ""),
    "a2_drain": Metric("A.2: STARTUP ends in DRAIN", "%"),
    "a3_gain": Metric("A.3: pacing gain in DRAIN", ""),
    "a3_over": Metric("A.3: in flight beyond the BDP as DRAIN ends", "packets"),
    "a3_next": Metric("A.3: DRAIN ends in PROBE_BW", "%"),
    "a4_rounds": Metric("A.4: rounds in DRAIN", ""),
    "a5_rounds": Metric("A.5: rounds in PROBE_UP", ""),
    "a5_down": Metric("A.5: PROBE_UP ends in PROBE_DOWN", "%"),
    "a6_rounds": Metric("A.6: rounds from loss to the end of PROBE_UP", ""),
    "a6_down": Metric("A.6: PROBE_UP ends in PROBE_DOWN or behind it", "%"),
    "a7_startup": Metric("A.7: of the time in STARTUP", "%"),
    "a7_up": Metric("A.7: of the time in PROBE_UP", "%"),
    "a8_gain": Metric("A.8: pacing gain in PROBE_DOWN", ""),
    "a8_over": Metric("A.8: in flight beyond the BDP as PROBE_DOWN ends", "packets"),
    "a8_cruise": Metric("A.8: PROBE_DOWN ends in PROBE_CRUISE", "%"),
    "a9_wait": Metric("A.9: time in PROBE_DOWN", "s"),
    "a9_refill": Metric("A.9: rounds from there to PROBE_UP", ""),
    "a10_after": Metric("A.10: time to PROBE_RTT", "s"),
    "a10_window": Metric("A.10: window in PROBE_RTT by the BDP", ""),
    "a10_lasts": Metric("A.10: time in PROBE_RTT", "ms"),
    "a10_back": Metric("A.10: PROBE_RTT ends in PROBE_BW", "%"),
    "a11_probe_rtt": Metric("A.11: of the time after a pause in PROBE_RTT", "%"),
    "a12_use": Metric("A.12: use of the link", "%"),
    "a12_window": Metric("A.12: window in STARTUP by the BDP", ""),
    "a12_estimate": Metric("A.12: estimate as STARTUP ends by the rate", "%"),
    "a13_use": Metric("A.13: use of the link", "%"),
    "a13_more": Metric("A.13: window beyond that without aggregation", "packets"),
    "a14_use": Metric("A.14: use of the link", "%"),
    "a14_window": Metric("A.14: smallest window", "packets"),
    "a14_estimate": Metric("A.14: estimate by the link's rate", "%"),
    "a15_rounds": Metric("A.15: rounds until the link is full", ""),
    "a16_use": Metric("A.16: use of the link", "%"),
    "a16_after": Metric("A.16: time until the estimate is the rate", "s"),
    "a17_use": Metric("A.17: use of the policer's rate", "%"),
    "a17_lost": Metric("A.17: sent again", "%"),
    "a18_undone": Metric("A.18: reactions that TCP took back", ""),
    "a18_use": Metric("A.18: use of the link by that before", "%"),
    "a18_estimate": Metric("A.18: estimate by that before", "%"),
    "a18_same": Metric("A.18: of the time in PROBE_BW", "%"),
    "a19_undone": Metric("A.19: reactions that TCP took back", ""),
    "a19_use": Metric("A.19: use of the link by that before", "%"),
    "a19_estimate": Metric("A.19: estimate by that before", "%"),
    "a19_same": Metric("A.19: of the time in PROBE_BW", "%"),
    "a20_back": Metric("A.20: PROBE_RTT ends in STARTUP", "%"),
    "a20_use": Metric("A.20: use of the link thereafter", "%"),
    "a21_rounds": Metric("A.21: rounds from loss to the end of PROBE_UP", ""),
    "a21_down": Metric("A.21: PROBE_UP ends in PROBE_DOWN", "%"),
    "a22_estimate": Metric("A.22: estimate by that before the pauses", "%"),
    "a22_down": Metric("A.22: PROBE_UP ends in PROBE_DOWN", "%"),
}


def cases(file: RunFile) -> Mapping[str, float]:
    """Return the numbers of each case; those of states only of a control that tells its state."""
    rows = read_rows(file.provenance.with_suffix(".rows.jsonl.gz"))
    values = {f"a{row['case']}_{name}": value for row in rows for name, value in row.items()}
    return {
        name: float(value)
        for name, value in values.items()
        if name in METRICS and not isinstance(value, str)  # why a case has no number
    }


MEASURES: Final = {"cases": Measure(cases, traffic="programs")}
