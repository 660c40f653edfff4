"""A qdisc's own counters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from qdisclab.emulation.kinds.netlink import fields
from qdisclab.emulation.kinds.qdiscs import KINDS

Counters = dict[str, Any]


@dataclass(frozen=True)
class Totals:
    """What all qdiscs of a port have counted, at one moment."""

    packets: int  # that left
    drops: int
    marks: int | None  # None where a qdisc marks without counting, or may
    queued: int  # packets that wait

    def since(self, first: "Totals") -> "Totals":
        """Return what was counted since `first`."""
        marks = None if self.marks is None or first.marks is None else self.marks - first.marks
        return Totals(self.packets - first.packets, self.drops - first.drops, marks, self.queued)


def totals(qdiscs: Sequence[Counters]) -> Totals:
    """Return what the qdiscs of a port have counted, as `tc -s -j qdisc` shows them.

    `marks` may have been added to them, else they are looked for under the kind's own names.
    A parent counts the drops of its children, some a little later than they do.
    """
    parents = {qdisc.get("parent", "").partition(":")[0] for qdisc in qdiscs}
    (root,) = (qdisc for qdisc in qdiscs if qdisc.get("root") or qdisc.get("parent") == "root")
    leaves = [qdisc for qdisc in qdiscs if qdisc["handle"].rstrip(":") not in parents]
    drops = max(root["drops"], sum(qdisc["drops"] for qdisc in leaves))
    marked = sum(qdisc["marks"] if "marks" in qdisc else marks(qdisc) for qdisc in leaves)
    is_known = all(_counts_marks(qdisc["kind"]) for qdisc in leaves)
    return Totals(root["packets"], drops, marked if is_known else None, root["qlen"])


def _counts_marks(name: str) -> bool:
    kind = KINDS.get(name)
    return bool(kind and (kind.decode or kind.mark_counter in dict(fields(kind.counters))))


def marks(qdisc: Counters) -> int:
    """Return how many packets a qdisc has marked.

    Kinds call that by several names, and by another if a threshold was passed; CAKE counts by tin.
    """
    kind = KINDS.get(qdisc.get("kind", ""))
    names = {"ecn_mark" if kind is None else kind.mark_counter, "ce_mark"}
    return sum(int(part.get(name, 0)) for part in qdisc.get("tins", [qdisc]) for name in names)
