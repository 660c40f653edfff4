"""The WiFi link in the guest: times, sharing, order, queues, refusals, and how it goes away."""

import json
from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulate.commands.verify import measured
from qdisclab.emulation import datafile
from qdisclab.emulation.checks.verify import shipped, verify
from qdisclab.emulation.config import kinds
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.host import scratch
from qdisclab.emulation.kernel import Kernel, module
from qdisclab.emulation.kernel.module import Module
from qdisclab.emulation.machine import vm
from qdisclab.emulation.machine.rootfs import RootFs
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.runs.run import execute
from qdisclab.emulation.study import studies
from studies.testbed.kinds.saturation import Case, quantities
from studies.testbed.measures import wifi
from studies.testbed.measures.wifi import Phy

kinds.add(studies.shipped()["testbed"])  # whose traffic is used here

pytestmark = pytest.mark.kernel

LINK = """
import json, os, socket, subprocess, time
import modules, wifi
from saturation import Namespace, Node, _run

modules.load("wifi")
here, there = Namespace(), Namespace()

def link(access_point, station, delay=0):
    ap, sta = Node(here, "ap", "10.0.0.1", 1), Node(there, "sta", "10.0.0.2", 2)
    with here:
        wifi.create_access_point("ap", access_point, ap.mac)
        wifi.create_station("sta", "ap", station, sta.mac, there.descriptor)
    for node, other in ((ap, sta), (sta, ap)):
        node.set_up("pfifo limit 1000")
        node.knows(other)
    return ap, sta
"""
ORDER = """
ap, sta = link({}, {"down": {"mcs": 7, "loss_ppm": 300000}})
sink = sta.socket(socket.SOCK_DGRAM)
sink.bind((sta.ip, 9))
source = ap.socket(socket.SOCK_DGRAM)
sink.setsockopt(socket.SOL_SOCKET, 33, 1 << 23)
for number in range(1000):
    source.sendto(number.to_bytes(4, "big") + bytes(1000), (sta.ip, 9))
time.sleep(1)
sink.setblocking(False)
seen = []
try:
    while True:
        seen.append(int.from_bytes(sink.recv(2000)[:4], "big"))
except BlockingIOError:
    pass
status("order", seen=seen, counters=ap.counters())
"""
CONTROLLED = """
ap, sta = link({}, {"subframes": 1, "ahead": 0, "up": {"mcs": 7}})
source = sta.socket(socket.SOCK_DGRAM)
source.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 100_000)

def acknowledged(channel, subframes=1):
    with there:
        wifi.change("sta", {"subframes": subframes, "up": channel})
    for seconds in (1, 2):  # the first to adapt
        before, end = sta.counters()["up_bytes"], time.monotonic() + seconds
        while time.monotonic() < end:
            source.sendto(bytes(1400), (ap.ip, 9))
    return sta.counters()["up_bytes"] - before

told = [[acknowledged(channel, subframes) for channel in channels]
        for subframes, channels in job["channels"]]
status("controlled", told=told)
"""
REFUSED = """
link({}, {})
told = []
for space, name, options in job["wrong"]:
    with here if space == "ap" else there:
        try:
            wifi.change(name, options)
            told.append("accepted")
        except wifi.BadOption as error:
            told.append(str(error))
with here:
    shown = wifi.show("ap")
status("refused", told=told, ap=shown)
"""
TOPOLOGY = """
spaces = [Namespace() for _ in range(3)]
ap, one, two = (Node(space, name, f"10.0.0.{number}", number)
                for number, (space, name) in enumerate(zip(spaces, ("ap", "one", "two")), 1))
with ap.space:
    wifi.create_access_point("ap", {}, ap.mac)
    for node in (one, two):
        wifi.create_station(node.name, "ap", {}, node.mac, node.space.descriptor)
    _run("ip", "link", "add", "bridge", "type", "bridge")
    _run("ip", "link", "set", "ap", "master", "bridge", "up")
    _run("ip", "link", "set", "bridge", "up")
    _run("ip", "address", "add", "10.0.0.1/24", "dev", "bridge")
for node in (one, two):
    node.set_up("pfifo limit 1000")
answers = {}
for node, other in ((one, two), (two, one), (one, ap)):
    with node.space:
        words = ["ping", "-c", "3", "-i", "0.2", "-q", other.ip]
        answers[f"{node.name} {other.name}"] = subprocess.run(words, capture_output=True).returncode
with one.space:
    bridged = subprocess.run(["sh", "-c", "ip link add br type bridge; ip link set one master br"],
                             capture_output=True).returncode
status("pinged", answers=answers, bridged=bridged)
"""
AWAY = """
for which in ("station", "access point", "namespace", "down"):
    here, there = Namespace(), Namespace()
    ap, sta = link({}, {"up": {"mcs": 0}, "down": {"mcs": 0}})
    ends = [node.socket(socket.SOCK_DGRAM) for node in (ap, sta)]
    for end, other in zip(ends, (sta, ap)):
        end.setblocking(False)
        for _ in range(50):
            end.sendto(bytes(1000), (other.ip, 9))
    time.sleep(0.01)
    for end in ends:
        end.close()
    if which == "station":
        with there:
            _run("ip", "link", "delete", "sta")
        with here:
            _run("ip", "link", "delete", "ap")
    elif which == "access point":
        with here:
            _run("ip", "link", "delete", "ap")
    elif which == "down":
        for node in (ap, sta):
            with node.space:
                _run("ip", "link", "set", node.name, "down")
                _run("ip", "link", "set", node.name, "up")
    here.close()
    there.close()
    time.sleep(0.5)
_run("rmmod", "wifi") if os.path.exists("/sbin/rmmod") else None
"""


