"""Snakemake's choice of jobs: sizes of inputs are looked up once."""

import asyncio
import inspect
import sys
from pathlib import Path
from types import SimpleNamespace

from snakemake.scheduling.job_scheduler import JobScheduler

sys.path.insert(0, str(Path(__file__).parents[1]))  # the workflow is no installed package
from workflow import sizes

ORIGINAL = JobScheduler.update_input_sizes


class Input(str):
    """A path that counts how often its size was asked for."""

    asked: list[str] = []

    async def exists(self) -> bool:
        return self != "gone"

    async def size(self) -> int:
        self.asked.append(str(self))
        return len(self)


def test_each_input_is_looked_up_once_and_all_have_a_size() -> None:
    first = SimpleNamespace(input=[Input("a"), Input("bb"), Input("gone")])
    second = SimpleNamespace(input=[Input("bb"), Input("ccc")])
    scheduler = SimpleNamespace(_input_sizes={})
    for jobs in ([first], [first, second], [second]):
        asyncio.run(sizes._update_input_sizes(scheduler, jobs))
    assert scheduler._input_sizes == {"a": 1, "bb": 2, "ccc": 3, "gone": None}
    assert sorted(Input.asked) == ["a", "bb", "ccc"]


def test_it_takes_the_place_of_what_this_snakemake_calls() -> None:
    assert inspect.iscoroutinefunction(ORIGINAL)
    assert list(inspect.signature(ORIGINAL).parameters) == ["self", "jobs"]
    assert "self.update_input_sizes(" in inspect.getsource(JobScheduler.job_selector)
    try:
        sizes.look_up_once()
        assert JobScheduler.update_input_sizes is sizes._update_input_sizes
    finally:
        JobScheduler.update_input_sizes = ORIGINAL
