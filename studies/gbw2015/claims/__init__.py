"""What each claim of gbw2015 means as a condition on measured values."""

from typing import Final

from analysis.claims.explanation import Variation
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

WIRED: Final = (
    "rrul", "voip_1up", "voip_rrul", "web_small_1up", "web_small_rrul", "web_large_1up",
    "web_large_rrul", "rtt_fairness",
)  # fmt: skip

VARIATIONS: Final = (
    Variation(
        era="2014",
        instead="2014+fack+no_rack+quickack+no_sack_compression",
        experiments={name: name for name in WIRED},
        source="Linux 3.14 found and reported losses so (docs/eras.md)",
    ),
    Variation(
        era="2014",
        instead="2014",
        experiments={"wifi_rrul": "wifi_rrul_at_once"},
        source="a station gets the frames of an A-MPDU at once (docs/wifi.md)",
    ),
)
"""What the testbed had and the era does not, one of each experiment."""
