"""What each claim of codel2012 means as a condition on measured values."""

from typing import Final

from analysis.claims.verdict import Rule

from . import changing, steady, window

RULES: Final[dict[str, Rule]] = {**window.RULES, **steady.RULES, **changing.RULES}
