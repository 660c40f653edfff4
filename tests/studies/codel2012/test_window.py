"""One connection with a fixed window: its receiver, its tables of packets, what is measured."""

import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.plots import style
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.emulation.captures.packets import SCHEMA
from qdisclab.emulation.config.catalogue import experiment, select
from studies.codel2012.measures import window
from studies.codel2012.plots import window as figures_window
from studies.codel2012.programs import window_receiver as receiver
from tests.data import provenances

THIN, FAT, THERE, BACK = 10.0, 1.0, 100.0, 100.0  # ms
MTU = 1486
SLOT = figures_window.SLOT * FAT
ADDRESS, SENDER = "10.2.5.9", "10.1.5.2"
HERE = b"\x02\0\0\0\x0b\x02"  # of the receiver's card


def frame(seq: int, size: int, flags: int, port: int = 5001) -> bytes:
    """What a sender of 10.1.5.2 sends."""
    tcp = struct.pack("!HHIIBBHHH", 4000, port, seq, 0, 5 << 4, flags, 1000, 0, 0) + bytes(size)
    addresses = bytes(map(int, SENDER.split("."))) + bytes(map(int, ADDRESS.split(".")))
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 7, 0, 64, 6, 0) + addresses
    return b"\x02" * 6 + b"\x04" * 6 + b"\x08\x00" + ip + tcp


def acknowledged(answer: bytes) -> int:
    return int(struct.unpack_from("!I", answer, 42)[0])


def test_the_receiver_acknowledges_once_for_so_many() -> None:
    one = receiver.Receiver(ADDRESS, 5001, 3, 20, MTU, HERE)
    size = MTU - 40
    answer = one.answer(frame(99, 0, receiver.SYN))
    assert answer[47] == receiver.SYN | receiver.ACK and acknowledged(answer) == 100
    assert struct.unpack_from("!H", answer, 48)[0] == 20 * size  # the window that it offers
    assert one.answer(frame(100, 0, receiver.ACK)) is None
    told = [one.answer(frame(100 + number * size, size, receiver.ACK)) for number in range(6)]
    assert [bool(answer) for answer in told] == [False, False, True, False, False, True]
    assert acknowledged(told[5]) == 100 + 6 * size
    again = one.answer(frame(100, size, receiver.ACK))  # came before: at once
    assert acknowledged(again) == 100 + 6 * size
    last = one.answer(frame(100 + 6 * size, 10, receiver.ACK | receiver.FIN))
    assert acknowledged(last) == 100 + 6 * size + 11 and last[47] & receiver.FIN


def test_the_receiver_leaves_others_alone_and_sums_right() -> None:
    one = receiver.Receiver(ADDRESS, 5001, 1, 20, MTU, HERE)
    assert one.answer(frame(1, 0, receiver.SYN, port=80)) is None
    answer = one.answer(frame(1, 0, receiver.SYN))
    assert receiver.checksum(answer[14:34]) == 0  # of a header with its sum in it (RFC 1071)
    pseudo = answer[26:34] + struct.pack("!BBH", 0, 6, len(answer) - 34)
    assert receiver.checksum(pseudo + answer[34:]) == 0


def test_the_receiver_says_where_its_address_is_and_no_other() -> None:
    one = receiver.Receiver(ADDRESS, 5001, 1, 20, MTU, HERE)
    asker, asked = bytes.fromhex("0404040404040a020501"), bytes(map(int, ADDRESS.split(".")))
    ethernet, kind = b"\xff" * 6 + asker[:6] + b"\x08\x06", b"\0\1\x08\0\6\4"
    question = ethernet + kind + b"\0\1" + asker + bytes(6) + asked
    answer = asker[:6] + HERE + b"\x08\x06" + kind + b"\0\2" + HERE + asked + asker  # RFC 826
    assert one.answer(question) == answer
    assert one.answer(question[:-1] + b"\1") is None


