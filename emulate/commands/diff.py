"""`emulate diff RUN RUN`: in what two runs differ, and where first."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from emulation.checks.compare import Comparison, Difference, compare, load
from emulation.errors import printable
from emulation.kernel import find
from emulation.machine.trace import Symbols

#: Exit status of two runs that differ, as of diff(1).
DIFFERENT = 1

#: Counters, and parts of a job, that are printed one by one.
_SHOWN = 8

#: Digests, and a number, that differ wherever settings do.
_OF_SETTINGS = ("job", "boot.digest", "boot.seed")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate diff`."""
    parser.description = (
        "Print where two runs differ: in settings and what the guest was told, in the "
        "first packet where both were run with --capture, the first sample, qdisc counters, what "
        "they were made of. Exit status: 0 where they are equal, 1 where they differ."
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
        packets = ("packets",) if found.packets_compared else ()
        return [f"equal: {', '.join(found.what + packets)}"]
    lines = [f"setting: {one}" for one in found.settings]
    lines += _first("job", found.job)
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
    lines += _first("counter", found.counters)
    told = _OF_SETTINGS if found.settings or found.job else ()
    lines += [f"identity: {one}" for one in found.identity if one.where not in told]
    return lines


def _first(noun: str, differences: list[Difference]) -> list[str]:
    lines = [f"{noun}: {one}" for one in differences[:_SHOWN]]
    if len(differences) > _SHOWN:
        lines.append(f"{noun}: {len(differences) - _SHOWN} more differ")
    return lines
