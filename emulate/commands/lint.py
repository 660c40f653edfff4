"""`emulate lint FILE...`: whether flent files were measured on the rig that their names say.

Compare what flent files record of their rig (qdisc, shaper, offloads, congestion control, ECN) and
their own numbers (goodput, round trips) with what their titles and names say. Takes any flent or
netperf-wrapper file. Exit status: 0 if nothing is wrong, 1 if something is or a file cannot be
read.

`--json` prints one line per file: `file`, `findings` (level, about, text), and `error` in place of
them where the file cannot be read.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from qdisclab.emulation.errors import EmulationError, printable


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate lint`."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--json", action="store_true", help="print a line of JSON per file")


def run(args: argparse.Namespace) -> int:
    """Print the findings about each file, and return the exit status."""
    from qdisclab.analysis.measures.lint import WRONG, lint
    from qdisclab.analysis.runs.rigrecord import read_rig

    status = 0
    for file in args.files:
        result: dict[str, Any] = {"file": str(file)}
        try:
            findings = lint(read_rig(file))
            result["findings"] = [asdict(finding) for finding in findings]
            texts = [f"{finding.level}: {finding.about}: {finding.text}" for finding in findings]
            texts = texts or ["as its name says, as far as it is recorded"]
            lines = [f"{file}: {text}" for text in texts]
            is_wrong = any(finding.level == WRONG for finding in findings)
        except EmulationError as error:
            result["error"], lines, is_wrong = str(error), [str(error)], True
        if is_wrong:
            status = 1
        for line in [json.dumps(result)] if args.json else map(printable, lines):
            print(line, flush=True)
    return status
