"""`emulate new FOLDER`: a study of one's own that runs as it is.

Make a folder with a study that runs as it is, for you to change: a rig, two experiments, a program
and a figure. docs/your-own-study.md says how to go on.
"""

import argparse
from pathlib import Path

from qdisclab.emulation.study import template


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate new`."""
    parser.add_argument("folder", type=Path, help="the folder to make; its name is the study's")


def run(args: argparse.Namespace) -> int:
    """Write the files, and print their names and the next commands."""
    for path in template.make(args.folder):
        print(path)
    print(f"next: emulate check {args.folder}; emulate run {args.folder}/first")
    return 0
