"""A WiFi link: the options of its medium, its access point and its stations, and what each may be.

The names, units and ranges are those of the driver (`qdisc/src/wifi`, docs/wifi.md); the kernel
checks them again, and the effective values are read back before anything is sent.
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from qdisclab.emulation.model.units import Rate

#: The valid values of an option: words, or whole numbers.
Values = tuple[str, ...] | range | frozenset[int]

#: Options and their values; a direction holds options of its own, a trace lists of two numbers.
Options = Mapping[str, Any]

#: The kernel module that makes such links.
DRIVER = "wifi"

_SWITCH = frozenset({False, True})
_WORD, _LARGEST = 1 << 16, 1 << 32
_WINDOWS = frozenset((1 << bits) - 1 for bits in range(16))
_SLOW = frozenset({10, 20, 55, 110})  # 802.11b, at 2.4 GHz only
_LEGACY = frozenset({60, 90, 120, 180, 240, 360, 480, 540}) | _SLOW

MEDIUM: Mapping[str, Values] = {
    "band_ghz": frozenset({2, 5}),
    "slot_us": frozenset({9, 20}),
    "backoff": ("dcf", "edca"),
    "eifs": _SWITCH,
    "short_preamble": _SWITCH,
    "apart_us": range(1001),
    "batch": range(1, 65),
}
DEVICE: Mapping[str, Values] = {
    "aifsn": range(1, 16),
    "cw_min": _WINDOWS,
    "cw_max": _WINDOWS,
    "retries": range(255),
    "protection": ("none", "cts-to-self", "rts-cts"),
    "protection_rate_100kbit_s": _LEGACY,
    "subframes": range(1, 65),
    "ampdu_bytes": range(1, _WORD),
    "ampdu_us": range(100, 10_001),
    "ahead": range(5),
    "ring": range(1, _WORD),
    "wake": range(_WORD),
    "buffer": range(_WORD),
    "limit_bytes": range(_LARGEST),
    "limit_airtime_us": range(10_000_001),
    "scheduler": ("fifo", "robin", "airtime"),
    "overflow": ("stop", "drop"),
    "overhead_bytes": range(65),
    "forward_us": range(10_001),
}
CHANNEL: Mapping[str, Values] = {
    "rate_100kbit_s": _LEGACY,
    "mcs": range(32),
    "width_mhz": frozenset({20, 40}),
    "short_gi": _SWITCH,
    "control": ("fixed", "minstrel", "iwl"),
    "loss_ppm": range(1_000_001),
    "bad_loss_ppm": range(1_000_001),
    "good_us": range(1_000_000_001),
    "bad_us": range(1_000_000_001),
    "snr_decidb": range(1001),
    "residual_ppm": range(1_000_001),
}
DIRECTIONS = ("up", "down")  # of a station: to the access point, and from it
TRACE = "trace"  # [[us, 0.1 dB], …]

#: What the driver has where nothing is said, as far as other options must fit it.
_DEFAULTS = {"ring": 124, "wake": 122, "cw_min": 15, "cw_max": 1023, "band_ghz": 5}

#: iwlwifi's control sends with one antenna here, so with one stream.
_IWL_MCS = 7

#: (path below the options, what is wrong, what to do).
Flaw = tuple[tuple[str | int, ...], str, str]


@dataclass(frozen=True)
class Wifi:
    """An access point and its stations."""

    name: str  # as the experiment file calls it: `nanostation`
    access_point: Options = field(hash=False)  # those of the medium among them
    stations: tuple[Options, ...] = field(hash=False)

    def rate(self, direction: str) -> Rate | None:
        """Return the rate of the slowest station in `up` or `down`; None where one has 802.11n."""
        channels = [station.get(direction, {}) for station in self.stations]
        if any("rate_100kbit_s" not in channel for channel in channels):
            return None
        return Rate(100_000 * min(int(channel["rate_100kbit_s"]) for channel in channels))


def changed(link: Wifi, differences: Mapping[Any, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of the access point and of the only station of `link`, as `flaws` takes
    them, with `differences` in their place: `access_point`, `station`, and in that `up` and `down`.
    """
    (station,) = link.stations
    access_point = {**link.access_point, **differences.get("access_point", {})}
    new = differences.get("station", {})
    ways = [way for way in DIRECTIONS if isinstance(new.get(way), Mapping)]
    directions = {way: {**station.get(way, {}), **new[way]} for way in ways}
    return access_point, {**station, **new, **directions}


