"""Packets between two captures: what is followed, and which captures cannot be."""

import gzip
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from qdisclab.analysis.measures import packets
from qdisclab.emulate import cli
from qdisclab.emulation.captures import pair, pcap
from qdisclab.emulation.errors import ConfigError
from tests.emulation.captures.made import End, length, segment, write_pcap

MS = 10**6
CLIENT, SERVER = ("10.0.1.1", 5000), ("10.0.2.1", 80)

Sent = tuple[float, bytes]  # ms, the packet


def capture(path: Path, sent: Sequence[Sent]) -> Path:
    rows = [pcap.Packet(round(at * MS), length(packet), packet) for at, packet in sent]
    write_pcap(rows, path)
    return path


def data(number: int, ecn: int = 2, ends: tuple[End, End] = (CLIENT, SERVER)) -> bytes:
    return segment(*ends, seq=1448 * number, payload=1448, id=number, ecn=ecn)


@pytest.fixture
def captures(tmp_path: Path) -> tuple[Path, Path]:
    """Of ten packets, a millisecond each, the fourth is dropped and the others wait 5 ms; the last
    leaves with CE. Behind the queue there is one from elsewhere, too."""
    before = [(number, data(number)) for number in range(10)]
    behind = [(number + 5, data(number, 3 if number == 9 else 2)) for number in range(10)]
    other = (7.5, segment(("10.0.9.9", 1), SERVER, id=77))
    behind = sorted([other, *(sent for sent in behind if sent[0] != 8)])
    return capture(tmp_path / "in.pcap.gz", before), capture(tmp_path / "out.pcap.gz", behind)


def test_packets_are_followed(tmp_path: Path, captures: tuple[Path, Path]) -> None:
    counts = pair.write(*captures, tmp_path / "t.parquet", 20_000_000)
    assert counts == pair.Counts(10, 9, 1, 0, 5 * MS)
    table = packets.read(tmp_path / "t.parquet")
    assert list(table["fate"]) == ["sent"] * 3 + ["dropped"] + ["sent"] * 5 + ["marked"]
    assert set(table["sojourn_ms"].dropna()) == {5.0}
    assert table["out_ns"].isna().sum() == 1, "nobody knows when it was dropped"
    assert list(table["queued_packets"][:7]) == [0, 1, 2, 3, 3, 3, 3]
    assert table["queued_bytes"][2] == 2 * 1514
    assert packets.utilisation(table) == pytest.approx(9 * 1514 * 8 / (20e6 * 14e-3))


