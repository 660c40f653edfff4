"""One TCP connection with a fixed window, between the last pair of gateways (codel2012, Figs 1–4).

```yaml
traffic:
  kind: window
  test: window
  window: 25             # packets in flight
  ack_every: 1           # of how many packets the receiver acknowledges the last
  length: 3 s
  step: 1 ms
  start_jitter: 1 ms
```

The rig is `gateways` with an `mtu`. The data are each packet's way, in flent's form.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, model_validator

from emulation.model.topology import Topology
from emulation.model.units import Duration, Size
from emulation.rigs.base import RigSection
from emulation.rigs.gateways import BULK_PAIRS, LEFT, OTHERS, Gateways
from emulation.study.schema import Flaws
from emulation.traffic.base import TrafficSection, need_pairs, sysctls_of_pairs

if TYPE_CHECKING:
    from emulation.model.run import Run

MOST_PACKETS = 44  # of a window: what fits the first one that a receiver offers, 64 kB

ABSENT_HOST = 9  # of the receiver's subnet: the address that the receiver of our own answers for


class Window(TrafficSection):
    """A connection with a fixed window."""

    kind: Literal["window"]
    window: int = Field(ge=1, le=MOST_PACKETS, strict=True)
    ack_every: int = Field(default=1, ge=1, le=MOST_PACKETS, strict=True)

    @model_validator(mode="after")
    def _acknowledged(self) -> Self:
        if self.ack_every > self.window:
            what = "would wait for more than can be in flight"
            raise Flaws((("ack_every",), what, f"write {self.window} at most"))
        return self

    def check(self, rig: RigSection, topology: Topology) -> None:
        """The rig is that of gateways."""
        need_pairs(self.kind, topology)
        if topology.pairs[-1] != OTHERS:
            what = f"'{self.kind}' does not run on the rig '{topology.name}'"
            raise Flaws((("kind",), what, "write 'kind: gateways' for the rig"))
        if not isinstance(rig, Gateways) or rig.mtu is None:
            raise Flaws((("kind",), "wants a rig with an mtu", "write e.g. 'mtu: 1500 B' there"))

    def job(self, run: Run, topology: Topology) -> dict[str, Any]:
        """The connection, and the places at which its packets are captured."""
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
        """Of hosts and of all neighbours."""
        return sysctls_of_pairs(run, topology)

    def reduce(self, run: Run, out: Path, raw: bool) -> None:
        """A file in flent's form of the way of each packet."""
        from emulation.captures import flent, window  # pandas takes a second to import

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
    """What the guest's module `window` gets, ready for JSON."""
    sender, receiver = topology.pairs[-1]
    address = topology.port(receiver).ip
    return {
        "tool": "window",
        "servers": ["iperf", "mix"],  # nobody reads it; the job's digest is that of shipped runs
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
    """Where a packet is seen on its way: sender, before the queue, behind it, receiver."""
    sender, receiver = topology.pairs[-1]
    return [(sender, "eth0"), ("left", f"left-{BULK_PAIRS + 1}"), LEFT, (receiver, "eth0")]
