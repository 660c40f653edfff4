"""Tests of the study's reducer `bulk`, on captures that were made up: four flows of a segment."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.config.catalogue import experiment, select
from emulation.config.job import job_of
from emulation.errors import GuestFailure, TrafficFailure
from emulation.model.run import Run
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

BOTH_MS = 2 * (AIR_MS + WIRE_MS)  # ways, without the queue


@pytest.fixture
def run() -> Run:
    (found,) = select(experiment("khademi2013/flows_4"), qdisc="codel_5ms", seed=1, era="2013")
    return found


@pytest.fixture
def guest(tmp_path: Path, run: Run) -> Guest:
    made = Guest(tmp_path, run)
    for number, pair in enumerate(job_of(run)["traffic"]["pairs"]):
        made.flow(number, pair["sender"], pair["receiver"])
    return made


def reduced(guest: Guest, run: Run, flows: int = 4) -> Reduced:
    return bulk.reduce(guest.out, run.topology, done_in(run), flows, run.rig.base_rtt)


def test_what_senders_send_is_in_the_queue(guest: Guest, run: Run) -> None:
    guest.finish()
    found = reduced(guest, run)
    assert found.packets.groupby("flow")["length"].apply(list).tolist() == [[66, 66 + PAYLOAD]] * 4
    assert found.counts["sent"] == 8
    assert (found.counts["dropped"], found.counts["pairs"]) == (0, 8)
    waits = found.packets["left_100us"] - found.packets["arrived_100us"]
    assert set(waits) == {10 * ACK_WAITS_MS, 10 * DATA_WAITS_MS}  # of a SYN and of a segment


def test_a_round_trip_is_of_both_ways(guest: Guest, run: Run) -> None:
    guest.finish()
    found = reduced(guest, run)
    assert found.counts["rtt_us"]["most"] == 1000 * (BOTH_MS + ACK_WAITS_MS)
    assert found.counts["rtt_us"]["p10"] == 1000 * (BOTH_MS + DATA_WAITS_MS)
    assert set(found.packets["elsewhere_100us"]) == {10 * (BOTH_MS - run.rig.base_rtt.ms)}


def test_a_dropped_packet_has_no_round_trip(guest: Guest, run: Run) -> None:
    pair = job_of(run)["traffic"]["pairs"][2]
    ports = (40002, SERVICE)
    guest.carry(2500, pair["sender"], pair["receiver"], ports, seq=1 + PAYLOAD, payload=9, id=666)
    guest.finish()
    found = reduced(guest, run)
    lost = found.packets[found.packets["fate"] == 2]
    assert lost[["flow", "length"]].to_numpy().tolist() == [[2, 66 + 9]]
    assert lost[["left_100us", "elsewhere_100us"]].isna().all(axis=None)
    assert found.delivered.sum(axis=1).tolist() == [PAYLOAD] * 4


def test_what_does_not_agree_is_an_error(guest: Guest, run: Run) -> None:
    guest.finish()
    with pytest.raises(TrafficFailure, match="4 flows came to the queue, not 5"):
        reduced(guest, run, flows=5)
    guest.finish(drops=1)
    with pytest.raises(GuestFailure, match="codel counted 1 drops, captured 0"):
        reduced(guest, run)
