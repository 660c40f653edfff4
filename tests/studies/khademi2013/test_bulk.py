"""Tests of the study's reducer `bulk`, on captures that were made up: flows of a segment each."""

from pathlib import Path

import pytest

from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import GuestFailure, TrafficFailure
from qdisclab.emulation.model.run import Run
from studies.khademi2013.captures import bulk
from studies.khademi2013.captures.flows import Reduced
from tests.emulation.captures.made import SERVICE
from tests.studies.khademi2013.guest import (
    ACK_WAITS_MS,
    AIR_MS,
    DATA_WAITS_MS,
    PAYLOAD,
    WIRE_MS,
    Guest,
    done_in,
)

Made = tuple[Guest, Run]
BOTH_MS = 2 * (AIR_MS + WIRE_MS)  # ways, without the queue


def made(folder: Path, label: str) -> Made:
    (run,) = select(experiment(f"khademi2013/{label}"), qdisc="codel_5ms", seed=1, era="2013")
    guest = Guest(folder, run)
    for number, pair in enumerate(job_of(run)["traffic"]["pairs"]):
        guest.flow(number, pair["sender"], pair["receiver"])
    return guest, run


@pytest.fixture
def wired(tmp_path: Path) -> Made:
    """Four flows."""
    return made(tmp_path, "flows_4")


@pytest.fixture
def wifi(tmp_path: Path) -> Made:
    """Four downloads and four uploads."""
    return made(tmp_path, "wifi_mixed_4")


def reduced(guest: Guest, run: Run, flows: int = 4) -> Reduced:
    both = run.traffic.both_ways
    about = done_in(run)
    return bulk.reduce(guest.out, run.topology, about, flows, run.rig.base_rtt, both_ways=both)


def test_what_senders_send_is_in_the_queue(wired: Made) -> None:
    guest, run = wired
    guest.finish()
    found = reduced(guest, run)
    assert found.packets.groupby("flow")["length"].apply(list).tolist() == [[66, 66 + PAYLOAD]] * 4
    assert found.counts["sent"] == 8
    assert (found.counts["dropped"], found.counts["pairs"]) == (0, 8)
    waits = found.packets["left_100us"] - found.packets["arrived_100us"]
    assert set(waits) == {10 * ACK_WAITS_MS, 10 * DATA_WAITS_MS}  # of a SYN and of a segment


def test_a_round_trip_is_of_both_ways(wired: Made) -> None:
    guest, run = wired
    guest.finish()
    found = reduced(guest, run)
    assert found.counts["rtt_us"]["most"] == 1000 * (BOTH_MS + ACK_WAITS_MS)
    assert found.counts["rtt_us"]["p10"] == 1000 * (BOTH_MS + DATA_WAITS_MS)
    assert set(found.packets["elsewhere_100us"]) == {10 * (BOTH_MS - run.rig.base_rtt.ms)}


def test_a_dropped_packet_has_no_round_trip(wired: Made) -> None:
    guest, run = wired
    pair = job_of(run)["traffic"]["pairs"][2]
    ports = (40002, SERVICE)
    guest.carry(2500, pair["sender"], pair["receiver"], ports, seq=1 + PAYLOAD, payload=9, id=666)
    guest.finish()
    found = reduced(guest, run)
    lost = found.packets[found.packets["fate"] == 2]
    assert lost[["flow", "length"]].to_numpy().tolist() == [[2, 66 + 9]]
    assert lost[["left_100us", "elsewhere_100us"]].isna().all(axis=None)
    assert found.delivered.sum(axis=1).tolist() == [PAYLOAD] * 4


def test_what_does_not_agree_is_an_error(wired: Made) -> None:
    guest, run = wired
    guest.finish()
    with pytest.raises(TrafficFailure, match="4 flows came to the queue, not 5"):
        reduced(guest, run, flows=5)
    guest.finish(drops=1)
    with pytest.raises(GuestFailure, match="codel counted 1 drops, captured 0"):
        reduced(guest, run)


def test_data_of_downloads_and_answers_to_uploads_are_in_the_queue(wifi: Made) -> None:
    guest, run = wifi
    guest.finish()
    found = reduced(guest, run)
    rows = found.packets
    assert sorted(rows["flow"].unique()) == list(range(8))
    # Of a download SYN and data, of an upload the answers to them.
    assert rows.groupby("flow").size().tolist() == [2] * 8
    downward = rows["flow"] < 4
    assert rows.loc[downward & (rows["length"] > 1000), "length"].tolist() == [66 + PAYLOAD] * 4
    assert rows.loc[~downward, "length"].tolist() == [66] * 8
    down, up = (found.counts[name] for name in ("down", "up"))
    assert (down["sent"], up["sent"], down["dropped"], up["dropped"]) == (8, 8, 0, 0)
    assert down["sojourn_us"]["most"] == 1000 * ACK_WAITS_MS  # of the SYN, as short as an answer
    assert down["sojourn_us"]["p10"] == 1000 * DATA_WAITS_MS
    assert up["sojourn_us"]["p50"] == 1000 * ACK_WAITS_MS


def test_a_round_trip_is_of_both_ways_whoever_began_it(wifi: Made) -> None:
    guest, run = wifi
    guest.finish()
    found = reduced(guest, run)
    both = 2 * (AIR_MS + WIRE_MS)
    data = found.counts["down"]["rtt_us"]
    assert (data["p10"], data["most"]) == (
        1000 * (both + DATA_WAITS_MS),
        1000 * (both + ACK_WAITS_MS),
    )
    upload = found.counts["up"]["rtt_us"]
    assert upload["p10"] == upload["most"] == 1000 * (both + ACK_WAITS_MS)
    # What the table has besides the wait and the base RTT of 100 ms, in whole ms.
    assert set(found.packets["elsewhere_100us"]) == {10.0 * (both - 100)}


def test_what_is_delivered_is_by_flow_downloads_first(wifi: Made) -> None:
    guest, run = wifi
    guest.finish()
    found = reduced(guest, run)
    assert found.delivered.sum(axis=1).tolist() == [PAYLOAD] * 8
    assert found.counts["payload_bytes"] == 8 * PAYLOAD


def test_a_dropped_acknowledgment_has_no_round_trip(wifi: Made) -> None:
    guest, run = wifi
    pair = job_of(run)["traffic"]["pairs"][5]  # an upload
    ports = (SERVICE, 40005)
    guest.carry(2500, pair["receiver"], pair["sender"], ports, seq=1, ack=1 + PAYLOAD, id=666)
    guest.finish()
    found = reduced(guest, run)
    (lost,) = found.packets[found.packets["fate"] == 2].to_dict("records")
    assert lost["flow"] == 5
    assert (
        found.packets.loc[found.packets["fate"] == 2, ["left_100us", "elsewhere_100us"]]
        .isna()
        .all(axis=None)
    )
    assert (found.counts["up"]["dropped"], found.counts["down"]["dropped"]) == (1, 0)


def test_bytes_that_no_server_has_read_are_an_error(wifi: Made) -> None:
    guest, run = wifi
    guest.finish()
    (guest.out / "iperf-sender2.csv").unlink()
    with pytest.raises(GuestFailure, match=f"differ: {PAYLOAD} and None"):
        reduced(guest, run)
