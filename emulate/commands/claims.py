"""`emulate claims`: what the papers state, and whether it holds in what was measured.

Show each checkable statement of the papers, and whether the runs in DATA agree with it, with the
size of the effect and its interval over seeds. docs/claims.md says how that is decided.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qdisclab.emulate.table import print_table
from qdisclab.emulation.errors import ConfigError, EmulationError
from qdisclab.emulation.host.terminal import note
from qdisclab.emulation.study import studies, trust

if TYPE_CHECKING:
    from qdisclab.analysis.runs.study import StudyFolder


#: As they are given on the command line -> as they are named.
VERDICTS = {
    name.replace(" ", "-"): name
    for name in (
        *("agrees", "disagrees", "explained", "at the bound", "undecided", "as set"),
        "not yet testable",
    )
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate claims`."""
    parser.add_argument(
        "--study", "--paper", action="append", metavar="NAME|PATH",
        help="only of this study: a shipped one, or a folder with a study.yaml; can be given more "
        "than once",
    )  # fmt: skip
    parser.add_argument(
        "--verdict", action="append", choices=list(VERDICTS), help="only with this verdict"
    )
    parser.add_argument(
        "--data", type=Path, default=Path(studies.DATA),
        help="folder of the runs (default: data; for a study that does not ship, the one in its "
        "folder)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON, for machines")
    trust.add_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print the claims that were asked for."""
    # pandas takes a second to import
    from qdisclab.analysis.claims.assess import verdicts
    from qdisclab.analysis.runs import study

    for name in args.study or ():
        trust.ask(name, args.trust)
    folders = dict.fromkeys(map(studies.add, args.study or ()))
    chosen = [study.study_at(folder) for folder in folders]
    for place in {of.runs_root(args.data) for of in chosen} or {args.data}:
        if not place.is_dir():
            raise ConfigError("no such folder", str(place), "name one with runs by --data")
    chosen = chosen or study.known()
    claims = verdicts(args.data, chosen, _say if sys.stderr.isatty() else lambda study: None)
    _note_stale(claims, chosen, args.data)
    wanted = {VERDICTS[name] for name in args.verdict or VERDICTS}
    claims = [claim for claim in claims if claim["verdict"] in wanted]
    if args.json:
        print(json.dumps(claims, indent=1, ensure_ascii=False))
    else:
        _print_table(claims)
    return 0


def _say(study: StudyFolder) -> None:
    """Say why it takes long: to measure all shipped runs for the first time takes a minute."""
    print(f"{study.name}: reading its runs and assessing its claims", file=sys.stderr)


def _note_stale(claims: list[dict[str, Any]], studies: list[StudyFolder], data: Path) -> None:
    """Say where runs that verdicts rest on are not what they would be today."""
    from qdisclab.emulation.checks import stale  # NumPy takes long to import
    from qdisclab.emulation.runs.index import index

    judged = {(claim["paper"], name) for claim in claims for name in claim["experiments"]}
    runs = (run for study in studies for run in index(study.runs_root(data), study.name).runs)
    try:
        counted = stale.causes(run for run in runs if (run.paper, run.experiment) in judged)
    except EmulationError as error:
        note(f"cannot tell which runs are stale: {error}")
        return
    if reasons := {why: counted[part] for part, why in stale.STALE.items() if counted[part]}:
        whys = ", ".join(f"{count}: {why}" for why, count in reasons.items())
        note(
            f"{sum(reasons.values())} of {counted.total()} runs that verdicts rest on are stale "
            f"({whys}); 'emulate run STUDY/EXPERIMENT --again' repeats them"
        )


def _print_table(claims: list[dict[str, Any]]) -> None:
    """Print a row per claim; tab-separated where the output is no terminal."""
    titles = ("claim", "verdict", "era", "statement", "why")
    fields = ("id", "verdict", "setting", "statement", "why")
    rows = [tuple(claim[name] for name in fields) for claim in claims]
    colors = {"agrees": "green", "disagrees": "red", "explained": "yellow", "at the bound": "cyan"}
    notes = []
    for paper, own in groupby(claims, key=itemgetter("paper")):
        verdicts = Counter(claim["verdict"] for claim in own)
        named = [(verdicts[name], name) for name in VERDICTS.values() if verdicts[name]]
        parts = ", ".join(f"{number} {name}" for number, name in named)
        notes.append((f"{paper}: {verdicts.total()} claims: {parts}", "bold"))
    print_table(
        titles,
        rows,
        whole=("claim", "era"),
        styles=[None if row[1] in colors else "dim" for row in rows],
        notes=notes,
    )
