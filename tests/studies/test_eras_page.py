"""What docs/eras.md says of Fig. 2 under two eras, against the data."""

from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from analysis.measures import metrics
from analysis.runs import dataset, published
from tests import ROOT

PANELS = {"2a": "100/100", "2b": "10/10", "2c": "10/1"}
ERAS = ("2014", "2014c")


@cache
def table(era: str) -> pd.DataFrame:
    """One row per printed value: link, qdisc, metric, the value and our median."""
    data = ROOT / "data"
    found = []
    for figure, link in PANELS.items():
        runs = dataset.find_settings(
            data, "gbw2015", "rrul", eras=[era], ccs=["cubic"], link=link
        )  # fmt: skip
        kinds = ["tcp_download", "tcp_upload", "ping_icmp", "ping_udp"]
        cells = metrics.cell_metrics(metrics.run_metrics(dataset.read_runs(runs, kinds=kinds)))
        printed = published.read_published(ROOT / "studies/gbw2015/published/fig2.csv", figure)
        found.append(metrics.compare(cells, printed, one="upload").dropna(subset=["published"]))
    return pd.concat(found)


def error_percent(of: pd.DataFrame) -> float:
    return float(100 * (of["ours"] / of["published"] - 1).abs().median())


@pytest.fixture(scope="module")
def page() -> str:
    return (Path(ROOT) / "docs/eras.md").read_text()


@pytest.mark.parametrize("link", ["all links", *PANELS.values()])
def test_median_relative_errors(link: str, page: str) -> None:
    cells = [link]
    for metric in ("induced_latency", "goodput"):
        for era in ERAS:
            of = table(era)
            of = of[of["metric"] == metric]
            of = of if link == "all links" else of[of["link"] == link]
            cells.append(f"{error_percent(of):.1f} %")
    line = f"| {' | '.join(cells)} |"
    assert line in page, line
