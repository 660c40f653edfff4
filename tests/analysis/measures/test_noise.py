"""Tests of analysis.measures.noise: runs by how much the path's delay varies."""

import pandas as pd
import pytest

from analysis.measures import noise


def test_runs_are_put_together_by_factor_beside_what_is_printed() -> None:
    labels = ["rrul_noise_0.3@2014c", "rrul_noise_0.3@2014c", "rrul_noise_3@2014c"]
    per_run = pd.DataFrame(
        {
            "run": [
                f"gbw2015/{label}/10-1/codel/cubic/seed-00{n}" for n, label in enumerate(labels)
            ],
            "qdisc": "codel",
            "induced_latency_ms": [60.0, 70.0, 90.0],
            "goodput_download_mbit_s": [7.0, 8.0, 9.0],
            "goodput_upload_mbit_s": [0.7, 0.8, 0.9],
        }
    )
    printed = pd.DataFrame(
        [("codel", "induced_latency", "round_trip", 67.0), ("codel", "goodput", "upload", 0.74)],
        columns=["qdisc", "metric", "direction", "value"],
    )
    table = noise.by_factor(per_run, printed).set_index(["quantity", "noise"])
    latency = table.loc["induced_latency_ms"]
    assert list(latency["mean"]) == [65.0, 90.0]
    assert list(latency["n_seeds"]) == [2, 1]
    assert list(latency["published"]) == [67.0, 67.0]
    assert table.loc[("goodput_upload_mbit_s", 3), "published"] == 0.74
    assert pd.isna(table.loc[("goodput_download_mbit_s", 3), "published"])
    assert table.loc[("goodput_download_mbit_s", 0.3), "mean"] == pytest.approx(7.5)
