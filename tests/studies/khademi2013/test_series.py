"""flent's own plotter opens the data file of a run whose packets were followed."""

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qdisclab.emulation.captures import flent
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.model.units import Duration
from studies.khademi2013.captures import series
from studies.khademi2013.captures.flows import Reduced
from tests import captured
from tests.studies.khademi2013.guest import done_in

FLENT = Path(sys.executable).with_name("flent")
FLOWS, STEPS = 4, 20


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four flows of 1, 2, 3 and 4 Mbit/s for 20 s, beside which one in ten packets is a ping."""
    (run,) = select(
        experiment("khademi2013/pings_4"), qdisc="codel_5ms", seed=1, length=Duration(STEPS * 10**9)
    )
    arrived = np.arange(0, STEPS * 10_000, 40)
    packets = pd.DataFrame(
        {
            "arrived_100us": arrived,
            "left_100us": arrived + 50.0,
            "flow": np.arange(len(arrived)) % (FLOWS + 1),
            "length": 1514,
            "fate": 0,
            "elsewhere_100us": 2.0,
        }
    )
    delivered = np.repeat([[125_000], [250_000], [375_000], [500_000]], STEPS, axis=1)
    sampled = [{"time_s": float(t), "ldelay": 5000, "qlen": 4} for t in range(1, STEPS)]
    pings = pd.DataFrame(
        {"sent_ns": np.arange(STEPS) * 10**9, "answer_ms": [np.nan] + [105.0] * (STEPS - 1)},
        index=np.arange(1, STEPS + 1),
    )
    path = tmp_path_factory.mktemp("flent") / "seed-001.flent.gz"
    found = Reduced(packets, delivered, {}, sampled, pings, 10**18)
    content = series.content(done_in(run), found, FLOWS, run.rig.base_rtt)
    flent.write(content, path)
    return path


def test_the_series_are_what_was_measured(file: Path) -> None:
    with gzip.open(file) as stream:
        content = json.load(stream)
    results = content["results"]
    assert results["TCP upload::2"][1:] == [2.0] * STEPS
    assert results["TCP upload sum"][1:] == [10.0] * STEPS
    assert results["RTT (ms) SPP"][1] == pytest.approx(100 + 5 + 0.2)
    assert results["AQM delay (ms)"][1] == 5
    assert results["Ping (ms) ICMP"][1:3] == [None, 105.0]  # the first was not answered
    assert len(content["raw_values"]["Ping (ms) ICMP"]) == STEPS - 1


@pytest.mark.parametrize(
    ("plot", "words"), [("upload", ["BE"]), ("totals", ["Upload", "Ping (ms)"]), ("box_totals", [])]
)
def test_flents_plotter_draws_it(file: Path, tmp_path: Path, plot: str, words: list[str]) -> None:
    drawn = tmp_path / "drawn.svg"
    rc = tmp_path / "rc"
    rc.write_text("[global]\n")
    (tmp_path / "matplotlibrc").write_text("svg.fonttype: none\n")  # words stay words
    command = [str(FLENT), "--rcfile", str(rc), "-i", str(file), "-p", plot, "-o", str(drawn)]
    command += ["--no-matplotlibrc"]
    told = captured(command, cwd=tmp_path, timeout=120)
    assert told.returncode == 0, told.stderr
    picture = drawn.read_text()  # of a file that it takes for empty it draws nothing
    assert "<svg" in picture
    assert [word for word in words if word not in picture] == []


def test_nothing_is_none() -> None:
    assert series.rounded([1.23456, np.nan]) == [1.235, None]
