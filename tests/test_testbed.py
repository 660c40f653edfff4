"""What the testbed had besides: the jobs of its variations, and the shipped table."""

from pathlib import Path

import pandas as pd
import pytest

from analysis.claims.measure import MEASURED
from workflow import testbed
from workflow.testbed import VARIATIONS, Varied


def run(variation: str) -> Varied:
    return next(one for era, one in testbed.wanted([variation], [1]) if era == f"2014+{variation}")


def test_a_clock_takes_the_place_of_netem_with_the_same_mean_delay() -> None:
    job = run("ticks_4ms").job()
    kinds = [one["kind"] for wire in job["wires"] for port in wire for one in port["qdiscs"]]
    assert "netem" not in kinds
    assert kinds.count("ticks") == 2
    values = {path.rsplit("/", 1)[1]: int(value) for path, value in job["parameters"].items()
              if path.startswith(testbed.PARAMETERS)}  # fmt: skip
    assert values["hold_us"] + values["tick_us"] / 2 == 25_000
    assert job["traffic"]["rtt_slack_ms"] == testbed.RTT_SLACK_MS
    assert [one["name"] for one in job["modules"]] == ["sch_ticks"]


def test_a_variation_changes_nothing_else() -> None:
    varied = run("send_buffer")
    plain = super(Varied, varied).job()
    job = varied.job()
    for host in ("client", "server"):
        assert job["sysctls"][host].pop("net.ipv4.tcp_wmem") == "4096 16384 2660769"
        plain["sysctls"][host].pop("net.ipv4.tcp_wmem")
    assert job == plain


def test_a_getter_of_other_connections_is_told_so_and_nothing_else() -> None:
    (_, varied), *_ = testbed.wanted(["connections_2"], [1], ["web_large_rrul"])
    plain = super(Varied, varied).job()
    job = varied.job()
    assert job["traffic"]["options"].pop("http-getter-workers") == "2"
    assert job == plain


def test_the_delays_of_khademi2013_can_have_a_clock_too() -> None:
    (_, varied), *_ = testbed.wanted(["ticks_4ms"], [1], paper="khademi2013")
    job, plain = varied.job(), super(Varied, varied).job()
    assert job["traffic"]["base_rtt_ms"] == plain["traffic"]["base_rtt_ms"] - 4
    kinds = [one["kind"] for wire in job["wires"] for port in wire for one in port["qdiscs"]]
    assert "netem" not in kinds
    assert kinds.count("ticks") == 2


def test_together_they_need_both_modules() -> None:
    modules = run("quickack+no_sack_compression+ticks_4ms").job()["modules"]
    assert sorted(one["name"] for one in modules) == ["quickack", "sch_ticks"]


@pytest.mark.parametrize(("paper", "plan"), testbed.PLANS.items())
def test_the_shipped_table_has_known_variations(root: Path, paper: str, plan: testbed.Plan) -> None:
    table = pd.read_csv(root / f"data/ablation/{paper}-testbed.csv", dtype={"era": str})
    MEASURED.validate(table)
    assert {era.removeprefix(f"{plan.era}+") for era in table["era"]} <= set(VARIATIONS)
    assert table["value"].notna().all()


@pytest.mark.parametrize("name", [one.name for one in VARIATIONS.values() if not one.queues])
def test_every_variation_differs_from_the_era(name: str) -> None:
    varied = run(name)
    assert varied.job() != super(Varied, varied).job() or varied.era != "2014"


def test_more_queues_are_those_of_fair_queueing_and_nothing_else() -> None:
    """The first run of a plan has no fair queueing; so these are chosen."""
    for qdisc, name in (("sfq", "divisor"), ("fq_codel", "flows"), ("fq_nocodel", "flows")):
        (_, varied), *_ = testbed.wanted(["queues_65536"], [1], ["rrul", "10/1", qdisc])
        job, plain = varied.job(), super(Varied, varied).job()
        changed = 0
        for wire, before in zip(job["wires"], plain["wires"], strict=True):
            for port, other in zip(wire, before, strict=True):
                for one, was in zip(port["qdiscs"], other["qdiscs"], strict=True):
                    if one != was:
                        assert one["arguments"] == [*was["arguments"], name, "65536"]
                        assert one["expect"] == {**was["expect"], name: 65536}
                        one |= was
                        changed += 1
        assert changed == 2  # the bottleneck's directions
        assert job == plain
