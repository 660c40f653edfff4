"""A qdisc's own counters, and the check that the captures around it agree with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emulation.captures.follow import Followed
from emulation.captures.places import Place
from emulation.errors import GuestFailure
from emulation.kinds.qdiscs import KINDS
from emulation.model.egress import HANDLE

Counters = dict[str, Any]


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

    Kinds call that by several names, and CAKE counts by tin.
    """
    kind = KINDS.get(qdisc.get("kind", ""))
    name = "ecn_mark" if kind is None else kind.mark_counter
    return sum(int(part.get(name, 0)) for part in qdisc.get("tins", [qdisc]))


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


def check_drops(qdisc: Counters, queue: Followed, where: Place, foreign: float) -> None:
    """Raise `GuestFailure` unless the qdisc's drops agree with the captures.

    At most the fraction `foreign` of its drops may be packets that are not in `queue`.
    """
    counted, expected = {"drops": qdisc["drops"]}, {"drops": captured(queue)["drops"]}
    if differ := differences(counted, expected, foreign):
        raise GuestFailure(f"{qdisc['kind']} counted " + "; ".join(differ), " ".join(where))


def differences(
    counted: Mapping[str, int], captured: Mapping[str, int], foreign: float = 0.0
) -> list[str]:
    """Describe each difference between counters and captures.

    A counter may exceed the captures by the fraction `foreign` of itself.
    """
    return [
        f"{counted[name]} {name}, captured {value}"
        for name, value in captured.items()
        if not 0 <= counted[name] - value <= foreign * counted[name]
    ]


def during(samples: list[Counters], began_ns: int) -> list[dict[str, Any]]:
    """Return the counters sampled during the load, without the qdisc's settings.

    `time_s` is the time since the load began.
    """
    left_out = ("time_ns", "handle", "parent", "kind", "options", "refcnt")
    return [
        {
            "time_s": round((sample["time_ns"] - began_ns) / 1e9, 6),
            **{name: value for name, value in sample.items() if name not in left_out},
        }
        for sample in samples[1:-1]
    ]
