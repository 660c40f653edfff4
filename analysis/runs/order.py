"""In which order pages and figures name qdiscs."""

from collections.abc import Iterable
from typing import Final

#: From the simple to the involved.
QDISC_ORDER: Final = (
    "pfifo_fast", "ared", "pie", "codel", "sfq", "fq_nocodel", "fq_codel",
)  # fmt: skip


def in_order(qdiscs: Iterable[str]) -> list[str]:
    """Return the distinct qdiscs: those of the papers in the papers' order, then others by name."""
    rank = {name: place for place, name in enumerate(QDISC_ORDER)}
    return sorted(set(qdiscs), key=lambda name: (rank.get(name, len(rank)), name))
