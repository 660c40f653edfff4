"""emulation.config.kinds: a study brings kinds of rigs and traffic by files in its folder alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from emulation.config import kinds
from emulation.config.catalogue import load, select
from emulation.config.job import job_of
from emulation.errors import ConfigError
from emulation.machine import guestcode
from emulation.study import trust

STUDY = """\
format: 1
study: mine
title: Kinds of its own
rig: {kind: cable, bottleneck: 10 Mbit/s}
experiments:
  first:
    title: Datagrams
    traffic: {kind: burst, test: burst, length: 2 s, step: 100 ms, start_jitter: 1 ms, datagrams: 9}
"""

RIG = '''\
"""Two hosts and a cable."""

from collections.abc import Mapping
from typing import Literal

from emulation.kinds.rigs.base import RigSection
from emulation.model.egress import BURST, SHAPER_LIMIT, Shaper
from emulation.model.qdisc import Qdisc
from emulation.model.topology import Link, Node, Port, Topology, Wire
from emulation.model.units import Rate
from emulation.study.schema import LinkRate


class Cable(RigSection):
    """A cable with a FIFO at each end."""

    kind: Literal["cable"]
    bottleneck: LinkRate

    @property
    def tested(self) -> bool:
        """Return False: its queues are its own."""
        return False

    def topology(self, link: Link | None, queues: Mapping[Rate, Qdisc]) -> Topology:
        """Build the cable."""
        ends = [
            Port(name, "eth0", f"10.0.0.{number}/24", Shaper(self.bottleneck, BURST, SHAPER_LIMIT))
            for number, name in enumerate(("client", "server"), 1)
        ]
        nodes = (Node("client", forwards=False), Node("server", forwards=False))
        return Topology("cable", nodes, (Wire(*ends),))
'''

TRAFFIC = '''\
"""Datagrams from the first node to the second."""

import json
from pathlib import Path
from typing import Literal

from emulation.captures import flent
from emulation.kinds.traffic.base import TrafficSection


class Burst(TrafficSection):
    """So many datagrams."""

    kind: Literal["burst"]
    datagrams: int
    tools = {"burst": (Path(__file__).parent / "guest/burst.py",)}

    def check(self, rig, topology):
        """Take any rig."""

    def job(self, run, topology):
        """Return what the guest's module `burst` needs."""
        address = topology.port("server").ip
        return {"tool": "burst", "address": address, "datagrams": self.datagrams}

    def reduce(self, run, out, raw):
        """Make a file in flent's form of the times."""
        times = json.loads((out / "burst.json").read_text())
        content = flent.content(self.flent_about(run), {"Sent": times}, {})
        flent.write(content, out / "data.flent.gz")
'''

GUEST = '''\
"""Sends datagrams; the kernel's clock says when."""

import json
import socket
import time


def run(rig, traffic, status):
    began, times = time.monotonic(), []
    with rig.namespace("client"), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(traffic["datagrams"]):
            sender.sendto(bytes(1000), (traffic["address"], 9))
            time.sleep(0.1)
            times.append(round(time.monotonic() - began, 3))
    status("traffic")
    with open("/job/out/burst.json", "w") as file:
        json.dump(times, file)
'''


@pytest.fixture(autouse=True)
def without_kinds_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for registry in kinds.REGISTRIES:
        monkeypatch.setattr(
            registry, "_kinds", {name: (registry[name], registry.file(name)) for name in registry}
        )


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study of the user's own, whose kinds lie in its folder."""
    folder = tmp_path / "mine"
    (folder / "kinds/guest").mkdir(parents=True)
    (folder / "study.yaml").write_text(STUDY)
    (folder / "kinds/cable.py").write_text(RIG)
    (folder / "kinds/burst.py").write_text(TRAFFIC)
    (folder / "kinds/guest/burst.py").write_text(GUEST)
    trust.own(folder)
    return folder


def test_a_study_brings_a_rig_and_traffic_in_a_file_each(study: Path) -> None:
    (experiment,) = load(study).experiments
    (run,) = select(experiment)
    job = job_of(run)
    assert [node["name"] for node in job["nodes"]] == ["client", "server"]
    assert job["traffic"] == {"tool": "burst", "address": "10.0.0.2", "datagrams": 9}
    files = guestcode.files(job)
    assert files["burst.py"] == GUEST.encode()
    assert "iperf.py" not in files


@pytest.mark.parametrize(
    ("name", "text", "where", "what"),
    [
        ("cable2.py", RIG, "kinds/cable2.py", "the rig 'cable' is defined a second time"),
        (
            "burst.py",
            TRAFFIC.replace('"burst"]', '"flent"]'),
            "kinds/burst.py",
            "'flent' is defined",
        ),
        ("burst.py", "\n1 / 0\n", "kinds/burst.py:2", "ZeroDivisionError"),
        ("more.py", "NUMBER = 1\n", "kinds/more.py", "defines no kind of"),
    ],
)
def test_what_is_wrong_with_a_file_of_kinds(
    study: Path, name: str, text: str, where: str, what: str
) -> None:
    (study / "kinds" / name).write_text(text)
    with pytest.raises(ConfigError, match=what) as caught:
        load(study)
    assert caught.value.where == str(study / where)


def test_a_second_definition_names_the_first(study: Path) -> None:
    (study / "kinds/zcable.py").write_text(RIG + "\n")
    with pytest.raises(ConfigError, match=f"first in {study / 'kinds/cable.py'}"):
        load(study)


def test_a_copy_of_a_study_brings_the_same_kinds(study: Path, tmp_path: Path) -> None:
    load(study)
    copy = shutil.copytree(study, tmp_path / "copy/mine")
    trust.own(copy)
    assert load(copy).name == "mine"


def test_a_kind_that_changes_is_read_again(study: Path) -> None:
    load(study)
    (study / "kinds/burst.py").write_text(
        TRAFFIC.replace("datagrams: int", "datagrams: int = 3\n    gap: int")
    )
    with pytest.raises(ConfigError, match="gap"):
        load(study)


def test_nothing_of_a_stranger_is_executed(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(trust.VARIABLE, raising=False)
    other = study.rename(tmp_path / "theirs")
    (other / "study.yaml").write_text(STUDY.replace("study: mine", "study: theirs"))
    with pytest.raises(trust.Untrusted):
        load(other)
