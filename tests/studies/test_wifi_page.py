"""What docs/wifi.md says of gbw2015's Figs. 9 to 11 and Table 3, against the data."""

from functools import cache

import pandas as pd
import pytest

from analysis.measures.kinds import KINDS
from analysis.runs import dataset
from tests import ROOT

QDISCS = ("pfifo_fast", "ared", "pie", "codel", "sfq", "fq_nocodel", "fq_codel")
RRUL = {
    "induced_latency_ms": ".0f", "goodput_download_mbit_s": ".1f", "goodput_upload_mbit_s": ".2f"
}  # fmt: skip


@cache
def measured(experiment: str, era: str, kind: str) -> pd.DataFrame:
    """A row a run, by qdisc."""
    runs = dataset.find_settings(
        ROOT / "data", "gbw2015", experiment, eras=[era], ccs=["cubic"], qdiscs=QDISCS
    )
    return pd.DataFrame([{**KINDS[kind](run), "qdisc": run.qdisc} for run in runs])


def mean(experiment: str, era: str, kind: str, measure: str, qdisc: str, form: str) -> str:
    table = measured(experiment, era, kind)
    return format(table[table["qdisc"] == qdisc][measure].mean(), form)


def on_both(experiment: str, kind: str, measure: str, qdisc: str, form: str) -> list[str]:
    """Over `nanostation` and over `fitted`."""
    names = (experiment, f"{experiment}_fitted")
    return [mean(name, "2014c", kind, measure, qdisc, form) for name in names]


@pytest.fixture(scope="module")
def page() -> list[list[str]]:
    """The cells of each row of a table."""
    lines = (ROOT / "docs/wifi.md").read_text().splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]


def row(page: list[list[str]], head: str, qdisc: str) -> list[str]:
    """The cells of `qdisc` in the table that has `head` in its first line."""
    begin = next(place for place, cells in enumerate(page) if head in cells)
    return next(cells[1:] for cells in page[begin:] if cells[0] == qdisc)


@pytest.mark.parametrize("qdisc", QDISCS)
def test_rrul(qdisc: str, page: list[list[str]]) -> None:
    ours = [
        ", ".join(mean(name, era, "rrul", measure, qdisc, form) for measure, form in RRUL.items())
        for name, era in (
            ("wifi_rrul", "2014"),
            ("wifi_rrul", "2014c"),
            ("wifi_rrul_fitted", "2014c"),
        )
    ]
    assert row(page, "`nanostation`, `2014`", qdisc)[1:] == ours


@pytest.mark.parametrize("qdisc", QDISCS)
def test_rrul_with_minstrel(qdisc: str, page: list[list[str]]) -> None:
    table = measured("wifi_rrul_fitted", "2014c", "rrul")
    of = table[table["qdisc"] == qdisc]
    assert len(of) == 3
    spans = [f"{of[name].min():{form}} to {of[name].max():{form}}" for name, form in RRUL.items()]
    assert row(page, "Minstrel, seeds 1 to 3", qdisc)[0] == ", ".join(spans)


@pytest.mark.parametrize("qdisc", QDISCS)
def test_losses_of_calls(qdisc: str, page: list[list[str]]) -> None:
    cells = row(page, "beside one flow: printed", qdisc)
    for name, found in (("wifi_voip_1up", cells[1:3]), ("wifi_voip_rrul", cells[4:6])):
        ours = on_both(name, "voip", "voip_loss_percent", qdisc, ".2f")
        assert [one.split(" (")[0] for one in found] == ours


@pytest.mark.parametrize("qdisc", QDISCS)
def test_calls_and_pages_beside_rrul(qdisc: str, page: list[list[str]]) -> None:
    ours = on_both("wifi_voip_rrul", "voip", "voip_delay_median_ms", qdisc, ".0f")
    for name in ("wifi_web_small_rrul", "wifi_web_large_rrul"):
        ours += on_both(name, "web", "fetch_time_normalised", qdisc, ".1f")
    assert row(page, "beside RRUL", qdisc) == ours
