"""`emulate check STUDY...`: validate study files, or `own.yaml`, without running anything.

Validate studies without running anything.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from qdisclab.emulate.dataerrors import missing_package
from qdisclab.emulation import project
from qdisclab.emulation.config import ownfile, remarks
from qdisclab.emulation.config.catalogue import load, select
from qdisclab.emulation.config.own import load as load_own
from qdisclab.emulation.config.ownfile import FILE
from qdisclab.emulation.errors import ConfigError, EmulationError, printable
from qdisclab.emulation.host.terminal import note
from qdisclab.emulation.study import studies, trust

#: What JSON has of a problem.
FIELDS = ("line", "key", "what", "todo")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate check`."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="STUDY",
        help="a study's folder or file, the name of a shipped study, or STUDY/EXPERIMENT",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for machines")
    trust.add_option(parser)


def run(args: argparse.Namespace) -> int:
    """Check every file, even after one that is wrong; return the status of the worst."""
    for name in args.files:
        trust.ask(name.removesuffix(f"/{studies.FILE}"), args.trust)
    reports = [_report(name) for name in args.files]
    if args.json:
        print(json.dumps(reports, indent=2))
    else:
        for report in reports:
            _print(report)
    return 0 if all(report["valid"] for report in reports) else ConfigError.exit_status


def _report(name: str) -> dict[str, Any]:
    path, problems = Path(name), list[dict[str, Any]]()
    try:
        path, only = _file(name)
        own_file = ownfile.path()
        if path.name == FILE.name or (own_file and path.resolve() == own_file.resolve()):
            own = load_own(path)
            folders = studies.known()
            own.check(folders)
            for paper in own.papers:
                load(folders[paper], own)
            about = {name: list(getattr(own, name)) for name in ("papers", "qdiscs", "controls")}
            return {"file": str(path), "valid": True, **about}
        study = load(path)
        chosen = [
            experiment
            for experiment in study.experiments
            if only in ("", experiment.name, *experiment.labels)
        ]
        if not chosen:
            todo = f"emulate list {path.parent}"
            raise ConfigError(f"has no experiment '{only}'", str(path), todo)
        for experiment in chosen:
            select(experiment, seed=experiment.seeds[0])  # refuses what cannot run
        unchecked = list[str]()
        try:
            errors = _beside(path.parent) if not only and path.name == studies.FILE else []
        except ModuleNotFoundError as error:
            errors = []
            unchecked = [f"measures, claims and figures are not checked: {missing_package(error)}"]
        problems = [{"line": None, "key": "", "what": text, "todo": ""} for text in errors]
    except ConfigError as error:
        problems = [{name: getattr(of, name) for name in FIELDS} for of in error.problems]
        if not problems:  # the file could not be read
            problems = [{"line": None, "key": "", "what": error.what, "todo": error.todo}]
        errors = str(error).splitlines()
    if problems:
        return {"file": str(path), "valid": False, "problems": problems, "errors": errors}
    notes = dict.fromkeys(unchecked)
    notes |= dict.fromkeys(
        remark
        for experiment in chosen
        for point in experiment.points
        for remark in remarks.of_point(point)
    )
    experiments = [
        {"id": of.id, "points": len(of.points), "runs": len(of.points) * len(of.seeds)}
        for of in chosen
    ]
    report = {"file": str(path), "valid": True, "experiments": experiments}
    return {**report, "notes": list(notes)} if notes else report


def _beside(folder: Path) -> list[str]:
    """Return the errors in measures, statements, rules and figures of a study, one line each."""
    # pandas takes half a second to import, SciPy one
    from qdisclab.analysis.measures import measured
    from qdisclab.analysis.measures.registry import faults
    from qdisclab.analysis.runs.study import study_at
    from qdisclab.analysis.site.figurefile import check_values, read_figure

    try:
        study = study_at(folder)
        errors = [*faults(study), *measured.faults(study)]
    except EmulationError as error:  # another study has its name, or its measures fail
        return [str(error).rstrip(".")]
    runs = study.runs_root(project.data())

    def check_figure(path: Path) -> None:
        check_values(read_figure(path), runs)

    steps: list[Callable[[], object]] = [partial(check_figure, path) for path in study.figures]
    if study.statements.is_file() or study.path_of("claims"):
        from qdisclab.analysis.claims.assess import read

        steps.append(partial(read, study))
    for step in steps:
        try:
            step()
        except EmulationError as error:
            errors += str(error).rstrip(".").splitlines()
    return errors


def _file(name: str) -> tuple[Path, str]:
    """Return the file that `name` stands for, and the experiment in it; '' for all."""
    if os.path.isfile(name):  # noqa: PTH113 - a name may be too long for `Path.is_file`
        return Path(name), ""
    for place, only in ((name, ""), name.rpartition("/")[::2]):
        try:
            return studies.find(place) / studies.FILE, only
        except studies.NoStudy:
            continue
    try:
        Path(name).stat()
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        raise ConfigError(what, name, "name a readable study file") from None
    return Path(name), ""


def _print(report: dict[str, Any]) -> None:
    if not report["valid"]:
        for line in report["errors"]:
            print(f"emulate: error: {printable(line)}", file=sys.stderr)
        return
    if "qdiscs" in report:
        names = ", ".join(report["qdiscs"] + report["controls"])
        print(printable(f"{report['file']}: {names} in {', '.join(report['papers'])}"))
    for text in report.get("notes", ()):
        note(text)
    for experiment in report.get("experiments", ()):
        points, runs = (_counted(experiment[noun], noun) for noun in ("points", "runs"))
        print(printable(f"{report['file']}: {experiment['id']}: {points}, {runs}"))


def _counted(number: int, nouns: str) -> str:
    """Return a number with its noun: `3 runs`, `1 run`."""
    return f"{number} {nouns.removesuffix('s') if number == 1 else nouns}"
