"""Tests of emulation.checks.compare and `emulate diff` on made-up runs."""

import gzip
import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from qdisclab.emulate import cli
from qdisclab.emulation.checks.compare import differences, load
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.config.request import request
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.machine.provenance import job_digest

FRAME = bytes(12) + b"\x08\x00" + bytes.fromhex("450000540001400040060000 0a000101 0a000402")
TCP = struct.pack("!HHIIBBH", 1000, 12865, 7, 9, 0x50, 0x18, 512)


def write_pcap(path: Path, packets: list[tuple[int, bytes]]) -> None:
    content = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 1)
    for time_ns, frame in packets:
        content += struct.pack("<IIII", *divmod(time_ns, 10**9), len(frame), 1514) + frame
    path.write_bytes(gzip.compress(content, mtime=0))


def write_run(
    folder: Path, values: list[float | None], drops: int = 0, kernel: str = "k", host: str = "h"
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "metadata": {"HOST": host},
        "x_values": [0.2 * number for number in range(len(values))],
        "results": {"Ping": values, "TCP": [1.0] * len(values)},
    }
    (folder / "seed-001.flent.gz").write_bytes(gzip.compress(json.dumps(content).encode(), mtime=0))
    record = {
        "identity": {"kernel": {"digest": kernel}},
        "qdiscs": {"r1": {"qdiscs": [{"drops": drops}]}},
    }
    (folder / "seed-001.json").write_text(json.dumps(record))
    return folder / "seed-001"


Diff = Callable[..., tuple[int, str]]


@pytest.fixture
def diff(capsys: pytest.CaptureFixture[str]) -> Diff:
    """What calls the command, and returns its status and output."""
    return lambda *words: (cli.main(["diff", *map(str, words)]), capsys.readouterr().out)


def test_equal_runs(tmp_path: Path, diff: Diff) -> None:
    left, right = (write_run(tmp_path / name, [50.0, 51.0]) for name in "ab")
    status, said = diff(left, f"{right}.flent.gz")
    digest = hashlib.sha256(left.with_name("seed-001.flent.gz").read_bytes()).hexdigest()
    assert (status, said) == (0, f"equal: data (SHA-256 {digest[:16]}), counters of 1 interfaces\n")
    assert diff(left, f"{right}.json")[0] == 0


def test_first_sample_counters_and_identity(tmp_path: Path, diff: Diff) -> None:
    left = write_run(tmp_path / "a", [50.0, 51.0, 52.0])
    right = write_run(tmp_path / "b", [50.0, None, 53.0], drops=3, kernel="o")
    status, out = diff(left, right)
    assert status == 1
    assert "first sample that differs: at 0.2 s, Ping: 51.0 against None" in out
    assert "counter: r1.qdiscs[0].drops: 0 against 3" in out
    assert "identity: kernel.digest: k against o" in out
    assert "run both with --probe capture" in out


@pytest.mark.parametrize("known", [True, False])
def test_what_was_asked_for_is_named_with_both_values(
    tmp_path: Path, diff: Diff, known: bool
) -> None:
    rrul = experiment("gbw2015/rrul")
    for ping, qdisc, settings in ((50.0, "codel", {}), (20.0, "pie", {"rig.base_rtt": ["20ms"]})):
        (run,) = select(rrul, link="10/1", qdisc=qdisc, cc="cubic", seed=1, settings=settings)
        job = job_digest(job_of(run)) if known else qdisc
        identity = {"job": job, "kernel": {"series": "6.12"}}
        record = {**request(run), "identity": identity}
        place = write_run(tmp_path / qdisc, [ping]).with_suffix(".json")
        place.write_text(json.dumps(record))
    _, out = diff(tmp_path / "codel/seed-001", tmp_path / "pie/seed-001")
    assert (
        "setting: qdisc: codel against pie\nsetting: rig.base_rtt: (absent) against 20ms\n" in out
    )
    delay = "netem delay 25000us rate 1000000000bit limit 100000 against netem delay 10000us rate "
    assert (f"job: delay delay-r1.qdiscs[0]: {delay}" in out) is known
    assert "identity: job" not in out


