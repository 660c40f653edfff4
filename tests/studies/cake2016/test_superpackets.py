"""Runs with and without superpackets: what waits, and tables by cell."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.emulation.config.catalogue import experiment, select
from studies.cake2016 import measures as superpackets
from tests.analysis.measures.test_bench import at, content, series
from tests.data import provenances


def run_of(folder: Path, packets: str, pacing: str = "paced", seed: int = 1) -> RunFile:
    of = experiment(f"cake2016/{packets}_{pacing}")
    (run,) = select(of, link="110/10", qdisc="codel", cc="cubic", seed=seed, era="2016-no_gso")
    file = provenances.of_run(folder, run, measured_base_rtts_ms=[48.0])
    with gzip.open(file.data, "wt") as stream:
        json.dump(content(), stream)
    return file


def samples(run: RunFile, backlogs: list[tuple[int, int, int]]) -> None:
    """Second, packets and bytes of the upstream queue; the port towards the client has more."""
    queue: dict[str, Any] = {"node": "box", "parent": "1:10", "sent_packets": 100, "drops": 3}
    rows = [
        {**queue, "interface": interface, "time_ns": at(second), "codel_ecn_mark": second,
         "backlog_packets": packets, "backlog_bytes": of_bytes * more}
        for second, packets, of_bytes in backlogs
        for interface, more in (("box-delay", 1), ("box-client", 9))
    ]  # fmt: skip
    shaper = [{**row, "parent": "root", "backlog_bytes": 10**9} for row in rows]
    series(run, "qdisc", [*shaper, *rows])


def test_the_size_of_what_waits_is_of_the_window_and_of_the_upstream_queue(tmp_path: Path) -> None:
    run = run_of(tmp_path, "superpackets")
    queue = [(10, 1, 99_000), (20, 2, 30_000), (30, 0, 0), (40, 4, 30_000), (61, 1, 99_000)]
    samples(run, queue)
    row = superpackets.per_run([run]).iloc[0]
    assert row["largest_kb"] == 15  # two of 30 kB
    assert row["marks_and_drops"] == 40 - 20  # by ecn_mark; no drop came in the window
    assert (row["packets"], row["pacing"], row["qdisc"]) == ("superpackets", "paced", "codel")
    assert row["icmp_induced_mean_ms"] == 10
    assert list(superpackets.upstream(run)["time_s"]) == [10, 20, 30, 40, 61]


def test_cells_have_all_their_seeds(tmp_path: Path) -> None:
    for seed, of_bytes in ((1, 10_000), (2, 20_000)):
        samples(run_of(tmp_path, "single", "unpaced", seed), [(20, 1, of_bytes)])
    runs = [run_of(tmp_path, "single", "unpaced", seed) for seed in (1, 2)]
    table = superpackets.by_cell(superpackets.per_run(runs)).set_index("quantity")
    row = table.loc["largest_kb"]
    assert (row["n_seeds"], row["mean"], row["low"], row["high"]) == (2, 15, 10, 20)


def test_runs_without_samples_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no samples of its queues"):
        superpackets.upstream(run_of(tmp_path, "single"))
