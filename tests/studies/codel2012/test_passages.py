"""The probes `queues` and `steps` of codel2012, on tables of a few packets made by hand."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qdisclab.emulation.captures import packets
from qdisclab.emulation.captures.counters import Totals
from qdisclab.emulation.captures.packets import ENTERED, LEFT
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.errors import GuestFailure
from qdisclab.emulation.model.run import Run
from studies.codel2012.captures import passages, queues, steps
from studies.codel2012.captures.passages import PlacePassages
from studies.codel2012.kinds.gateways import LEFT as AT_LEFT
from tests.emulation.captures.made import End, datagram, segment
from tests.emulation.captures.passages import MS, NONE, Passage, records, sampled

BEGAN_MS = 100
BULK = (("10.1.1.2", 40000), ("10.2.1.2", 5001))  # sender1 to receiver1
WEB = (("10.1.5.2", 80), ("10.2.5.2", 50000))  # servers to clients


def run() -> Run:
    about = experiment("codel2012/edge")
    return select(about, link="1.5/1.5", qdisc="codel", cc="cubic", seed=1)[0]


def tcp(flow: tuple[End, End], number: int) -> bytes:
    return segment(*flow, seq=1000 * number, id=number, payload=934)


def seen(folder: Path, events: list[Passage], changes: str = "") -> PlacePassages:
    """What came to the left gateway, whose load began after BEGAN_MS."""
    path = records(folder / "probe.0.queue", [sampled(0), *events])
    left = sum(event == LEFT for event, *_ in events)
    entered = sum(event == ENTERED for event, *_ in events)
    followed = packets.follow(path, (NONE,), Totals(left, entered - left, 0, 0), "htb", AT_LEFT)
    packets.write(path, followed, "htb", folder / "table.parquet")
    printed = folder / "programs" / "link_left" / "stdout"
    printed.parent.mkdir(parents=True)
    printed.write_text(json.dumps({"began_ns": BEGAN_MS * MS, "load": "edge"}) + "\n" + changes)
    return passages.read(run(), AT_LEFT, folder / "table.parquet")


def test_packets_have_a_source_a_delay_and_the_time_of_the_load(tmp_path: Path) -> None:
    clock = (("10.1.5.2", 4001), ("10.2.5.2", 4001))
    upload = (("10.1.5.2", 6000), ("10.2.5.2", 9))
    other = (("10.1.5.2", 6000), ("10.2.5.2", 22))
    second = (("10.1.2.2", 40000), ("10.2.2.2", 5001))
    sent = [tcp(BULK, 1), tcp(BULK, 2), tcp(WEB, 3), tcp(second, 4), datagram(*clock, 64, 1)]
    sent += [tcp(upload, 5), tcp(other, 6)]
    enter = [(ENTERED, 101 + number, packet, number) for number, packet in enumerate(sent)]
    leave = [(LEFT, 111 + number, packet, 0) for number, packet in enumerate(sent) if number != 1]
    table = seen(tmp_path, [*enter, *leave]).table
    assert (table["arrived_ns"] / MS).tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert (table["delay_ns"] / MS).tolist() == [10, -1 / MS, 10, 10, 10, 10, 10]
    sources = ["bulk 0", "bulk 0", "web", "bulk 1", "cbr 1", "upload", "other"]
    assert table["source"].tolist() == sources


def test_the_link_could_carry_what_its_changes_left_it(tmp_path: Path) -> None:
    changes = json.dumps({"time_s": 200.0, "rate_mbit_s": 10.0})
    enter, leave = (ENTERED, 101, tcp(BULK, 1), 0), (LEFT, 102, tcp(BULK, 1), 0)
    bits = seen(tmp_path, [enter, leave], changes).capacity_bits
    assert bits == pytest.approx(200 * 1.5e6 + 100 * 10e6)  # of 300 s


def test_a_run_whose_link_says_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(GuestFailure, match="when the load began"):
        passages.read(run(), AT_LEFT, tmp_path / "table.parquet")


def few() -> PlacePassages:
    """Four packets of 1000 bytes: 0, 2 and 4 ms of delay, and one dropped; one before the load."""
    arrived = np.array([-1, 0, 10, 20, 30]) * MS
    delay = np.array([0, 0, 2 * MS, -1, 4 * MS])
    table = pd.DataFrame(
        {
            "arrived_ns": arrived,
            "left_ns": arrived + np.maximum(delay, 0),
            "delay_ns": delay,
            "length": 1000,
            "source": ["web", "bulk 0", "web", "bulk 0", "web"],
        }
    )
    return PlacePassages(table, "edge", "forward", 100 * MS, 150_000)


def test_a_queue_has_a_row_for_each_source_and_one_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passages, "read", lambda *where: few())
    for _ in range(2):  # of two places the second adds its rows
        queues.write(run(), AT_LEFT, tmp_path, tmp_path / "table.csv")
    table = pd.read_csv(tmp_path / "table.csv")
    assert table["source"].tolist() == 2 * ["all", "bulk 0", "web"]
    whole, bulk, web = table.head(3).to_dict("records")
    assert (whole["sent"], whole["dropped"], whole["bytes"]) == (3, 1, 3000)
    assert (whole["p50_ms"], whole["p100_ms"], whole["mean_ms"]) == (2, 4, 2)
    assert whole["utilisation"] == pytest.approx(24_000 / 150_000)
    assert (bulk["sent"], bulk["dropped"]) == (1, 1)
    assert (web["sent"], web["dropped"]) == (2, 0)


def test_a_packet_is_of_the_step_in_which_it_left() -> None:
    table = steps.of(few(), 10 * MS).head(4)
    assert table["longest_us"].tolist() == [0, 2000, pd.NA, 4000]
    assert table["bytes"].tolist() == [1000, 1000, 0, 1000]
    assert table["dropped"].tolist() == [0, 0, 1, 0]
