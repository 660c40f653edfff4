"""Links that send by a trace, and what is measured of them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qdisclab.analysis.lab import open_study
from qdisclab.analysis.runs.study import study_at
from tests import ROOT

STUDY = ROOT / "studies" / "links"


def test_a_delay_is_the_age_of_the_newest_packet_that_came() -> None:
    own = study_at("links").module("cellular")
    came = np.arange(1000.0, 100_001, 1000)  # one a second, sent half a second before
    assert own.delay_ms(came - 500, came, 100_000) == pytest.approx(1449, abs=1)
    late = np.array([90_000.5])  # what was overtaken makes nothing older
    both = np.append(came - 500, 1.0), np.append(came, late)
    assert own.delay_ms(*both, 100_000) == own.delay_ms(came - 500, came, 100_000)


def test_what_a_link_could_and_did_carry_begins_after_a_minute() -> None:
    own = study_at("links").module("cellular")
    lines = np.arange(0.0, 70_001, 10)
    into = np.arange(0, 69_000, 20)
    table = pd.DataFrame({"in_ns": into * 1_000_000, "length": 1500, "protocol": 6})
    table["out_ns"] = table.in_ns + 10_000_000
    found = own.measured(table.assign(fate="sent"), lines, 70_000.0)
    assert found["available_kbit_s"] == 1200
    assert found["throughput_kbit_s"] == 540
    # 10 ms of waiting, and 10 ms more between packets.
    assert found["self_inflicted_ms"] == pytest.approx(20, abs=1)


def test_the_table_has_what_was_published_beside() -> None:
    known = pd.read_csv(STUDY / "published" / "cellular.csv")
    table = study_at("links").module("plots").beside(known, known)
    mean = table.set_index("Link").loc["mean of 8"]  # the paper's table: 25 s and 0.67 s
    assert mean["CUBIC: s"] == mean["CUBIC, published: s"] == pytest.approx(25.2, abs=0.05)
    assert mean["Vegas: s"] == mean["Vegas, published: s"] == pytest.approx(0.666, abs=5e-4)


@pytest.mark.kernel
def test_packets_leave_when_the_trace_lets_them(tmp_path: Path) -> None:
    runs = open_study("links").runs("cellular", length="5 s", seed=7, qdisc="trace", data=tmp_path)
    table = runs.do(jobs=1).probe("packets:box box-client").query("run == @runs[0].id")
    left = table[(table.fate == "sent") & (table.protocol == 6)]  # TCP
    began = left.in_ns.min()
    lines = np.loadtxt(STUDY / "lte.trace")
    let = 1500 * np.searchsorted(lines, 5000)
    assert 0.9 * let < left.length.sum() <= let
    waited = left[left.queued_packets > 0].out_ns - began
    phase = (waited.to_numpy(float) / 1e6) % 1  # ms; the clocks began at different parts of one
    assert len(waited) > 1000
    assert np.ptp(np.quantile(phase, [0.25, 0.75])) < 0.6
