"""emulation.config.kinds: a study brings kinds of all nouns by files in its folder alone."""

import json
import shutil
from pathlib import Path

import pytest

from qdisclab.emulation import datafile, kernel
from qdisclab.emulation.config import kinds
from qdisclab.emulation.config.catalogue import load, select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.kinds.probes import probe
from qdisclab.emulation.kinds.probes.probe import Probe
from qdisclab.emulation.machine import guestcode, provenance, rootfs
from qdisclab.emulation.model.run import Experiment, Run
from qdisclab.emulation.runs.run import execute
from qdisclab.emulation.study import trust

STUDY = """\
format: 1
study: mine
title: Kinds of its own
rig: {kind: cable}
qdiscs:
  bands: {kind: ets, options: {bands: 3, strict: 1}}
experiments:
  first:
    title: Datagrams
    traffic: {kind: burst, length: 3 s, datagrams: 25}
    sweep: {link: [10/10], qdisc: [bands], cc: [reno]}
"""

#: The files that each kind of the study takes, below its folder `kinds`.
FILES = {
    "qdisc": {
        "ets.py": '''\
"""Enhanced transmission selection: strict bands before those that are served in turn."""

from typing import Any

from qdisclab.emulation.kinds.qdiscs.base import QdiscKind, TcOption


def read_back(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the options as they are, and the strict bands, which tc leaves out without any."""
    return {"strict": 0, **options}, {}


BANDS = TcOption(int, least=1, most=16, is_required=True)
KIND = QdiscKind("ets", {"bands": BANDS, "strict": int}, read_back=read_back)
'''
    },
    "rig": {
        "cable.py": '''\
"""Two hosts and a cable, with a shaper at each end."""

from collections.abc import Mapping
from typing import Literal

from qdisclab.emulation.kinds.rigs.base import RigSection
from qdisclab.emulation.model.egress import BURST, SHAPER_LIMIT, Shaper
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.topology import Link, Node, Port, Topology, Wire
from qdisclab.emulation.model.units import Rate


class Cable(RigSection):
    """A cable."""

    kind: Literal["cable"]

    def topology(self, link: Link | None, queues: Mapping[Rate, Qdisc]) -> Topology:
        """Build the cable."""
        assert link is not None
        ends = [
            Port(
                node,
                "eth0",
                f"10.0.0.{number}/24",
                Shaper(link.up, BURST, SHAPER_LIMIT, queues.get(link.up)),
            )
            for number, node in enumerate(("client", "server"), 1)
        ]
        nodes = (Node("client", forwards=False), Node("server", forwards=False))
        return Topology("cable", nodes, (Wire(*ends),))
'''
    },
    "traffic": {
        "burst.py": '''\
"""Datagrams from the client to the server."""

import json
from pathlib import Path
from typing import Literal

from qdisclab.emulation.captures import flent
from qdisclab.emulation.kinds.traffic.base import TrafficSection
from qdisclab.emulation.model.units import Duration


class Burst(TrafficSection):
    """So many datagrams."""

    tools = {"burst": (Path(__file__).parent / "guest/burst.py",)}

    kind: Literal["burst"]
    test: str = "burst"
    step: Duration = Duration(10**8)
    start_jitter: Duration = Duration(1)
    datagrams: int

    def check(self, rig, topology):
        """Take any rig."""

    def job(self, run, topology):
        """Return what the guest's module `burst` needs."""
        address = topology.port("server").ip
        return {"tool": "burst", "address": address, "datagrams": self.datagrams}

    def reduce(self, run, out):
        """Make a file in flent's form of the times."""
        times = json.loads((out / "burst.json").read_text())
        content = flent.content(self.flent_about(run), {"Sent": times}, {})
        flent.write(content, out / "data.flent.gz")
''',
        "guest/burst.py": '''\
"""Sends datagrams; virtual time says when."""

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
    with open("/job/out/burst.json", "w") as file:
        json.dump(times, file)
''',
    },
    "probe": {
        "sizes.py": '''\
"""The sizes of the packets that the client sends."""

import pandas as pd

from qdisclab.emulation.kinds.probes.base import QUEUE, ProbeKind


def places(run):
    """Return the client's port."""
    return [("client", "eth0")]


def write(run, place, packets, table):
    """Write a row per packet."""
    pd.read_parquet(packets)[["length"]].to_csv(table, index=False)


KIND = ProbeKind("sizes", "sizes", QUEUE, places, write=write)
'''
    },
}
RIG, TRAFFIC = FILES["rig"]["cable.py"], FILES["traffic"]["burst.py"]


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
    for files in FILES.values():
        for name, text in files.items():
            (folder / "kinds" / name).write_text(text)
    trust.own(folder)
    return folder


