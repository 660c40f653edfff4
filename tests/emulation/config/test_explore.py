"""A run of somebody's choice: the paper's where it has it, else with values that are told."""

from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.explore import Choice, qdiscs
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.model.units import Duration, Rate
from tests import studyfile

NODES = studyfile.text(
    rig="""
  kind: nodes
  nodes: {client: {}, server: {}}
  links:
    - {from: client, to: server, there: {rate: up, queue: tested}, back: {delay: 20 ms}}""",
    sweep="{link: [10/10], qdisc: [fq_codel], cc: cubic}",
)


RRUL = "gbw2015/rrul"


def choice(experiment: str = RRUL, **given: Any) -> Choice:
    return Choice(experiment, **given)


def mbit(value: int) -> Rate:
    return Rate(value * 10**6)


def seconds(value: float) -> Duration:
    return Duration(round(value * 10**9))


def test_a_cell_of_the_paper_is_the_papers_run() -> None:
    chosen = choice(qdisc="codel", down=mbit(10), up=mbit(1), length=seconds(20), seed=3)
    (expected,) = select(
        experiment("gbw2015/rrul"),
        link="10/1", qdisc="codel", cc="cubic", seed=3, length=seconds(20), era="2014",
    )  # fmt: skip
    assert chosen.run() == expected
    assert chosen.published() == expected.point


def test_another_link_takes_the_values_of_the_nearest_rate_and_says_so() -> None:
    chosen = choice(qdisc="pfifo_fast", down=mbit(40), up=mbit(2), base_rtt=seconds(0.02))
    run = chosen.run()
    assert run.id == "gbw2015/rrul,rig.base_rtt=20ms@2014@60s/40-2/pfifo_fast/cubic/seed-001"
    assert chosen.published() is None
    assert [str(taken) for _, taken in run.point.borrowed] == ["1 Mbit/s", "100 Mbit/s"]
    assert run.point.down.txqueuelen is not None
    assert run.point.down.txqueuelen.count == 1000  # Table 1, 100 Mbit/s
    job = job_of(run)
    assert job["traffic"]["hosts"] == [{"address": "10.0.4.2", "base_rtt_ms": 20}]
    assert job["traffic"]["test"] == "rrul_be"


def test_another_number_of_flows_is_another_test_of_flent() -> None:
    job = job_of(choice(flows=2).run())
    assert job["traffic"]["test"] == "rrul_be_nflows"
    assert job["traffic"]["options"] == {"test-parameter": "upload_streams=2 download_streams=2"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"qdisc": "fq_codle"}, "unknown qdisc 'fq_codle'; did you mean 'fq_codel'"),
        ({"up": Rate(100)}, r"an upload rate of 100 bit/s is not possible; choose from 500 kbit/s"),
        ({"base_rtt": seconds(5)}, "a base RTT of 5 s is not possible"),
        ({"flows": 0}, "a number of flows of 0 is not possible; choose from 1 to 32"),
        ({"length": seconds(0.1)}, "a length of 100 ms is not possible"),
        ({"seed": 0}, "a seed of 0 is not possible"),
    ],
)
def test_what_cannot_be_chosen_is_said(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        choice(**wrong).run()


def test_what_is_offered_can_be_chosen() -> None:
    assert "fq_nocodel" in qdiscs(RRUL)
    for qdisc in qdiscs(RRUL):
        for era in ("2014", "modern"):
            job_of(choice(qdisc=qdisc, era=era).run())


def test_a_rig_that_is_written_out_has_its_own_round_trip(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "study.yaml").write_text(NODES)
    run = choice(experiment=f"{folder}/first").run()
    assert run.id.startswith("mine/first@")
    assert run.base_rtts == (Duration(20 * 10**6),)
    with pytest.raises(ConfigError, match="are fixed, so no base RTT can be chosen; leave it"):
        choice(experiment=f"{folder}/first", base_rtt=seconds(0.1)).run()
