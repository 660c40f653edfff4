"""What the pages of `asked` and `links` say, against the data."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from analysis.measures import timeline
from analysis.runs.dataset import RunFile, find_several


def runs(
    data: Path, study: str, link: str, experiments: Sequence[str], era: str = "modern"
) -> list[RunFile]:
    return find_several(
        data, study, dict.fromkeys(experiments, ""), eras=[era], links=[link],
        ccs=["cubic", "bbr", "reno"],
    )  # fmt: skip


@pytest.fixture(scope="module")
def data(root: Path) -> Path:
    return root / "data"


@pytest.fixture(scope="module")
def asked(root: Path) -> str:
    return (root / "studies/asked/README.md").read_text()


@pytest.fixture(scope="module")
def links(root: Path) -> str:
    return (root / "studies/links/README.md").read_text()


def has(page: str, *cells: str) -> None:
    line = f"| {' | '.join(cells)} |"
    assert line in page, line


def later(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["time_s"] >= timeline.SETTLED_S]


def goodput_mbit_s(run: RunFile, of: str) -> pd.Series:
    """By the values of a column of the connections."""
    flows = later(timeline.connections(run))
    ends = flows.groupby([of, "local_port"])["bytes_acked"].agg(["min", "max"])
    sent_mbit = 8e-6 * (ends["max"] - ends["min"]).groupby(of).sum()
    return sent_mbit / (flows["time_s"].max() - flows["time_s"].min())


def over(values: pd.Series, form: str) -> str:
    """Mean over seeds."""
    return format(values.mean(), form)


def test_20_mb(data: Path, asked: str) -> None:
    for run in runs(data, "asked", "20/20", ["bbr"]):
        (numbers,) = timeline.per_run([run]).to_dict("records")
        flow = timeline.connections(run)
        end = flow.loc[flow["bytes_acked"] == flow["bytes_acked"].max(), "time_s"].min()
        has(
            asked, run.cc, f"{end:.1f} s", f"{timeline.pings(run)['rtt_ms'].max():.0f} ms",
            f"{numbers['rtt_mean_ms']:.0f} ms", f"{flow['inflight_packets'].max():.0f}",
            f"{numbers['drops']:.0f}",
        )  # fmt: skip


def test_slow_start(data: Path, asked: str) -> None:
    for run in runs(data, "asked", "10/10", ["slow_start"]):
        (numbers,) = timeline.per_run([run]).to_dict("records")
        flow = timeline.connections(run)
        since_s = flow["time_s"] - flow["time_s"].min()
        trips = [(since_s - n * 0.05).abs().idxmin() for n in (1, 2, 3, 4)]
        windows = [f"{window:.0f}" for window in flow.loc[trips, "cwnd_packets"]]
        has(
            asked, f"{run.qdisc}, {run.cc}", ", ".join(windows),
            f"{flow['cwnd_packets'].max():.0f}",
            f"{timeline.pings(run)['rtt_ms'][1:].max():.0f} ms", f"{numbers['drops']:.0f}",
        )  # fmt: skip


def test_l4s(data: Path, asked: str) -> None:
    for run in runs(data, "asked", "50/50", ["l4s"], "modern@linux-7.2"):
        rtt_ms = later(timeline.pings(run)).groupby("program")["rtt_ms"].mean()
        goodput = goodput_mbit_s(run, "cc")
        has(
            asked, run.qdisc, *(f"{rtt_ms[name]:.1f} ms" for name in ("ect1", "not_ect")),
            *(f"{goodput[cc]:.1f} Mbit/s" for cc in ("dctcp", "cubic")),
        )  # fmt: skip


def test_36_uploads(data: Path, asked: str) -> None:
    table = timeline.per_run(runs(data, "asked", "100/100", ["host", "router"]))
    for (name, cc, qdisc), of in table.groupby(["experiment", "cc", "qdisc"]):
        has(
            asked, f"{name}, {cc}", str(qdisc), f"{over(of['rtt_mean_ms'], '.1f')} ms",
            f"{over(of['flow_rtt_ms'], '.1f')} ms", over(of["drops"], ",.0f"),
        )  # fmt: skip


def test_memory_limit(data: Path, asked: str) -> None:
    labels = ["memory_1", "memory_16", "memory_64"]
    table = timeline.per_run(runs(data, "asked", "200/200", labels))
    for (name, qdisc), of in table.groupby(["experiment", "qdisc"]):
        low, high = (of["goodput_mbit_s"].agg(end) for end in ("min", "max"))
        has(
            asked, str(name).removeprefix("memory_"), str(qdisc), f"{low:.0f} to {high:.0f} Mbit/s",
            f"{over(of['flow_rtt_ms'], '.1f')} ms", over(of["drops"], ",.0f"),
            over(of["drops_overmemory"], ",.0f"),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("experiment", "link"), [("gigabit", "1000/50"), ("lte", "12/5"), ("satellite", "120/15")]
)
def test_links_of_today(data: Path, links: str, experiment: str, link: str) -> None:
    for run in runs(data, "links", link, [experiment]):
        (numbers,) = timeline.per_run([run]).to_dict("records")
        goodput = goodput_mbit_s(run, "node")
        has(
            links, f"{experiment}, {run.cc}", run.qdisc, f"{numbers['rtt_mean_ms']:.1f} ms",
            f"{numbers['rtt_p99_ms']:.0f} ms", f"{goodput['server']:.1f} Mbit/s",
            *(f"{goodput[name]:.1f} Mbit/s" for name in ("client",) if name in goodput),
            f"{numbers['drops']:,.0f}",
        )  # fmt: skip


def test_a_link_that_changes_loses_no_packet(data: Path) -> None:
    (run,) = [
        run for run in runs(data, "links", "120/15", ["satellite"]) if run.qdisc == "fifo_10000"
    ]
    assert timeline.link(run)["delay_ms"].nunique() > 1
    assert timeline.link(run)["rate_mbit_s"].nunique() > 1
    (numbers,) = timeline.per_run([run]).to_dict("records")
    assert numbers["drops"] == 0