MININET = """
from mininet.net import Mininet
from mininet.node import Node as Host
Mininet.inited = True
net = Mininet(controller=None, build=False)
hosts = {name: net.addHost(name, cls=Host, ip=None) for name in ("router", "client", "other")}
spaces = {name: f"/proc/{host.pid}/ns/net" for name, host in hosts.items()}
status("built", problems=wifi.build(job["medium"], spaces))
for number, host in enumerate(hosts.values(), 1):
    host.cmd(f"ip address add 10.0.0.{number}/24 dev wlan0; ip link set wlan0 up")
with wifi.inside(spaces["client"]):
    shown = wifi.show("wlan0")
status("shown", options=shown, pings=[
    "0% packet loss" in hosts["client"].cmd(f"ping -c 2 -q 10.0.0.{number}") for number in (1, 3)
], differences=wifi.differences({"ring": 5, "up": {"mcs": 3}}, shown))
"""


@pytest.fixture(scope="module")
def own(built: Kernel) -> Module:
    """The link driver."""
    return module.build(built, module.SOURCES / "wifi")


def do(
    code: str, built: Kernel, own: Module, root: RootFs, folder: Path, **job: Any
) -> tuple[vm.Ending, Path]:
    """Have a guest do `code`; it has `status` and `job`. Its end, and the folder of the job."""
    about = {**job, "work": "script", "uses": ["saturation"]}
    machine = vm.Machine(built.path, root.path, 1, modules=(own,))
    vm.prepare(folder, machine, about, LINK + code)
    ending = vm.run(machine, folder)
    assert ending.steps[-1]["step"] == "done", ending.steps[-1]
    return ending, folder / "job"


def saturate(
    jobs: list[dict[str, Any]], seed: int, built: Kernel, own: Module, root: RootFs
) -> list[dict[str, Any]]:
    """What `saturation.do` answers to each of `jobs`."""
    with scratch.folder() as folder:
        machine = vm.Machine(built.path, root.path, seed, modules=(own,))
        vm.prepare(folder, machine, {"work": "saturation", "cases": jobs})
        ending = vm.run(machine, folder)
        ending.check()
        answers: list[dict[str, Any]] = json.loads((folder / "job/out/cases.json").read_text())
        return answers


def test_a_single_sender_takes_the_air_time_of_the_standard(
    built: Kernel, own: Module, guest_root: RootFs
) -> None:
    cases = [
        Case("single", "udp up", rate_mbit_s=54, seconds=2),
        Case("single", "udp up", rate_mbit_s=24, band_ghz=2, protection="rts-cts", seconds=2),
        Case("single", "udp up", rate_mbit_s=0, mcs=15, subframes=32, seconds=2),
        Case("single", "udp up", rate_mbit_s=0, mcs=7, width_mhz=40, short_gi=True, subframes=8,
             payload_bytes=200, seconds=2),
    ]  # fmt: skip
    answers = saturate([case.job() for case in cases], 1, built, own, guest_root)
    for case, answer in zip(cases, answers, strict=True):
        rate, mcs, width, short_gi = case.rate_mbit_s, case.mcs, case.width_mhz, case.short_gi
        phy = Phy(rate, mcs, width, short_gi, case.band_ghz)
        frames = 1 if rate else wifi.frames_an_ampdu(phy, case.payload_bytes, case.subframes)
        aifsn = 2 if rate else 3
        expected = wifi.single_sender_mbit_s(
            phy, case.payload_bytes, frames, aifsn, protection=case.protection
        )
        found = {name: value for _, name, value in quantities(case, answer)}
        assert found["goodput_mbit_s"] == pytest.approx(expected, rel=0.01), case
        assert found["frames_a_ppdu"] == pytest.approx(frames, rel=0.01)


