"""Theory of the WiFi link, worked out by hand and by simulation of what the models describe."""

import random

import pytest

from studies.testbed.measures import wifi
from studies.testbed.measures.wifi import Phy

G = Phy(rate_mbit_s=54)


def collided(stations: int, cw_min: int, busy_slot_counts: bool, attempts: int = 100_000) -> float:
    """Share of attempts that collide when stations count down slot by slot, by simulation."""
    draw = random.Random(1)
    stages, cw_max = [0] * stations, 1023
    backoff = [draw.randrange(cw_min + 1) for _ in range(stations)]
    made = failed = 0
    while made < attempts:
        first = min(backoff)
        senders = [one for one in range(stations) if backoff[one] == first]
        made += len(senders)
        failed += len(senders) if len(senders) > 1 else 0
        for one in range(stations):
            if one in senders:
                stages[one] = stages[one] + 1 if len(senders) > 1 else 0
                window = min((cw_min + 1) << stages[one], cw_max + 1)
                backoff[one] = draw.randrange(window)
            else:
                backoff[one] -= first + busy_slot_counts
    return failed / made


def test_times_of_ofdm() -> None:
    # 20 us of preamble, then symbols of 4 us: 16 + 8 * 1536 + 6 bits in symbols of 216
    assert wifi.mpdu_bytes(G, 1472) == 1536
    assert wifi.data_us(G, 1536) == 20 + 57 * 4
    assert wifi.answer_us(G) == 20 + 2 * 4
    assert wifi.answer_us(Phy(rate_mbit_s=9)) == 20 + 6 * 4
    assert wifi.answer_us(Phy(rate_mbit_s=54, band_ghz=2)) == 34
    assert wifi.protection_us(G, "rts-cts") == 28 + 16 + 28 + 16


def test_times_of_ht() -> None:
    # One stream: 36 us in front; two: 40 us
    assert wifi.data_us(Phy(mcs=7), 1538) == 36 + 4 * 48  # 12326 bits in symbols of 260
    assert wifi.data_us(Phy(mcs=15), 1538) == 40 + 4 * 24
    assert wifi.data_us(Phy(mcs=7, short_gi=True), 1538) == 36 + 176  # 48 * 3.6 = 172.8
    assert Phy(mcs=7, width_mhz=40).bits_a_symbol == 540
    assert Phy(mcs=31, width_mhz=40).bits_a_symbol == 2160
    assert wifi.answer_us(Phy(mcs=7), frames=2) == 20 + 3 * 4


def test_lengths_of_ampdus() -> None:
    phy = Phy(mcs=7)
    assert wifi.psdu_bytes(phy, 1472, 1) == 1538
    assert wifi.psdu_bytes(phy, 1472, 2) == 1544 + 1542  # the first is padded to 4 bytes
    assert wifi.frames_an_ampdu(phy, 1472) == 20  # 4 ms at 65 Mbit/s
    assert wifi.frames_an_ampdu(Phy(mcs=15, width_mhz=40, short_gi=True), 1472, 64) == 42  # 64 KiB


def test_a_single_sender() -> None:
    # 34 us DIFS, 67.5 us mean backoff, 248 + 16 + 28 us
    assert wifi.single_sender_mbit_s(G, 1472) == pytest.approx(8 * 1472 / 393.5)


@pytest.mark.parametrize("stations", [1, 2, 5, 10, 20])
@pytest.mark.parametrize("model", [wifi.bianchi, wifi.frozen])
def test_one_station_never_collides_more_do_more_often(model: object, stations: int) -> None:
    assert callable(model)
    found = model(G, 1472, stations)
    assert (found.collision_probability == pytest.approx(0, abs=1e-9)) == (stations == 1)
    if stations == 1:
        assert found.goodput_mbit_s == pytest.approx(wifi.single_sender_mbit_s(G, 1472), rel=1e-9)
    else:
        fewer = model(G, 1472, stations - 1)
        assert found.collision_probability > fewer.collision_probability


@pytest.mark.parametrize("stations", [5, 10, 20])
def test_models_agree_with_a_simulation_of_the_countdown(stations: int) -> None:
    for model, counts in ((wifi.bianchi, True), (wifi.frozen, False)):
        predicted = model(G, 1472, stations, cw_min=31).collision_probability
        found = wifi.countdown(stations, 31, busy_slot_counts=counts)
        assert found == pytest.approx(predicted, rel=0.02)


@pytest.mark.parametrize("counts", [True, False])
def test_the_simulation_agrees_with_a_naive_one(counts: bool) -> None:
    naive = collided(3, 15, counts)
    assert wifi.countdown(3, 15, busy_slot_counts=counts) == pytest.approx(naive, rel=0.02)


def test_two_stations_with_a_small_window_are_beyond_the_independence_that_bianchi_assumes() -> (
    None
):
    found = wifi.countdown(2, 15)
    assert 1.05 < found / wifi.bianchi(G, 1472, 2).collision_probability < 1.09


def test_a_slow_station_takes_the_fast_one_along() -> None:
    fast, slow = wifi.anomaly_mbit_s([G, Phy(rate_mbit_s=6)], 1472)
    assert fast == slow
    alone = wifi.single_sender_mbit_s(Phy(rate_mbit_s=6), 1472)
    assert alone / 2 < fast < alone
    both = wifi.anomaly_mbit_s([G, G], 1472)
    assert sum(both) == pytest.approx(wifi.bianchi(G, 1472, 2).goodput_mbit_s)
