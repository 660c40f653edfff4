"""What each claim of gbw2015 means as a condition on measured values."""

from typing import Final

from analysis.claims.explanation import Explanation
from analysis.claims.verdict import Rule

from . import fairness, overall, startup, steady, voip, web, wifi

RULES: Final[dict[str, Rule]] = {
    **overall.RULES,
    **steady.RULES,
    **voip.RULES,
    **web.RULES,
    **fairness.RULES,
    **startup.RULES,
    **wifi.RULES,
}

#: Losses reported and found as before Linux 4.18 (docs/eras.md).
_RECOVERY: Final = Explanation(
    era="2014",
    instead="2014+fack+no_rack+quickack+no_sack_compression",
)
#: And packets that leave the emulated delay at ticks of a clock, not to the nanosecond.
_CLOCK: Final = Explanation(
    era="2014",
    instead="2014+fack+no_rack+quickack+no_sack_compression+ticks_100us",
)
#: A send buffer that holds as many segments as that of Linux 3.14 (docs/eras.md).
_BUFFER: Final = Explanation(era="2014", instead="2014+send_buffer")
#: Fair queueing without flows that share a queue by chance (docs/claims.md).
_QUEUES: Final = Explanation(
    era="2014",
    instead="2014",
    cells={
        ("rrul", "10/1", "fq_codel"): ("rrul_many_queues", "10/1", "fq_codel"),
        ("rtt_fairness", "10/1", "sfq"): ("rtt_fairness_many_queues", "10/1", "sfq"),
    },
)
#: The call has less than its share of the link, as beside RRUL at 1 Mbit/s it has not.
_ONE_UPLOAD: Final = Explanation(
    era="2014", instead="2014", cells={("voip_rrul", "10/1", ""): ("voip_1up", "10/1", "")}
)
#: The station gets the frames of an A-MPDU at once, and acknowledges less often (docs/wifi.md).
_AT_ONCE: Final = Explanation(
    era="2014", instead="2014", cells={("wifi_rrul", "", ""): ("wifi_rrul_at_once", "", "")}
)
EXPLANATIONS: Final[dict[str, Explanation]] = {
    "g004": _AT_ONCE,
    **dict.fromkeys(("g055", "g139"), _ONE_UPLOAD),
    **dict.fromkeys(("g059", "g071", "g073", "g094", "g150"), _RECOVERY),
    "g170": _CLOCK,
    **dict.fromkeys(("g064", "g084", "g125"), _BUFFER),
    **dict.fromkeys(("g147", "g176", "g179"), _QUEUES),
}
"""Claim that disagrees or stays open -> the experiment that shows why."""
