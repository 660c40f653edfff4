"""What each claim of khademi2013 means as a condition on measured values."""

from typing import Final

from analysis.claims.explanation import Explanation
from analysis.claims.verdict import Rule

from . import ecn, interval, isolation, target, wifi

RULES: Final[dict[str, Rule]] = {
    **target.RULES,
    **interval.RULES,
    **wifi.RULES,
    **isolation.RULES,
    **ecn.RULES,
}

#: Slots of 20 us, as where 802.11b is about (README.md).
_SLOTS: Final = Explanation(
    era="2013",
    instead="2013",
    cells={("wifi_down_4", "", ""): ("wifi_down_4_long_slots", "", "")},
)
EXPLANATIONS: Final[dict[str, Explanation]] = dict.fromkeys(("k037", "k038", "k039"), _SLOTS)
"""Claim that disagrees -> the experiment that shows why."""
