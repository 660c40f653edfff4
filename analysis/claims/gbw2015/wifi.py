"""Section 7 of gbw2015: the WiFi link, of which there are no runs yet."""

from typing import Final

from analysis.claims.check import Lacking, setting
from analysis.claims.verdict import Rule

_NUMBERS: Final = (4, 8, 25, *range(180, 187), *range(188, 215), 221)

RULES: Final[dict[str, Rule]] = {
    **{f"g{number:03d}": Lacking("runs over a WiFi link") for number in _NUMBERS},
    "g187": setting("the order of printed labels"),
}
