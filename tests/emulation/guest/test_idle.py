"""The guest's module `idle`: a measured RTT against the sum of the delays."""

import sys
from types import ModuleType
from typing import Any

import pytest

from qdisclab.emulation.machine import guestcode
from tests.emulation.guest.test_own_qdiscs import Failure

PAIR = {"client": "a", "address": "10.0.3.1", "base_rtt_ms": 40.0}


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, without Mininet."""
    rig = ModuleType("rig")
    vars(rig)["Failure"] = Failure
    monkeypatch.setitem(sys.modules, "rig", rig)
    monkeypatch.setitem(sys.modules, "programs", ModuleType("programs"))
    module = ModuleType("idle")
    exec(guestcode.read(guestcode.FOLDER / "idle.py"), vars(module))  # noqa: S102
    return module


@pytest.mark.parametrize("measured", [40.0, 42.5, None])
def test_a_path_as_long_as_its_delays(idle: Any, measured: float | None) -> None:
    idle.check(PAIR, measured, 2.5)
    idle.check({"client": "a", "address": "10.0.3.1"}, 7.0, 0.0)  # nothing is known of it


@pytest.mark.parametrize("measured", [39.9, 42.6])
def test_another_is_named(idle: Any, measured: float) -> None:
    said = rf"from a to 10\.0\.3\.1 takes {measured} ms, and its delays are 40 ms in all"
    with pytest.raises(Failure, match=said):
        idle.check(PAIR, measured, 2.5)
