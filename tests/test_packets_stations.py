"""Tests of emulation.packets_stations on captures that were made up: eight flows of a segment."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

import pytest

from emulation import packets, packets_stations
from emulation import packets_frames as frames
from emulation.config import experiment, select
from emulation.errors import GuestFailure
from emulation.model import Run

MS = 10**6
MAC_AT = 66  # where the kernel puts the packet into its frame
PAYLOAD = 1448
AIR_MS, WIRE_MS = 2, 50  # of one direction, beside the wait in the queue
DATA_WAITS_MS, ACK_WAITS_MS = 12, 30
FIN, SYN, ACK = 0x01, 0x02, 0x10


def frame(time_ns: int, source: tuple[str, int], target: tuple[str, int], **fields: int) -> bytes:
    """A frame as the kernel keeps it, of a TCP segment."""
    about = {"id": 1, "seq": 0, "ack": 0, "payload": 0, "flags": ACK} | fields
    length = 52 + about["payload"]
    addresses = (bytes(map(int, address.split("."))) for address, _ in (source, target))
    fixed = (0x45, 0, length, about["id"], 0, 64, 6, 0)
    ip = struct.pack("!BBHHHBBH4s4s", *fixed, *addresses)
    numbers = (about["seq"], about["ack"], 8 << 4, about["flags"], 0, 0, 0)
    packet = (
        bytes(12) + b"\x08\x00" + ip + struct.pack("!HHIIBBHHH", source[1], target[1], *numbers)
    )
    seconds, nanoseconds = divmod(time_ns, 10**9)
    head = struct.pack("<IIIHHII", 1, length + 14, 62, MAC_AT, 80, seconds, nanoseconds)
    return (head.ljust(MAC_AT, b"\0") + packet).ljust(frames.FRAME_BYTES, b"\0")


class Guest:
    """What a guest would leave of a mixed run: each flow a SYN and a segment, and their answers."""

    def __init__(self, out: Path, run: Run) -> None:
        self.out, self.run = out, run
        self.seen: dict[tuple[str, str], list[tuple[int, bytes]]] = {
            place: [] for place in run.topology.observed
        }
        self.before, self.behind = run.topology.observed[:2]
        self.left = [0, 0]  # packets, bytes
        self.dropped = 0

    def carry(
        self, at_ms: int, sender: str, receiver: str, ports: tuple[int, int], **fields: int
    ) -> int:
        """Send a packet; when it arrives, in ms, or 0 where the queue drops it."""
        place = {name: (name, interface) for name, interface in self.run.topology.observed[2:]}
        ends = [
            (self.run.topology.port(name).ip, port)
            for name, port in zip((sender, receiver), ports, strict=True)
        ]

        def see(where: tuple[str, str], time_ms: int) -> None:
            self.seen[where].append((time_ms, frame(time_ms * MS, *ends, **fields)))

        see(place[sender], at_ms)
        if sender.startswith("receiver"):  # on WiFi: through the access point without the queue
            see(self.behind, at_ms + AIR_MS)
            see(self.before, at_ms + AIR_MS)
            see(place[receiver], at_ms + AIR_MS + WIRE_MS)
            return at_ms + AIR_MS + WIRE_MS
        see(self.before, at_ms + WIRE_MS)
        if fields.get("id") == 666:
            self.dropped += 1
            return 0
        at_ms += WIRE_MS + (DATA_WAITS_MS if fields.get("payload") else ACK_WAITS_MS)
        see(self.behind, at_ms)
        self.left = [self.left[0] + 1, self.left[1] + 66 + fields.get("payload", 0)]
        see(place[receiver], at_ms + AIR_MS)
        return at_ms + AIR_MS

    def flow(self, number: int, sender: str, receiver: str) -> None:
        out, back = (40000 + number, packets.SERVICE), (packets.SERVICE, 40000 + number)
        there = self.carry(1000 + number, sender, receiver, out, flags=SYN, id=1)
        here = self.carry(there, receiver, sender, back, flags=SYN | ACK, ack=1, id=2)
        there = self.carry(
            here, sender, receiver, out, seq=1, payload=PAYLOAD, ack=1, id=3, flags=ACK | FIN
        )
        self.carry(there, receiver, sender, back, seq=1, ack=1 + PAYLOAD, id=4)
        line = [
            "0",
            self.address(sender),
            f"{out[0]}",
            self.address(receiver),
            "5001",
            "1",
            "0-1",
            f"{PAYLOAD}",
            "0",
        ]
        with (self.out / f"iperf-{receiver}.csv").open("a") as file:
            file.write(",".join(line) + "\n")

    def address(self, host: str) -> str:
        return self.run.topology.port(host).ip

    def finish(self, drops: int | None = None) -> None:
        for (node, interface), kept in self.seen.items():
            raw = b"".join(one for _, one in sorted(kept, key=lambda pair: pair[0]))
            (self.out / f"{node}.{interface}{frames.SUFFIX}").write_bytes(gzip.compress(raw))
        told = {"handle": "10:", "kind": "codel", "packets": 0, "bytes": 0, "drops": 0, "qlen": 0}
        counted = {"packets": self.left[0], "bytes": self.left[1]}
        counted["drops"] = self.dropped if drops is None else drops
        port = " ".join(self.behind)
        samples = [(0, told), (10**9, told), (5 * 10**9, told | counted)]
        content = [{"time_ns": at, "qdiscs": {port: [one]}} for at, one in samples]
        (self.out / "counters.json").write_text(json.dumps(content))
        (self.out / "iperf.json").write_text(json.dumps({"began_ns": 10**9, "starts_s": []}))


@pytest.fixture
def run() -> Run:
    (found,) = select(experiment("khademi2013/wifi_mixed_4"), qdisc="codel_5ms", seed=1, era="2013")
    return found


@pytest.fixture
def guest(tmp_path: Path, run: Run) -> Guest:
    made = Guest(tmp_path, run)
    pairs = run.job()["traffic"]["pairs"]
    for number, pair in enumerate(pairs):
        made.flow(number, pair["sender"], pair["receiver"])
    return made


def test_data_of_downloads_and_acknowledgments_of_uploads_are_in_the_queue(
    guest: Guest, run: Run
) -> None:
    guest.finish()
    found = packets_stations.reduce(run, guest.out)
    rows = found.packets
    assert sorted(rows["flow"].unique()) == list(range(8))
    # Of a download SYN and data, of an upload the answers to them.
    assert rows.groupby("flow").size().tolist() == [2] * 8
    downward = rows["flow"] < 4
    assert rows.loc[downward & (rows["length"] > 1000), "length"].tolist() == [66 + PAYLOAD] * 4
    assert rows.loc[~downward, "length"].tolist() == [66] * 8
    down, up = (found.counts[name] for name in packets_stations.DIRECTIONS)
    assert (down["sent"], up["sent"], down["dropped"], up["dropped"]) == (8, 8, 0, 0)
    assert down["sojourn_us"]["most"] == 1000 * ACK_WAITS_MS  # of the SYN, as short as an answer
    assert down["sojourn_us"]["p10"] == 1000 * DATA_WAITS_MS
    assert up["sojourn_us"]["p50"] == 1000 * ACK_WAITS_MS


def test_a_round_trip_is_of_both_ways_whoever_began_it(guest: Guest, run: Run) -> None:
    guest.finish()
    found = packets_stations.reduce(run, guest.out)
    both = 2 * (AIR_MS + WIRE_MS)
    data = found.counts["down"]["rtt_us"]
    assert (data["p10"], data["most"]) == (
        1000 * (both + DATA_WAITS_MS),
        1000 * (both + ACK_WAITS_MS),
    )
    upload = found.counts["up"]["rtt_us"]
    assert upload["p10"] == upload["most"] == 1000 * (both + ACK_WAITS_MS)
    # What the table has besides the wait and the base RTT of 100 ms, in whole ms.
    assert set(found.packets["elsewhere_100us"]) == {10.0 * (both - 100)}


def test_what_is_delivered_is_by_flow_downloads_first(guest: Guest, run: Run) -> None:
    guest.finish()
    found = packets_stations.reduce(run, guest.out)
    assert found.delivered.sum(axis=1).tolist() == [PAYLOAD] * 8
    assert found.counts["payload_bytes"] == 8 * PAYLOAD


def test_a_dropped_acknowledgment_has_no_round_trip(guest: Guest, run: Run) -> None:
    pair = run.job()["traffic"]["pairs"][5]  # an upload
    ports = (packets.SERVICE, 40005)
    guest.carry(2500, pair["receiver"], pair["sender"], ports, seq=1, ack=1 + PAYLOAD, id=666)
    guest.finish()
    found = packets_stations.reduce(run, guest.out)
    (lost,) = found.packets[found.packets["fate"] == 2].to_dict("records")
    assert lost["flow"] == 5
    assert (
        found.packets.loc[found.packets["fate"] == 2, ["left_100us", "elsewhere_100us"]]
        .isna()
        .all(axis=None)
    )
    assert (found.counts["up"]["dropped"], found.counts["down"]["dropped"]) == (1, 0)


def test_a_counter_that_says_otherwise_is_an_error(guest: Guest, run: Run) -> None:
    guest.finish(drops=1)
    with pytest.raises(GuestFailure, match="codel counted 1 drops, captured 0"):
        packets_stations.reduce(run, guest.out)


def test_bytes_that_no_server_has_read_are_an_error(guest: Guest, run: Run) -> None:
    guest.finish()
    (guest.out / "iperf-sender2.csv").unlink()
    with pytest.raises(GuestFailure, match=f"differ: {PAYLOAD} and None"):
        packets_stations.reduce(run, guest.out)
