"""The rules of gbw2015 against the values that the paper itself prints.

A rule that its own paper's figures do not fulfil says something else than the paper.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd

from qdisclab.analysis.claims.assess import assess
from qdisclab.analysis.claims.check import Check, Quantity, leaves
from qdisclab.analysis.claims.plugin import rules_of
from qdisclab.analysis.claims.verdict import Verdict
from qdisclab.analysis.measures.agreement import PACKET_PERCENT
from qdisclab.analysis.measures.table import MEASURED
from qdisclab.analysis.runs.published import read_published
from qdisclab.analysis.runs.statement import read_claims
from qdisclab.analysis.runs.study import study_at

RULES, VARIATIONS = rules_of(study_at("gbw2015"))
LINKS = ("100/100", "10/10", "10/1")
CLAIMS = {one.id: one for one in read_claims(study_at("gbw2015"))}
NOISE = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])  # of five seeds

#: Settled by the values of Fig. 2.
BY_FIGURE_2 = ("g026", "g027", "g029", "g033", "g034", "g035", "g037", "g038",
               "g039", "g040", "g042", "g045", "g046", "g047", "g048", "g049", "g051", "g052",
               "g003", "g009", "g138", "g141", "g216", "g219")  # fmt: skip
#: Settled by those of Table 2.
BY_TABLE_2 = (*(f"g{number:03d}" for number in range(70, 112)), "g059", "g060", "g061", "g062",
              "g140")  # fmt: skip


@cache
def rule_checks(number: str) -> tuple[Check, ...]:
    rule = RULES[number]
    return tuple(leaves(rule(CLAIMS[number]) if callable(rule) else rule, Check))


def printed(change: Callable[[pd.DataFrame], pd.DataFrame] | None = None) -> pd.DataFrame:
    """What the paper prints as a table of MEASURED, of five seeds that differ by 0.05 %."""
    rows = []
    columns = {"one": "download", "download": "download", "upload": "upload"}
    figure = read_published(study_at("gbw2015").folder / "published" / "fig2.csv")
    for one in figure.itertuples(index=False):
        names = ["induced_latency_ms"]
        if one.metric == "goodput":
            names = [f"goodput_{columns[one.direction]}_mbit_s"]
            names += ["goodput_upload_mbit_s"] if one.direction == "one" else []
        rows += [("rrul", one.link, one.qdisc, name, one.value) for name in names]
    voip = pd.read_csv(study_at("gbw2015").folder / "published" / "voip-loss.csv")
    beside = {"tcp": "voip_1up", "rrul": "voip_rrul"}
    for one in voip[voip["path"] == "wired"].itertuples(index=False):
        cell = (beside[one.cross_traffic], one.link, one.qdisc)
        rows.append((*cell, "voip_loss_percent", one.loss_percent))
    table = pd.DataFrame(rows, columns=["experiment", "link", "qdisc", "metric", "value"])
    table = change(table) if change else table
    seeds = [
        table.assign(value=table["value"] * (1 + 0.0005 * noise), seed=seed)
        for seed, noise in enumerate(NOISE, start=1)
    ]
    whole = pd.concat(seeds).assign(era="2014", cc="cubic")
    return MEASURED.validate(whole[list(MEASURED.columns)])


def verdicts(table: pd.DataFrame, numbers: tuple[str, ...]) -> dict[str, Verdict]:
    chosen = assess([CLAIMS[number] for number in numbers], RULES, table)
    return {one.claim.id: one.headline.verdict for one in chosen}


def test_the_papers_own_values_agree() -> None:
    numbers = (*BY_FIGURE_2, *BY_TABLE_2)
    found = verdicts(printed(), numbers)
    # g045: what Fig. 2 shows is 3.9 times the targets, which is not "somewhat" above them.
    others = {number: verdict for number, verdict in found.items() if verdict != Verdict.AGREES}
    assert others == {"g045": Verdict.DISAGREES}


def test_a_fifo_without_a_queue_disagrees() -> None:
    """pfifo_fast with the latency of fq_codel: what is said of its latency fails."""

    def swap(table: pd.DataFrame) -> pd.DataFrame:
        fifo = (table["qdisc"] == "pfifo_fast") & (table["metric"] == "induced_latency_ms")
        return table.assign(value=table["value"].mask(fifo, 0.4))

    found = verdicts(printed(swap), BY_FIGURE_2)
    wrong = {number for number, verdict in found.items() if verdict == Verdict.DISAGREES}
    assert wrong == {"g034", "g037", "g038", "g045", "g052", "g003", "g009", "g216", "g219"}


def test_losses_that_are_twice_the_printed_ones_disagree() -> None:
    def double(table: pd.DataFrame) -> pd.DataFrame:
        loss = table["metric"] == "voip_loss_percent"
        return table.assign(value=table["value"].mask(loss, 2 * table["value"]))

    cells = BY_TABLE_2[:42]
    found = verdicts(printed(double), cells)
    for number, verdict in found.items():
        value = CLAIMS[number].value
        assert (verdict == Verdict.AGREES) == (value == 0), (number, value)


def test_a_single_loss_is_not_zero() -> None:
    def one_loss(table: pd.DataFrame) -> pd.DataFrame:
        lost = (table["metric"] == "voip_loss_percent") * PACKET_PERCENT
        return table.assign(value=table["value"] + lost)

    found = verdicts(printed(one_loss), ("g074", "g111", "g062"))
    assert set(found.values()) == {Verdict.DISAGREES}


def test_cells_of_table_2_are_in_the_order_of_its_claims() -> None:
    (cell,) = (one.quantities[0] for one in rule_checks("g071"))
    assert cell == Quantity("voip_loss_percent", "voip_1up", "10/1", "ared")
    (cell,) = (one.quantities[0] for one in rule_checks("g108"))
    assert cell == Quantity("voip_loss_percent", "voip_rrul", "100/100", "codel")
    for number in range(70, 112):
        (one,) = rule_checks(f"g{number:03d}")
        where = one.quantities[0]
        statement = CLAIMS[f"g{number:03d}"].statement
        beside = "RRUL" if where.experiment == "voip_rrul" else "one TCP flow"
        assert statement.startswith(f"VoIP beside {beside} at {where.link}: {where.qdisc} ")


def test_a_failing_cell_is_not_replaced_by_another_one() -> None:
    """A variation changes whole experiments, so that no claim picks its own."""
    for one in VARIATIONS:
        assert set(one.experiments) <= set(study_at("gbw2015").experiments)
        assert one.source


def start(changes: dict[tuple[str, str], float] | None = None) -> pd.DataFrame:
    """A start as the paper tells it, of five seeds; `changes` has values by metric and link."""
    values = {("drop_growth_percent_s", link): 0.5 * 10.0**n for n, link in enumerate(LINKS)}
    for link in LINKS:
        values |= {("drop_power", link): 1.9, ("uncontrolled_s", link): 4.0}
        values |= {("late_drops_times", link): 2.0}
    rows = [
        (
            f"flood_{link.replace('/', '_')}" if metric.startswith("drop_") else "rrul",
            *(link, qdisc, metric, value * (1 + 0.01 * noise), seed),
        )
        for (metric, link), value in (values | (changes or {})).items()
        for qdisc in ("codel", "pie")
        for seed, noise in enumerate(NOISE, start=1)
    ]
    table = pd.DataFrame(rows, columns=["experiment", "link", "qdisc", "metric", "value", "seed"])
    whole = table.assign(era="2014", cc="cubic")
    return MEASURED.validate(whole[list(MEASURED.columns)])


def test_drop_rates_that_rise_too_slowly() -> None:
    both = ("g168", "g171")
    assert set(verdicts(start(), both).values()) == {Verdict.AGREES}
    at_once = verdicts(start({("uncontrolled_s", "10/1"): 1.5}), both)
    assert at_once == {"g168": Verdict.DISAGREES, "g171": Verdict.AGREES}
    # soon as many drops as it takes: then the queue only empties slowly
    fewer = verdicts(start({("late_drops_times", "10/10"): 0.5}), both)
    assert fewer == {"g168": Verdict.DISAGREES, "g171": Verdict.AGREES}
    constant = verdicts(start({("drop_power", "100/100"): 1.1}), both)
    assert constant == {"g168": Verdict.AGREES, "g171": Verdict.DISAGREES}
    same = verdicts(start({("drop_growth_percent_s", "10/10"): 0.4}), both)
    assert same == {"g168": Verdict.AGREES, "g171": Verdict.DISAGREES}
