"""A card's ring below the queue under test: what the guest is told, and what packets do."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from qdisclab.emulation import kernel
from qdisclab.emulation.captures import pcap
from qdisclab.emulation.config.catalogue import experiment, load, select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.kinds.probes.probe import Probe
from qdisclab.emulation.kinds.rigs.dumbbell import Dumbbell
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.model.egress import Hierarchy
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.topology import Link
from qdisclab.emulation.model.units import Duration, Rate
from qdisclab.emulation.runs.run import Result, execute

PARAMETERS = "/sys/module/sch_ring/parameters/"
MBIT = 10**6
NAMED = {"link": "10/10", "qdisc": "codel_5ms", "cc": "reno"}


def job(era: str, name: str = "khademi2013/flows_4", **chosen: Any) -> dict[str, Any]:
    (run,) = select(experiment(name), **{**NAMED, **chosen}, seed=1, era=era)
    return job_of(run)


def at_bottleneck(told: dict[str, Any]) -> dict[str, Any]:
    (port,) = [one for wire in told["wires"] for one in wire if one["interface"] == "aqm-delay"]
    return port


def parameters(told: dict[str, Any]) -> dict[str, str]:
    """Those of the ring, by their names."""
    return {path.removeprefix(PARAMETERS): value for path, value in told["parameters"].items()
            if path.startswith(PARAMETERS)}  # fmt: skip


def test_the_ring_is_below_the_queue_and_nothing_else_is_another() -> None:
    plain, told = job("2013c"), job("2013c+ring_8139")
    placed = [(one["parent"], one["handle"], one["kind"]) for one in at_bottleneck(told)["qdiscs"]]
    assert placed == [("root", "1:", "htb"), ("1:1", "5:", "ring"), ("5:1", "10:", "codel")]
    assert parameters(told) == {
        "descriptors": "4", "framing": "24", "rate_bit_s": "10000000", "bucket": "1600"
    }  # fmt: skip
    assert [one["name"] for one in told["modules"]] == ["quickack", "small_queues", "sch_ring"]
    for part in (plain, told):
        at_bottleneck(part)["qdiscs"][1:-1] = []
    at_bottleneck(told)["qdiscs"][1]["parent"] = "1:1"
    told["parameters"] = {path: value for path, value in told["parameters"].items()
                          if not path.startswith(PARAMETERS)}  # fmt: skip
    told["modules"].pop()
    assert told == plain


def test_the_wire_has_the_rate_of_the_way_to_the_receivers() -> None:
    link = Link("1/7", Rate(MBIT), Rate(7 * MBIT))
    section = Dumbbell(base_rtt=Duration(10**8), edge_rate=Rate(10**8))
    rig = section.topology(link, {link.up: Qdisc("q", "pfifo")})
    (egress,) = [port.egress for port in rig.ringed("ring").ports()
                 if isinstance(port.egress, Hierarchy)]  # fmt: skip
    assert (egress.rate, egress.between) == (Rate(7 * MBIT), Qdisc("ring", "ring"))


@pytest.mark.parametrize(
    ("name", "chosen", "said"),
    [
        ("gbw2015/rrul", {"qdisc": "codel", "cc": "cubic"}, "'daisy_chain' has none; take"),
        ("khademi2013/wifi_down_4", {"link": "100/100", "qdisc": "codel"}, "fi_dumbbell' has none"),
        ("codel2012/static_rtt_100ms", {"qdisc": "codel", "cc": "cubic"}, "'gateways' has 2; take"),
        ("codel2012/static_rtt_100ms", {"qdisc": "red", "cc": "cubic"}, "has 2 with idle between;"),
    ],
)  # fmt: skip
def test_a_rig_without_one_htb_around_the_queue_is_refused(
    name: str, chosen: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=f"a ring needs one HTB with a queue in it, .*{said}"):
        job("2013c+ring_8139", name, **chosen)


# --- In a guest -----------------------------------------------------------------------------------

COUNT, FIRST_BYTES, FRAME_BYTES, SHORT_BYTES = 16, 100, 1514, 45

#: One sender hands COUNT packets to its card at once, and later a few that are shorter than the
#: least frame; 1 Gbit/s brings all to the bottleneck within 0.2 ms. A packet before them has the
#: neighbours meet.
STUDY = """\
format: 1
study: burst
title: A burst
rig: {{kind: dumbbell, base_rtt: 20 ms, edge_rate: 1 Gbit/s, pairs: 1}}
links: {{10/10: {{down: 10 Mbit/s, up: 10 Mbit/s}}, 10/4: {{down: 10 Mbit/s, up: 4 Mbit/s}}}}
qdiscs:
  fifo: {{kind: pfifo, options: {{limit: {limit} packets}}}}
  codel: {{kind: codel, options: {{limit: {limit} packets, target: 5 ms, interval: 100 ms}}}}
