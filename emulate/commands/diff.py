"""`emulate diff RUN RUN`: the first thing in which two runs differ."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from emulation.checks.compare import Comparison, compare, load
from emulation.errors import printable
from emulation.kernel import find
from emulation.machine.trace import Symbols

if TYPE_CHECKING:
    from argparse import _SubParsersAction

#: Exit status of two runs that differ, as of diff(1).
DIFFERENT = 1

#: Counters that are printed one by one.
_SHOWN = 8


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of `emulate diff`."""
    parser = subparsers.add_parser(
        "diff",
        description="Print the first difference between two runs: the first packet where both "
        "were run with --capture, the first sample, qdisc counters, what they were made of. Exit "
        "status: 0 where they are equal, 1 where they differ.",
    )
    parser.add_argument(
        "left", type=Path, metavar="RUN", help="data/.../seed-001, or a kept folder"
    )
    parser.add_argument("right", type=Path, metavar="RUN")
    parser.add_argument("--json", action="store_true", help="all that differs, for machines")


def run(args: argparse.Namespace) -> int:
    """Compare the two; 0 where they are equal."""
    found = compare(load(args.left), load(args.right))
    if args.json:
        print(json.dumps(found.as_json(), indent=2))
    else:
        for line in report(found):
            print(printable(line))
    return 0 if found.equal else DIFFERENT


def report(found: Comparison) -> list[str]:
    """The comparison as text, the earliest cause first."""
    if found.equal:
        compared = "data, counters and packets" if found.packets_compared else "data and counters"
        return [f"equal: {compared}"]
    lines = []
    if found.packet is not None:
        place = f"first packet that differs: at {found.packet.time_ns} ns, {found.packet.where}"
        lines += [place, f"  < {found.packet.left}", f"  > {found.packet.right}"]
    elif not found.packets_compared:
        lines.append("packets: not compared; run both with --capture")
    if found.parting is not None:
        symbols = Symbols(kernel.path if (kernel := find()) else None)
        lines.append(f"the traces part at record {found.parting.number}, behind")
        lines += [f"    {record.text(symbols)}" for record in found.parting.before]
        for mark, record in (("<", found.parting.left), (">", found.parting.right)):
            lines.append(f"  {mark} {record.text(symbols) if record else 'its end'}")
    if found.sample is not None:
        lines.append(f"first sample that differs: {found.sample}")
    elif found.same_bytes:
        lines.append("data: the same bytes")
    elif found.metadata is not None:
        lines.append(f"samples: equal; first of the metadata that differs: {found.metadata}")
    else:
        lines.append("data: equal values, other bytes")
    lines += [f"counter: {counter}" for counter in found.counters[:_SHOWN]]
    if len(found.counters) > _SHOWN:
        lines.append(f"counter: {len(found.counters) - _SHOWN} more differ")
    lines += [f"identity: {one}" for one in found.identity]
    return lines
