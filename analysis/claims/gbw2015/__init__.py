"""What each claim of gbw2015 means as a condition on measured values."""

from typing import Final

from analysis.claims.explanation import Explanation
from analysis.claims.gbw2015 import fairness, overall, startup, steady, voip, web, wifi
from analysis.claims.verdict import Rule

RULES: Final[dict[str, Rule]] = {
    **overall.RULES,
    **steady.RULES,
    **voip.RULES,
    **web.RULES,
    **fairness.RULES,
    **startup.RULES,
    **wifi.RULES,
}

EXPLANATIONS: Final[dict[str, Explanation]] = {}
"""Claim that disagrees -> the experiment that shows why."""
