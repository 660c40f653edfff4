"""The runs without load that a run's numbers are divided by."""

from typing import Final

from qdisclab.analysis.runs.dataset import RunFile, find_runs
from qdisclab.analysis.runs.study import study_at

#: What is at the bottleneck of a run without load.
UNLOADED_QDISC: Final = "pfifo_fast"


def unloaded(run: RunFile) -> list[RunFile]:
    """Return those of the experiment that the run's experiment names, of its era, link and
    congestion control; none where it names none. Raises DataError where they are missing."""
    experiment = study_at(run.paper).experiments.get(run.experiment)
    if experiment is None or experiment.unloaded is None:
        return []
    return find_runs(
        run.root, run.paper, experiment.unloaded, eras=run.era, links=run.link, ccs=run.cc,
        qdiscs=UNLOADED_QDISC, length=run.length,
    )  # fmt: skip
