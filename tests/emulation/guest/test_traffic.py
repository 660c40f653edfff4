"""Tests of emulation.guest.traffic on the host: the idle path, flent's command, late starts."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

from tests import write_executable

PING = """\
PING 10.0.4.2 (10.0.4.2) 56(84) bytes of data.

--- 10.0.4.2 ping statistics ---
3 packets transmitted, {received} received, 0% packet loss, time 402ms
"""
RTT = "rtt min/avg/max/mdev = {least}/{least}/61.000/0.200 ms\n"


@pytest.fixture
def traffic(guest_modules: None) -> ModuleType:
    return importlib.import_module("traffic")


class Rig:
    """A rig in which each command says `out`."""

    def __init__(self, out: str) -> None:
        self.out = out
        self.commands: list[tuple[str, ...]] = []

    def run(self, node: str, *command: str) -> str:
        self.commands.append((node, *command))
        return self.out


def pinged(least: str) -> Rig:
    return Rig(PING.format(received=3) + RTT.format(least=least))


@pytest.mark.parametrize("least", ["50.000", "50.002", "51.999", "52.000"])
def test_an_idle_path_as_long_as_asked(traffic: ModuleType, least: str) -> None:
    rig = pinged(least)
    host = {"address": "10.0.4.3", "base_rtt_ms": 50.0}
    assert traffic.check_base_rtt(rig, "client", host, traffic.RTT_SLACK_MS) == float(least)
    assert rig.commands[0][:2] == ("client", "ping")
    assert rig.commands[0][-1] == "10.0.4.3"


@pytest.mark.parametrize("least", ["49.999", "52.001", "0.040", "500.000"])
def test_an_idle_path_of_another_length_is_refused(traffic: ModuleType, least: str) -> None:
    host = {"address": "10.0.4.3", "base_rtt_ms": 50.0}
    with pytest.raises(traffic.Failure, match=r"to 10\.0\.4\.3 takes .* ms, not 50$"):
        traffic.check_base_rtt(pinged(least), "client", host, traffic.RTT_SLACK_MS)


def test_a_path_without_an_answer_is_refused(traffic: ModuleType) -> None:
    host = {"address": "10.0.4.3", "base_rtt_ms": 50.0}
    with pytest.raises(traffic.Failure, match=r"no answer from 10\.0\.4\.3: PING") as caught:
        traffic.check_base_rtt(Rig(PING.format(received=0)), "client", host, traffic.RTT_SLACK_MS)
    assert caught.value.cause == "rig"


def test_only_tcp_flows_start_late(traffic: ModuleType, tmp_path: Path) -> None:
    said = tmp_path / "said"
    for name in ("sleep", "netperf"):
        write_executable(tmp_path / name, f'echo {name} "$@" >> {said}')
    text = traffic.JITTER.format(jitter_us=50000).replace("/usr/bin/", f"{tmp_path}/")
    script = write_executable(tmp_path / "jittered", text)

    def ran(*words: str) -> list[str]:
        said.write_text("")
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
        subprocess.run([script, *words], env=environment, check=True)
        return said.read_text().splitlines()

    assert ran("-H", "x", "-t", "UDP_RR") == ["netperf -H x -t UDP_RR"]
    waits = []
    for _ in range(20):
        slept, became = ran("-H", "x", "-t", "TCP_MAERTS")
        assert became == "netperf -H x -t TCP_MAERTS"
        waits.append(float(slept.removeprefix("sleep ")))
    assert 0 <= min(waits) < max(waits) < 0.05


def test_a_server_of_its_own_module_is_started_by_it(traffic: ModuleType) -> None:
    told: dict[str, Any] = {"server": "server", "hosts": [{"address": "10.0.4.2"}]}
    module = mock.MagicMock()
    module.start.return_value = ["a process"]
    with mock.patch.dict(sys.modules, {"ditg": module}):
        assert traffic.start("ditg", "the rig", told) == ["a process"]
    module.start.assert_called_once_with("the rig", told)
