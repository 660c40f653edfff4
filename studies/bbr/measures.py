"""What each case measures, as `cases.py` says, and what the draft asks of it."""

from collections.abc import Mapping
from typing import Final

from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.emulation.datafile import read_rows

INF: Final = float("inf")

#: Number -> what it is, its unit, and the bounds that the draft asks for, or where a comment says
#: so, we do.
CASES: Final[dict[str, tuple[str, str, float, float]]] = {
    "a1_error": ("error of the estimate as STARTUP ends", "%", 0, 2),
    # 3; ours: one more or less, as rounds are counted from outside
    "a1_rounds": ("rounds without growth before", "", 2, 4),
    "a1_drain": ("STARTUP ends in DRAIN", "%", 100, 100),
    # ours: that of the loss, that of its detection, and one
    "a2_rounds": ("rounds from loss to the end of STARTUP", "", 0, 3),
    "a2_drain": ("STARTUP ends in DRAIN", "%", 100, 100),
    "a3_gain": ("pacing gain in DRAIN", "", 0.49, 0.51),  # 0.5
    # 0; ours: packets that leave between two samples
    "a3_over": ("in flight beyond the BDP as DRAIN ends", "packets", -INF, 4),
    "a3_next": ("DRAIN ends in PROBE_BW", "%", 100, 100),
    "a4_rounds": ("rounds in DRAIN", "", 0, 4),  # 3; ours: and that in which the third ends
    # 3; ours: two before, in which the bandwidth may grow
    "a5_rounds": ("rounds in PROBE_UP", "", 3, 5),
    "a5_down": ("PROBE_UP ends in PROBE_DOWN", "%", 100, 100),
    "a6_rounds": ("rounds from loss to the end of PROBE_UP", "", 0, 3),  # ours, as of A.2
    "a6_down": ("PROBE_UP ends in PROBE_DOWN or behind it", "%", 100, 100),
    "a7_startup": ("of the time in STARTUP", "%", 100, 100),
    "a7_up": ("of the time in PROBE_UP", "%", 100, 100),
    "a8_gain": ("pacing gain in PROBE_DOWN", "", 0.89, 0.91),  # 0.9
    # 0; ours, as of A.3
    "a8_over": ("in flight beyond the BDP as PROBE_DOWN ends", "packets", -INF, 4),
    "a8_cruise": ("PROBE_DOWN ends in PROBE_CRUISE", "%", 100, 100),
    "a9_wait": ("time in PROBE_DOWN", "s", 2, 3.1),  # 2 to 3; ours: and two round trips
    "a9_refill": ("rounds from there to PROBE_UP", "", 0, 2),  # 1; ours: one more, as of A.1
    # 5 since the last shortest round trip, 1 s before at most; ours: 0.5
    "a10_after": ("time to PROBE_RTT", "s", 4, 5.5),
    # 0.5; ours: a tenth, as windows are whole packets
    "a10_window": ("window in PROBE_RTT by the BDP", "", 0.45, 0.55),
    # 200 at least; ours: three round trips more at most
    "a10_lasts": ("time in PROBE_RTT", "ms", 200, 350),
    "a10_back": ("PROBE_RTT ends in PROBE_BW", "%", 100, 100),
    "a11_probe_rtt": ("of the time after a pause in PROBE_RTT", "%", 0, 0),
    "a12_use": ("use of the link", "%", 90, INF),  # ours
    "a12_window": ("window in STARTUP by the BDP", "", 2, INF),
    "a12_estimate": ("estimate as STARTUP ends by the rate", "%", 90, 110),  # ours
    "a13_use": ("use of the link", "%", 95, INF),  # ours
    # ours: half of what comes in 20 ms
    "a13_more": ("window beyond that without aggregation", "packets", 16, INF),
    "a14_use": ("use of the link", "%", 90, INF),  # ours
    "a14_window": ("smallest window", "packets", 4, INF),
    "a14_estimate": ("estimate by the link's rate", "%", 90, 110),  # ours
    # ours: twice log2 of the BDP, 333 packets
    "a15_rounds": ("rounds until the link is full", "", 0, 17),
    "a16_use": ("use of the link", "%", 90, INF),  # ours
    # two cycles; ours: of 3 s each
    "a16_after": ("time until the estimate is the rate", "s", 0, 6),
    "a17_use": ("use of the policer's rate", "%", 90, INF),  # ours
    "a17_lost": ("sent again", "%", 0, 2),  # ours: the loss that the draft tolerates in a round
    "a18_undone": ("reactions that TCP took back", "", 1, INF),
    "a18_use": ("use of the link divided by that before", "%", 90, INF),  # ours
    "a18_estimate": ("estimate divided by that before", "%", 95, 105),  # ours
    "a18_same": ("of the time in PROBE_BW", "%", 100, 100),
    "a19_undone": ("reactions that TCP took back", "", 1, INF),
    "a19_use": ("use of the link divided by that before", "%", 90, INF),  # ours
    "a19_estimate": ("estimate divided by that before", "%", 95, 105),  # ours
    "a19_same": ("of the time in PROBE_BW", "%", 100, 100),
    "a20_back": ("PROBE_RTT ends in STARTUP", "%", 100, 100),
    "a20_use": ("use of the link thereafter", "%", 90, INF),  # ours
    "a21_rounds": ("rounds from loss to the end of PROBE_UP", "", 0, 3),  # ours, as of A.2
    "a21_down": ("PROBE_UP ends in PROBE_DOWN", "%", 100, 100),
    "a22_estimate": ("estimate divided by that before the pauses", "%", 98, 102),  # ours
    "a22_down": ("PROBE_UP ends in PROBE_DOWN", "%", 100, 100),
}
METRICS: Final = {
    name: Metric(f"A.{name[1:].partition('_')[0]}: {title}", unit)
    for name, (title, unit, *_) in CASES.items()
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