@pytest.mark.parametrize("other", ["k", "o"])
def test_of_two_kernels_the_options_that_the_study_sets_are_named(
    tmp_path: Path, diff: Diff, other: str
) -> None:
    (run,) = select(experiment("gbw2015/rrul"), link="10/1", qdisc="codel", cc="cubic", seed=1)
    runs = [
        write_run(tmp_path / kernel / side, [50.0]) for kernel, side in (("k", "a"), (other, "b"))
    ]
    for place, kernel in zip(runs, ("k", other), strict=True):
        record = {**request(run), "identity": {"kernel": {"digest": kernel}}}
        place.with_suffix(".json").write_text(json.dumps(record))
    status, out = diff(*runs)
    assert (status, out.splitlines()[0][:7]) == (0, "equal: ")
    line = "set by the study, whatever a kernel's defaults: codel interval 100000us limit 1000 "
    assert (line in out) is (other != "k")


def test_metadata_alone_may_differ(tmp_path: Path, diff: Diff) -> None:
    left = write_run(tmp_path / "a", [50.0])
    right = write_run(tmp_path / "b", [50.0], host="other")
    assert (
        "samples: equal; first of the metadata that differs: metadata.HOST: h against other"
        in (diff(left, right)[1])
    )


def test_the_earliest_packet_of_all_places(tmp_path: Path, diff: Diff) -> None:
    runs = [write_run(tmp_path / name, [50.0]) for name in "ab"]
    for path, late in zip(runs, (0, 7), strict=True):
        packets = [(1_000_000_005, FRAME + TCP), (2_000_000_000 + late, FRAME + TCP)]
        write_pcap(path.with_name("seed-001.one.pcap.gz"), packets)
        write_pcap(path.with_name("seed-001.two.pcap.gz"), packets[: 2 if late else 1])
    status, out = diff(*runs)
    assert status == 1
    assert "at 2000000000 ns, one, packet 2" in out
    line = "10.0.1.1.1000 > 10.0.4.2.12865 TCP [P.] seq 7 ack 9 win 512, 1514 bytes, id 1 ttl 64"
    assert f"  < {line}\n  > {line} (7 ns later)" in out
    assert "data: the same bytes" in out
    told = json.loads(diff(*runs, "--json")[1])
    assert told["packet"]["time_ns"] == 2_000_000_000
    assert not told["equal"]


@pytest.mark.parametrize("in_time", [True, False])
def test_sockets_around_the_first_packet(tmp_path: Path, diff: Diff, in_time: bool) -> None:
    """Of the packet's connection alone: the last sample before it, and the next one."""
    runs = [write_run(tmp_path / name, [50.0]) for name in "ab"]
    for path, late in zip(runs, (0, 7), strict=True):
        packet = (2_000_000_000 + late * in_time, FRAME + TCP + bytes([0 if in_time else late]))
        write_pcap(path.with_name("seed-001.one.pcap.gz"), [packet])
        rows = [
            {"time_ns": time, "node": "client", "local": "10.0.1.1", "local_port": port,
             "remote": "10.0.4.2", "remote_port": 12865, "cwnd_packets": cwnd + late,
             "ssthresh_packets": 0x7FFFFFFF if cwnd < 12 else 8, "srtt_us": 20500, "ca_state": 3}
            for port in (1000, 1001)
            for time, cwnd in ((1_980_000_000, 10), (1_990_000_000, 11), (2_000_500_000, 12),
                               (2_010_000_000, 13))
        ]  # fmt: skip
        pd.DataFrame(rows).to_parquet(path.with_name("seed-001.sockets.parquet"))
    lines = diff(*runs)[1].splitlines()
    at = lines.index("first packet that differs: at 2000000000 ns, one, packet 1")
    assert lines[at + 3 : at + 7] == [
        "  < client 10.0.1.1.1000, 10.000 ms before: cwnd 11, ssthresh -, srtt 20.500 ms, Recovery",
        "  < client 10.0.1.1.1000, 0.500 ms later: cwnd 12, ssthresh 8, srtt 20.500 ms, Recovery",
        "  > client 10.0.1.1.1000, 10.000 ms before: cwnd 18, ssthresh -, srtt 20.500 ms, Recovery",
        "  > client 10.0.1.1.1000, 0.500 ms later: cwnd 19, ssthresh 8, srtt 20.500 ms, Recovery",
    ]
    assert lines[at + 7].startswith("data: ")


