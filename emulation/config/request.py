"""The request for a run, as JSON: a part of its provenance, and the input of a cluster's job.

`request` writes it, and `run_of` makes the run of it again, as today's studies define it. Nothing
is read off the run's id.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from qdisclab.emulation import datafile, errors
from qdisclab.emulation.config.catalogue import check, experiment, varied
from qdisclab.emulation.model.axis import meaning
from qdisclab.emulation.model.run import Experiment, Point, Run
from qdisclab.emulation.model.units import Duration


class OtherLength(errors.ConfigError):
    """A run of the default length that its experiment had, which differs today."""


def request(run: Run) -> dict[str, Any]:
    """Return the entries of a provenance that request `run`."""
    point = run.point
    origin: dict[str, Any] = {"experiment": point.label}
    if point.settings:
        origin = {"experiment": run.experiment.name, "label": point.label}
        origin["settings"] = dict(point.settings)
    outside = [*point.outside, *(["seed"] if run.seed not in run.experiment.seeds else [])]
    return {
        "run": run.id,
        "paper": run.experiment.paper,
        **origin,
        "link": point.link.name,
        "qdisc": point.qdisc,
        "cc": point.cc,
        "seed": run.seed,
        "era": run.era,
        "kernel": run.kernel,
        "length_s": run.length.seconds,
        "length": run.other_length,
        "axes": dict(point.axes),
        **({"outside_sweep": outside} if outside else {}),
    }


def write(runs: Sequence[Run]) -> str:
    """Return the text of a file that asks for `runs`; `read` reads it."""
    requests = [{**request(run), "folder": run.experiment.folder} for run in runs]
    return json.dumps({"runs": requests}, sort_keys=True)


def read(path: Path) -> list[Mapping[str, Any]]:
    """Return the requests in a file; raise `ConfigError` where it has none."""
    requests = datafile.read_json(path, "write it as 'workflow/rules/run.smk' does").get("runs")
    if not isinstance(requests, list) or not requests:
        raise errors.ConfigError("asks for no runs", str(path), "write them below the key 'runs'")
    return requests


def study_of(record: Mapping[str, Any]) -> str:
    """Return the name or the folder of the study of a run."""
    return str(record.get("folder") or record.get("paper", ""))


def runs_of(records: Iterable[Mapping[str, Any]]) -> tuple[Run, ...]:
    """Return the runs that are asked for; raise `ConfigError` as `run_of`."""
    return tuple(map(run_of, records))


def run_of(record: Mapping[str, Any], by_id: Mapping[str, Experiment] | None = None) -> Run:
    """Return the run that a provenance or a request describes, as today's studies define it.

    `by_id` has experiments (`catalogue.all_labels`), to save reading them again. Raises
    `ConfigError` where the studies have no such run any more, `OtherLength` where its length alone
    differs.
    """
    try:
        return _run_of(record, by_id)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"is not the provenance of a run ({type(error).__name__}: {error})"
        name = record.get("run", "") if isinstance(record, Mapping) else ""
        raise errors.ConfigError(what, str(name)[:200], "do the run again") from error


def _run_of(record: Mapping[str, Any], by_id: Mapping[str, Experiment] | None) -> Run:
    name = f"{study_of(record)}/{record['experiment']}"
    source = by_id[name] if by_id and name in by_id else experiment(name)
    point, seed = point_of(source, record), int(record["seed"])
    length = Duration(round(float(record["length_s"]) * 10**9))
    run = Run(source, point, seed, length, str(record["era"]), kernel_of(record))
    check(run)
    if run.id != record["run"]:
        usual = run.traffic.length
        if replace(run, length=usual).id == record["run"]:
            what = f"its experiment lasts {usual} today, and lasted {run.length}"
            raise OtherLength(what, record["run"], "restore the length, or do the run again")
        raise _gone(record)
    return run


def _gone(record: Mapping[str, Any]) -> errors.ConfigError:
    return errors.ConfigError("no experiment has this run any more", record["run"], "do it again")


def kernel_of(record: Mapping[str, Any]) -> str:
    """Return the kernel that was asked for, a series or a digest."""
    return str(record.get("kernel") or record["identity"]["kernel"]["series"])


def _meanings(axes: Iterable[tuple[str, str]]) -> dict[str, Any]:
    return {axis: meaning(text) for axis, text in axes}


def point_of(source: Experiment, record: Mapping[str, Any]) -> Point:
    """Return the point of `source` that has the recorded value on each axis.

    Values that the user set take the place of those of the sweep. Raises `ConfigError` where there
    is no such point any more.
    """
    axes, settings = dict(record.get("axes", {})), dict(record.get("settings", {}))
    outside = (set(record.get("outside_sweep", ())) & axes.keys()) - settings.keys()
    requested = {axis: [axes[axis]] for axis in outside}
    requested |= {axis: [value] for axis, value in settings.items()}
    recorded = _meanings(axes.items())
    fixed = {(axis, value) for axis, value in recorded.items() if axis not in requested}
    for point in source.points:
        values = _meanings(point.axes).items()
        if {(axis, value) for axis, value in values if axis not in requested} <= fixed:
            for derived in varied(source, point, requested) if requested else (point,):
                if _meanings(derived.axes) == recorded:
                    return derived
    raise _gone(record)
