"""Of each case, the values that a kernel without the bug gives."""

from typing import Final

from qdisclab.analysis.claims.check import Checks, within
from qdisclab.analysis.claims.quantity import Quantity
from qdisclab.analysis.claims.verdict import Rule
from qdisclab.analysis.runs.statement import Claim


def bounded(claim: Claim) -> Checks:
    """The case that the claim's note names lies within the claim's bounds."""
    return within(Quantity(claim.note, "cases", "-", "-"), claim.value_low, claim.value_high)


RULES: Final[dict[str, Rule]] = {f"bug{number:03d}": bounded for number in range(1, 18)}