def of_socket(random: int, seq: int, window: int) -> list[bytes]:
    """Return a DNS probe and a segment, whose ports, ids and numbers a guest draws at random."""
    ip = FRAME[:18] + struct.pack("!H", random) + FRAME[20:23]
    port = 40000 + random
    dns = struct.pack("!HHHHHH", port, 53, 20, random, random, 256)
    syn = struct.pack("!HHIIBBHHH", port, 80, seq, 0, 0x80, 0x02, window, random, 0)
    syn += struct.pack("!BBBBII", 1, 1, 8, 10, random, 0)
    data = struct.pack("!HHIIBBHHH", port, 80, (seq + 1) % 2**32, 0, 0x80, 0x02, window, random, 0)
    data += struct.pack("!BBBBII", 1, 1, 8, 10, random + 3, 0)
    return [ip + b"\x11" + FRAME[24:] + dns] + [
        ip + b"\x06" + FRAME[24:] + segment for segment in (syn, data)
    ]


@pytest.mark.parametrize("window", [512, 513])
def test_random_numbers_of_sockets_hide_no_packet(tmp_path: Path, diff: Diff, window: int) -> None:
    """A DNS probe from a random port differs first; the segments' window is the cause."""
    runs = [write_run(tmp_path / name, [50.0]) for name in "ab"]
    sides = of_socket(7, 2**32 - 1, 512), of_socket(900, 5, window)
    for path, frames, port in zip(runs, sides, (40007, 40900), strict=True):
        packets = [(10**9 * number, frame) for number, frame in enumerate(frames, start=1)]
        write_pcap(path.with_name("seed-001.one.pcap.gz"), packets)
        rows = {"time_ns": 10**9, "node": "client", "local": "10.0.1.1", "local_port": port,
                "remote": "10.0.4.2", "remote_port": 80, "cwnd_packets": port,
                "ssthresh_packets": None, "srtt_us": 20500, "ca_state": 0}  # fmt: skip
        pd.DataFrame([rows]).astype({"ssthresh_packets": float}).to_parquet(
            path.with_name("seed-001.sockets.parquet")
        )
    status, out = diff(*runs)
    assert status == 1
    assert "first packet that differs: at 1000000000 ns, one, packet 1" in out
    if window == 512:
        assert "packets differ in random ports, ids and initial numbers alone" in out
        return
    assert "first in more than random numbers: at 2000000000 ns, one, packet 2" in out
    assert "  < 10.0.1.1.40007 > 10.0.4.2.80 TCP [S] seq 4294967295 ack 0 win 512" in out
    assert "  > client 10.0.1.1.40900, 1000.000 ms before: cwnd 40900, ssthresh -, " in out


@pytest.mark.parametrize("window", [512, 513])
def test_times_and_pings_hide_no_segment(tmp_path: Path, diff: Diff, window: int) -> None:
    """Of two kernels the first packet is 256 ns late; only a window is another of TCP's."""
    runs = [write_run(tmp_path / name, [50.0]) for name in "ab"]
    for path, random, late, of_syn in zip(runs, (7, 900), (0, 256), (512, window), strict=True):
        echo = FRAME[:23] + b"\x01" + FRAME[24:] + struct.pack("!BBHHH", 8, 0, random, random, 1)
        dns, *segments = of_socket(random, 5, of_syn)
        packets = [
            (10**9 * number + late, frame)
            for number, frame in enumerate([echo, dns, *segments], start=1)
        ]
        write_pcap(path.with_name("seed-001.one.pcap.gz"), packets)
    out = diff(*runs)[1]
    assert "first packet that differs: at 1000000000 ns, one, packet 1" in out
    text = "first TCP segment with another header: at 3000000000 ns, one, segment 1"
    assert (text in out) == (window != 512)


def test_no_such_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such run"):
        load(tmp_path / "seed-009")


def test_differences_name_keys_and_places() -> None:
    found = list(differences({"a": [1, 2], "b": 1}, {"a": [1, 3, 4]}))
    assert [str(one) for one in found] == [
        "a[1]: 2 against 3",
        "a[2]: (absent) against 4",
        "b: 1 against (absent)",
    ]
