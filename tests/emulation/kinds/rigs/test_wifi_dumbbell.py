"""emulation.kinds.rigs.dumbbell: stations around an access point, their job, their guest."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from qdisclab.emulation import kernel
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.job import job_of, modules_of
from qdisclab.emulation.machine import guestcode, rootfs
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.runs import run
from studies.khademi2013.captures import table as packets_table


def wireless(name: str = "wifi_mixed_4", qdisc: str = "codel_5ms", era: str = "2013") -> Run:
    (found,) = select(experiment(f"khademi2013/{name}"), qdisc=qdisc, seed=1, era=era)
    return found


def test_the_guest_gets_the_parts_of_iperf_and_of_wifi() -> None:
    names = set(guestcode.files(job_of(wireless())))
    assert {"stations.py", "iperf.py", "iperf_frames.py", "wifi_rig.py", "switch.py"} <= names
    (wired,) = select(experiment("khademi2013/flows_4"), qdisc="codel_5ms", seed=1)
    assert "stations.py" not in set(guestcode.files(job_of(wired)))


def test_a_former_kernel_lets_a_station_queue_more() -> None:
    sysctl = "net.ipv4.tcp_limit_output_bytes"
    for era, there in (("2013", True), ("2013-small_queues", False), ("modern", False)):
        one = wireless(era=era)
        assert (sysctl in job_of(one)["sysctls"]["receiver1"]) is there
        assert [module.name for module in modules_of(one)] == ["small_queues"] * there
    (wired,) = select(experiment("khademi2013/flows_4"), qdisc="codel_5ms", seed=1, era="2013")
    assert sysctl not in job_of(wired)["sysctls"]["sender1"]


def short(length_s: int, **fields: str) -> Run:
    return replace(wireless(**fields), length=Duration(length_s * 10**9))


@pytest.mark.kernel
def test_a_mixed_run_is_counted_followed_and_repeatable(tmp_path: Path) -> None:
    built, root = kernel.build(), rootfs.build()
    first, again = (run.execute(short(5), built, root, tmp_path / name) for name in ("a", "b"))
    assert first.data.read_bytes() == again.data.read_bytes()
    files = [next((tmp_path / name).rglob("*.parquet")) for name in ("a", "b")]
    assert files[0].read_bytes() == files[1].read_bytes()
    told = json.loads(first.provenance.read_text())
    assert told["identity"]["modules"].keys() == {"wifi", "small_queues"}
    assert (told["flows"], told["both_ways"]) == (4, True)
    table = packets_table.read(files[0])
    check_directions(table, told["packets"])
    (qdisc,) = told["qdiscs"]["aqm aqm-air"]["qdiscs"]
    assert qdisc["drops"] == told["packets"]["dropped"] == (table["fate"] == 2).sum()


def check_directions(table: pd.DataFrame, counts: dict[str, dict[str, int]]) -> None:
    """Downloads carry segments to the stations, uploads acknowledgments."""
    down, up = table[~table["up"]], table[table["up"]]
    assert len(down) == counts["down"]["sent"] + counts["down"]["dropped"]
    assert len(up) == counts["up"]["sent"] + counts["up"]["dropped"]
    assert down["length"].max() == 1514
    assert up["length"].max() < 100
    for one in (down, up):
        known = one["elsewhere_100us"].dropna()
        assert len(known) > 0.2 * (one["fate"] == 0).sum()
        assert (known >= -10).all()  # a table of whole ms: less than the base RTT is impossible


@pytest.mark.kernel
def test_a_station_of_a_former_kernel_has_a_queue(tmp_path: Path) -> None:
    """With 128 KiB of each flow below TCP, uploads wait longer elsewhere than at the AQM."""
    elsewhere_us = []
    for era in ("2013", "2013-small_queues"):
        one = short(10, qdisc="pie_5ms", era=era)
        done = run.execute(one, kernel.build(), rootfs.build(), tmp_path / era)
        found = json.loads(done.provenance.read_text())["packets"]["up"]
        elsewhere_us.append(found["rtt_us"]["p50"] - found["sojourn_us"]["p50"])
    assert elsewhere_us[0] > 1.2 * elsewhere_us[1], elsewhere_us
