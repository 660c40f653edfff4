"""Tests of studies.khademi2013.captures.roundtrips: synthetic packet pairs."""

import numpy as np

from studies.khademi2013.captures.roundtrips import round_trips
from tests.emulation.captures.made import table


def test_a_round_trip_is_without_the_receivers_time_and_of_the_last_packet_before() -> None:
    sent = table((0, 1), (10, 2), (20, 3), (30, 4)).assign(time_ns_then=[100, 110, np.nan, 130])
    back = table((150, 7), (160, 8)).assign(time_ns_then=[190, 200])
    # The reply at 150 follows the last packet, which arrived at 130; that at 160 has none.
    (pair,) = round_trips(sent, back).to_dict("records")
    assert pair == {"begins": 3, "ends": 0, "rtt_ns": (130 - 30) + (190 - 150)}
    early = table((105, 6)).assign(time_ns_then=[145])
    (pair,) = round_trips(sent, early).to_dict("records")
    assert pair == {"begins": 0, "ends": 0, "rtt_ns": 100 + 40}


def test_a_pair_is_of_one_flow() -> None:
    sent = table((0, 1)).assign(time_ns_then=[100])
    other = table((150, 2), port=3).assign(time_ns_then=[190])
    assert round_trips(sent, other).empty
