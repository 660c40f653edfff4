"""What each claim of codel2012 means as a condition on measured values."""

from typing import Final

from analysis.claims.explanation import Explanation
from analysis.claims.verdict import Rule

from . import changing, steady, window

RULES: Final[dict[str, Rule]] = {**window.RULES, **steady.RULES, **changing.RULES}

EXPLANATIONS: Final[dict[str, Explanation]] = {
    # With a second window under way there is something to send while the acknowledgment comes.
    "c009": Explanation(
        era="2014",
        instead="2014",
        cells={(window.AT_ONCE, window.LINK, ""): (window.TWICE, window.LINK, "")},
    ),
}
"""Claim that disagrees -> the experiment that shows why."""
