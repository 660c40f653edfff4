"""Snakemake's choice of jobs: no alarm where no job was held back."""

import inspect
from types import SimpleNamespace

import pytest
from snakemake.scheduling.job_scheduler import JobScheduler

from workflow import scheduling


def test_only_where_a_job_was_held_back_there_is_an_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    alarms: list[int] = []
    monkeypatch.setattr(scheduling, "_ALARM", lambda self, delay: alarms.append(delay))
    for free, delay in ((100, 1), (1, 2), (0, 3)):
        limit = SimpleNamespace(get_free_jobs=lambda free=free: free)
        scheduling._alarm_where_held_back(SimpleNamespace(job_rate_limiter=limit), delay)
    scheduling._alarm_where_held_back(SimpleNamespace(job_rate_limiter=None), 4)
    assert alarms == [3, 4]


def test_it_takes_the_place_of_what_this_snakemake_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    original = scheduling._ALARM
    assert list(inspect.signature(original).parameters) == ["self", "delay"]
    called = "self._schedule_reevalutation(self.job_rate_limiter.timespan)"
    assert called in inspect.getsource(JobScheduler.schedule)
    monkeypatch.setattr(JobScheduler, "_schedule_reevalutation", original)  # put back afterwards
    scheduling.choose_when_a_job_ends()
    assert JobScheduler._schedule_reevalutation is scheduling._alarm_where_held_back
