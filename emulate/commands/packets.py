"""`emulate packets IN.pcap OUT.pcap`: what became of the packets of a queue, by two captures."""

import argparse
import tempfile
from pathlib import Path

from qdisclab.emulation.captures import pair
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.model.units import Rate, quantity


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate packets`."""
    parser.description = (
        "Follow packets from a capture before a queue to one behind it, from a real testbed or "
        "the probe 'capture'. Prints how long they waited and what was dropped and marked."
    )
    parser.add_argument("before", type=Path, metavar="IN", help="what arrives: tcpdump -Q in")
    parser.add_argument("behind", type=Path, metavar="OUT", help="what leaves: tcpdump -Q out")
    parser.add_argument(
        "--by",
        default="class",
        metavar="COLUMN",
        help="class (DSCP and ECN; default), flow, second, or a column of docs/probes.md",
    )
    parser.add_argument("--rate", help="rate of the link behind the queue, for its utilisation")
    parser.add_argument(
        "--output", type=Path, help="file for the table: a row per packet, as Parquet"
    )


def run(args: argparse.Namespace) -> int:
    """Print the numbers of each group."""
    from qdisclab.analysis.measures import packets  # pandas takes a second to import

    given = quantity(Rate.parse, args.rate, "--rate")
    rate = given.bits_per_second if given else 0
    if given and not rate:
        raise ConfigError(
            "is not a rate of a link", f"--rate '{args.rate}'", "write e.g. '10 Mbit/s'"
        )
    if args.output and args.output.resolve() in (args.before.resolve(), args.behind.resolve()):
        raise ConfigError(
            "is one of the captures to read", f"--output {args.output}", "name another file"
        )
    with tempfile.TemporaryDirectory(prefix="packets-") as folder:
        target = args.output or Path(folder) / "packets.parquet"
        target.parent.mkdir(parents=True, exist_ok=True)
        counts = pair.write(args.before, args.behind, target, rate)
        table = packets.read(target)
        waited, fates = packets.sojourn(table, args.by), packets.shares(table, args.by)
        shares = fates[["dropped", "marked"]].mul(100).add_suffix("_percent")
        print(waited.join(shares, how="outer").round(3).to_string())
        if rate:
            print(f"utilisation: {packets.utilisation(table):.1%}")
    print(f"{counts.entered:,} packets went in, {counts.left:,} of them came out", end="")
    print(f", after {counts.shortest_ns / 1e6:,.3f} ms or more", end="")
    print(f"; {counts.strangers:,} others came out" if counts.strangers else "", end="")
    print(f", {counts.early:,} before they went in: by one clock?" if counts.early else "")
    return 0