def connection(packets: int, size: int, every: int = 1) -> window.Connection:
    """What a window of `size` comes to on paper: the receiver acknowledges each `every`th."""
    sent: list[float] = []
    left: list[float] = []
    acks: list[tuple[float, float, int]] = []
    for number in range(packets):
        opened = [received for _, received, count in acks if count > number - size]
        allowed = 200.0 if number < size else opened[0]
        sent.append(max(allowed, sent[-1] + FAT if sent else 0.0))
        left.append(max(sent[-1], left[-1] + THIN if left else 0.0))
        if (number + 1) % every == 0:
            acks.append((left[-1] + THERE, left[-1] + THERE + BACK, number + 1))
    table = pd.DataFrame({"sent": sent, "queued": sent, "left": left})
    table = table.assign(received=table["left"] + THERE, bytes=1500)
    known = pd.DataFrame(acks, columns=["sent", "received", "packets"])
    return window.Connection(size, table, known, 2000.0)


def passing(run: RunFile, port: str, in_ms: list[float], out_ms: list[float], payload: int) -> None:
    """Leave the table of a port that these segments passed, after the first one's SYN at 0."""
    came = [0.0, *in_ms]
    rows = pd.DataFrame({"in_ns": came, "out_ns": [0.0, *out_ms]}).mul(1e6).astype("int64")
    rows["payload"] = [0, *[payload] * len(in_ms)]
    rows["seq"], rows["protocol"] = np.arange(len(came)) * max(payload, 1), 6
    rows["flags"] = [receiver.SYN, *[receiver.ACK] * len(in_ms)]
    rows = rows.assign(fate="sent", length=1500, source=SENDER, target=ADDRESS)
    rows = rows.reindex(columns=SCHEMA.names, fill_value=0)
    path = run.provenance.with_suffix(f".{port}.packets.parquet")
    pq.write_table(pa.Table.from_pandas(rows, SCHEMA, preserve_index=False), path)


def write(one: window.Connection, folder: Path, every: int = 1) -> RunFile:
    """Leave a run, in which each packet passed each port when `one` says."""
    label = f"window_{one.window}" + ("_at_once" if every > 1 else "")
    run = provenances.of_run(
        folder, select(experiment(f"codel2012/{label}"), seed=1)[0], length_s=2.0
    )
    times = {name: list(one.packets[name]) for name in ("sent", "queued", "left", "received")}
    for port, into, out in (
        ("servers.eth0", "sent", "sent"), ("left.left-right", "queued", "left"),
        ("right.right-5", "left", "received"),
    ):  # fmt: skip
        passing(run, port, times[into], times[out], MTU - 40)
    for port in ("clients.eth0", "left.left-5"):
        passing(run, port, list(one.acks["sent"]), list(one.acks["received"]), 0)
    return run


def test_a_window_beyond_the_pipe_stands_in_the_queue(tmp_path: Path) -> None:
    one = window.read_connection(write(connection(200, 25), tmp_path))
    assert one.packet_ms == THIN and one.edge_ms == FAT and one.base_rtt_ms == 200
    assert one.pipe == 20
    assert one.waiting([199, 200, 224.5, 399, 405]).tolist() == [0, 0, 22, 5, 5]
    moments, queue = one.changes()
    assert set(queue[(moments > 900) & (moments < one.length_ms)]) == {5}
    assert one.busy(900, 1900) == 1
    assert one.allowed()[25] == 400  # by the first acknowledgment


def test_the_mean_queue_counts_how_long_it_lasts(tmp_path: Path) -> None:
    for every, size, expected in ((1, 25, 5.0), (20, 40, 9.5)):
        file = write(connection(200, size, every), tmp_path, every)
        # Five stand all the time; of 20 that come at once 19 wait, then one less each 10 ms.
        assert window.measure(file)["queue_mean_packets"] == pytest.approx(expected, abs=0.9)


