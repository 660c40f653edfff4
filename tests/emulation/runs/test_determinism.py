"""The same seed gives the same bytes: each kind of traffic, under whatever conditions of the host.

The conditions and the comparison are those of `tests.host_conditions`, which does more of the same.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest import mock

import pytest

from qdisclab.emulation import kernel
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.machine import rootfs, vm
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.runs.run import execute
from tests.host_conditions.conditions import ODD, PLAIN
from tests.host_conditions.determinism import Seen, Stage, observe

pytestmark = pytest.mark.kernel
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")

LENGTH = Duration.parse("3 s")


def traffic(name: str, qdisc: str, link: str = "10/10", cc: str = "cubic") -> Run:
    """A short run of the experiment `name`."""
    (run,) = select(experiment(name), link=link, qdisc=qdisc, cc=cc, seed=1, length=LENGTH)
    return run


#: One of each kind of traffic.
WORKS: dict[str, Callable[[], Run]] = {
    "rrul": lambda: traffic("gbw2015/rrul", "fq_codel"),  # TCP both ways, UDP and ICMP
    "voip by D-ITG": lambda: traffic("gbw2015/voip_1up", "fq_codel", "10/1"),
    "voip by irtt": lambda: traffic("gbw2015/voip_rrul_irtt", "sfq", cc="reno"),
    "rtt fairness": lambda: traffic(
        "gbw2015/rtt_fairness", "codel"
    ),  # four addresses of the server
    "web": lambda: traffic("gbw2015/web_small_1up", "pie"),  # nginx, dnsmasq and http-getter
    "bulk flows": lambda: traffic("khademi2013/flows_4", "codel_5ms", cc="reno"),  # iperf
    "stations": lambda: traffic("khademi2013/wifi_mixed_4", "pie_5ms", "100/100", "reno"),
    "rrul over WiFi": lambda: traffic("gbw2015/wifi_rrul", "ared", "100/100"),
    "programs": lambda: traffic("codel2012/edge", "codel", "1.5/1.5"),  # with a probe
    "flood": lambda: traffic("battling2013/udp_flood", "sfq"),
    "openvswitch": lambda: select(experiment("testbed/open_vswitch"), seed=1, length=LENGTH)[0],
}

#: What must be among the files that are compared.
TRAFFIC_FILES = {"data.flent.gz", "qdiscs.json", "kernel.log", "status"}
FILES = {
    **dict.fromkeys(WORKS, TRAFFIC_FILES),
    "web": TRAFFIC_FILES | {"http-getter.log", "dnsmasq.log"},
    "bulk flows": {"aqm.aqm-delay.frames.gz", "counters.json", "iperf.json", "qdiscs.json"},
    "stations": {"iperf.json", "qdiscs.json"},
    "programs": {"programs/peer_clients/stdout", "qdiscs.json"},
    "openvswitch": {
        *(f"programs/python3/files/{name}.txt" for name in ("ping", "flows", "ports")),
        "kernel.log",
        "status",
    },
}


@cache
def stage() -> Stage:
    """Kernel and root file system, from their caches where they are there."""
    return Stage.build()


@cache
def idle(name: str) -> Seen:
    """What comes of a work where nothing is odd."""
    return observe(WORKS[name](), PLAIN, stage())


def differing(one: Seen, other: Seen) -> list[str]:
    """The names of the files in which the two differ."""
    names = sorted(one.files.keys() | other.files.keys())
    return [name for name in names if one.files.get(name) != other.files.get(name)]


@pytest.mark.parametrize("name", WORKS)
def test_the_surroundings_reach_no_result(name: str) -> None:
    """Full load, stops, signals, another CPU, folder, environment, umask, limits, priority."""
    odd = observe(WORKS[name](), ODD, stage())
    assert FILES[name] <= odd.files.keys()
    assert odd.stops >= 3
    assert differing(idle(name), odd) == []


@needs_root
def test_the_user_reaches_no_result() -> None:
    """An ordinary user, with a copy of kernel and root file system that somebody else owns."""
    with tempfile.TemporaryDirectory(prefix="stage-") as place:
        copied = stage().copied(Path(place))
        other = observe(WORKS["rrul"](), replace(ODD, user=1234, load=False), copied)
    assert differing(idle("rrul"), other) == []


@needs_root
def test_a_container_reaches_no_result() -> None:
    """Namespaces, host name, libraries and a root folder of its own; process number 1."""
    other = observe(WORKS["openvswitch"](), replace(PLAIN, container=True), stage())
    assert differing(idle("openvswitch"), other) == []


def test_a_run_of_the_product_has_these_bytes(tmp_path: Path) -> None:
    result = execute(WORKS["rrul"](), kernel.build(), rootfs.build(), tmp_path)
    told = json.loads(result.provenance.read_text())
    seen = idle("rrul").files
    assert told["data_sha256"].startswith(seen["data.flent.gz"])
    qdiscs = json.dumps(told["qdiscs"], sort_keys=True).encode()
    assert hashlib.sha256(qdiscs).hexdigest().startswith(seen["qdiscs.json"])


def test_another_seed_gives_other_bytes() -> None:
    other = observe(replace(WORKS["rrul"](), seed=2), PLAIN, stage())
    found = differing(idle("rrul"), other)
    assert {"data.flent.gz", "qdiscs.json"} <= set(found)
    assert "kernel.log" not in found  # the seed leaves no trace but its random numbers


def test_a_microsecond_of_delay_gives_other_bytes() -> None:
    run = WORKS["rrul"]()
    rig = run.rig.model_copy(update={"base_rtt": (Duration.parse("50.002 ms"),)})
    other = replace(run, point=replace(run.point, rig=rig))
    found = differing(idle("rrul"), observe(other, PLAIN, stage()))
    assert {"data.flent.gz", "qdiscs.json"} <= set(found)


def test_without_a_seed_no_two_are_alike() -> None:
    """The comparison sees what the host's random numbers do."""
    whole = vm.command

    def unseeded(machine: vm.Machine) -> list[str]:
        return [word for word in whole(machine) if not word.startswith("seed=")]

    with mock.patch.object(vm, "command", unseeded):
        one, other = (observe(WORKS["openvswitch"](), PLAIN, stage()) for _ in range(2))
    assert differing(one, other) != []
