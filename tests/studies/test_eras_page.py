"""What docs/eras.md says of Fig. 2 under two eras, and of Table 2, against the data."""

from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from analysis.measures import metrics
from analysis.measures.kinds import KINDS
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


@cache
def calls(experiment: str, link: str) -> "pd.Series[float]":
    """The loss of the call by qdisc: means over runs, %."""
    runs = dataset.find_settings(
        ROOT / "data", "gbw2015", experiment, eras=["2014c"], ccs=["cubic"], link=link
    )
    lost = pd.Series([KINDS["voip"](run)["voip_loss_percent"] for run in runs])
    return lost.groupby([run.qdisc for run in runs]).mean()


@pytest.mark.parametrize("qdisc", ["pfifo_fast", "ared", "pie", "codel"])
@pytest.mark.parametrize(
    ("beside", "name", "experiment"),
    [("tcp", "one upload", "voip_1up"), ("rrul", "RRUL", "voip_rrul")],
)
def test_calls(beside: str, name: str, experiment: str, qdisc: str, page: str) -> None:
    printed = pd.read_csv(ROOT / "studies/gbw2015/published/voip-loss.csv")
    printed = printed[(printed["table"] == 2) & (printed["cross_traffic"] == beside)]
    printed = printed.set_index(["link", "qdisc"])["loss_percent"]
    cells = [name, qdisc]
    for link in ("10/1", "10/10", "100/100"):
        form = ".3f" if link == "100/100" else ".2f"
        cells += [f"{printed[link, qdisc]:{form}}", f"{calls(experiment, link)[qdisc]:{form}}"]
    line = f"| {' | '.join(cells)} |"
    assert line in page, line


@pytest.mark.parametrize(
    "qdisc", ["pfifo_fast", "ared", "pie", "codel", "sfq", "fq_nocodel", "fq_codel"]
)
def test_flows_of_unlike_rtts(qdisc: str, page: str) -> None:
    runs = dataset.find_settings(
        ROOT / "data", "gbw2015", "rtt_fairness", eras=["2014c"], ccs=["cubic"], link="100/100",
        qdiscs=[qdisc],
    )  # fmt: skip
    mean = pd.DataFrame([KINDS["fairness"](run) for run in runs]).mean()
    ours = ", ".join(f"{mean[f'goodput_{rtt}ms_mbit_s']:.1f}" for rtt in (10, 50, 200, 500))
    _, _, table = page.partition("| | published | 2014 | 2014c |")
    (line,) = (line for line in table.splitlines() if line.startswith(f"| {qdisc} |"))
    assert line.split(" | ")[3] == ours
