"""Each behaviour of a former Linux, by what a host sends to a peer that follows a script."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from qdisclab.emulation import kernel
from qdisclab.emulation.config.catalogue import load, select
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.runs.run import execute

pytestmark = pytest.mark.kernel

STUDY = """\
format: 1
study: peer
title: A host and a script
rig:
  kind: nodes
  sysctls: {{net.ipv4.tcp_frto: 0, net.ipv4.tcp_wmem: 4096 16384 4194304, net.ipv4.tcp_ecn: 1}}
  nodes: {{client: {{}}, server: {{}}}}
  links: [{{from: client, to: server, there: {{rate: {rate}}}, back: {{delay: {rtt}}}}}]
experiments:
  one:
    title: One connection
    traffic:
      kind: programs
      length: 3 s
      files: [peer.py, host.sh]
      programs:
        - {{kind: command, name: peer, node: server, command: [python3, peer.py, {case}]}}
        - {{kind: command, name: host, node: client, until: load,
           command: [sh, host.sh, "{{server}}", "{size}", "{route}"]}}
    sweep: {{cc: {cc}}}
"""

# It connects as the clock ticks, or an RTT in ticks would depend on when the guest got here.
HOST = """\
ip route add 192.0.2.1 via $1 $3
exec python3 -c '
import socket, sys, time
time.sleep(0.2 - time.monotonic() % 0.004)
connection = socket.create_connection(("192.0.2.1", 9000))
try:
    connection.sendall(b"x" * int(sys.argv[1]))
    while connection.recv(65536):
        pass
except ConnectionResetError:
    pass
' $2
"""


def trace(
    folder: Path, era: str, case: str, segments: int = 8000, rtt: str = "50 ms",
    rate: str = "1 Gbit/s", cc: str = "reno", route: str = "initcwnd 10",
) -> pd.DataFrame:  # fmt: skip
    """What the host of `era` sends, a row per segment, as `peer.py` prints it."""
    place = folder / f"{era}-{case}/peer"
    place.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("peer.py"), place)
    (place / "host.sh").write_text(HOST)
    text = STUDY.format(rtt=rtt, rate=rate, cc=cc, route=route, case=case, size=segments * 1000)
    (place / "study.yaml").write_text(text)
    (run,) = select(load(place).experiments[0], seed=1, era=era)
    result = execute(run, kernel.build(), rootfs.build(), place / "data")
    with gzip.open(str(result.data).replace(".flent.gz", ".rows.jsonl.gz"), "rt") as lines:
        return pd.DataFrame([row for row in map(json.loads, lines) if "at_ms" in row])


def repaired_ms(told: pd.DataFrame) -> float:
    """When the first segment is sent again."""
    return float(told[told["first"] == 0]["at_ms"].min())


def repairs(told: pd.DataFrame) -> int:
    """How many segments are sent again before a timeout."""
    return int(((told["first"] < 7) & (told["at_ms"] < 200)).sum())


def probed_ms(told: pd.DataFrame) -> float:
    """When the last of two segments is sent again; never without a probe."""
    return float(told[told["first"] == 1]["at_ms"].min())


def repeated(told: pd.DataFrame) -> int:
    """How many acknowledgments say that the 61st segment is missing."""
    return int((told["acks"] == 60_000).sum())


def later(told: pd.DataFrame) -> int:
    """How many acknowledgments come after the 62nd segment's."""
    return int((told["acks"] > 62_000).sum())


def quick(told: pd.DataFrame) -> int:
    """How many acknowledgments come after that of the marked segment, the 21st."""
    return int((told["acks"] > 21_000).sum())


def offered(told: pd.DataFrame) -> int:
    """The window that the host's SYN offers, in bytes."""
    return int(told["window"].iloc[0])


def sent(told: pd.DataFrame) -> int:
    """How many segments come before a timeout."""
    return int(told[told["at_ms"] < 190]["count"].sum())


def beyond(told: pd.DataFrame) -> int:
    """How many new segments come in recovery: what was freed of the send buffer."""
    return int(((told["first"] > 2000) & (told["at_ms"] < 190)).sum())


