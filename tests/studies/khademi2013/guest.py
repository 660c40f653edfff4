"""What a guest leaves of flows whose every packet is followed, made up."""

import json
from pathlib import Path

from qdisclab.emulation.captures.flent import About
from qdisclab.emulation.model.run import Run
from studies.khademi2013.captures import rings
from tests.emulation.captures.made import ACK, SERVICE, ring, segment

MS = 10**6
PAYLOAD = 1448
AIR_MS, WIRE_MS = 2, 50  # of one direction, beside the wait in the queue
DATA_WAITS_MS, ACK_WAITS_MS = 12, 30
FIN, SYN = 0x01, 0x02


def done_in(run: Run) -> About:
    """What a reduction of `run` says was done."""
    return About(run.traffic.test, run.id, run.length, run.traffic.step)


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
            self.seen[where].append((time_ms * MS, segment(*ends, **fields)))

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
        out, back = (40000 + number, SERVICE), (SERVICE, 40000 + number)
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
        for place, kept in self.seen.items():
            ring(rings.ring(self.out, place), sorted(kept, key=lambda packet: packet[0]))
        told = {"handle": "10:", "kind": "codel", "packets": 0, "bytes": 0, "drops": 0, "qlen": 0}
        counted = {"packets": self.left[0], "bytes": self.left[1]}
        counted["drops"] = self.dropped if drops is None else drops
        port = " ".join(self.behind)
        samples = [(0, told), (10**9, told), (5 * 10**9, told | counted)]
        content = [{"time_ns": at, "qdiscs": {port: [one]}} for at, one in samples]
        (self.out / "counters.json").write_text(json.dumps(content))
        (self.out / "iperf.json").write_text(json.dumps({"began_ns": 10**9, "starts_s": []}))
