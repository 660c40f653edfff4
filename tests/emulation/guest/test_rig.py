"""Tests of emulation.guest.rig on the host: module parameters, lines of `tc`."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def rig(guest_modules: None) -> ModuleType:
    return importlib.import_module("rig")


def test_a_parameter_is_written(rig: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "hystart"
    path.write_text("1\n")
    rig.set_parameters({str(path): "0"})
    assert path.read_text() == "0\n"
    rig.set_parameters({})


def test_a_parameter_that_the_kernel_lacks_is_refused(rig: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "sch_pie/parameters/of_2014"
    said = f"{path} cannot be set to 1: No such file or directory; this kernel lacks what the era"
    with pytest.raises(rig.Failure, match=said) as caught:
        rig.set_parameters({str(path): "1"})
    assert caught.value.cause == "rig"


def test_a_parameter_that_keeps_its_value_is_refused(rig: ModuleType) -> None:
    with pytest.raises(rig.Failure, match="/dev/null is , not 1"):
        rig.set_parameters({"/dev/null": "1"})


def test_a_qdisc_is_a_line_of_a_batch(rig: ModuleType) -> None:
    asked = {"parent": "root", "handle": "1:", "kind": "prio", "arguments": ["bands", "4"]}
    port = {"interface": "eth0"}
    line = "qdisc add dev eth0 root handle 1: prio bands 4"
    assert rig.add_qdisc(port, asked) == line
    below = {**asked, "parent": "1:1", "handle": "10:", "kind": "pfifo", "arguments": []}
    line = "qdisc add dev eth0 parent 1:1 handle 10: pfifo"
    assert rig.add_qdisc(port, below) == line
