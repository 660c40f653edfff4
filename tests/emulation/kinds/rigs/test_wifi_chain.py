"""emulation.kinds.rigs.daisy_chain: the daisy chain over WiFi, its job and its guest."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulation import kernel
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import RigMismatch
from qdisclab.emulation.kinds.rigs.daisy_chain import DaisyChain
from qdisclab.emulation.machine import guestcode, rootfs
from qdisclab.emulation.model.egress import Radio
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.topology import Medium, Port
from qdisclab.emulation.model.units import Duration, Rate
from qdisclab.emulation.model.wifi import Wifi
from qdisclab.emulation.runs import run
from qdisclab.emulation.study.schema import Flaws

LINK = Wifi(
    "home",
    {"cw_max": 63},
    ({"ring": 224, "wake": 190, "up": {"mcs": 7}, "down": {"mcs": 15}},),
)


def wired(qdisc: str = "fq_codel", length: str = "140 s") -> Run:
    found = select(experiment("gbw2015/rrul"), link="100/100", qdisc=qdisc, cc="cubic", seed=1)
    return replace(found[0], length=Duration.parse(length))


def wireless(link: Wifi = LINK, qdisc: str = "fq_codel", length: str = "140 s") -> Run:
    plain = wired(qdisc, length)
    rig = plain.rig.model_copy(update={"wifi": link})
    return replace(plain, point=replace(plain.point, rig=rig))


def test_the_client_is_on_wifi_and_nothing_else_moves() -> None:
    before, after = wired().topology, wireless().topology
    assert after.routes() == before.routes()
    assert after.wires[1:] == before.wires[1:]
    assert [node.name for node in after.nodes if node.switches] == ["ap1"]
    assert after.port("client").addresses == before.port("client").addresses
    queues = [port.node for port in after.queues()]
    assert queues == ["router_up", "router_down", "ap1", "client"]


def test_the_job_has_the_radio_channel_as_a_wire_and_names_the_driver() -> None:
    job = job_of(wireless())
    assert job["drivers"] == ["wifi"]
    access_point, station = job["wires"][-1]
    assert (access_point["node"], access_point["wifi"]) == ("ap1", {"cw_max": 63})
    assert station["node"] == "client"
    assert station["wifi"] == {"ring": 224, "wake": 190, "up": {"mcs": 7}, "down": {"mcs": 15}}
    for port in (access_point, station):
        (qdisc,) = port["qdiscs"]
        assert (qdisc["parent"], qdisc["handle"], qdisc["kind"]) == ("root", "10:", "fq_codel")
        assert qdisc["expect"]["target_us"] == 5000
    assert "drivers" not in job_of(wired())
    assert not any("wifi" in port for ends in job_of(wired())["wires"] for port in ends)


def test_a_job_over_wifi_has_the_code_of_radio_channels() -> None:
    more = set(guestcode.files(job_of(wireless()))) - set(guestcode.files(job_of(wired())))
    assert more == {"modules.py", "switch.py", "wifi.py", "wifi_netlink.py", "wifi_rig.py"}


def test_a_chain_has_one_client() -> None:
    two = replace(LINK, stations=LINK.stations * 2)
    with pytest.raises(ValueError, match="'home' has 2 stations, a daisy chain has one client"):
        DaisyChain(edge_rate=Rate(10**9), base_rtt=[Duration(10**7)], wifi=two)


def test_a_medium_has_stations_and_radios() -> None:
    port = Port("ap1", "air", "", Radio(Qdisc("codel", "codel")))
    with pytest.raises(ValueError, match="ap1: an access point needs a station"):
        Medium(port, ())
    with pytest.raises(ValueError, match="client client-r1: a port of a Medium needs a Radio"):
        Medium(port, (wired().topology.port("client"),))


def test_a_rig_says_what_is_different_about_its_link() -> None:
    (found,) = select(
        experiment("gbw2015/wifi_rrul"), link="100/100", qdisc="codel", cc="cubic", seed=1,
        settings={"rig.air.station.up.mcs": [4], "rig.air.access_point.forward_us": [130]},
    )  # fmt: skip
    access_point, station = job_of(found)["wires"][-1]
    assert access_point["wifi"]["forward_us"] == 130
    assert access_point["wifi"]["cw_max"] == 63
    assert station["wifi"]["up"] == {"mcs": 4, "control": "minstrel", "snr_decidb": 250}
    assert station["wifi"]["down"]["mcs"] == 15


@pytest.mark.parametrize(
    ("air", "message"),
    [
        ({"station": {"up": {"msc": 4}}}, "unknown option 'msc'"),
        ({"access_point": {"forward_us": 10_001}}, "cannot be 10001"),
        ({"client": {}}, "Input should be 'access_point' or 'station'"),
    ],
)
def test_a_wrong_difference_is_refused(air: dict[str, Any], message: str) -> None:
    with pytest.raises((Flaws, ValueError), match=message):
        DaisyChain.model_validate(
            {"edge_rate": "1 Gbit/s", "base_rtt": "50 ms", "wifi": LINK, "air": air}
        )


def test_a_wire_has_no_differences() -> None:
    with pytest.raises((Flaws, ValueError), match="has no link to differ from"):
        DaisyChain.model_validate(
            {"edge_rate": "1 Gbit/s", "base_rtt": "50 ms", "air": {"station": {"ring": 9}}}
        )


def counted(link: Wifi, folder: Path) -> tuple[dict[str, int], dict[str, int], int]:
    """Counters of the access point and the station after 3 s of RRUL, and what came upstream."""
    done = run.execute(wireless(link, length="3 s"), kernel.build(), rootfs.build(), folder)
    ports = json.loads(done.provenance.read_text())["qdiscs"]
    here, there = (
        ports[name]["wifi"]["counters"] for name in ("ap1 ap1-client", "client client-ap1")
    )
    (upstream,) = (
        qdisc["packets"]
        for qdisc in ports["router_up r1-delay"]["qdiscs"]
        if qdisc["kind"] == "fq_codel"
    )
    return here, there, upstream


@pytest.mark.kernel
def test_a_slow_processor_of_the_access_point_is_the_limit(tmp_path: Path) -> None:
    carried = []
    for forward_us in (0, 400):
        access_point = {"cw_max": 63, "forward_us": forward_us}
        here, there, _ = counted(
            replace(LINK, access_point=access_point), tmp_path / str(forward_us)
        )
        carried.append(here["down_packets"] + there["up_packets"])
    # 2500 frames a second at most, while the run lasts: 3 s of load, 10 s of pings.
    assert carried[1] < 0.5 * carried[0], carried
    assert 3 * 1500 < carried[1] < 13 * 2500, carried


@pytest.mark.kernel
def test_what_is_lost_after_its_acknowledgment_does_not_arrive(tmp_path: Path) -> None:
    station = {**LINK.stations[0], "up": {"mcs": 7, "residual_ppm": 100_000}}
    _, there, upstream = counted(replace(LINK, stations=(station,)), tmp_path)
    assert upstream / there["up_packets"] == pytest.approx(0.9, abs=0.03)


@pytest.mark.kernel
def test_a_run_over_wifi_is_read_back_counted_and_repeatable(tmp_path: Path) -> None:
    built, root = kernel.build(), rootfs.build()
    short = wireless(length="2 s")
    first, again = (run.execute(short, built, root, tmp_path / name) for name in ("a", "b"))
    assert first.data.read_bytes() == again.data.read_bytes()
    told = json.loads(first.provenance.read_text())
    assert told["identity"]["modules"].keys() == {"wifi"}
    here, there = (told["qdiscs"][name]["wifi"] for name in ("ap1 ap1-client", "client client-ap1"))
    assert (here["options"]["cw_max"], here["options"]["cw_min"]) == (63, 15)
    assert there["options"]["up"]["mcs"] == 7
    sent = told["qdiscs"]["client client-ap1"]["qdiscs"][0]["packets"]
    assert sent == pytest.approx(there["counters"]["up_packets"], abs=3)  # ARP goes to all
    assert here["counters"]["down_subframes"] > 1.5 * here["counters"]["down_ppdus"]  # A-MPDUs


@pytest.mark.kernel
def test_frames_that_come_one_by_one_are_acknowledged_more_often(tmp_path: Path) -> None:
    """With small buffers: TCP acknowledges at once only as far as what came was read."""
    shares = []
    for apart_us in (0, 1):
        one = wireless(
            replace(LINK, access_point={"cw_max": 63, "apart_us": apart_us}), length="3 s"
        )
        small = (("net.ipv4.tcp_rmem", "4096 131072 131072"),)
        rig = one.rig.model_copy(update={"sysctls": small})
        one = replace(one, point=replace(one.point, rig=rig))
        done = run.execute(one, kernel.build(), rootfs.build(), tmp_path / str(apart_us))
        ports = json.loads(done.provenance.read_text())["qdiscs"]
        up = ports["client client-ap1"]["wifi"]["counters"]["up_packets"]
        shares.append(up / ports["ap1 ap1-client"]["wifi"]["counters"]["down_packets"])
    assert shares[1] > 1.2 * shares[0], shares


@pytest.mark.kernel
def test_what_the_kernel_refuses_is_named(tmp_path: Path) -> None:
    wrong = replace(LINK, access_point={"cw_min": 63, "cw_max": 15})
    with pytest.raises(RigMismatch, match=r"the WiFi link of ap1, client: .*cw_min, cw_max"):
        run.execute(wireless(wrong, length="2 s"), kernel.build(), rootfs.build(), tmp_path)
