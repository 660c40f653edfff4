"""Runs of programs over time, from what stands beside a run."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import timeline
from qdisclab.analysis.runs.dataset import RunFile, find_runs
from qdisclab.emulation import datafile
from tests import ROOT
from tests.data import provenances

BEGAN_S = 1_700_000_000


def beside(folder: Path, printed: str) -> RunFile:
    run = provenances.made_up(folder, "links", "lte", link="12/5", qdisc="pie")
    return provenances.printed(run, probe=printed)


@pytest.fixture
def run(tmp_path: Path) -> RunFile:
    """Pings at 0 and 1 s of 40 and 50 ms; one connection of 1 MB a second and one that is short."""
    replies = (
        f"[{BEGAN_S}.040000] 64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=40.0 ms\n"
        f"[{BEGAN_S + 1}.050000] 64 bytes from 10.0.0.1: icmp_seq=2 ttl=64 time=50.0 ms\n"
    )
    run = beside(tmp_path, replies)
    samples = [
        {
            "time_ns": (BEGAN_S + second) * 10**9, "node": "server", "local_port": port,
            "congestion_control": "cubic", "bytes_acked": of * second, "cwnd_packets": 10 + second,
            "unacked_packets": 8, "sacked_packets": 3, "lost_packets": 2, "retrans_packets": 1,
            "srtt_us": 45_000,
        }
        for port, of in ((5001, 1_000_000), (5002, 100))
        for second in range(4)
    ]  # fmt: skip
    pd.DataFrame(samples).to_parquet(run.provenance.with_suffix(".sockets.parquet"))
    queues = [
        {"time_ns": BEGAN_S * 10**9 + at, "parent": parent, "node": "box", "interface": "p",
         "handle": parent, "drops": at}
        for parent in ("root", "1:10")
        for at in (1, 7)
    ]  # fmt: skip
    pd.DataFrame(queues).to_parquet(run.provenance.with_suffix(".qdisc.parquet"))
    return run


def test_a_ping_is_timed_by_when_it_was_sent(run: RunFile) -> None:
    replies = timeline.pings(run)
    assert list(replies["time_s"]) == pytest.approx([0, 1], abs=1e-6)
    assert list(replies["rtt_ms"]) == [40, 50]
    assert set(replies["program"]) == {"probe"}


def test_connections_are_those_under_load(run: RunFile) -> None:
    flows = timeline.connections(run)
    assert set(flows["local_port"]) == {5001}
    assert list(flows["goodput_mbit_s"][1:]) == pytest.approx([8, 8, 8])
    assert set(flows["inflight_packets"]) == {4}  # RFC 6675: 8 - 3 - 2 + 1


def test_numbers_of_a_run(run: RunFile) -> None:
    (row,) = timeline.per_run([run]).to_dict("records")
    assert row["goodput_mbit_s"] == pytest.approx(8)
    assert row["flow_rtt_ms"] == 45
    assert row["drops"] == 7, "of the qdisc below the shaper, by its last sample"


def test_what_a_program_printed_of_the_link(run: RunFile) -> None:
    assert timeline.link(run).empty
    rows = [
        {"program": "link", "time_s": 0.0, "rate_mbit_s": 9.0},
        {"program": "other", "time_s": 1.0},
    ]
    datafile.write_rows(rows, run.provenance.with_suffix(datafile.ROWS))
    run.provenance.with_suffix(datafile.FLENT).write_bytes(b"")  # as series, flent has them too
    assert list(timeline.link(run)["rate_mbit_s"]) == [9.0]


def test_without_replies_or_samples(tmp_path: Path, run: RunFile) -> None:
    with pytest.raises(DataError, match="no replies to pings"):
        timeline.pings(beside(tmp_path / "other", "nothing"))
    run.provenance.with_suffix(".sockets.parquet").unlink()
    with pytest.raises(DataError, match="no table of the probe 'sockets'"):
        timeline.connections(run)


def test_a_table_for_people_has_titles_and_no_interval_of_one_run(run: RunFile) -> None:
    cells = timeline.cells(timeline.per_run([run]), {"lte": "LTE"}, "{experiment}, {cc}")
    shown = timeline.labelled(cells)
    assert list(shown.columns) == ["what", "qdisc", "quantity", "mean"]
    assert "Goodput (Mbit/s)" in set(shown["quantity"])
    assert set(shown["what"]) == {"LTE, cubic"}


def test_runs_of_two_kernels_have_names_of_their_own(run: RunFile) -> None:
    runs = [run, replace(run, era="modern@linux-7.2")]
    names = {run.experiment: "LTE"}
    rows = timeline.cells(timeline.per_run(runs), names, "{experiment}, {era}")
    assert list(dict.fromkeys(rows["rig"])) == [f"LTE, {run.era}", "LTE, modern@linux-7.2"]
    assert list(timeline.named(runs, names, "{era}").values()) == runs
    with pytest.raises(DataError, match=r"which calls .* 'LTE'\. Put \{era\} or another"):
        timeline.named(runs, names, "{experiment}")


def test_seeds_that_came_out_the_same_have_no_interval() -> None:
    """Of the shipped runs of a host, all seeds of fq have the same counters."""
    chosen = {"links": "100/100", "qdiscs": ["fq", "fq_codel"], "ccs": ["cubic"]}
    runs = find_runs(ROOT / "data", "asked", "host", **chosen)
    table = timeline.per_run(runs)
    first = [run for run in runs if run.seed == 1]
    assert list(timeline.named(first, {"host": "host"}, "{experiment}", means=True)) == ["host"]
    assert list(table.groupby("qdisc")["twin"].count()) == [2, 0]
    cells = timeline.cells(table, {"host": "host"}, "{qdisc}").set_index(["qdisc", "quantity"])
    assert cells["ci_low"]["fq"].isna().all()
    assert cells["ci_low"]["fq_codel"]["rtt_mean_ms"] > 0


def test_a_link_that_changes_loses_no_packet() -> None:
    """Of the shipped runs of the satellite's link, that with a FIFO of 10,000 packets."""
    (run,) = find_runs(ROOT / "data", "links", "satellite", qdiscs=["fifo_10000"])
    assert timeline.link(run)["delay_ms"].nunique() > 1
    assert timeline.link(run)["rate_mbit_s"].nunique() > 1
    (numbers,) = timeline.per_run([run]).to_dict("records")
    assert numbers["drops"] == 0
