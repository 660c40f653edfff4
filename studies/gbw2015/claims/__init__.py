"""What each claim of gbw2015 means as a condition on measured values."""

from typing import Final

from qdisclab.analysis.claims.explanation import Variation
from qdisclab.analysis.claims.verdict import Rule

from . import fairness, overall, startup, steady, voip, web, wifi

RULES: Final[dict[str, Rule]] = {
    name: rule
    for section in (overall, steady, voip, web, fairness, startup, wifi)
    for name, rule in section.RULES.items()
}

VARIATIONS: Final = (
    Variation(
        era="2014d",
        instead="2014d",
        experiments={"wifi_rrul": "wifi_rrul_at_once"},
        source="a station gets the frames of an A-MPDU at once (docs/wifi.md)",
    ),
)
"""What the testbed had and the era does not, one of each experiment."""
