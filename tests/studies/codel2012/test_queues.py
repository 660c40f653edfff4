"""Queues between gateways, and the rules of codel2012, on runs made up."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.fairness import jain
from qdisclab.analysis.plots.style import styled
from qdisclab.analysis.runs.dataset import RunFile, find_runs
from qdisclab.emulation import datafile
from qdisclab.emulation.config.catalogue import experiment, select
from studies.codel2012.measures import gateways, queues
from studies.codel2012.measures.gateways import measure, measure_dynamic
from studies.codel2012.plots import (
    edge as figures_edge,
    modem as figures_modem,
    queues as figures_queues,
)
from tests import OwnFile
from tests.data import provenances

KERNEL = {"release": "6.12", "digest": "0" * 16}


Rows = list[dict[str, Any]]


def queue(median: float, use: float = 0.9, **sources: tuple[int, int]) -> Rows:
    """What a queue did, as its table has it; `sources` are (packets, dropped)."""
    counts = sources or {"bulk": (90, 10), "web": (10, 0)}
    percent = {"p0": 0, "p5": 0, "p25": 0.5 * median, "p50": median, "p75": 2 * median}
    percent |= {"p90": 3 * median, "p95": 4 * median, "p99": 5 * median, "p100": 6 * median}
    delays = {f"{name}_ms": value for name, value in percent.items()}
    whole = {"source": "all", "sent": 90, "dropped": 10, "bytes": 90_000, "utilisation": use}
    return [
        {**whole, "mean_ms": 1.5 * median, **delays},
        *({"source": name, "sent": n - m, "dropped": m} for name, (n, m) in counts.items()),
    ]


def write(
    root: Path,
    name: str,
    link: str,
    qdisc: str,
    seed: int = 1,
    load: str = "bulk_4",
    steps: list[tuple[float, float, float]] | None = None,
    **queues_: Rows,
) -> RunFile:
    """A run below `root`; `steps` are (longest delay in ms, Mbit/s, drops) of half seconds."""
    rows = steps or [(1.0, 8.0, 0.0)] * 4
    of = experiment(f"codel2012/{name}")
    (run,) = select(of, link=link, qdisc=qdisc, cc="cubic", seed=seed, era="2014")
    file = provenances.of_run(
        root, run, identity={"kernel": KERNEL}, length_s=len(rows) / 2, base_rtt_ms=100.0,
        virtual_s=10, wall_s=1,
    )  # fmt: skip
    file.data.write_bytes(gzip.compress(b"{}"))
    table = [
        {"load": load, "direction": direction, **row}
        for direction, of_queue in (queues_ or {"forward": queue(5)}).items()
        for row in of_queue
    ]
    pd.DataFrame(table).to_csv(file.provenance.with_suffix(".queues.csv"), index=False)
    delay_ms, mbit_s, dropped = (np.array(column) for column in zip(*rows, strict=True))
    delays = {f"{word}_us": 1e3 * delay_ms for word in ("least", "median", "longest")}
    found = pd.DataFrame({**delays, "bytes": mbit_s * 1e6 / 8 / 2, "dropped": dropped})
    found.to_parquet(file.provenance.with_suffix(".steps.parquet"))
    change = {"program": "link_left", "time_s": 10.0, "rate_mbit_s": 1.0}
    datafile.write_rows([change], file.provenance.with_suffix(datafile.ROWS))
    return file


def shares(**sources: tuple[int, int]) -> list[float]:
    return gateways.drop_shares(pd.DataFrame(queue(5, **sources)).set_index("source"))


def test_drops_in_proportion_to_packets_are_fair() -> None:
    even = {"bulk": (100, 10), "web": (10, 1)}
    assert jain(shares(**even)) == pytest.approx(1)
    assert shares(**even, other=(500, 0)) == shares(**even)


def test_a_run_is_a_row_a_queue(tmp_path: Path) -> None:
    file = write(
        tmp_path, "edge", "1.5/1.5", "codel", forward=queue(5), reverse=queue(2, 0.4)
    )  # fmt: skip
    forward, reverse = queues.read_run(file)
    assert (forward["median_ms"], reverse["median_ms"]) == (5, 2)
    assert forward["dropped_percent"] == 10
    assert forward["utilisation_percent"] == 90
    assert forward["kilobytes"] == 90
    # 10 of 90 and none of 10: shares 1/9 and 0.
    assert forward["jain"] == pytest.approx(0.5)
    file.provenance.write_text(json.dumps({"run": file.run}))
    with pytest.raises(DataError, match="states no base RTT"):
        queues.read_run(file)


def test_ticks_are_in_the_order_of_their_rates(tmp_path: Path) -> None:
    links = ("100/100", "3/3", "10/10")
    files = [write(tmp_path, "static_rtt_10ms", link, "codel") for link in links]
    table = queues.read_runs(files)
    ticks, title = queues.ticks(table, "link")
    assert list(ticks) == ["3/3", "10/10", "100/100"]
    assert title == "Bandwidth"
    small = write(tmp_path, "low_500_rtt_30ms", "0.128/0.128", "codel_mtu500")
    large = write(tmp_path, "low_1500_rtt_30ms", "0.128/0.128", "codel")
    ticks, _ = queues.ticks(queues.read_runs([large, small]), "mtu_link")
    assert [label.replace("\xa0", " ") for label in ticks.values()] == [
        "128 kbit/s\n1500 B", "128 kbit/s\n500 B",
    ]  # fmt: skip


def test_what_a_rate_that_changes_does(tmp_path: Path) -> None:
    # 10 s at 100 Mbit/s with 2 ms, then 1 Mbit/s: 3 s with 400 ms, drops from the second step on.
    after = [(400.0, 1.0, 0.0), *[(400.0, 1.0, 3.0)] * 5, *[(20.0, 1.0, 1.0)] * 14]
    steps = [(2.0, 100.0, 0.0)] * 20 + after
    file = write(tmp_path, "dynamic", "100/100", "codel_830", steps=steps, load="bulk_4_web_5")
    table = gateways.steps(file)
    assert table["kilobytes"].iloc[19] == pytest.approx(100e3 / 8 * 10)
    assert gateways.below_percent(table) == pytest.approx(100 * 34 / 40)
    assert gateways.longest_ms(table, 10) == 400
    assert gateways.first_drop_ms(table, 10) == pytest.approx(1000)
    found = measure_dynamic(file)
    assert found["fall_1_times"] == pytest.approx(200)
    assert found["first_drop_ms"] == pytest.approx(1000)
    assert found["after_falls_ms"] == pytest.approx((6 * 400 + 14 * 20) / 20)
    assert found["elsewhere_megabytes"] == pytest.approx(table["kilobytes"].iloc[-1] / 1000)


def test_measured_by_load(tmp_path: Path) -> None:
    bulk = measure(write(tmp_path, "static_rtt_10ms", "3/3", "codel", 1, "bulk_1"))
    web = measure(write(tmp_path, "static_rtt_10ms", "3/3", "codel", 5, "bulk_4_web_5"))
    assert bulk["bulk_median_ms"] == 5
    assert "bursty_median_ms" not in bulk
    assert web["bursty_median_ms"] == 5
    assert web["used_dropped_percent"] == 10


def test_figures_can_be_drawn(tmp_path: Path) -> None:
    for link in ("3/3", "10/10"):
        for qdisc in ("codel", "red"):
            write(tmp_path, "static_rtt_10ms", link, qdisc)
            write(tmp_path, "static_rtt_10ms", link, qdisc, 2, forward=queue(7, 0.7))
    files = find_runs(
        tmp_path, "codel2012", ["static_rtt_10ms", "static_rtt_30ms"], eras=["2014"],
        ccs=["cubic"], qdiscs=["codel", "red"],
    )  # fmt: skip
    table = queues.read_runs(files)
    ticks, title = queues.ticks(table, "link")
    edge = [
        write(tmp_path, "edge", "1.5/1.5", name, forward=queue(5), reverse=queue(2))
        for name in figures_edge.NAMES
    ]
    one = queues.read_runs(edge)
    other = one.assign(seed=2, dropped_percent=one["dropped_percent"] + 1)
    both = figures_edge.summary(pd.concat([one, other]))
    assert "–" not in set(both["dropped_interval"])
    both = figures_edge.summary(pd.concat([one, other.assign(twin=1)]))
    assert set(both["dropped_interval"]) == {"–"}
    summary = figures_edge.summary(one)
    assert list(figures_edge.table(summary)["Direction"]) == ["down"] * 3 + ["up"] * 3
    changing = write(tmp_path, "dynamic", "100/100", "codel_830")
    with styled() as palette:
        boxes = figures_queues.boxes(table, palette, by="link", ticks=ticks, title=title)
        assert [axes.get_ylabel() for axes in boxes.axes] == [
            "Median packet delay (ms)", "Link utilisation (%)",
        ]  # fmt: skip
        assert len(boxes.axes[0].patches) == 4
        figures_edge.delays(summary, palette)
        figures_modem.modem(palette, ethernet_mbit_s=100, upstream_mbit_s=2)
        figures_queues.dynamic(
            {"codel_830": gateways.steps(changing)}, [(0, 100), (10, 1)], palette,
            buffers={"830": "Buffers of 830 packets"},
        )  # fmt: skip
    assert [text.get_text() for text in boxes.axes[1].get_xticklabels()] == list(ticks.values())


def test_a_qdisc_of_the_users_own_joins_the_boxes(tmp_path: Path, own_file: OwnFile) -> None:
    qdisc = "codel_of_mine: {kind: codel, options: {target: 9 ms}}"
    own_file(f"papers: [codel2012]\nqdiscs:\n  {qdisc}\n")
    for qdisc in ("codel", "codel_of_mine"):
        write(tmp_path, "static_rtt_10ms", "3/3", qdisc)
    where = {"eras": ["2014"], "ccs": ["cubic"]}
    table = queues.read_runs(find_runs(tmp_path, "codel2012", ["static_rtt_10ms"], **where))
    assert list(table["family"]) == ["codel", "codel_of_mine"]
    ticks, title = queues.ticks(table, "link")
    with styled() as palette:
        drawn = figures_queues.boxes(table, palette, by="link", ticks=ticks, title=title)
    assert [text.get_text() for text in drawn.legends[0].texts] == ["CoDel", "codel_of_mine"]


def test_a_queue_that_dropped_nothing_has_no_box_and_no_error(tmp_path: Path) -> None:
    nothing = queue(5, bulk=(90, 0), web=(10, 0))
    for qdisc in ("codel", "red"):
        write(tmp_path, "static_rtt_10ms", "10/10", qdisc, forward=nothing)
    files = find_runs(
        tmp_path, "codel2012", ["static_rtt_10ms"], eras=["2014"], ccs=["cubic"],
        qdiscs=["codel", "red"],
    )  # fmt: skip
    table = queues.read_runs(files)
    assert table["jain"].isna().all()
    ticks, title = queues.ticks(table, "link")
    with styled() as palette:
        drawn = figures_queues.boxes(
            table, palette, by="link", ticks=ticks, title=title, values=["jain"]
        )
        assert not drawn.axes[0].patches


def test_an_overview_is_sorted_by_rate_and_not_by_letters() -> None:
    rows = [
        {"link": link, "qdisc": qdisc, "median_ms": 5.0, "utilisation_percent": 90.0, "jain": 1.0,
         "dropped_percent": 1.0}
        for link in ("10/10", "100/100", "3/3", "0.512/0.512")
        for qdisc in ("red", "codel")
    ]  # fmt: skip
    found = queues.overview(pd.DataFrame(rows), "link")
    assert found["link"].tolist()[::2] == ["0.512/0.512", "3/3", "10/10", "100/100"]
    assert found["qdisc"].tolist()[:2] == ["codel", "red"]
    by_rtt = pd.DataFrame(rows[:3]).assign(base_rtt_ms=[500.0, 30.0, 100.0])
    assert queues.overview(by_rtt, "base_rtt_ms")["base_rtt_ms"].tolist() == [30, 100, 500]
