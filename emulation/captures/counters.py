"""A qdisc's own counters, and the check that captures around it say the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emulation.captures.follow import Followed
from emulation.captures.places import Place
from emulation.errors import GuestFailure
from emulation.model.topology import HANDLE

Counters = dict[str, Any]


def read(out: Path, port: Place) -> list[Counters]:
    """The counters of the qdisc under test at `port`, with `time_ns`: before the load, during it
    where they were sampled, afterwards."""
    found = []
    for sample in json.loads((out / "counters.json").read_text()):
        (qdisc,) = [one for one in sample["qdiscs"][" ".join(port)] if one["handle"] == HANDLE]
        found.append({**qdisc, "time_ns": sample["time_ns"]})
    return found


def marks(qdisc: Counters) -> int:
    """How many packets a qdisc has marked: red's name for it is another one."""
    return int(qdisc["ecn_mark"] if "ecn_mark" in qdisc else qdisc.get("marked", 0))


def captured(queue: Followed) -> dict[str, int]:
    """What the qdisc should have counted of the packets of `queue`."""
    return {
        "packets": len(queue.behind),
        "bytes": int(queue.behind["length"].sum()),
        "drops": int((~queue.sent).sum()),
        "marks": int(queue.marked.sum()),
    }


def check(samples: list[Counters], queue: Followed, where: Place) -> None:
    """Raise `GuestFailure` unless the qdisc counted exactly what was captured, from the first of
    `samples` to the last, and its queue was empty at both."""
    first, last = samples[0], samples[-1]
    counted = {name: last[name] - first[name] for name in ("packets", "bytes", "drops")}
    counted["marks"] = marks(last) - marks(first)
    differ = differences(counted, captured(queue))
    if last["qlen"] or first["qlen"]:
        differ.append(f"{first['qlen']} packets before and {last['qlen']} afterwards in the queue")
    if differ:
        raise GuestFailure(f"{last['kind']} counted " + "; ".join(differ), " ".join(where))


def check_drops(qdisc: Counters, queue: Followed, where: Place, foreign: float) -> None:
    """Raise `GuestFailure` unless the qdisc dropped what was captured, and of packets that are not
    in `queue` no more than the part `foreign` of all."""
    counted, found = {"drops": qdisc["drops"]}, {"drops": captured(queue)["drops"]}
    if differ := differences(counted, found, foreign):
        raise GuestFailure(f"{qdisc['kind']} counted " + "; ".join(differ), " ".join(where))


def differences(
    counted: Mapping[str, int], captured: Mapping[str, int], foreign: float = 0.0
) -> list[str]:
    """Where counters and captures are not equal, in words; a counter may be greater by the part
    `foreign` of itself."""
    return [
        f"{counted[name]} {name}, captured {value}"
        for name, value in captured.items()
        if not 0 <= counted[name] - value <= foreign * counted[name]
    ]


def during(samples: list[Counters], began_ns: int) -> list[dict[str, Any]]:
    """What the qdisc said of itself during the load, `time_s` after it began, without what says how
    it is set."""
    left_out = ("time_ns", "handle", "parent", "kind", "options", "refcnt")
    return [
        {
            "time_s": round((sample["time_ns"] - began_ns) / 1e9, 6),
            **{name: value for name, value in sample.items() if name not in left_out},
        }
        for sample in samples[1:-1]
    ]
