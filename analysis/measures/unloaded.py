"""The runs without load that a run's numbers are divided by."""

from typing import Final

from analysis.runs import study
from analysis.runs.dataset import RunFile, find_runs

#: What is at the bottleneck of a run without load.
UNLOADED_QDISC: Final = "pfifo_fast"


def unloaded(run: RunFile) -> list[RunFile]:
    """Those of the experiment that the run's experiment names, of its era, link and congestion
    control; none where it names none. Raises DataError where they are missing."""
    experiment = study.of_run(run).experiments.get(run.experiment)
    if experiment is None or experiment.unloaded is None:
        return []
    variant = run.variant.replace(run.experiment, experiment.unloaded, 1)
    root = run.root or run.provenance.parents[5]
    return find_runs(root, run.paper, variant, link=run.link, qdiscs=[UNLOADED_QDISC], cc=run.cc)
