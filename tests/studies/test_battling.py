"""battling2013: its numbers from samples, its rules, and the iperf that flent finds."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qdisclab.analysis.measures.flood import LATENCY, SILENT, TOTAL, run_numbers
from qdisclab.analysis.runs.dataset import Dataset, find_runs, read_runs
from qdisclab.analysis.runs.settings import Setting
from qdisclab.analysis.runs.statement import read_claims
from qdisclab.analysis.runs.study import study_at
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.machine import guestcode
from studies.battling2013 import measures as battling, plots as figures_battling
from tests import ROOT, captured, write_executable
from tests.data import provenances, synthetic

GUEST = ROOT / "emulation" / "guest"
STUDIES = GUEST.parents[1] / "studies"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    root = tmp_path_factory.mktemp("battling")
    for qdisc in ("pfifo_fast", "sfq", "fq_codel"):
        for seed in (1, 2):
            synthetic.write_run(root, "10-10", qdisc, seed)
    return read_runs(find_runs(root, "gbw2015", "rrul"), jobs=1)


def test_latency_is_the_mean_over_probes_and_throughput_the_sum_of_all_flows(data: Dataset) -> None:
    table = run_numbers(data).set_index(["qdisc", "seed"])
    levels = synthetic.LEVELS["10-10"]["sfq"]
    assert table.loc[("sfq", 1), TOTAL] == pytest.approx(2 * levels[1], rel=0.02)
    # 50 ms of the path and 0.1 of the probe come on top of what waits
    assert table.loc[("sfq", 1), LATENCY] == pytest.approx(50.1 + levels[0], rel=0.1)
    assert (table[SILENT].abs() < 1.5).all()


def test_a_probe_that_is_lost_leaves_steps_without_an_answer(data: Dataset) -> None:
    samples = data.samples
    icmp = samples["kind"] == "ping_icmp"
    kept = samples[~icmp | (samples.groupby("run", observed=True).cumcount() % 2 == 0)]
    table = run_numbers(Dataset(kept, data.flows, data.runs))
    assert table[SILENT].between(45, 55).all()


def test_settings_compare_qdiscs_within_a_seed() -> None:
    rows = [
        {"experiment": "rrul", "era": "2013", "link": "10/10", "cc": "cubic", "seed": seed,
         "qdisc": qdisc, LATENCY: latency, TOTAL: total}
        for seed, factor in ((1, 1.0), (2, 2.0))
        for qdisc, latency, total in (
            ("pfifo_fast", 900, 18.0), ("sfq", 10 * factor, 20.0), ("fq_codel", 4, 19.0 * factor),
        )
    ]  # fmt: skip
    table = battling.per_setting(pd.DataFrame(rows)).set_index("seed")
    assert table["gain_percent"].tolist() == [60, 80]
    assert table["loss_percent"].tolist() == pytest.approx([5, -90])
    assert table["fifo_ms"].tolist() == [900, 900]


def test_what_is_stated_has_the_unit_of_what_is_measured() -> None:
    stated = battling.stated(read_claims(study_at("battling2013")))
    assert stated["fifo_ms"] == (800, 1000)
    assert stated["gain_percent"] == (66, 66)
    assert np.isnan(stated["fq_codel_ms"][0]) and stated["fq_codel_ms"][1] == 20


def test_flent_gets_the_iperf_that_it_asks_for(tmp_path: Path) -> None:
    import flood

    called = write_executable(tmp_path / "iperf", 'echo "$@"')
    text = flood.CLIENT.replace(flood.IPERF, str(called))
    client = write_executable(tmp_path / "client", text)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return captured([client, *words], check=True)

    assert "--enhancedreports" in run("-h").stderr
    given = (
        "--enhancedreports --reportstyle C --client 10.0.4.2 --udp --bandwidth [None] --len [None]"
    )
    assert run(*given.split()).stdout.split() == (
        given.replace("--enhancedreports", "--enhanced")
        .replace("[None] --len [None]", "100M")
        .split()
    )


@pytest.mark.kernel
def test_a_flood_starves_a_ping_in_codel_and_not_in_fq_codel(tmp_path: Path) -> None:
    from qdisclab.emulation import kernel
    from qdisclab.emulation.machine import rootfs
    from qdisclab.emulation.model.units import Duration
    from qdisclab.emulation.runs.run import execute

    latency = {}
    for qdisc in ("codel", "fq_codel"):
        (run,) = select(
            experiment("battling2013/udp_flood"), qdisc=qdisc, seed=1, length=Duration.parse("4 s")
        )
        assert "flood.py" in set(guestcode.files(job_of(run)))
        execute(run, kernel.find(), rootfs.find(), tmp_path)
        told = json.loads((tmp_path / f"{run.id}.json").read_text())
        (queue,) = [
            one for one in told["qdiscs"]["router_up r1-delay"]["qdiscs"] if one["kind"] == qdisc
        ]
        # 100 Mbit/s came, ten times what the link carries meanwhile; the queue's rest leaves later.
        carried = 10e6 * 4 / 8 / 1514
        assert queue["drops"] + queue["packets"] > 10 * carried
        found = read_runs(
            find_runs(tmp_path, "battling2013", "udp_flood", length="4s", qdiscs=[qdisc])
        )
        latency[qdisc] = run_numbers(found)[LATENCY].iloc[0]
    assert latency["fq_codel"] < 5
    assert latency["codel"] > 20 * latency["fq_codel"]


def test_rows_are_named_by_what_differs() -> None:
    paper, today = Setting("2013", "cubic"), Setting("modern", "cubic")
    assert battling.rows_of({"1 ms": "rrul"}, ["10/10"], [paper, today]) == {
        ("rrul", "10/10", "2013"): "1 ms",
        ("rrul", "10/10", "modern"): "1 ms, today's Linux",
    }
    assert battling.rows_of({"Mbit/s": "rrul"}, ["10/10", "1/1"], [paper]) == {
        ("rrul", "10/10", "2013"): "10/10 Mbit/s",
        ("rrul", "1/1", "2013"): "1/1 Mbit/s",
    }


def test_the_same_qdisc_with_other_buffers_stands_together(tmp_path: Path) -> None:
    names = ["sfq_1000", "pfifo_fast_300", "fq_codel", "pfifo_fast", "sfq", "pfifo_fast_100"]
    of = experiment("battling2013/rrul_buffers")
    runs = [run for run in select(of, seed=1, era="2013") if run.qdisc in names]
    families = battling.families(provenances.of_run(tmp_path, run) for run in runs)
    assert families["pfifo_fast_300"] == ("pfifo_fast", 300)
    assert families["sfq_1000"] == ("sfq", 1000)
    assert families["fq_codel"] == ("fq_codel", 0)
    assert figures_battling.in_families(families) == [
        "pfifo_fast",
        "pfifo_fast_100",
        "pfifo_fast_300",
        "sfq",
        "sfq_1000",
        "fq_codel",
    ]
