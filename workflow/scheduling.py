"""Snakemake chooses jobs when one ends, and not all the time.

After each choice it sets an alarm to choose again a second later, in case its limit of jobs a
second (100) held some back; and after that choice the next. As each job that ends starts such a
chain, after a few dozen of them it chooses without a break, for which it asks for the sizes of all
inputs of all jobs that wait: a core was busy with that while figures were drawn.
"""

from __future__ import annotations

from typing import Any

from snakemake.scheduling.job_scheduler import JobScheduler  # type: ignore[import-untyped]

_ALARM = JobScheduler._schedule_reevalutation  # as Snakemake spells it


def choose_when_a_job_ends() -> None:
    """Make Snakemake set the alarm only where its limit was reached."""
    JobScheduler._schedule_reevalutation = _alarm_where_held_back


def _alarm_where_held_back(self: Any, delay: int) -> None:
    limit = self.job_rate_limiter
    if limit is None or limit.get_free_jobs() == 0:
        _ALARM(self, delay)