def test_saturated_stations_share_as_bianchi_says_and_equal_seeds_give_equal_bytes(
    built: Kernel, own: Module, guest_root: RootFs
) -> None:
    case = Case("saturation", "udp up", 10, cw_min=31, seconds=4)
    first, again, other = (
        saturate([case.job()], seed, built, own, guest_root) for seed in (1, 1, 2)
    )
    assert json.dumps(first) == json.dumps(again)
    assert json.dumps(first) != json.dumps(other)
    found = {name: value for sender, name, value in quantities(case, first[0]) if sender == -1}
    expected = wifi.bianchi(Phy(rate_mbit_s=54), 1472, 10, cw_min=31)
    assert found["goodput_mbit_s"] == pytest.approx(expected.goodput_mbit_s, rel=0.03)
    assert found["collision_probability"] == pytest.approx(expected.collision_probability, rel=0.05)


@pytest.mark.parametrize(
    ("snr_decidb", "short_gi", "subframes"),
    [
        (400, False, 1),
        (400, True, 1),
        (400, True, 32),
        (250, True, 1),
        (190, True, 1),
        (120, False, 1),
    ],
)
def test_the_rate_of_iwlwifi_comes_near_the_best_fixed_one(
    snr_decidb: int,
    short_gi: bool,
    subframes: int,
    built: Kernel,
    own: Module,
    guest_root: RootFs,
    tmp_path: Path,
) -> None:
    common = {"snr_decidb": snr_decidb, "short_gi": short_gi}
    fixed = [{**common, "mcs": mcs, "control": "fixed"} for mcs in range(8)]
    chosen = {**common, "mcs": 7, "control": "iwl"}
    channels = [(subframes, [*fixed, chosen])]
    ending, _ = do(CONTROLLED, built, own, guest_root, tmp_path, channels=channels)
    *rates, adapted = ending.step("controlled")["told"][0]
    assert adapted == pytest.approx(max(rates), rel=0.1), rates


def test_lost_subframes_are_sent_again_and_released_in_order(
    built: Kernel, own: Module, guest_root: RootFs, tmp_path: Path
) -> None:
    ending, _ = do(ORDER, built, own, guest_root, tmp_path)
    told = ending.step("order")
    assert told["seen"] == list(range(1000))
    counters = told["counters"]
    assert 1300 < counters["down_subframes"] < 1600
    assert counters["down_lost"] == pytest.approx(0.3 * counters["down_subframes"], rel=0.12)
    assert counters["down_ppdus"] < 200
    assert counters["down_dropped"] == 0


def test_the_queue_below_the_qdisc_is_as_deep_as_asked_for(
    built: Kernel, own: Module, guest_root: RootFs
) -> None:
    case = Case("waiting", "tcp down", rate_mbit_s=0, mcs=7, subframes=32, seconds=4, flows=2)
    jobs = []
    for device in ({}, {"ring": 40, "wake": 20}, {"limit_airtime_us": 4000}):
        job = case.job()
        job["access_point"] |= device
        jobs.append(job)
    deep, shallow, timed = (
        {name: value for sender, name, value in quantities(case, answer) if sender == 0}
        for answer in saturate(jobs, 1, built, own, guest_root)
    )
    below = ("ring_ms", "aggregation_ms", "air_ms")
    waits = [sum(found[name] for name in below) for found in (deep, shallow, timed)]
    # 124 frames of 1514 bytes at 53 Mbit/s are 28 ms, less what is taken out together
    assert 20 < waits[0] < 30
    assert waits[1] < 0.5 * waits[0]
    assert waits[2] < 0.5 * waits[0]


