"""emulation.model.wifi, and how an experiment file states a WiFi link."""

import ast
import re
from typing import Any

import pytest

from qdisclab.emulation.kinds.rigs.daisy_chain import DaisyChain
from qdisclab.emulation.machine import guestcode
from qdisclab.emulation.model.wifi import CHANNEL, DEVICE, MEDIUM, flaws
from tests import ROOT
from tests.studyfile import Read, Refusal

FILE = """\
format: 1
study: mine
title: A small file
links:
  100/100: {down: 100 Mbit/s, up: 100 Mbit/s}
qdiscs:
  codel:
    kind: codel
    rates: {100 Mbit/s: {target: 5 ms}}
wifi:
  home:
    access_point: {band_ghz: 5, cw_max: 63}
    stations: [{ring: 224, wake: 190, up: {mcs: 7}, down: {mcs: 15}}]
rig:
  base_rtt: 50 ms
  edge_rate: 1 Gbit/s
experiments:
  rrul:
    title: RRUL
    section: "7"
    traffic: {kind: flent, test: rrul_be, length: 20 s, step: 200 ms, start_jitter: 50 ms}
    rig: {wifi: home}
    sweep: {link: [100/100], qdisc: [codel], cc: [cubic]}
"""


def test_a_file_states_a_wifi_link(first_of: Read) -> None:
    experiment = first_of(FILE)
    assert isinstance(experiment.rig, DaisyChain)
    wifi = experiment.rig.wifi
    assert wifi is not None
    assert wifi.name == "home"
    assert wifi.access_point == {"band_ghz": 5, "cw_max": 63}
    (station,) = wifi.stations
    expected = {"ring": 224, "wake": 190, "up": {"mcs": 7}, "down": {"mcs": 15}}
    assert station == expected


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("wifi: home", "wifi: hom", "22: experiments.rrul.rig.wifi: unknown WiFi link 'hom'; did"),
        ("cw_max: 63", "cw_mx: 63", "12: wifi.home.access_point.cw_mx: unknown option 'cw_mx'; di"),
        ("cw_max: 63", "cw_max: 60", "12: wifi.home.access_point.cw_max: cannot be 60; write one"),
        ("cw_max: 63", "cw_max: 7", "12: wifi.home.access_point.cw_max: cw_min, 15, is above"),
        ("cw_max: 63", "up: {}", "12: wifi.home.access_point.up: unknown option 'up'"),
        ("cw_max: 63", "aifsn: true", "12: wifi.home.access_point.aifsn: cannot be True; write a"),
        ("cw_max: 63", "eifs: 1", "12: wifi.home.access_point.eifs: cannot be 1; write true or"),
        ("ring: 224", "band_ghz: 2", "13: wifi.home.stations[0].band_ghz: unknown option"),
        ("ring: 224", "ring: 0", "13: wifi.home.stations[0].ring: cannot be 0; write a whole"),
        ("wake: 190", "wake: 224", "13: wifi.home.stations[0].wake: 224 is not below the size of"),
        ("mcs: 7", "mcs: 32", "13: wifi.home.stations[0].up.mcs: cannot be 32; write a whole"),
        ("mcs: 7", "mcs: 7, rate_100kbit_s: 60", "13: wifi.home.stations[0].up.mcs: excludes"),
        ("mcs: 7", "rate_100kbit_s: 110", "13: wifi.home.stations[0].up.rate_100kbit_s: 11 Mbit"),
        ("mcs: 7", "good_us: 5", "13: wifi.home.stations[0].up.good_us: is only one of two"),
        ("mcs: 7", "mcs: 8, control: iwl", "13: wifi.home.stations[0].up.mcs: 8 has more streams"),
        ("mcs: 7", "trace: [[0, 5]]", "13: wifi.home.stations[0].up.trace: is not a trace; write"),
        ("{mcs: 7}", "7", "13: wifi.home.stations[0].up: is not a mapping; write"),
        ("  edge_rate", "  kind: none\n  edge_rate", "23: experiments.rrul.rig.wifi: unknown key"),
        ("[{ring", "[{}, {ring", "'home' has 2 stations, a daisy chain has one client; write 1"),
    ],
)
def test_each_mistake_is_refused_by_name(refusal: Refusal, old: str, new: str, said: str) -> None:
    assert FILE.count(old) == 1
    lines = refusal(FILE.replace(old, new))
    assert any(said in line for line in lines), lines


def test_what_goes_together_is_accepted() -> None:
    assert not list(flaws({"band_ghz": 2}, [{"up": {"rate_100kbit_s": 110}}]))
    trace = {"trace": [[100_000, 250], [50_000, 120]], "control": "minstrel"}
    assert not list(flaws({}, [{"down": {"good_us": 1000, "bad_us": 1000, **trace}}, {}]))


def guest(name: str) -> Any:
    """What the guest's module has under `name`, which is written there as a literal."""
    tree = ast.parse((guestcode.FOLDER / "wifi.py").read_text())
    found = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    )
    return ast.literal_eval(next(found))


def test_the_options_are_those_of_the_guest() -> None:
    for name, valid in (("MEDIUM", MEDIUM), ("DEVICE", DEVICE), ("CHANNEL", CHANNEL)):
        assert guest(name).keys() == valid.keys()
    for name, words in guest("WORDS").items():
        assert {**MEDIUM, **DEVICE, **CHANNEL}[name] == words


def test_the_ranges_are_those_of_the_kernel() -> None:
    source = (ROOT / "qdisc/src/wifi/netlink.c").read_text()
    pattern = r"IFLA_WIFI_(\w+)\]\s*= NLA_POLICY_(?:MAX|RANGE)\(NLA_U32, (?:(\d+), )?(\d+)\)"
    limits = {one: (int(low or 0), int(high)) for one, low, high in re.findall(pattern, source)}
    ours = {
        "AIFSN": "aifsn",
        "RETRIES": "retries",
        "AMPDU_TIME": "ampdu_us",
        "OVERHEAD": "overhead_bytes",
        "CHANNEL_MCS": "mcs",
        "CHANNEL_SNR": "snr_decidb",
    }
    for attribute, name in ours.items():
        values = {**DEVICE, **CHANNEL}[name]
        assert isinstance(values, range)
        assert (values[0], values[-1]) == limits[attribute]
