"""`emulate claims`: what the papers state, and whether it holds in what was measured."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulate.commands.table import print_table
from emulation.errors import ConfigError, EmulationError
from emulation.study import studies, trust

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from analysis.runs.study import StudyFolder


#: As they are given on the command line -> as they are named.
VERDICTS = {
    name.replace(" ", "-"): name
    for name in ("agrees", "disagrees", "explained", "at the bound", "as set", "not yet testable")
}


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of `emulate claims`."""
    parser = subparsers.add_parser(
        "claims",
        description="Each checkable statement of the papers, and whether the runs in DATA agree "
        "with it, with the size of the effect and its interval over seeds. docs/claims.md says how "
        "that is decided.",
    )
    parser.add_argument(
        "--study",
        "--paper",
        action="append",
        metavar="NAME|PATH",
        help="only of this study: a shipped one, or a folder with a study.yaml; repeatable",
    )
    parser.add_argument(
        "--verdict", action="append", choices=list(VERDICTS), help="only with this verdict"
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(studies.DATA),
        help="folder (default: data; of a study that does not ship, that in its folder)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for machines")
    trust.add_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print the claims that were asked for."""
    # pandas takes a second to import
    from analysis.claims.settled import settle
    from analysis.errors import DataError
    from analysis.runs import study

    for name in args.study or ():
        trust.ask(name, args.trust)
    chosen_studies = list(dict.fromkeys(map(studies.add, args.study or ())))
    try:
        of = [study.study_at(folder) for folder in chosen_studies] or None
        for place in {args.data} if of is None else {one.runs_root(args.data) for one in of}:
            if not place.is_dir():
                raise ConfigError("no such folder", str(place), "name one with runs by --data")
        found = settle(args.data, of, _say if sys.stderr.isatty() else lambda study: None)
        _tell_stale(found, of or study.known(), args.data)
    except DataError as error:
        raise EmulationError(str(error).rstrip(".")) from error
    wanted = {VERDICTS[name] for name in args.verdict or VERDICTS}
    chosen = [one for one in found if one["verdict"] in wanted]
    if args.json:
        print(json.dumps(chosen, indent=1, ensure_ascii=False))
    else:
        _print_table(chosen)
    return 0


def _say(study: StudyFolder) -> None:
    """Tell who waits why: to measure all shipped runs for the first time takes a minute."""
    print(f"{study.name}: reading its runs and settling its claims", file=sys.stderr)


def _tell_stale(claims: list[dict[str, Any]], studies: list[StudyFolder], data: Path) -> None:
    """Say where runs that verdicts rest on are not what they would be today."""
    from emulation.checks import stale  # NumPy takes long to import

    judged = {(one["paper"], experiment) for one in claims for experiment in one["experiments"]}
    files = [
        path
        for study in studies
        for path in sorted((study.runs_root(data) / study.name).glob("*/*/*/*/seed-*.json"))
        if (study.name, path.parents[3].name.partition("@")[0]) in judged
    ]
    try:
        counted = stale.causes(files)
    except EmulationError as error:
        print(f"note: which runs are stale cannot be told: {error}", file=sys.stderr)
        return
    if found := {why: counted[part] for part, why in stale.STALE.items() if counted[part]}:
        whys = ", ".join(f"{count}: {why}" for why, count in found.items())
        print(
            f"note: {sum(found.values())} of {counted.total()} runs that verdicts rest on are stale"
            f" ({whys}); 'emulate run STUDY/EXPERIMENT --again' makes them anew",
            file=sys.stderr,
        )


def _print_table(claims: list[dict[str, Any]]) -> None:
    """A row per claim; tab-separated where the output is no terminal."""
    titles = ("claim", "verdict", "era", "statement", "why")
    rows = [(one["id"], one["verdict"], _era(one), one["statement"], one["why"]) for one in claims]
    colors = {"agrees": "green", "disagrees": "red", "explained": "yellow", "at the bound": "cyan"}
    notes = []
    for paper, own in groupby(claims, key=itemgetter("paper")):
        verdicts = Counter(one["verdict"] for one in own)
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


def _era(claim: dict[str, Any]) -> str:
    """ "2014, cubic"; a dash where no run could tell."""
    return (
        "–"
        if claim["lacks"] in ("rule", "setting", "read back")
        else f"{claim['era']}, {claim['cc']}"
    )
