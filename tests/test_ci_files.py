"""What `docs/ci` gives a pipeline: the table of two folders of runs, and the exit status."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests import ROOT
from tests.data import provenances

Made = Callable[..., None]


@pytest.fixture(scope="module")
def compare() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compare", ROOT / "docs/ci/compare.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def call(
    compare: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Calls the script for runs that measured these numbers before and now, by seed."""

    def call(
        base: dict[int, dict[str, Any]], now: dict[int, dict[str, Any]], *options: str
    ) -> tuple[int, str, str]:
        for name, runs in (("base", base), ("now", now)):
            (tmp_path / name).mkdir()
            for seed, measures in runs.items():
                provenances.made_up(
                    tmp_path / name, "gbw2015", "rrul", seed=seed, measures=measures
                )
        status = compare.main([*options, str(tmp_path / "base"), str(tmp_path / "now")])
        return (status, *capsys.readouterr())

    return call


RUN = "gbw2015/rrul/10-1/codel/cubic/seed-00"


def test_only_what_differs_is_shown(call: Callable[..., tuple[int, str, str]]) -> None:
    base = {1: {"induced_latency_ms": 40.0, "jain_index": 9.0}, 2: {"induced_latency_ms": 0.0}}
    base[4] = {"induced_latency_ms": 1.0}
    now = {
        1: {"induced_latency_ms": 50.0, "jain_index": 9.0},
        2: {"induced_latency_ms": 1.0},
        3: {"induced_latency_ms": 1.0},
    }
    status, out, _ = call(base, now)
    assert (status, out.splitlines()[2:]) == (0, [
        f"| {RUN}1 | induced_latency_ms | 40 | 50 | +25.0 % |",
        f"| {RUN}2 | induced_latency_ms | 0 | 1 |  |",
        f"| {RUN}3 | not in the base | | | |",
        f"| {RUN}4 | only in the base | | | |",
        "",
        "1 numbers are equal.",
    ])  # fmt: skip


@pytest.mark.parametrize(("bound", "status", "answer"), [(44, 1, "**yes**"), (46, 0, "no")])
def test_the_condition_is_of_the_mean_of_the_second_folder(
    call: Callable[..., tuple[int, str, str]], bound: int, status: int, answer: str
) -> None:
    runs = {1: {"induced_latency_ms": 40.0}, 2: {"induced_latency_ms": 50.0}}
    where = f"induced_latency_ms > {bound}"
    done, out, _ = call({1: {"induced_latency_ms": 99.0}}, runs, "--where", where)
    assert (done, out.splitlines()[-1]) == (status, f"{where}: {answer}, induced_latency_ms is 45.")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("pong_ms > 1", "--where: the runs do not measure 'pong_ms'; choose from"),
        (
            "induced_latency_ms",
            "--where 'induced_latency_ms': does not compare a number with a bound",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(
    call: Callable[..., tuple[int, str, str]], where: str, message: str
) -> None:
    runs = {1: {"induced_latency_ms": 1.0}}
    status, _, err = call(runs, runs, "--where", where)
    assert (status, err.startswith(f"error: {message}")) == (2, True), err
    assert err.count("\n") == 1


def test_a_folder_without_runs_is_refused(call: Callable[..., tuple[int, str, str]]) -> None:
    status, _, err = call({}, {1: {"induced_latency_ms": 1.0}})
    assert status == 2
    assert "base: there are no runs; do them: emulate run" in err
