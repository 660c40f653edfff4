"""The numbers of a scorecard, and how two flows share a queue."""

from pathlib import Path

import pandas as pd
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import score
from qdisclab.analysis.measures.registry import registry_of
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.analysis.runs.study import study_at
from qdisclab.emulation.config.catalogue import experiment
from qdisclab.emulation.kinds.traffic.program import IperfSection
from qdisclab.emulation.kinds.traffic.programs import Programs
from studies.rfc7928 import measures
from tests.data import provenances


def run_of(folder: Path, **printed: str) -> RunFile:
    run = provenances.made_up(folder, "rfc7928", "share_bbr", link="10/10", qdisc="pie")
    return provenances.printed(run, **printed)


def test_shares_are_what_both_netperfs_print(tmp_path: Path) -> None:
    found = measures.shares(run_of(tmp_path, first="   2.00 \n", second="6.00\n"))
    assert found == {
        "goodput_first_mbit_s": 2.0, "goodput_second_mbit_s": 6.0, "jain_index": 0.8,
    }  # fmt: skip


@pytest.mark.parametrize("printed", [{"first": "2.00"}, {"first": "2.00", "second": "refused"}])
def test_a_flow_without_a_throughput_is_an_error(tmp_path: Path, printed: dict[str, str]) -> None:
    with pytest.raises(DataError, match="no throughput of two netperfs"):
        measures.shares(run_of(tmp_path, **printed))


def replies(*rtts_ms: float) -> str:
    """What a ping prints that asks every second."""
    at = ((1_700_000_000 + second + rtt / 1e3, rtt) for second, rtt in enumerate(rtts_ms))
    return "".join(f"[{seen:.6f}] 64 bytes from 10.0.0.1: time={rtt:g} ms\n" for seen, rtt in at)


def test_delays_are_those_after_flows_join_and_leave(tmp_path: Path) -> None:
    rtts = [50.0] * 20 + [70.0] * 10 + [500.0] * 10 + [55.0] * 10 + [900.0] * 10
    found = measures.joined(run_of(tmp_path, probe=replies(*rtts)))
    assert found == pytest.approx({"after_join_ms": 20.0, "after_leave_ms": 5.0})


def test_a_queue_that_answers_no_ping_after_others_join_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no answer to a ping 20 to 30 s"):
        measures.joined(run_of(tmp_path, probe=replies(*[50.0] * 20)))


def test_flows_join_and_leave_when_the_study_says() -> None:
    traffic = experiment(f"{score.STUDY}/varying").points[0].traffic
    assert isinstance(traffic, Programs)
    many = traffic.programs[1]
    assert isinstance(many, IperfSection)
    lasts = float(many.options[many.options.index("-t") + 1])
    assert (many.start.seconds, many.start.seconds + lasts) == (measures.BEGIN_S, measures.END_S)


def test_every_number_is_of_a_run_of_the_study_that_measures_it() -> None:
    for number in score.NUMBERS:
        of = experiment(f"{number.study}/{number.label}")
        assert of.measure in registry_of(study_at(number.study)).measures, number
        assert len(of.seeds) == 3


@pytest.mark.parametrize(
    ("number", "measured", "value"),
    [
        ("responsiveness", {"steady_latency_ms": 10.0}, 1000),
        ("share_bbr", {"goodput_first_mbit_s": 2.0, "goodput_second_mbit_s": 6.0}, 3),
        ("two_queues", {"goodput_first_mbit_s": 2.0, "goodput_second_mbit_s": 8.0}, 0.25),
        ("tail_32", {"icmp_induced_p99_ms": 7.0, "icmp_induced_mean_ms": 5.0}, 7),
    ],
)
def test_numbers_by_hand(number: str, measured: dict[str, float], value: float) -> None:
    (row,) = [one for one in score.NUMBERS if one.id == number]
    assert row.take(measured) == pytest.approx(value)


def test_the_known_ones_are_whole() -> None:
    known = score.known(Path("studies") / score.STUDY)
    seeds = known.groupby(["qdisc", "cc", "number"])["seed"].agg(list)
    assert all(found == [1, 2, 3] for found in seeds)
    cases = [number.id for number in score.NUMBERS if number.study == score.CASES]
    of_case = known["number"].isin(cases)
    each = known[~of_case].groupby(["qdisc", "cc"])["number"].nunique()
    assert set(each) == {len(score.NUMBERS) - len(cases)}
    assert {("cake", "cubic"), ("fq_codel", "cubic"), ("codel", "bbr"), ("codel", "reno")} <= set(
        each.index
    )
    assert set(known[known["cc"].eq("bbr") & of_case]["number"]) == set(cases)
    assert {"bbr", "cubic", "reno"} == set(known[of_case]["cc"])
    assert known["kernel"].nunique() == known["guest"].nunique() == 1


def test_cases_have_the_numbers_that_a_control_tells() -> None:
    """Of the runs that ship: all of BBR's, which tells its state, and eleven of CUBIC's."""
    data = Path("data")
    ours = score.measured(data, data.glob("bbr/cases/-/-/*/seed-*.json"))
    known = score.known(Path("studies") / score.STUDY).query("qdisc == '-'")
    each = ours.groupby("cc")["number"].nunique()
    assert each.to_dict() == {"bbr": 52, "cubic": 11, "reno": 11}
    keys = ["cc", "number", "seed"]
    pd.testing.assert_frame_equal(
        *(table.sort_values(keys).reset_index(drop=True) for table in (ours, known)),
        check_dtype=False,
    )


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    table = pd.DataFrame([["pie", "cubic", "speed", 1, 1.0, "k", "g", "c", "j", "d"]],
                         columns=list(score.SCORES.columns))  # fmt: skip
    table.to_csv(tmp_path / "known.csv", index=False)
    with pytest.raises(DataError, match=r"known\.csv"):
        score.known(tmp_path)
