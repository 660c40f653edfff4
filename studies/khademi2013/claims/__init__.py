"""What each claim of khademi2013 means as a condition on measured values."""

from typing import Final

from analysis.claims.verdict import Rule

from . import ecn, interval, isolation, target, wifi

RULES: Final[dict[str, Rule]] = {
    **target.RULES,
    **interval.RULES,
    **wifi.RULES,
    **isolation.RULES,
    **ecn.RULES,
}
