"""What the draft asks of each case, as bounds on what was measured."""

from typing import Final

from qdisclab.analysis.claims.check import Condition, every, within
from qdisclab.analysis.claims.quantity import cells

from .measures import CASES

BOUNDS: Final = {name: (low, high) for name, (_, _, low, high) in CASES.items()}
ANY: Final = (12, 13, 14, 15, 16, 17, 18, 19)  # cases of which any control has numbers
STATELESS: Final = ("use", "rounds", "lost", "undone")  # numbers of those that need no state


def case(number: int, *controls: str, names: tuple[str, ...] | None = None) -> Condition:
    """All numbers of a case, or those of these names, lie within their bounds."""
    return every(
        *(
            within(cells(name, "cases", "-", "-", controls), *bounds)
            for name, bounds in BOUNDS.items()
            if name.startswith(f"a{number}_") and (names is None or name.partition("_")[2] in names)
        )
    )


RULES: Final = {f"bbr{number:03d}": case(number, "bbr") for number in range(1, 23)} | {
    f"bbr{22 + place:03d}": case(number, "cubic", "reno", names=STATELESS)
    for place, number in enumerate(ANY, 1)
}
