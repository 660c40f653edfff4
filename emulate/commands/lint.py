"""`emulate lint FILE...`: whether flent files were measured on the rig that their names say.

`--json` prints one line per file: `file`, `findings` (level, about, text), and `error` in place of
them where the file cannot be read.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulation.errors import printable

if TYPE_CHECKING:
    from argparse import _SubParsersAction

#: Exit status where a file is not what its name says, or is none.
WRONG_STATUS = 1


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of `emulate lint`."""
    parser = subparsers.add_parser(
        "lint",
        description="Compare what flent files record of their rig (qdisc, shaper, offloads, "
        "congestion control, ECN) and their own numbers (goodput, round trips) with what their "
        "titles and names say. Any flent or netperf-wrapper file. Exit status: 0 where nothing is "
        f"wrong, {WRONG_STATUS} where something is or a file cannot be read.",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--json", action="store_true", help="a line of JSON per file")


def run(args: argparse.Namespace) -> int:
    """Print what was found in each file."""
    status = 0
    for file in args.files:
        result = examine(file)
        levels = {finding["level"] for finding in result.get("findings", [])}
        if "error" in result or "wrong" in levels:
            status = WRONG_STATUS
        if args.json:
            print(json.dumps(result), flush=True)
            continue
        for line in _lines(result):
            print(printable(line), flush=True)
    return status


def _lines(result: dict[str, Any]) -> list[str]:
    """The findings of a file for people; an error names the file itself."""
    if "error" in result:
        return [result["error"]]
    if not result["findings"]:
        return [f"{result['file']}: as its name says, as far as it is recorded"]
    return [
        f"{result['file']}: {finding['level']}: {finding['about']}: {finding['text']}"
        for finding in result["findings"]
    ]


def examine(file: Path) -> dict[str, Any]:
    """What `--json` prints of a file."""
    from analysis.errors import DataError  # pandas takes a second to import
    from analysis.measures.lint import lint
    from analysis.runs.rigrecord import read_rig

    try:
        return {"file": str(file), "findings": [asdict(one) for one in lint(read_rig(file))]}
    except DataError as error:
        return {"file": str(file), "error": str(error)}
