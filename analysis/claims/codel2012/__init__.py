"""What each claim of codel2012 means as a condition on measured values."""

from typing import Final

from analysis.claims.codel2012 import changing, steady, window
from analysis.claims.explanation import Explanation
from analysis.claims.verdict import Rule

RULES: Final[dict[str, Rule]] = {**window.RULES, **steady.RULES, **changing.RULES}

EXPLANATIONS: Final[dict[str, Explanation]] = {}
"""Claim that disagrees -> the experiment that shows why."""
