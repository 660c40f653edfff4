"""Tests of emulation.checks.bench: quantities, spreads, ratios, and two short boots."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulate import cli
from qdisclab.emulate.commands import bench as command
from qdisclab.emulation import kernel
from qdisclab.emulation.checks import bench
from qdisclab.emulation.checks.bench import Guest, Watch
from qdisclab.emulation.errors import ConfigError, GuestFailure
from qdisclab.emulation.kernel import Kernel


def guest(**changes: Any) -> Guest:
    told: dict[str, Any] = {
        "virtual_s": 80.0,
        "wall_s": 4.0,
        "cpu_s": 3.2,
        "boot_s": 0.4,
        "memory_mib": 120.0,
        "packets": 8000,
        "hops": 32000,
        "load_s": 2.0,
        "load_factor": 15.0,
        "data_sha256": "a",
    }
    return Guest(**{**told, **changes})


def entry(digest: str = "k", **changes: Any) -> dict[str, Any]:
    measured = {"guests": 1, **bench.quantities([guest(**changes)], 4.0)}
    built = Kernel(Path("/k/linux"), digest, "6.12.1", "6.12", {})
    return bench.report(bench.SCENARIOS["rrul-10"], built, [measured])


def test_guests_side_by_side_add_up() -> None:
    found = bench.quantities([guest(), guest(memory_mib=130.0, data_sha256="b")], 5.0)
    assert found["factor"] == 32
    assert found["packets_per_s"] == 3200
    assert found["cpu_s_per_virtual_s"] == pytest.approx(0.04)
    assert found["memory_mib"] == 130
    assert found["data_sha256"] == ["a", "b"]


def test_a_boot_has_no_factor() -> None:
    bare = guest(packets=0, hops=0, load_s=None, load_factor=None, data_sha256=None)
    found = bench.quantities([bare], 0.6)
    assert found["factor"] is None
    assert found["boot_s"] == 0.4


def test_spread_of_repeats() -> None:
    assert bench.spread([3.0, 1.0, 2.0]) == {"min": 1.0, "median": 2.0, "max": 3.0}
    assert bench.spread([None, None]) is None


def test_two_kernels_are_compared_by_medians() -> None:
    faster, slower = entry(), entry("o", virtual_s=40.0)
    found = bench.comparison(faster, slower)
    assert found["ratio"]["factor"] == 2
    assert found["identical"]
    assert not bench.comparison(faster, entry("o", data_sha256="z"))["identical"]


def test_the_load_is_between_two_virtual_instants() -> None:
    watch = Watch()
    watch.steps = [(0.5, 1.0), (1.0, 10.0), (2.0, 20.0), (3.0, 40.0), (3.1, 90.0)]
    assert watch.factor(10.0, 40.0) == 15
    assert watch.factor(41.0, 50.0) is None


def test_counters_of_the_root_count() -> None:
    root = {"root": True, "packets": 700}
    qdiscs = {"r1 p": {"qdiscs": [{"parent": "1:1", "packets": 5}, root]}}
    assert bench.carried_packets(qdiscs, ["r1 p"]) == 700


def test_memory_of_a_process() -> None:
    assert bench.peak_kib("Name:\tlinux\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n") == 2048
    assert bench.peak_kib("") == 0


def test_a_kernel_by_path_or_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = tmp_path / "linux"
    binary.write_bytes(b"x")
    assert bench.find_kernel(str(binary)).digest == "2d711642b726b044"
    cached = [Kernel(binary, digest, "6.12.1", "6.12", {}) for digest in ("ab1", "ab2")]
    monkeypatch.setattr(kernel, "kernels", lambda: tuple(cached))
    assert bench.find_kernel("ab2") is cached[1]
    for text, what in (("ab", "is 2 kernels"), ("zz", "is not a kernel")):
        with pytest.raises(ConfigError, match=what):
            bench.find_kernel(text)


def test_another_checkout_is_measured_by_its_own_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "emulate" / "commands").mkdir(parents=True)
    (tmp_path / "emulate" / "commands" / "bench.py").touch()
    other = bench.second(str(tmp_path))
    assert isinstance(other, bench.Checkout)
    told = {"scenarios": [entry("of the other")]}  # one without today's quantities
    del told["scenarios"][0]["hops_per_s"]

    def run(words: list[str], **where: Any) -> subprocess.CompletedProcess[str]:
        assert where["env"]["PYTHONPATH"] == str(where["cwd"]) == str(tmp_path)
        status, line = (1, "emulate: error: no kernel") if "boot" in words else (0, "")
        return subprocess.CompletedProcess(words, status, json.dumps(told), f"a\n{line}\n")

    monkeypatch.setattr(bench.subprocess, "run", run)  # type: ignore[attr-defined]
    measured = other.measure(bench.SCENARIOS["rrul-10"], 20.0)
    assert (measured["factor"], measured["hops_per_s"]) == (20, None)
    theirs = bench.report(bench.SCENARIOS["rrul-10"], other, [measured])
    found = bench.comparison(entry(), theirs)
    assert found["ratio"]["factor"] == 1 and found["ratio"]["hops_per_s"] is None
    assert found["kernels"] == ["k", str(tmp_path)]
    with pytest.raises(GuestFailure, match="no kernel"):
        other.measure(bench.SCENARIOS["boot"], 20.0)


def test_a_command_that_fails_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words: list[str] = []

    def run(given: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        words[:] = given
        return subprocess.CompletedProcess(given, 1, "", "emulate: error: no space\n")

    monkeypatch.setattr(bench.subprocess, "run", run)  # type: ignore[attr-defined]
    monkeypatch.setattr(bench.kernel, "find", lambda: None)  # type: ignore[attr-defined]
    built = bench.Kernel(tmp_path, "0123456789abcdef", "6.12.1", "6.12", {})
    with pytest.raises(GuestFailure, match="'emulate run' failed: emulate: error: no space"):
        bench.command(bench.SCENARIOS["command"], 20.0, built)
    assert words[words.index("--kernel") + 1] == "0123456789abcdef"


@pytest.mark.parametrize("length", ["-5", "0", "nan", "inf", "abc"])
def test_a_length_is_a_time_above_0(length: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["bench", "--scenario", "boot", f"--length={length}", "--kernel", "9.9"])
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("emulate bench: error: argument --length: ")
    assert error.endswith("; write e.g. '20 s'")


def test_an_unknown_scenario_is_refused() -> None:
    assert [one.name for one in bench.scenarios(None)][:2] == ["boot", "rrul-10"]
    with pytest.raises(ConfigError, match="rul-10"):
        bench.scenarios(["rul-10"])


def test_the_report_in_lines() -> None:
    told = {
        "machine": {"cpu_model": "A CPU", "cpus": 4, "host_kernel": "6.1"},
        "scenarios": [entry()],
        "comparison": [bench.comparison(entry(), entry("o"))],
        "against": [],
    }
    first, titles, row, ratios = command.lines(told)
    assert first == "A CPU, 4 CPUs, Linux 6.1"
    assert dict(zip(titles.split("\t"), row.split("\t"), strict=True))["factor"] == "20.00"
    assert "\tsame data\t1.000" in ratios


def test_the_kernel_is_the_one_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--kernel", "9.9", "--scenario", "boot"]) != 0
    assert "no source is known for 9.9" in capsys.readouterr().err


@pytest.mark.kernel
def test_short_scenarios(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "--json", "--length", "3"]
    words += ["--scenario", "boot", "--scenario", "rrul-10", "--scenario", "command"]
    assert cli.main(words) == 0
    told = json.loads(capfd.readouterr().out)
    booted, rrul, whole = told["scenarios"]
    assert whole["factor"]["median"] * whole["wall_s"]["median"] > 3  # virtual seconds
    assert len(whole["data_sha256"]) == 1 and whole["load_factor"] is None
    assert 0 < booted["boot_s"]["median"] < booted["wall_s"]["median"] + 0.05
    assert rrul["factor"]["median"] > 1
    assert rrul["load_factor"]["median"] > 0
    assert rrul["packets_per_s"]["median"] > 0
    assert 10 < rrul["memory_mib"]["median"] < 300


def test_an_ethernet_link_of_the_rates_that_a_wifi_link_carries() -> None:
    wired = bench.SCENARIOS["rrul-40-3"].run(1, 60).topology
    rates = {port.node: port.egress.rate.mbit_per_s for port in wired.queues()}  # type: ignore[union-attr]
    assert rates == {"router_up": 3, "router_down": 40}
    assert bench.SCENARIOS["rrul-wifi"].run(1, 60).topology.media
