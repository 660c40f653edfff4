"""`emulate diff RUN RUN`: in what two runs differ, and where first.

Print where two runs differ: in settings and the guest's job, the first packet (if both recorded
captures), the first sample, qdisc counters and what they were made of. Exit status: 0 if they are
equal, 1 if they differ.
"""

import argparse
import json
from pathlib import Path

from qdisclab.emulation.checks.compare import Comparison, Difference, compare, load
from qdisclab.emulation.errors import printable

#: Counters, and parts of a job, that are printed one by one.
_SHOWN = 8

#: Digests, and a number, that differ wherever settings do.
_OF_SETTINGS = ("job", "boot.digest", "boot.seed")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate diff`."""
    parser.add_argument("left", type=Path, metavar="RUN", help="data/…/seed-001")
    parser.add_argument("right", type=Path, metavar="RUN")
    parser.add_argument(
        "--json", action="store_true", help="print all differences as JSON, for machines"
    )


def run(args: argparse.Namespace) -> int:
    """Compare the two, and return 0 where they are equal."""
    comparison = compare(load(args.left), load(args.right))
    if args.json:
        print(json.dumps(comparison.as_json(), indent=2))
    else:
        for line in report(comparison):
            print(printable(line))
    return 0 if comparison.equal else 1  # as diff(1) has it


def report(comparison: Comparison) -> list[str]:
    """Return the comparison as text, the earliest cause first."""
    of_study = [
        f"set by the study, whatever a kernel's defaults: {tc}" for tc in comparison.set_qdiscs
    ]
    if comparison.equal:
        packets = ("packets",) if comparison.packets_compared else ()
        return [f"equal: {', '.join(comparison.what + packets)}", *of_study]
    lines = [f"setting: {setting}" for setting in comparison.settings]
    lines += _first("job", comparison.job)
    if comparison.packet is not None:
        lines += _packet("first packet that differs", comparison.packet)
        if comparison.beyond_chance is None:
            lines.append("  packets differ in random ports, ids and initial numbers alone")
        elif comparison.beyond_chance != comparison.packet:
            lines += _packet("first in more than random numbers", comparison.beyond_chance)
        segment, shown = comparison.segment, comparison.beyond_chance or comparison.packet
        if segment is not None and segment.time_ns != shown.time_ns:
            lines += _packet("first TCP segment with another header", segment)
        lines += [
            f"  {mark} {line}"
            for mark, socket in zip("<>", comparison.sockets, strict=True)
            for line in socket
        ]
    elif not comparison.packets_compared:
        lines.append("packets: not compared; run both with --probe capture")
    if comparison.sample is not None:
        lines.append(f"first sample that differs: {comparison.sample}")
    elif comparison.same_bytes:
        lines.append("data: the same bytes")
    elif comparison.metadata is not None:
        lines.append(f"samples: equal; first of the metadata that differs: {comparison.metadata}")
    else:
        lines.append("data: equal values, other bytes")
    lines += _first("counter", comparison.counters)
    implied = _OF_SETTINGS if comparison.settings or comparison.job else ()
    lines += [f"identity: {part}" for part in comparison.identity if part.where not in implied]
    return lines + of_study


def _packet(text: str, packet: Difference) -> list[str]:
    place = f"{text}: at {packet.time_ns} ns, {packet.where}"
    return [place, f"  < {packet.left}", f"  > {packet.right}"]


def _first(noun: str, differences: list[Difference]) -> list[str]:
    lines = [f"{noun}: {difference}" for difference in differences[:_SHOWN]]
    if len(differences) > _SHOWN:
        lines.append(f"{noun}: {len(differences) - _SHOWN} more differ")
    return lines