def test_an_acknowledgment_a_window_leaves_the_link_idle_half_of_the_time() -> None:
    one = connection(100, 20, every=20)
    assert one.packets["sent"][20] == pytest.approx(200 + 19 * THIN + THERE + BACK)
    assert one.busy(200, 200 + 4 * 390) == pytest.approx(200 / 390, rel=0.01)
    two = connection(150, 40, every=20)
    assert two.busy(800, 1600) == 1


def test_what_a_window_beyond_the_pipe_comes_to(tmp_path: Path) -> None:
    assert window.measure(write(connection(200, 25), tmp_path)) == pytest.approx(
        {
            "second_waits_ms": THIN - FAT,
            "third_waits_ms": 2 * (THIN - FAT),
            "pipe_packets": 20,
            "excess_packets": 5,
            "queue_least_packets": 5,
            "queue_most_packets": 5,
            "queue_mean_packets": 5,
            "arrivals_by_departures": 1,
            "busy_percent": 100,
            "empty_percent": 0,
        }
    )


def test_what_an_acknowledgment_a_window_comes_to(tmp_path: Path) -> None:
    """Of 390 ms the link sends for 200, and some packet waits from the 1st to the 190th."""
    found = window.measure(write(connection(100, 20, every=20), tmp_path, 20))
    assert found["busy_percent"] == pytest.approx(100 * 200 / 390, abs=4)
    assert found["empty_percent"] == pytest.approx(100 * (390 - 189) / 390, abs=4)
    assert (found["queue_least_packets"], found["queue_most_packets"]) == (0, 18)
    # twenty waits of 0, 9, 18 … 171 ms
    assert found["queue_mean_packets"] == pytest.approx(sum(range(0, 180, 9)) / 390, abs=0.3)


def test_a_packet_that_was_lost_is_an_error(tmp_path: Path) -> None:
    one = connection(200, 25)
    run = write(one, tmp_path)
    received = list(one.packets["received"])
    passing(run, "right.right-5", received[:-150], received[:-150], MTU - 40)
    with pytest.raises(DataError, match="a packet was lost"):
        window.read_connection(run)


def test_every_packet_that_is_under_way_is_drawn_with_the_same_area() -> None:
    one = connection(100, 25)
    with style.styled() as palette:
        axes = figures_window.pipes(one, [305.0], palette).axes[0]
    (drawn,) = axes.collections
    areas = [path.get_extents().width * path.get_extents().height for path in drawn.get_paths()]
    # At 305 ms ten packets are on the path or in the bottleneck, fourteen wait, and the first is an
    # acknowledgment.
    packets = sum(areas) - FAT * figures_window.ACK_HIGH
    assert packets == pytest.approx(24 * THIN * 1.0, rel=0.01)


def test_what_stands_is_the_least_of_the_last_round_trip() -> None:
    moments = np.array([0.0, 100, 150, 200, 320, 400])
    waiting = np.array([0.0, 9, 6, 4, 5, 3])
    # from 100 on at 300, so at 320 the least of 9, 6, 4 and 5; at 200 still that of the start
    assert window.least(moments, waiting, 200).tolist() == [0, 0, 0, 0, 4, 3]


def test_a_packet_is_on_the_senders_link_until_it_reaches_the_queue() -> None:
    one = connection(30, 25)
    late = one.packets.assign(queued=one.packets["sent"] + FAT)
    one = window.Connection(one.window, late, one.acks, one.length_ms)
    with style.styled() as palette:
        axes = figures_window.pipes(one, [203.5], palette).axes[0]
    (drawn,) = axes.collections
    left = sorted(path.get_extents().x0 for path in drawn.get_paths())
    # The first is in the bottleneck, two wait next to it, the fourth is half-way to them.
    assert left[-4:-2] == [-2 * SLOT, -SLOT]
    sender = -26 * SLOT - figures_window.LINK_MS
    assert left[-5] == pytest.approx((sender - 3 * SLOT - FAT) / 2)
