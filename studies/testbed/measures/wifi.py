"""What theory says about a WiFi link: times on the air, and how often stations collide.

Times are in microseconds, rates in Mbit/s, lengths in bytes. Section and table numbers are those of
IEEE Std 802.11-2012. Nothing here is shared with the driver (`qdisc/src/wifi`), which is compared
with it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import ceil, log2
from typing import Final

import numpy as np
from scipy.optimize import brentq

#: SIFS by band in GHz: tables 18-17 and 19-8.
SIFS_US: Final = {2: 10.0, 5: 16.0}

#: Silence after an OFDM frame at 2.4 GHz, 19.3.2.4.
EXTENSION_US: Final = {2: 6.0, 5: 0.0}

_LLC_SNAP, _FCS, _HEADER, _QOS_HEADER, _DELIMITER = 8, 4, 24, 26, 4
_ACK, _BLOCK_ACK, _CTS, _RTS = 14, 32, 14, 20
_IP_UDP = 28

CW_MAX: Final = 1023
REPLICAS, TRANSMISSIONS = 400, 4000  # of `countdown`, whose relative error is then below 0.5 %


@dataclass(frozen=True)
class Phy:
    """A medium and the rate of its data."""

    rate_mbit_s: float = 0  # of OFDM; 0: `mcs` counts
    mcs: int = 7
    width_mhz: int = 20
    short_gi: bool = False
    band_ghz: int = 5
    slot_us: float = 9

    @property
    def bits_a_symbol(self) -> int:
        """Data bits of an OFDM symbol: 18.2.3.4 (4 µs), 20.6 (3.6 or 4 µs)."""
        if self.rate_mbit_s:
            return round(self.rate_mbit_s * 4)
        coded = {0: 0.5, 1: 1, 2: 1.5, 3: 2, 4: 3, 5: 4, 6: 4.5, 7: 5}[self.mcs % 8]
        carriers = {20: 52, 40: 108}[self.width_mhz]
        return round(carriers * coded * (self.mcs // 8 + 1))

    @property
    def control_mbit_s(self) -> float:
        """Rate of the ACK: the highest of 6, 12 and 24 that the data's modulation reaches, 9.7."""
        rate = self.rate_mbit_s or (6, 12, 18, 24, 36, 48, 54, 54)[self.mcs % 8]
        return max(basic for basic in (6, 12, 24) if basic <= rate)


def ofdm_us(phy: Phy, rate_mbit_s: float, length: int) -> float:
    """Return the air time of a legacy OFDM frame, 18.4.3."""
    symbols = ceil((16 + 8 * length + 6) / (rate_mbit_s * 4))
    return 20 + 4 * symbols + EXTENSION_US[phy.band_ghz]


