"""Snakemake looks up the size of an input once, and not each time that it chooses a job.

It takes the jobs with the largest inputs first, and asks for the size of every input of every job
that waits whenever one ends. All figures together have thousands of them: that kept a core busy all
along, and on two cores took as long as drawing. Inputs of a job that waits do not change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from snakemake.scheduling.job_scheduler import JobScheduler  # type: ignore[import-untyped]


def look_up_once() -> None:
    """Make Snakemake do so."""
    JobScheduler.update_input_sizes = _update_input_sizes


async def _update_input_sizes(self: Any, jobs: Iterable[Any]) -> None:
    known = self._input_sizes
    for path in {path for job in jobs for path in job.input} - known.keys():
        known[path] = await path.size() if await path.exists() else None
