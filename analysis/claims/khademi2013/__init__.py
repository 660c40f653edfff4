"""What each claim of khademi2013 means as a condition on measured values."""

from typing import Final

from analysis.claims.explanation import Explanation
from analysis.claims.khademi2013 import ecn, interval, isolation, target, wifi
from analysis.claims.verdict import Rule

RULES: Final[dict[str, Rule]] = {
    **target.RULES,
    **interval.RULES,
    **wifi.RULES,
    **isolation.RULES,
    **ecn.RULES,
}

EXPLANATIONS: Final[dict[str, Explanation]] = {}
"""Claim that disagrees -> the experiment that shows why."""
