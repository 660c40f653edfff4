"""Runs by the path that they went over."""

from pathlib import Path

import pandas as pd
import pytest

from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.emulation.config import catalogue
from studies.gbw2015.measures import noise
from tests.data import provenances


def run_of(root: Path, experiment: str, era: str, seed: int, latency_ms: float) -> RunFile:
    """A run of CoDel at 10/1 that ships as its measures."""
    of = catalogue.experiment(f"gbw2015/{experiment}")
    (run,) = catalogue.select(of, link="10/1", qdisc="codel", cc="cubic", seed=seed, era=era)
    measures = {
        "induced_latency_ms": latency_ms,
        "goodput_download_mbit_s": latency_ms / 10,
        "goodput_upload_mbit_s": 0.8,
    }
    return provenances.of_run(root, run, measures=measures)


@pytest.mark.parametrize(
    ("experiment", "era", "path", "factor"),
    [
        ("rrul_noise_0.3", "2014c", "noise 0.3", 0.3),
        ("rrul_noise_0", "2014c", "noise 0", 0.0),
        ("rrul", "2014c", "2014c", None),
        ("rrul", "2014d-host_noise+ticks_4ms", "clock 4 ms", None),
        ("rrul", "2014c-host_noise+ticks_100us", "clock 100 µs", None),
        ("rrul", "2014c-host_noise+card_1g", "card", None),
    ],
)
def test_a_path_is_its_noise_or_what_is_in_its_place(
    tmp_path: Path, experiment: str, era: str, path: str, factor: float | None
) -> None:
    found = noise.path_of(run_of(tmp_path, experiment, era, 1, 60.0))
    assert (found, noise.factor(found)) == (path, factor)


def test_runs_are_put_together_by_path_beside_what_is_printed(tmp_path: Path) -> None:
    runs = [
        run_of(tmp_path, "rrul_noise_0.3", "2014c", 1, 60.0),
        run_of(tmp_path, "rrul_noise_0.3", "2014c", 2, 70.0),
        run_of(tmp_path, "rrul", "2014c-host_noise+card_1g", 1, 90.0),
    ]
    printed = pd.DataFrame(
        [("codel", "induced_latency", "round_trip", 67.0), ("codel", "goodput", "upload", 0.74)],
        columns=["qdisc", "metric", "direction", "value"],
    )
    table = noise.by_path(runs, printed).set_index(["quantity", "path"])
    latency = table.loc["induced_latency_ms"]
    assert list(latency.index) == ["noise 0.3", "card"]
    assert list(latency["mean"]) == [65.0, 90.0]
    assert list(latency["n_seeds"]) == [2, 1]
    assert list(latency["least"]) == [60.0, 90.0] and list(latency["most"]) == [70.0, 90.0]
    assert list(latency["published"]) == [67.0, 67.0]
    assert table.loc[("goodput_upload_mbit_s", "card"), "published"] == 0.74
    assert pd.isna(table.loc[("goodput_download_mbit_s", "card"), "published"])
    assert table.loc[("goodput_download_mbit_s", "noise 0.3"), "mean"] == pytest.approx(6.5)
