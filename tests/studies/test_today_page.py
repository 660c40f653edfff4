"""What docs/today.md says of the paper's rigs on Linux 7.2, against the data."""

from collections.abc import Iterator
from functools import cache

import pandas as pd
import pytest

from tests import ROOT
from tests.studies.measured import measured

THEN, NOW = "2014c", "modern@linux-7.2"
QDISCS = (
    "pfifo_fast", "ared", "pie", "codel", "sfq", "fq_nocodel", "fq_codel",
    "cake", "fq", "fq_pie", "dualpi2",
)  # fmt: skip


@cache
def medians(experiment: str, link: str) -> pd.DataFrame:
    """Of each qdisc, era and control, over seeds."""
    table = measured("gbw2015", experiment, (THEN, NOW), ("cubic", "bbr", "reno"), link)
    return table.groupby(["qdisc", "era", "cc"]).median(numeric_only=True)


def number(table: pd.DataFrame, key: tuple[str, str, str], measure: str, form: str) -> str:
    return format(table.loc[[key], measure].iloc[0], form) if key in table.index else "–"


def rows_of_rrul(link: str) -> Iterator[str]:
    table = medians("rrul", link)
    settings = [(THEN, "cubic"), (NOW, "cubic"), (NOW, "bbr"), (NOW, "reno")]
    for qdisc in QDISCS:
        delay = [number(table, (qdisc, *one), "induced_latency_ms", ".1f") for one in settings]
        form = ".2f" if link == "10/1" else ".1f"
        rate = [number(table, (qdisc, *one), "goodput_upload_mbit_s", form) for one in settings[:3]]
        yield f"| {link} | {qdisc} | {' | '.join([*delay, *rate])} |"


def rows_of_the_rest(link: str) -> Iterator[str]:
    asked = (
        ("voip_rrul", "voip_delay_p99_ms", ".0f", True),
        ("voip_rrul", "voip_loss_percent", ".2f", True),
        ("web_small_rrul", "fetch_time_normalised", ".1f", True),
        ("web_large_rrul", "fetch_time_normalised", ".1f", True),
        ("rtt_fairness", "jain_index", ".2f", True),
        ("voip_1up", "voip_delay_p99_ms", ".0f", False),
        ("voip_1up", "voip_loss_percent", ".2f", False),
    )
    for qdisc in QDISCS:
        cells = [
            number(medians(experiment, link), (qdisc, NOW, cc), measure, form)
            for experiment, measure, form, has_bbr in asked
            for cc in ("cubic", "bbr")[: 1 + has_bbr]
        ]
        yield f"| {qdisc} | {' | '.join(cells)} |"


@pytest.fixture(scope="module")
def page() -> list[str]:
    return (ROOT / "docs/today.md").read_text().splitlines()


@pytest.mark.parametrize("link", ["100/100", "10/10", "10/1"])
def test_latency_and_goodput(link: str, page: list[str]) -> None:
    assert [line for line in page if line.startswith(f"| {link} |")] == [*rows_of_rrul(link)]


@pytest.mark.parametrize("link", ["100/100", "10/10", "10/1"])
def test_calls_pages_and_fairness(link: str, page: list[str]) -> None:
    after = page[page.index(f"At {link}:") :]
    begin = next(place for place, line in enumerate(after) if line.startswith("| pfifo_fast |"))
    assert after[begin : begin + len(QDISCS)] == [*rows_of_the_rest(link)]
