"""The axes that a study varies, by short names, and the values that a run has on them.

They follow from the study's file: the options of the qdisc under test, the rig and the traffic. No
name is parsed for its meaning. A value that `tc` has no option for is in the study's `axes.csv`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Final

import pandera.pandas as pa

from qdisclab.analysis.errors import DataError, refused
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.analysis.runs.published import read_table
from qdisclab.analysis.runs.study import StudyFolder, study_at
from qdisclab.emulation.config.catalogue import experiment
from qdisclab.emulation.config.request import point_of
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.units import Duration, Packets, Size, UnitError

OF_INTERFACE: Final = ("pfifo_fast", "pfifo")  # whose limit is that of the interface
FRAME_BYTES: Final = 1514  # of Ethernet, without its checksum: what a queue in bytes is counted in

STATED: Final = pa.DataFrameSchema(
    {"qdisc": pa.Column(str), "axis": pa.Column(str), "value": pa.Column(str)},
    unique=["qdisc", "axis"],
    strict=True,
)
"""One row per qdisc, as the sweep calls it, and axis: the value with its unit."""


def axes(run: RunFile) -> dict[str, str]:
    """Return the axes of a run.

    `link`, `qdisc` and `cc`, as its id has them; what its sweep varies, as `flows` or `target`;
    `base_rtt`; `algorithm`, `limit`, `ecn` and, where the algorithm has them, `target`
    and `interval`, its update interval included. Raises DataError for a run of a point that its
    study does not have.
    """
    study = study_at(run.paper)
    wrong = f"has no point {run.experiment}, {run.link}, {run.qdisc}, {run.cc}"
    with refused(study.folder, wrong, "Add it, or leave these runs out", ConfigError):
        point = point_of(experiment(f"{study.folder}/{run.request['experiment']}"), run.request)
    varied = dict(point.axes)
    return {
        **_stated(study).get(varied.get("qdisc", ""), {}),
        "base_rtt": str(point.rig.base_rtts[0]) if point.rig.base_rtts else "",
        **varied,
        **(_algorithm(point.up) if point.queues else {}),
        "link": point.link.name,
        "qdisc": run.qdisc,
        "cc": run.cc,
    }


def span_ms(run_axes: Mapping[str, str], name: str) -> float:
    """Return an axis that is a span of time, in ms; NaN where the run does not have it.

    Raises DataError where it is no span of time.
    """
    value = run_axes.get(name)
    with _understood(run_axes, name):
        return float("nan") if value is None else Duration.parse(value).ms


def packets(run_axes: Mapping[str, str]) -> int:
    """Return how many full packets the queue under test holds; raise DataError where nothing says
    it."""
    with _understood(run_axes, "limit"):
        limit = run_axes["limit"]
        if limit.endswith("packets"):
            return Packets.parse(limit).count
        return Size.parse(limit).bytes // FRAME_BYTES


@contextmanager
def _understood(run_axes: Mapping[str, str], name: str) -> Iterator[None]:
    """Inside, an axis that is missing or cannot be read raises DataError."""
    try:
        yield
    except (KeyError, UnitError) as error:
        where = f"{run_axes.get('qdisc', '?')}, {run_axes.get('link', '?')}"
        wrong = "is not known" if isinstance(error, KeyError) else str(error)
        todo = "Say it in the options of the qdisc, or in axes.csv of the study"
        raise DataError.of(where, f"axis {name}: {wrong}", todo) from error


def _algorithm(qdisc: Qdisc) -> dict[str, str]:
    """Return what the options of a qdisc say."""
    options = dict(qdisc.options)
    adaptive = qdisc.kind == "red" and options.get("adaptive")
    marks = options.get("ecn", qdisc.kind == "fq_codel" and not options.get("noecn"))
    values = {
        "algorithm": "ared" if adaptive else qdisc.kind,
        "limit": options.get("limit", qdisc.txqueuelen if qdisc.kind in OF_INTERFACE else None),
        "ecn": "true" if marks else "false",
        "target": options.get("target"),
        "interval": options.get("interval", options.get("tupdate")),
    }
    return {name: str(value) for name, value in values.items() if value is not None}


@cache
def _stated(study: StudyFolder) -> dict[str, dict[str, str]]:
    """Return by qdisc what the study says of its axes beside the options."""
    if not study.axes.is_file():
        return {}
    stated: dict[str, dict[str, str]] = {}
    for qdisc, axis, value in read_table(study.axes, STATED, "axes").itertuples(index=False):
        stated.setdefault(qdisc, {})[axis] = value
    return stated