def flaws(access_point: Mapping[str, Any], stations: list[Mapping[str, Any]]) -> Iterator[Flaw]:
    """Yield everything that is wrong with the options of an access point and its stations."""
    band = access_point.get("band_ghz", _DEFAULTS["band_ghz"])
    for flaw in _device(access_point, {**MEDIUM, **DEVICE}, band):
        yield (("access_point", *flaw[0]), *flaw[1:])
    for number, station in enumerate(stations):
        for flaw in _station(station, band):
            yield (("stations", number, *flaw[0]), *flaw[1:])


def _station(section: Mapping[str, Any], band: Any) -> Iterator[Flaw]:
    own = {name: value for name, value in section.items() if name not in DIRECTIONS}
    yield from _device(own, DEVICE, band, DIRECTIONS)
    for direction in DIRECTIONS:
        channel = section.get(direction, {})
        if not isinstance(channel, Mapping):
            yield (direction,), "is not a mapping", "write options below it"
            continue
        for flaw in _channel(channel, band):
            yield ((direction, *flaw[0]), *flaw[1:])


def _device(
    section: Mapping[str, Any], valid: Mapping[str, Values], band: Any, more: tuple[str, ...] = ()
) -> Iterator[Flaw]:
    bad = list(_values(section, valid, more))
    yield from bad
    if bad:
        return
    full = {**_DEFAULTS, **section}
    if full["wake"] >= full["ring"]:
        what = f"{full['wake']} is not below the size of the ring, {full['ring']}"
        yield ("wake" if "wake" in section else "ring",), what, "the queue goes on at `wake` frames"
    if full["cw_min"] > full["cw_max"]:
        what = f"cw_min, {full['cw_min']}, is above cw_max, {full['cw_max']}"
        yield ("cw_min" if "cw_min" in section else "cw_max",), what, "write the smaller one first"
    if band == 5 and section.get("protection_rate_100kbit_s") in _SLOW:
        yield ("protection_rate_100kbit_s",), *_not_at_5_ghz(section["protection_rate_100kbit_s"])


def _channel(section: Mapping[str, Any], band: Any) -> Iterator[Flaw]:
    trace = section.get(TRACE)
    if trace is not None and not _is_trace(trace):
        todo = "write [[us, tenths of dB], …], up to 65535 steps of 1 us and 0.1 dB or more"
        yield (TRACE,), "is not a trace", todo
    settings = {name: value for name, value in section.items() if name != TRACE}
    bad = list(_values(settings, CHANNEL, (TRACE,)))
    yield from bad
    if bad:
        return
    if (rate := section.get("rate_100kbit_s")) is not None:
        for name in ("mcs", "width_mhz", "short_gi"):
            if name in section:
                what = "excludes rate_100kbit_s, which is not 802.11n"
                yield (name,), what, "leave one of the two"
    if band == 5 and rate in _SLOW:
        yield ("rate_100kbit_s",), *_not_at_5_ghz(rate)
    if section.get("control") == "iwl" and rate is None and section.get("mcs", 0) > _IWL_MCS:
        what = f"{section['mcs']} has more streams than iwl, which sends one"
        yield ("mcs",), what, f"write 0 to {_IWL_MCS}, or control: minstrel"
    if bool(section.get("good_us")) is not bool(section.get("bad_us")):
        name = "good_us" if section.get("good_us") else "bad_us"
        yield (name,), "is only one of two", "write both good_us and bad_us, or neither"


def _values(
    section: Mapping[str, Any], valid: Mapping[str, Values], more: tuple[str, ...]
) -> Iterator[Flaw]:
    for name, value in section.items():
        if name not in valid:
            names = [*valid, *more]
            close = difflib.get_close_matches(str(name), names, n=1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            yield (name,), f"unknown option '{name}'", f"{hint}valid: {', '.join(names)}"
        elif not _is(value, valid[name]):
            yield (name,), f"cannot be {value!r}", f"write {_in_words(valid[name])}"


def _is(value: Any, values: Values) -> bool:
    is_one = isinstance(value, str | int) and value in values
    return is_one and isinstance(value, bool) is (values is _SWITCH)


def _in_words(values: Values) -> str:
    if values is _SWITCH:
        return "true or false"
    if isinstance(values, range):
        return f"a whole number from {values[0]} to {values[-1]}"
    names = values if isinstance(values, tuple) else sorted(values)
    return f"one of {', '.join(str(name) for name in names)}"


def _is_trace(value: Any) -> bool:
    return (
        isinstance(value, list)
        and 0 < len(value) < _WORD
        and all(isinstance(step, list) and len(step) == 2 for step in value)
        and all(_is(us, range(1, _LARGEST)) and _is(snr, range(1, 1001)) for us, snr in value)
    )


def _not_at_5_ghz(rate: int) -> tuple[str, str]:
    return f"{rate / 10:g} Mbit/s does not exist at 5 GHz", "write 60 or more, or band_ghz: 2"
