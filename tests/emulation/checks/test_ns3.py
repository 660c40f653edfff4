"""emulation.checks.ns3, and a simulator compared with a guest."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulate.commands import bench as command
from qdisclab.emulation.checks import bench, ns3
from qdisclab.emulation.errors import ConfigError, MissingTool
from qdisclab.emulation.kernel import Kernel

PRINTED = json.dumps({"load_s": 4.0, "hops": 800_000, "packets": 200_000, "received_bytes": 10**8})


def test_it_is_told_what_the_guest_is_told() -> None:
    told = ns3.parameters(bench.SCENARIOS["rrul-10"].run(1, 20))
    assert (told["down_bit_s"], told["up_bit_s"], told["one_way_ns"]) == (10**7, 10**7, 25_000_000)
    assert (told["length_s"], told["receive_bytes"], told["send_bytes"]) == (20, 6291456, 4194304)


@pytest.mark.parametrize("name", ["rrul-wifi"])
def test_another_rig_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="five wired nodes"):
        ns3.parameters(bench.SCENARIOS[name].run(1, 20))


def test_what_it_prints() -> None:
    found = ns3.parse(f"a line of the linker\n{PRINTED}\n", "", 5.0)
    assert found == ns3.Simulated(5.0, 4.0, 800_000, 200_000, 10**8)


@pytest.mark.parametrize("printed", ["", "Segmentation fault\n", '{"load_s": 1}\n'])
def test_without_a_result_it_says_why(printed: str) -> None:
    with pytest.raises(MissingTool, match="ModuleNotFoundError: No module named 'ns'") as raised:
        ns3.parse(printed, "Traceback\nModuleNotFoundError: No module named 'ns'\n", 1.0)
    assert len(str(raised.value).splitlines()) == 1


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_without_a_network_it_is_told_in_one_line(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "WARNING: retrying\nERROR: No matching distribution found for ns3\n[notice] A new pip\n"

    def refuse(words: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        if "pip" in words:
            raise subprocess.CalledProcessError(1, words, stderr=said)
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr(ns3.subprocess, "run", refuse)  # type: ignore[attr-defined]
    with pytest.raises(MissingTool, match="pip says: ERROR: No matching distribution") as raised:
        ns3.install()
    assert len(str(raised.value).splitlines()) == 1
    assert not list(cache.rglob("installed"))


def test_it_is_installed_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []

    def install(words: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        calls.append(words)
        Path(words[-1]).mkdir(exist_ok=True, parents=True) if "venv" in words else None
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr(ns3.subprocess, "run", install)  # type: ignore[attr-defined]
    assert ns3.install() == ns3.install()
    assert [words[2] for words in calls] == ["venv", "pip"]
    assert calls[1][-1] == ns3.REQUIREMENT


def test_ratios_are_how_much_faster_it_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def simulate(run: object, python: Path) -> ns3.Simulated:
        return ns3.parse(PRINTED, "", 5.0)

    monkeypatch.setattr(ns3, "simulate", simulate)
    there = bench.simulator(bench.SCENARIOS["rrul-10"], 60.0, Path("python"))
    assert there["hops_per_s"] == 200_000
    assert there["load_factor"] == 15
    assert there["startup_s"] == 1
    guest = bench.Guest(80.0, 8.0, 7.0, 0.4, 100.0, 8000, 800_000, 2.0, 30.0, "a")
    built = Kernel(Path("/k/linux"), "k", "6.12.1", "6.12", {})
    measured = {"guests": 1, **bench.quantities([guest], 8.0)}
    assert measured["hops_per_s"] == 400_000
    assert measured["startup_s"] == 6
    entry = bench.report(bench.SCENARIOS["rrul-10"], built, [measured])
    found = bench.against(entry, [there])
    assert found["faster"] == {
        "load_factor": 2, "hops_per_s": 2, "startup_s": pytest.approx(1 / 6), "wall_s": 0.625
    }  # fmt: skip
    machine = {"cpu_model": "A CPU", "cpus": 2, "host_kernel": "6.1"}
    report = {"machine": machine, "scenarios": [entry], "comparison": [], "against": [found]}
    *_, row, words = command.lines(report)
    assert row.startswith(f"rrul-10\t{ns3.REQUIREMENT}\t-\t12.00\t15.00\t40000\t200000")
    assert "2.00 times as fast" in words and "all of a run 0.62 times" in words
