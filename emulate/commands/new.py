"""`emulate new FOLDER`: a study of one's own that runs as it is."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from emulation.study import template

if TYPE_CHECKING:
    from argparse import _SubParsersAction


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of `emulate new`."""
    parser = subparsers.add_parser(
        "new",
        description="Make a folder with a study of your own that runs as it is: a rig, two "
        "experiments, a program and a figure, to be changed. docs/your-own-study.md leads on.",
    )
    parser.add_argument("folder", type=Path, help="where it goes; its name is the study's")


def run(args: argparse.Namespace) -> int:
    """Write the files, and print their names and the next commands."""
    for path in template.make(args.folder):
        print(path)
    print(f"next: emulate check {args.folder}; emulate run {args.folder}/first")
    return 0
