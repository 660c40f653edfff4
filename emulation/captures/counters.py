"""A qdisc's own counters, and the check that the captures around it agree with them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulation.captures.follow import Followed
from emulation.captures.places import Place
from emulation.errors import GuestFailure
from emulation.kinds.qdiscs import KINDS
from emulation.model.egress import HANDLE

Counters = dict[str, Any]


@dataclass(frozen=True)
class Totals:
    """What all qdiscs of a port have counted, at one moment."""

    packets: int  # that left
    drops: int
    marks: int | None  # None where a qdisc marks without counting, or may
    queued: int  # packets that wait

    def since(self, first: Totals) -> Totals:
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
    return Totals(
        root["packets"],
        max(root["drops"], sum(qdisc["drops"] for qdisc in leaves)),
        sum(qdisc["marks"] if "marks" in qdisc else marks(qdisc) for qdisc in leaves)
        if all(_counts_marks(qdisc["kind"]) for qdisc in leaves)
        else None,
        root["qlen"],
    )


def _counts_marks(name: str) -> bool:
    kind = KINDS.get(name)
    return kind is not None and (
        kind.decode is not None or kind.mark_counter in dict(kind.counters)
    )


def read(out: Path, port: Place) -> list[Counters]:
    """Return the counters of the qdisc under test at `port`, each with its `time_ns`.

    The first are from before the load, the last from after it; those between were sampled.
    """
    counters = []
    for sample in json.loads((out / "counters.json").read_text()):
        at_port = sample["qdiscs"][" ".join(port)]
        (counted,) = [qdisc for qdisc in at_port if qdisc["handle"] == HANDLE]
        counters.append({**counted, "time_ns": sample["time_ns"]})
    return counters


def marks(qdisc: Counters) -> int:
    """Return how many packets a qdisc has marked.

    Kinds call that by several names, and by another if a threshold was passed; CAKE counts by tin.
    """
    kind = KINDS.get(qdisc.get("kind", ""))
    names = {"ecn_mark" if kind is None else kind.mark_counter, "ce_mark"}
    return sum(int(part.get(name, 0)) for part in qdisc.get("tins", [qdisc]) for name in names)


def captured(queue: Followed) -> dict[str, int]:
    """Return what the qdisc should have counted, by the captures of `queue`."""
    return {
        "packets": len(queue.behind),
        "bytes": int(queue.behind["length"].sum()),
        "drops": int((~queue.sent).sum()),
        "marks": int(queue.marked.sum()),
    }


def check(samples: list[Counters], queue: Followed, where: Place) -> None:
    """Raise `GuestFailure` unless the counters agree exactly with the captures.

    What counts is the difference between the first and the last of `samples`; the queue must be
    empty at both.
    """
    first, last = samples[0], samples[-1]
    counted = {name: last[name] - first[name] for name in ("packets", "bytes", "drops")}
    counted["marks"] = marks(last) - marks(first)
    differ = differences(counted, captured(queue))
    if last["qlen"] or first["qlen"]:
        differ.append(f"{first['qlen']} packets in the queue before and {last['qlen']} afterwards")
    if differ:
        raise GuestFailure(f"{last['kind']} counted " + "; ".join(differ), " ".join(where))


def differences(counted: Mapping[str, int], captured: Mapping[str, int]) -> list[str]:
    """Describe each difference between counters and captures."""
    return [
        f"{counted[name]} {name}, captured {value}"
        for name, value in captured.items()
        if counted[name] != value
    ]
