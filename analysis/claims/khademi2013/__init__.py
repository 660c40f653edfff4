"""What each claim of khademi2013 means as a condition on measured values."""

from typing import Final

from analysis.claims.check import Lacking
from analysis.claims.explanation import Explanation
from analysis.claims.khademi2013 import ecn, interval, isolation, target
from analysis.claims.verdict import Rule

WIFI: Final = {f"k{number:03d}": Lacking("runs over 802.11g") for number in range(34, 50)}

RULES: Final[dict[str, Rule]] = {
    **target.RULES,
    **interval.RULES,
    **WIFI,
    **isolation.RULES,
    **ecn.RULES,
}

EXPLANATIONS: Final[dict[str, Explanation]] = {}
"""Claim that disagrees -> the experiment that shows why."""