WIDE = {"route": "initcwnd 5000"}
NARROW = {"rate": "4 Mbit/s", "route": "initcwnd 600"}
CUBIC = {"cc": "cubic", "route": "initcwnd 20"}
TWO: dict[str, Any] = {"segments": 2, "rtt": "1 ms"}
NONE, THREE, TEN = ({"segments": number} for number in (0, 3, 10))


@pytest.mark.parametrize(
    ("switch", "base", "case", "setting", "measure", "off", "on"),
    [
        # Two RTTs and two ticks of 4 ms at most, or 10 ms at least; ticks round up.
        ("tlp_delack", "modern", "tail", TWO, probed_ms, (2, 10), (10, 14)),
        # RACK waits a quarter of the RTT for a segment that was overtaken; without it a probe of
        # the tail is the first to say more.
        ("no_rack", "modern", "ahead", TEN, repaired_ms, (62, 70), (300, 600)),
        ("fack", "modern+no_rack", "ahead", TEN, repaired_ms, (300, 600), (50, 51)),
        ("fack_reordering", "modern+no_rack", "ahead", TEN, repaired_ms, (300, 600), (50, 51)),
        # A quarter of the RTT, in place of a timeout.
        ("early_retransmit", "modern+no_rack", "three", THREE, repaired_ms, (300, 600), (62, 75)),
        # Three acknowledgments in recovery are for one repair each, or for more.
        ("prr_grow", "modern", "seven", {"segments": 40}, repairs, (3, 3), (4, 6)),
        # After four acknowledgments of a hole they wait for each other.
        ("no_sack_compression", "modern", "hole", NONE, repeated, (4, 10), (20, 22)),
        # Four segments after a hole was filled are acknowledged in pairs, or one by one.
        ("quickack", "modern", "filled", NONE, later, (2, 2), (4, 4)),
        # Of 24 segments after a mark one, or 15, are acknowledged alone, the others in pairs.
        ("quickack_ce", "modern", "marked", NONE, quick, (12, 14), (19, 21)),
        # Half of the buffer, in whole segments of 1460 bytes.
        ("receive_buffer", "modern", "tail", {}, offered, (64_240, 64_240), (42_340, 42_340)),
        # 4 MB hold fewer segments: those of 963 in place of 1518 times 2763 bytes.
        ("send_buffer", "modern", "tail", WIDE, sent, (4000, 4300), (2500, 2800)),
        # Segment by segment, 832 bytes and the payload each.
        ("truesize", "modern+no_gso", "tail", WIDE, sent, (2285, 2295), (1195, 1205)),
        # What was in the host's queue when the connection ended.
        ("small_queues", "modern+no_gso", "reset", NARROW, sent, (80, 100), (140, 160)),
        (
            *("queue_truesize", "modern+no_gso+small_queues", "reset", NARROW, sent),
            *((140, 160), (120, 135)),
        ),
        # Of 2290 that were acknowledged selectively each gives 832 bytes back, or none.
        ("sacked_apart", "modern+no_gso", "gap", WIDE, beyond, (900, 1200), (0, 0)),
        # Six flights of congestion avoidance, from five segments on, an acknowledgment for each.
        ("count_acks", "modern", "avoidance", {}, sent, (10, 12), (6, 6)),
        # Slow start goes on, or has ended.
        ("hystart_early", "modern", "delayed", CUBIC, sent, (78, 82), (42, 60)),
        ("hystart_train", "modern", "train", CUBIC | {"rtt": "3 ms"}, sent, (40, 42), (20, 24)),
        ("cubic_jiffies", "modern", "train", CUBIC | {"rtt": "2500 us"}, sent, (40, 42), (20, 24)),
    ],
)
def test_a_switch_restores_what_is_said_of_it(
    tmp_path: Path, switch: str, base: str, case: str, setting: dict[str, Any],
    measure: Callable[[pd.DataFrame], float], off: tuple[float, float], on: tuple[float, float],
) -> None:  # fmt: skip
    for era, (least, most) in ((base, off), (f"{base}+{switch}", on)):
        assert least <= measure(trace(tmp_path, era, case, **setting)) <= most, era


def test_without_tail_loss_probes_a_timeout_is_the_first_to_act(tmp_path: Path) -> None:
    told = trace(tmp_path, "modern+no_tlp", "tail", **TWO)
    assert list(told["first"]) == [0]
    assert repaired_ms(told) > 200