def data_us(phy: Phy, length: int) -> float:
    """Return the air time of a PPDU with a PSDU of `length`: 18.4.3, 20.4.3 (mixed format)."""
    if phy.rate_mbit_s:
        return ofdm_us(phy, phy.rate_mbit_s, length)
    tail = 6 if phy.bits_a_symbol <= 1200 else 12
    symbols = ceil((16 + 8 * length + tail) / phy.bits_a_symbol)
    training = 4 * {1: 1, 2: 2, 3: 4, 4: 4}[phy.mcs // 8 + 1]
    data = 4 * ceil(symbols * 3.6 / 4) if phy.short_gi else 4 * symbols
    return 20 + 8 + 4 + training + data + EXTENSION_US[phy.band_ghz]


def answer_us(phy: Phy, frames: int = 1) -> float:
    """Return the air time of an ACK, or of the compressed block ACK of several frames."""
    return ofdm_us(phy, phy.control_mbit_s, _BLOCK_ACK if frames > 1 else _ACK)


def protection_us(phy: Phy, protection: str) -> float:
    """Return what CTS-to-self or RTS and CTS take before the data, with their SIFS."""
    cts = ofdm_us(phy, 24, _CTS) + SIFS_US[phy.band_ghz]
    rts = ofdm_us(phy, 24, _RTS) + SIFS_US[phy.band_ghz]
    return {"none": 0, "cts-to-self": cts, "rts-cts": rts + cts}[protection]


def mpdu_bytes(phy: Phy, payload: int) -> int:
    """Return the length of the frame that has a UDP datagram of `payload`."""
    header = _HEADER if phy.rate_mbit_s else _QOS_HEADER
    return header + _LLC_SNAP + _IP_UDP + payload + _FCS


def psdu_bytes(phy: Phy, payload: int, frames: int) -> int:
    """Return the length of an A-MPDU of so many frames; one alone goes without a delimiter.
    8.6.1."""
    frame = mpdu_bytes(phy, payload)
    if frames == 1:
        return frame
    return (frames - 1) * 4 * ceil((_DELIMITER + frame) / 4) + _DELIMITER + frame


def frames_an_ampdu(phy: Phy, payload: int, most: int = 32) -> int:
    """Return how many frames a sender puts into an A-MPDU: subframes, 65535 bytes, time."""
    frames = 1
    while frames < most:
        length = psdu_bytes(phy, payload, frames + 1)
        if length > 65535 or data_us(phy, length) > 4000:
            break
        frames += 1
    return frames


def exchange_us(phy: Phy, payload: int, frames: int = 1, protection: str = "none") -> float:
    """Return the time from the start of a transmission to the end of its answer."""
    data = data_us(phy, psdu_bytes(phy, payload, frames))
    return protection_us(phy, protection) + data + SIFS_US[phy.band_ghz] + answer_us(phy, frames)


def single_sender_mbit_s(
    phy: Phy,
    payload: int,
    frames: int = 1,
    aifsn: int = 2,
    cw_min: int = 15,
    protection: str = "none",
) -> float:
    """Return the goodput of a saturated sender without loss: AIFS, mean backoff, an exchange."""
    idle = SIFS_US[phy.band_ghz] + (aifsn + cw_min / 2) * phy.slot_us
    return 8 * payload * frames / (idle + exchange_us(phy, payload, frames, protection))


@dataclass(frozen=True)
class SaturationModel:
    """`stations` that always have a frame."""

    collision_probability: float  # of a transmission
    goodput_mbit_s: float  # of all


def _busy_us(phy: Phy, payload: int) -> tuple[float, float]:
    """Return what a success and a collision take of the medium, with the silence before them."""
    ifs = SIFS_US[phy.band_ghz] + 2 * phy.slot_us
    return ifs + exchange_us(phy, payload), ifs + data_us(phy, mpdu_bytes(phy, payload))


def bianchi(phy: Phy, payload: int, stations: int, cw_min: int = 15) -> SaturationModel:
    """G. Bianchi, Performance analysis of the IEEE 802.11 distributed coordination function, IEEE
    JSAC 18(3), 2000, eqs. (7), (9), (10), (11) and (13), basic access, without a retry limit.

    A busy slot counts down as an idle one does, which EDCA does and DCF does not. A collision takes
    as long as the frame (no EIFS), there is no delay of propagation.
    """
    window, stages = cw_min + 1, _stages(cw_min)

    def attempts(p: float) -> float:  # eq. (7), in the form without 0/0 at p = 1/2
        grown = sum((2 * p) ** stage for stage in range(stages))
        return 2 / (1 + window + p * window * grown)

    p = _fixed_point(lambda p: 1 - (1 - attempts(p)) ** (stations - 1))
    tau = attempts(p)
    idle = (1 - tau) ** stations
    success = stations * tau * (1 - tau) ** (stations - 1)
    good, bad = _busy_us(phy, payload)
    mean = idle * phy.slot_us + success * good + (1 - idle - success) * bad
    return SaturationModel(p, success * 8 * payload / mean)


def frozen(phy: Phy, payload: int, stations: int, cw_min: int = 15) -> SaturationModel:
    """Solve Bianchi's model with the countdown of DCF, which a busy slot stops.

    Whoever did not send cannot have a backoff of 0 when the medium falls idle, so the first slot
    belongs to those that just sent and drew 0 (C. H. Foh, J. W. Tantra, Comments on IEEE 802.11
    saturation throughput analysis with freezing of backoff counters, IEEE Communications Letters
    9(2), 2005). Collisions of two that draw 0 after a collision are neglected.
    """
    windows = [(cw_min + 1) << stage for stage in range(_stages(cw_min) + 1)]

    def cycle(p: float) -> tuple[float, float, float]:
        """Return what a success of a station takes: slots waited, attempts after idle slots,
        attempts at once."""
        waited = late = early = 0.0
        reached = 1.0
        for stage in range(2000):
            window = windows[min(stage, len(windows) - 1)]
            waited += reached * (window - 1) / 2
            late += reached * (window - 1) / window
            early += reached / window
            reached *= p * (window - 1) / window
            if reached < 1e-15:
                break
        return waited, late, early

    def attempts(p: float) -> float:
        waited, late, _ = cycle(p)
        return late / waited

    p = _fixed_point(lambda p: 1 - (1 - attempts(p)) ** (stations - 1))
    waited, late, early = cycle(p)
    tau = late / waited
    # Per idle slot of the medium; each station counts down in all of them.
    alone = stations * tau * (1 - tau) ** (stations - 1)
    collisions = 1 - (1 - tau) ** stations - alone
    at_once = stations * early / waited
    good, bad = _busy_us(phy, payload)
    successes = alone + at_once
    mean = phy.slot_us + successes * good + collisions * bad
    return SaturationModel(p * late / (late + early), successes * 8 * payload / mean)


@cache
def countdown(stations: int, cw_min: int = 15, busy_slot_counts: bool = True) -> float:
    """Return the collision probability of the process that `bianchi` and `frozen` approximate.

    Simulated slot by slot, without their assumption that stations are independent of each other,
    which costs them up to 7 % with few stations and a small window.
    """
    draw = np.random.default_rng(1)
    stage = np.zeros((stations, REPLICAS), dtype=np.int32)
    backoff = draw.integers(0, cw_min + 1, stage.shape, dtype=np.int32)
    windows = np.minimum((cw_min + 1) << np.arange(17), CW_MAX + 1)
    made = failed = 0
    for step in range(TRANSMISSIONS):
        first = backoff.min(axis=0)
        who, where = np.nonzero(backoff == first)
        collides = np.bincount(where, minlength=REPLICAS)[where] > 1
        if step >= TRANSMISSIONS // 4:  # settled
            made += where.size
            failed += int(np.count_nonzero(collides))
        stages = np.minimum((stage[who, where] + 1) * collides, 16)
        backoff -= first + busy_slot_counts
        backoff[who, where] = draw.random(where.size) * windows[stages]  # before the point
        stage[who, where] = stages
    return failed / made


def anomaly_mbit_s(phys: list[Phy], payload: int) -> list[float]:
    """Return the goodput of each of two saturated senders that take turns, at rates of their own.

    M. Heusse, F. Rousseau, G. Berger-Sabbatel, A. Duda, Performance anomaly of 802.11b, INFOCOM
    2003: senders win the medium equally often, so all get the same, and the slowest decides it.
    Collisions as in `bianchi`, the longer frame deciding how long one takes.
    """
    p = bianchi(phys[0], payload, len(phys)).collision_probability
    tau = 1 - (1 - p) ** (1 / (len(phys) - 1))
    busy = [_busy_us(phy, payload) for phy in phys]
    idle = (1 - tau) ** len(phys)
    each = tau * (1 - tau) ** (len(phys) - 1)
    mean = idle * phys[0].slot_us + sum(each * good for good, _ in busy)
    # With two there is one way to collide; with more, the slowest is nearly always in it.
    mean += (1 - idle - len(phys) * each) * max(bad for _, bad in busy)
    return [each * 8 * payload / mean] * len(phys)


def _stages(cw_min: int) -> int:
    return ceil(log2((CW_MAX + 1) / (cw_min + 1)))


def _fixed_point(of: Callable[[float], float]) -> float:
    """Return the p in [0, 1) with p = of(p)."""
    return float(brentq(lambda p: p - of(p), 0.0, 1 - 1e-12, xtol=1e-13))