def test_wrong_options_are_refused_by_name_and_change_nothing(
    built: Kernel, own: Module, guest_root: RootFs, tmp_path: Path
) -> None:
    wrong = [
        ["ap", "ap", {"ring": 20, "wake": 3, "cw_min": 14}],
        ["ap", "ap", {"ring": 0}],
        ["ap", "ap", {"wake": 124}],
        ["ap", "ap", {"up": {"mcs": 1}}],
        ["ap", "ap", {"band_ghz": 3}],
        ["sta", "sta", {"band_ghz": 2}],
        ["sta", "sta", {"up": {"mcs": 32}}],
        ["sta", "sta", {"up": {"rate_100kbit_s": 110}}],
        ["sta", "sta", {"down": {"mcs": 3, "rate_100kbit_s": 60}}],
        ["sta", "sta", {"down": {"good_us": 5}}],
        ["sta", "sta", {"speed": 5}],
        ["sta", "sta", {"scheduler": "best"}],
    ]
    ending, _ = do(REFUSED, built, own, guest_root, tmp_path, wrong=wrong)
    told = ending.step("refused")["told"]
    expected = [
        "powers of 2 less 1",
        "ring: integer out of range, it goes from 1 to 65535",
        "wake: less than ring",
        "of a station",
        "band: 2 or 5 GHz",
        "of the access point",
        "up.mcs: integer out of range, it goes from 0 to 31",
        "11.0 Mbit/s does not exist at 5 GHz",
        "one of the two",
        "both times or none",
        "speed: unknown; known are",
        "scheduler: best is none of fifo, robin, airtime",
    ]
    for found, part in zip(told, expected, strict=True):
        assert part in found
    shown = ending.step("refused")["ap"]
    assert (shown["ring"], shown["wake"], shown["cw_min"]) == (124, 122, 15)


def test_stations_reach_each_other_and_a_bridge_behind_the_access_point(
    built: Kernel, own: Module, guest_root: RootFs, tmp_path: Path
) -> None:
    ending, _ = do(TOPOLOGY, built, own, guest_root, tmp_path)
    told = ending.step("pinged")
    assert told["answers"] == {"one two": 0, "two one": 0, "one ap": 0}
    assert told["bridged"] != 0  # a station has three addresses, a bridge needs four


def test_a_medium_between_nodes_of_mininet_is_read_back(
    built: Kernel, own: Module, guest_root: RootFs, tmp_path: Path
) -> None:
    def port(node: str, number: int, **options: Any) -> dict[str, Any]:
        address = f"02:00:00:00:10:{number:02x}"
        return {"node": node, "interface": "wlan0", "address": address, "options": options}

    channel = {"rate_100kbit_s": 110}
    medium = {
        "access_point": port("router", 1, band_ghz=2, cw_max=63),
        "stations": [
            port("client", 2, ring=224, wake=190, ahead=0, up={"mcs": 15, "control": "minstrel"}),
            port("other", 3, up=channel, down=channel),
        ],
    }
    ending, _ = do(MININET, built, own, guest_root, tmp_path, medium=medium)
    assert ending.step("built")["problems"] == []
    told = ending.step("shown")
    assert told["pings"] == [True, True]
    assert told["options"]["up"]["control"] == "minstrel"
    assert told["differences"] == ["ring is 224, not 5", "up.mcs is 15, not 3"]


def test_links_go_away_in_the_middle_of_traffic(
    built: Kernel, own: Module, guest_root: RootFs, tmp_path: Path
) -> None:
    _, job = do(AWAY, built, own, guest_root, tmp_path)
    assert "wifi" in (job / "out" / "kernel.log").read_text()


def test_a_run_leaves_its_table_and_is_verified(
    built: Kernel, guest_root: RootFs, tmp_path: Path
) -> None:
    about = experiment("testbed/wifi_anomaly")
    (run,) = select(about, seed=1, length=Duration.parse("200 ms"))
    done = execute(run, built, guest_root, tmp_path)
    assert done.data.name == "seed-001.rows.jsonl.gz"
    senders = [row["sender"] for row in datafile.read_rows(done.data)]
    assert senders == [1, 2, -1] * 5
    identity = json.loads(done.provenance.read_text())["identity"]
    assert set(identity["modules"]) == {"wifi"}
    assert execute(run, built, guest_root, tmp_path).ending is None  # it is there
    (one,) = shipped(tmp_path)
    verdict = verify(one, built, guest_root, measured)
    assert (verdict.how, verdict.equal) == ("bytes", True)
    done.data.write_bytes(b"")
    assert verify(shipped(tmp_path)[0], built, guest_root, measured).how == "damaged"