experiments:
  one:
    title: One burst
    traffic:
      kind: programs
      length: 2 s
      files: [burst.py]
      programs:
        - {{kind: command, node: sender1, command: [python3, burst.py, "{{receiver1}}"]}}
    sweep: {{link: [10/10, 10/4], qdisc: [fifo, codel]}}
"""
BURST = """\
import socket, sys, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for count, length in ((1, {first}), ({count}, {frame}), (3, {short})):
    for _ in range(count):
        sender.sendto(bytes(length - 42), (sys.argv[1], 9))
    time.sleep(0.5)
"""


#: How far a time may be off: a clock read takes 256 ns, and captures have multiples of that.
EXACT_NS = 512


def executed(
    folder: Path, era: str, chosen: dict[str, str], count: int, limit: int, *probes: str
) -> Result:
    """A run of a burst of `count` packets, at once, to a queue of `limit`."""
    place = folder / era / "burst"
    place.mkdir(parents=True)
    sizes = {"first": FIRST_BYTES, "frame": FRAME_BYTES, "short": SHORT_BYTES}
    (place / "burst.py").write_text(BURST.format(count=count, **sizes))
    (place / "study.yaml").write_text(STUDY.format(limit=limit))
    (run,) = select(load(place).experiments[0], seed=1, era=era, **chosen)
    wanted = tuple(Probe.parse(text) for text in probes)
    return execute(run, kernel.build(), rootfs.build(), place / "data", probes=wanted)


def burst(folder: Path, era: str, link: str, qdisc: str) -> tuple[list[list[int]], bytes]:
    """Times in ns since the burst came, and the data.

    They are those at which its packets leave the bottleneck, and the short ones.
    """
    ports = ("aqm-senders", "aqm-delay")
    captures = [f"capture:aqm {port}" for port in ports]
    result = executed(folder, era, {"link": link, "qdisc": qdisc}, COUNT, 6, *captures)
    before, behind = (next(result.data.parent.glob(f"*.{port}.pcap.gz")) for port in ports)
    came, left = (
        [one for one in pcap.read(path) if " UDP," in str(one)] for path in (before, behind)
    )
    (began_ns, *_) = (one.time_ns for one in came if one.length == FRAME_BYTES)
    leave = [
        [one.time_ns - began_ns for one in left if one.length == length]
        for length in (FRAME_BYTES, SHORT_BYTES)
    ]
    return leave, behind.read_bytes() + result.data.read_bytes()


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("link", "qdisc", "apart_ns", "short_ns"),
    [
        # (1514 + 24) x 8 bits at 10 Mbit/s; a frame has 60 bytes at least.
        ("10/10", "fifo", 1_230_400, 67_200),
        ("10/10", "codel", 1_230_400, 67_200),
        ("10/4", "fifo", 3_076_000, 168_000),
    ],
)
def test_a_burst_leaves_at_the_wires_rate_but_for_what_the_queue_cannot_hold(
    link: str, qdisc: str, apart_ns: int, short_ns: int, tmp_path: Path
) -> None:
    (long, short), _ = burst(tmp_path, "modern+ring_8139", link, qdisc)
    # The limit of the queue is 6. HTB has 1600 bytes to give, so that two packets are in the ring.
    assert long == pytest.approx([apart_ns * n for n in range(1, 2 + 6 + 1)], rel=0, abs=EXACT_NS)
    assert [at - short[0] for at in short] == pytest.approx(
        [0, short_ns, 2 * short_ns], rel=0, abs=EXACT_NS
    )


@pytest.mark.kernel
def test_the_ring_fills_by_one_packet_in_64_and_holds_four(tmp_path: Path) -> None:
    """HTB gives it one in 1211.2 us, the wire takes one in 1230.4: 79 ms a descriptor."""
    chosen = {"link": "10/10", "qdisc": "fifo"}
    probes = ("qdisc:1ms:aqm aqm-delay",)
    result = executed(tmp_path, "modern+ring_8139", chosen, 300, 400, *probes)
    table = pd.read_parquet(next(result.data.parent.glob("*.qdisc.parquet")))
    packets = table.pivot_table(index="time_ns", columns="kind", values="backlog_packets")
    burst = packets[packets["pfifo"] > 0]
    held = burst["ring"] - burst["pfifo"]
    at_ms = (burst.index - burst.index[0]) / 1e6
    for (begin_ms, end_ms), counts in (
        ((0, 70), {2, 3}),  # three while the wire still has the first of them
        ((85, 148), {3, 4}),
        ((170, 300), {4}),
    ):
        assert {*held[(at_ms >= begin_ms) & (at_ms < end_ms)]} == counts
    without = executed(tmp_path, "modern", chosen, 300, 400, *probes)
    table = pd.read_parquet(next(without.data.parent.glob("*.qdisc.parquet")))
    packets = table.pivot_table(index="time_ns", columns="kind", values="backlog_packets")
    assert (packets["htb"] == packets["pfifo"]).all()


@pytest.mark.kernel
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (
        burst(tmp_path / name, "modern+ring_8139", "10/10", "codel")[1] for name in ("a", "b")
    )
    assert first == second
