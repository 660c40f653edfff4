"""One TCP connection with a fixed window, between the last pair of gateways.

```yaml
traffic:
  kind: window
  test: window
  window: 25             # packets in flight
  ack_every: 1           # the receiver acknowledges every n-th packet
  length: 3 s
  step: 1 ms
  start_jitter: 1 ms
```

The rig is `gateways` with an `mtu`. The data have the path of each packet, in flent's form.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, model_validator

from emulation.kinds.rigs.base import RigSection
from emulation.kinds.rigs.gateways import BULK_PAIRS, LEFT, OTHERS, Gateways
from emulation.kinds.traffic.base import TrafficSection, need_pairs, sysctls_of_pairs
from emulation.model.topology import Topology
from emulation.model.units import Duration, Size
from emulation.study.schema import Flaws

if TYPE_CHECKING:
    from emulation.model.run import Run

GUEST = ("window.py", "window_receiver.py", "window_sender.py")
MOST_PACKETS = 44  # that fit the first window that a receiver offers, 64 kB

ABSENT_HOST = 9  # in the receiver's subnet: our own receiver answers for this address


class Window(TrafficSection):
    """A connection with a fixed window."""

    tools = {
        "window": (
            *("iperf.py", "iperf_frames.py", "mix.py"),
            *(Path(__file__).parent / "guest" / name for name in GUEST),
        )
    }

    kind: Literal["window"]
    window: int = Field(ge=1, le=MOST_PACKETS, strict=True)
    ack_every: int = Field(default=1, ge=1, le=MOST_PACKETS, strict=True)

    @model_validator(mode="after")
    def _acknowledged(self) -> Self:
        if self.ack_every > self.window:
            what = "is more than can be in flight"
            raise Flaws((("ack_every",), what, f"write {self.window} at most"))
        return self

    def check(self, rig: RigSection, topology: Topology) -> None:
        """Raise `Flaws` unless the rig is `gateways` with an `mtu`."""
        need_pairs(self.kind, topology)
        if topology.pairs[-1] != OTHERS:
            what = f"'{self.kind}' does not run on the rig '{topology.name}'"
            raise Flaws((("kind",), what, "write 'kind: gateways' for the rig"))
        if not isinstance(rig, Gateways) or rig.mtu is None:
            raise Flaws(
                (("kind",), "needs a rig with an mtu", "write e.g. 'mtu: 1500 B' in the rig")
            )

    def job(self, run: Run, topology: Topology) -> dict[str, Any]:
        """Return the connection, and the places where its packets are captured."""
        assert isinstance(run.rig, Gateways) and run.rig.mtu is not None
        return window_job(
            topology,
            window=self.window,
            ack_every=self.ack_every,
            base_rtt=run.rig.base_rtt,
            length=run.length,
            mtu=run.rig.mtu,
        )

    def sysctls(self, run: Run, topology: Topology) -> dict[str, dict[str, str]]:
        """Map nodes to settings of hosts and of neighbours."""
        return sysctls_of_pairs(run, topology)

    def reduce(self, run: Run, out: Path, raw: bool) -> None:
        """Make a file in flent's form with the path of each packet."""
        from emulation.captures import flent  # pandas takes a second to import

        from ..captures import window

        content = window.reduce(out, places(run.topology), self.flent_about(run), self.window)
        flent.write(content, out / "data.flent.gz")


def window_job(
    topology: Topology,
    *,
    window: int,
    ack_every: int,
    base_rtt: Duration,
    length: Duration,
    mtu: Size,
) -> dict[str, Any]:
    """Return the job of the guest's module `window`, ready for JSON."""
    sender, receiver = topology.pairs[-1]
    address = topology.port(receiver).ip
    return {
        "tool": "window",
        "servers": ["iperf", "mix"],  # not read; keeps the digest of the job as in shipped runs
        "window": window,
        "ack_every": ack_every,
        "length_s": length.seconds,
        "mtu": mtu.bytes,
        "pair": {
            "sender": sender,
            "receiver": receiver,
            "address": address,
            "base_rtt_ms": base_rtt.ms,
        },
        "absent": {
            "address": f"{address.rpartition('.')[0]}.{ABSENT_HOST}",
            "node": "right",
            "interface": f"right-{BULK_PAIRS + 1}",
        },
        "captures": [
            {"node": node, "interface": interface} for node, interface in places(topology)
        ],
    }


def places(topology: Topology) -> list[tuple[str, str]]:
    """Return where a packet is captured: sender, before the queue, behind it, receiver."""
    sender, receiver = topology.pairs[-1]
    return [(sender, "eth0"), ("left", f"left-{BULK_PAIRS + 1}"), LEFT, (receiver, "eth0")]