def first_of(study: Path) -> Run:
    (experiment,) = load(study).experiments
    (run,) = select(experiment)
    return run


def test_a_study_brings_kinds_of_all_nouns(study: Path) -> None:
    run = first_of(study)
    assert run.point.up.kind == "ets"
    job = job_of(run)
    assert [node["name"] for node in job["nodes"]] == ["client", "server"]
    assert job["traffic"] == {"tool": "burst", "address": "10.0.0.2", "datagrams": 25}
    files = guestcode.files(job)
    assert files["burst.py"] == FILES["traffic"]["guest/burst.py"].encode()
    assert b'READ_BACK["ets"] = read_back' in files["readback.py"]
    assert b'READ_BACK["cake"]' not in files["readback.py"]
    assert "iperf.py" not in files
    probes = (Probe.parse("sizes"),)
    assert probe.files(probes, run) == {"probe.sizes.csv": ".sizes.csv"}
    with pytest.raises(ConfigError, match="unknown kind 'sisez', did you mean 'sizes'"):
        Probe.parse("sisez")


def test_a_new_kind_touches_one_file(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside it lies what runs in the guest, where traffic has a tool of its own."""
    load(study)
    counts = {}
    for registry in kinds.REGISTRIES:
        own = {registry.file(name) for name in registry if study in registry.file(name).parents}
        counts[registry.noun] = len(own)
        assert {path.name for path in own} == {
            name for name in FILES[registry.noun] if "/" not in name
        }
    with capsys.disabled():
        print("\nfiles that a new kind touches:", counts)
    assert counts == dict.fromkeys(FILES, 1)


@pytest.mark.kernel
def test_a_run_of_kinds_of_a_study(study: Path, tmp_path: Path) -> None:
    run = first_of(study)
    probes = (Probe.parse("sizes"),)
    result = execute(run, kernel.build(), rootfs.build(), tmp_path / "data", probes=probes)
    record = json.loads(result.provenance.read_text())
    (_, queue) = record["qdiscs"]["client eth0"]["qdiscs"]
    assert (queue["kind"], queue["packets"]) == ("ets", 25 + 1)  # one asks for an address
    sent = datafile.read_json(result.data)["results"]["Sent"]
    assert len(sent) == 25 and sent[0] == 0.1
    sizes = result.data.with_name("seed-001.sizes.csv").read_text().splitlines()
    assert sizes.count("1042") == 15  # it began a second after the first
    assert record["identity"]["guest"] == provenance.guest_code_digest(job_of(run))


def test_what_the_guest_does_not_have_is_named(study: Path) -> None:
    text = FILES["qdisc"]["ets.py"]
    text = text.replace('{"strict": 0, **options}', "[NONE for _ in (1,)][0] | options")
    (study / "kinds/ets.py").write_text(text.replace("\n\n\ndef", "\n\nNONE = {}\n\n\ndef"))
    with pytest.raises(ConfigError, match="read_back of 'ets' uses NONE, which the guest does not"):
        load(study)


def test_a_kind_changes_no_code_of_runs_that_do_not_use_it(rrul: Experiment, study: Path) -> None:
    (run,) = select(rrul, link="10/10", qdisc="cake", cc="cubic", seed=1)
    before = provenance.guest_code_digest(job_of(run))
    load(study)
    assert provenance.guest_code_digest(job_of(run)) == before
    (study / "kinds/ets.py").write_text(FILES["qdisc"]["ets.py"].replace("0, **", "1, **"))
    mine = provenance.guest_code_digest(job_of(first_of(study)))
    assert provenance.guest_code_digest(job_of(run)) == before
    (study / "kinds/ets.py").write_text(FILES["qdisc"]["ets.py"] + "# another\n")
    assert provenance.guest_code_digest(job_of(first_of(study))) != mine


@pytest.mark.parametrize(
    ("name", "text", "where", "what"),
    [
        (
            *("zcable.py", RIG, "kinds/zcable.py"),
            r"the rig 'cable' is defined a second time.*first in \S+/mine/kinds/cable\.py",
        ),
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


def test_a_copy_of_a_study_brings_the_same_kinds(study: Path, tmp_path: Path) -> None:
    load(study)
    copy = shutil.copytree(study, tmp_path / "copy/mine")
    trust.own(copy)
    assert load(copy).name == "mine"


def test_a_kind_that_changes_is_read_again(study: Path) -> None:
    load(study)
    (study / "kinds/burst.py").write_text(
        TRAFFIC.replace("datagrams: int", "datagrams: int\n    gap: int")
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
