"""`emulate lock`: what the bytes of runs depend on, and how the cache differs from it.

Show the locked versions of the kernels' sources and of the guest's packages, and what this
machine's cache has instead of them.
"""

import argparse
import sys

from qdisclab.emulate.arguments import add_flags
from qdisclab.emulation.host import lock as locks
from qdisclab.emulation.machine import lockstate


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate lock`."""
    add_flags(parser, update="update the lock to what the Debian mirrors of this machine have now")


def run(args: argparse.Namespace) -> int:
    """Show or move the lock, and return the exit status."""
    old = locks.load()
    if args.update:
        new = lockstate.updated(old)
        print(*lockstate.changes(old, new), sep="\n")
        locks.save(new)
        return 0
    print(*lockstate.state(old), sep="\n")
    if note := lockstate.difference():
        print(note, file=sys.stderr)
    return 0
