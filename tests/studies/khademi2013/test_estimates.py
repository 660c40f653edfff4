"""Estimates of the queuing delay: which packet each is compared with, and how far off it is."""

import numpy as np
import pandas as pd
import pytest

from studies.khademi2013.measures import estimates


def packets() -> pd.DataFrame:
    """Three packets that come at 0, 10 and 20 ms and wait 5, 30 and 40 ms, and one dropped."""
    return pd.DataFrame(
        {
            "arrived_ms": [0.0, 10.0, 20.0, 25.0],
            "sojourn_ms": [5.0, 30.0, 40.0, np.nan],
            "flow": [0, 1, 0, 1],
        }
    )


def test_what_a_qdisc_says_is_compared_with_the_packet_that_left_last() -> None:
    said = pd.DataFrame({"time_s": [0.001, 0.030, 0.045, 0.100], "estimated_ms": [1.0, 2, 3, 4]})
    found = estimates._own(said, packets())
    # Nothing had left at 1 ms; at 30 ms the first had, at 45 the second, at 100 the third.
    assert found["true_ms"].tolist() == [5, 30, 40]
    assert found["estimated_ms"].tolist() == [2, 3, 4]


def test_errors_are_of_each_run_and_their_means() -> None:
    def run(seed: int, off_ms: float) -> pd.DataFrame:
        true = np.array([1.0, 2.0, 3.0, 4.0])
        about = {"era": "2013", "cc": "reno", "qdisc": "pie_5ms", "aqm": "pie", "flows": 4}
        table = pd.DataFrame({"true_ms": true, "estimated_ms": true + off_ms})
        return table.assign(**about, seed=seed, estimate="ping", time_s=range(4), twin=np.nan)

    both = pd.concat([run(1, 0.5), run(2, 1.5)])
    (row,) = estimates.errors(both).to_dict("records")
    assert row["mean error"] == pytest.approx(1.0)
    assert row["rms error"] == pytest.approx(1.0)
    assert (row["true median"], row["estimated median"]) == (2.5, 3.5)
    assert row["correlation"] == pytest.approx(1)
    assert row["n_seeds"] == 2
    assert row["interval"] == "-5.353 to 7.353"  # 1 ± 12.706 * 0.5
    same = both.assign(twin=np.where(both["seed"] == 2, 1, np.nan))
    assert estimates.errors(same)["interval"].tolist() == ["–"]
