"""What docs/eras.md says of Fig. 2 under two eras and over other paths, and of Table 2, against the
data."""

from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from analysis.measures import ablation, metrics, noise
from analysis.measures.registry import shared
from analysis.measures.table import measure_runs
from analysis.runs import dataset, published
from tests import ROOT

PANELS = {"2a": "100/100", "2b": "10/10", "2c": "10/1"}
ERAS = ("2014", "2014c")
QDISCS = ("pfifo_fast", "ared", "pie", "codel", "sfq", "fq_nocodel", "fq_codel")


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
    lost = pd.Series([shared().measures["voip"].of(run)["voip_loss_percent"] for run in runs])
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


@pytest.mark.parametrize("qdisc", QDISCS)
def test_flows_of_unlike_rtts(qdisc: str, page: str) -> None:
    runs = dataset.find_settings(
        ROOT / "data", "gbw2015", "rtt_fairness", eras=["2014c"], ccs=["cubic"], link="100/100",
        qdiscs=[qdisc],
    )  # fmt: skip
    mean = pd.DataFrame([shared().measures["fairness"].of(run) for run in runs]).mean()
    ours = ", ".join(f"{mean[f'goodput_{rtt}ms_mbit_s']:.1f}" for rtt in (10, 50, 200, 500))
    _, _, table = page.partition("| | published | 2014 | 2014c |")
    (line,) = (line for line in table.splitlines() if line.startswith(f"| {qdisc} |"))
    assert line.split(" | ")[3] == ours


@cache
def over_paths(link: str) -> pd.DataFrame:
    """Latency and goodputs by qdisc and path."""
    (figure,) = (figure for figure, of in PANELS.items() if of == link)
    card = "card_100m" if link == "100/100" else "card_1g"
    layers = ("", *(f"-host_noise+{one}" for one in (card, "ticks_100us", "ticks_4ms")))
    runs = dataset.find_several(
        ROOT / "data", "gbw2015",
        ["rrul", *(f"rrul_noise_{one}" for one in ("0", "0.1", "0.3", "1", "3"))],
        eras=[f"2014c{one}" for one in layers], ccs=["cubic"], links=[link], reduced=True,
    )  # fmt: skip
    printed = published.read_published(ROOT / "studies/gbw2015/published/fig2.csv", figure)
    return noise.by_path(runs, printed).set_index(["quantity", "qdisc", "path"])


@pytest.mark.parametrize("link", PANELS.values())
@pytest.mark.parametrize("qdisc", QDISCS)
def test_how_exact_the_path_must_be(link: str, qdisc: str, page: str) -> None:
    of = over_paths(link).loc[metrics.INDUCED].loc[qdisc]
    own = of.loc["2014c"]
    cells = [
        *(f"{of.loc[f'noise {one}', 'mean']:.3g}" for one in ("0", "0.1", "0.3", "1", "3")),
        f"{own['mean']:.3g} ({own['least']:.3g} to {own['most']:.3g})",
        *(
            f"{of.loc[one, 'mean']:.3g}" if one in of.index else ""
            for one in ("card", "clock 100 µs", "clock 4 ms")
        ),
        f"{own['published']:g}",
    ]
    line = f"| {link}: {qdisc} | {' | '.join(cells)} |".replace("|  |", "| |")
    assert line in page, line


def test_what_stands_beside_the_witness(page: str) -> None:
    _, _, table = page.partition("| | published | Linux 3.14.4 |")
    rows = [line.split(" | ")[3] for line in table.splitlines()[2:18]]
    ours = [
        f"{over_paths(link).loc[(quantity, qdisc, 'noise 0'), 'mean']:.1f}"
        if quantity == metrics.INDUCED
        else f"{over_paths(link).loc[(quantity, qdisc, 'noise 0'), 'mean']:.2f}"
        for quantity in (metrics.INDUCED, metrics.GOODPUT["download"])
        for link in ("10/10", "10/1")
        for qdisc in ("codel", "pie", "ared", "pfifo_fast")
    ]
    assert rows == ours


@cache
def switches(qdisc: str) -> tuple[float, pd.DataFrame]:
    """The mean induced latency of 2014 at 10/10, and what each switch does to it, ms."""
    runs = ablation.find_ablation(
        ROOT / "data", "gbw2015", "rrul", qdiscs=[qdisc], ccs=["cubic"], link="10/10"
    )
    per_run = measure_runs(runs)
    found = ablation.effects(per_run)
    found = found[found["quantity"] == metrics.INDUCED].set_index(["switch", "base"])
    return float(per_run[per_run["era"] == "2014"][metrics.INDUCED].mean()), found


SWITCHES = {
    "pie": ("PIE", 53, "all pie_tune pie_short_prob pie_random pie_burst pie_rate count_acks "
            "no_gso hystart_early"),
    "codel": ("CoDel", 35, "all no_gso hystart_early count_acks no_sack_compression no_rack fack"),
}  # fmt: skip


def signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def effect(found: pd.DataFrame, switch: str, base: str) -> str:
    if (switch, base) not in found.index:
        return ""
    one = found.loc[switch, base]
    interval = f"{one['ci_low']:.0f} to {one['ci_high']:.0f}".replace("-", "−")
    return f"{signed(one['effect'])} ({interval})"


@pytest.mark.parametrize("qdisc", SWITCHES)
def test_what_each_switch_does(qdisc: str, page: str) -> None:
    name, printed, shown = SWITCHES[qdisc]
    ours, found = switches(qdisc)
    lines = [f"| {name} (published: {printed}; ours {ours:.1f}) | on top of today's | on top of, "
             "or within, 2014 |"]  # fmt: skip
    for switch in shown.split():
        called = "the whole era" if switch == "all" else f"`{switch}`"
        effects = [effect(found, switch, base) for base in ("modern", "2014")]
        lines.append(f"| {called} | {' | '.join(effects)} |")
    assert [line for line in lines if line not in page] == []