def test_chunks_are_followed_as_a_whole(
    tmp_path: Path, captures: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.write(*captures, tmp_path / "whole.parquet")
    monkeypatch.setattr("qdisclab.emulation.captures.packets._CHUNK", 4)
    monkeypatch.setattr(pair, "_BLOCK", 3)
    pair.write(*captures, tmp_path / "parts.parquet")
    whole, parts = (packets.read(tmp_path / f"{name}.parquet") for name in ("whole", "parts"))
    assert whole.equals(parts)


def test_equal_packets_leave_in_order(tmp_path: Path) -> None:
    twin = segment(CLIENT, SERVER, id=0)
    before = capture(tmp_path / "in.pcap.gz", [(0, twin), (2, twin)])
    behind = capture(tmp_path / "out.pcap.gz", [(1, twin), (5, twin)])
    pair.write(before, behind, tmp_path / "t.parquet")
    assert list(packets.read(tmp_path / "t.parquet")["sojourn_ms"]) == [1, 3]


def damaged(name: str, good: bytes) -> bytes:
    """What somebody may name in place of a capture."""
    return {
        "pcapng": b"\x0a\x0d\x0d\x0a" + bytes(60),
        "cooked": good[:20] + struct.pack("<I", 113) + good[24:],
        "truncated": good[:-5],
        "disordered": good + good[24:],
        "short": good[:24] + struct.pack("<4I", 0, 0, 20, 1514) + bytes(20),
        "empty": good[:24],
        "sparse": good[:24] + bytes(64),
    }[name]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pcapng", "is pcapng; convert it: editcap -F pcap in.pcap NEW.pcap"),
        ("cooked", "has the link type 113, not Ethernet's, 1; capture at one interface"),
        ("truncated", "ends within a packet; make it again, or keep the rest: editcap in.pcap"),
        ("disordered", "packet 11 is earlier than the one before it; sort it: reordercap"),
        ("short", "has 20 bytes of packet 1, 54 are read; capture more: tcpdump -s 96"),
        ("empty", "has no packet; name the capture before the queue first"),
        ("sparse", "packet 1 has 0 bytes, which is not an Ethernet frame; name a whole capture"),
    ],
)
def test_a_capture_that_cannot_be_followed(
    tmp_path: Path,
    captures: tuple[Path, Path],
    name: str,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "in.pcap"
    path.write_bytes(damaged(name, gzip.decompress(captures[0].read_bytes())))
    assert cli.main(["packets", str(path), str(captures[1])]) == ConfigError.exit_status
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{path}: {said}" in line


def test_captures_that_do_not_belong_together(
    tmp_path: Path, captures: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "t.parquet"
    with pytest.raises(ConfigError, match="packets come out before they go in; name IN first"):
        pair.write(*captures[::-1], target)
    other = [(number, data(number, ends=(SERVER, CLIENT))) for number in range(9)]
    with pytest.raises(ConfigError, match=r"9 packets are not in in\.pcap\.gz, 0 are; filter both"):
        pair.write(captures[0], capture(tmp_path / "other.pcap.gz", other), target)
    again = tmp_path / "again"
    again.symlink_to(captures[0])
    with pytest.raises(ConfigError, match=r"in\.pcap\.gz: is what arrives and what leaves"):
        pair.write(captures[0], again, target)
    monkeypatch.setattr(pair, "MOST_PACKETS", 12)
    with pytest.raises(ConfigError, match="more than 12 packets with out"):
        pair.write(*captures, target)
    assert not target.exists()


def test_clocks_that_differ(
    tmp_path: Path, captures: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    def behind(offset_s: float) -> Path:
        rows = [(number + 1 + 1000 * offset_s, data(number)) for number in range(10)]
        return capture(tmp_path / f"by{offset_s}.pcap.gz", rows)

    with pytest.raises(ConfigError) as caught:
        pair.write(captures[0], behind(86400), tmp_path / "t.parquet")
    assert "by86400.pcap.gz: no packet comes out sooner than 86,400.001 s after it went in" in (
        str(caught.value)
    )
    assert "shift it: editcap -t -86400.001000 by86400.pcap.gz NEW" in str(caught.value)
    assert cli.main(["packets", str(captures[0]), str(behind(2))]) == 0
    assert "10 of them came out, after 2,001.000 ms or more\n" in capsys.readouterr().out


def test_a_few_packets_that_come_out_early_are_told(
    tmp_path: Path, captures: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    before = capture(tmp_path / "in.pcap.gz", [(n, data(n)) for n in range(200)])
    late = [(number + 0.5, data(number)) for number in range(199)]
    behind = capture(tmp_path / "out.pcap.gz", [*late, (198.9, data(199))])
    assert cli.main(["packets", str(before), str(behind)]) == 0
    assert "; 1 others came out, 1 before they went in: by one clock?" in capsys.readouterr().out


def test_the_command(
    tmp_path: Path, captures: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "a" / "t.parquet"
    options = ["--rate", "20 Mbit/s", "--output", str(output)]
    assert cli.main(["packets", *map(str, captures), *options]) == 0
    out = capsys.readouterr().out
    assert "CS0 ECT(0)" in out
    assert "10 packets went in, 9 of them came out, after 5.000 ms or more; 1 others came" in out
    assert len(packets.read(output)) == 10
    assert cli.main(["packets", *map(str, captures), "--by", "nothing"]) != 0
    assert "no column 'nothing'" in capsys.readouterr().err
    assert cli.main(["packets", *map(str, captures), "--output", str(captures[0])]) == 2
    assert "is one of the captures to read; name another file" in capsys.readouterr().err
    for rate, text in (("0 Mbit/s", "is not a rate of a link"), ("", "is not a number and a unit")):
        assert cli.main(["packets", *map(str, captures), f"--rate={rate}"]) == 2
        assert text in capsys.readouterr().err
    assert cli.main(["packets", str(captures[0]), "nowhere"]) == 2
    assert "nowhere: cannot be read: No such file or directory; name a" in capsys.readouterr().err


def test_two_captures_without_packets(tmp_path: Path) -> None:
    both = capture(tmp_path / "in.pcap.gz", []), capture(tmp_path / "out.pcap.gz", [])
    with pytest.raises(ConfigError, match=r"out\.pcap\.gz: have no packet; capture while"):
        pair.write(*both, tmp_path / "t.parquet")
