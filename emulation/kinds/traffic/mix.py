"""A load between gateways: bulk transfers, web sessions, constant bit rate, uploads.

```yaml
loads:
  bulk_4_web_5: {bulk: 4, web: 5}    # TCP flows without end; web connections a second
  edge: {bulk: 1, web: 2, cbr: 1, cbr_back: 1, uploads: 1}

traffic:
  kind: mix
  test: mix
  loads: [bulk_4_web_5, edge]        # the repetitions take them in turn
  length: 60 s
  step: 1 s
  start_jitter: 1 s
```

The data are what the queues of the gateways did, in flent's form.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, PlainValidator, ValidationInfo, model_validator

from emulation.kinds.rigs.base import RigSection
from emulation.kinds.rigs.gateways import LEFT, OTHERS, RIGHT, Change, Gateways, base_rtts
from emulation.kinds.traffic.base import TrafficSection, need_pairs, sysctls_of_pairs
from emulation.kinds.traffic.mix_load import Load, ports_of, queues
from emulation.model.topology import Topology
from emulation.model.units import Duration
from emulation.study.schema import MOST_FLOWS, Flaws, Section, unknown

if TYPE_CHECKING:
    from emulation.model.run import Run

CBR_BYTES, CBR_BIT_S = 100, 64_000  # IP packets (the source of the study says so)
UPLOAD_BYTES = 1_000_000  # Consumer Edge
UPLOAD_IDLE_S = (5.0, 15.0)  # uniform (Consumer Edge)


#: The file with the record of the queues.
QUEUES = "queues.json"

#: In pages, of all hosts together; 128 MiB are never reached. A guest's default is a few MB.
TCP_MEMORY = {"/proc/sys/net/ipv4/tcp_mem": "16384\t24576\t32768"}


class LoadSection(Section):
    """A load of the file; forward is from senders to receivers."""

    bulk: int = Field(default=0, ge=0, le=MOST_FLOWS, strict=True)
    web: int = Field(default=0, ge=0, le=MOST_FLOWS, strict=True)
    cbr: int = Field(default=0, ge=0, le=MOST_FLOWS, strict=True)
    cbr_back: int = Field(default=0, ge=0, le=MOST_FLOWS, strict=True)
    uploads: int = Field(default=0, ge=0, le=MOST_FLOWS, strict=True)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not any(dict(self).values()):
            raise Flaws(((), "sends nothing", "add e.g. 'bulk: 1'"))
        return self

    def load(self, name: str) -> Load:
        """Return the load, with its name."""
        return Load(name, **dict(self))


def _loads(value: Any, info: ValidationInfo) -> tuple[Load, ...]:
    """Return the loads of these names in the file."""
    if not isinstance(value, list | tuple):
        raise Flaws(((), "is not a list", "write [value, value]"))
    if not value:
        raise Flaws(((), "has no loads", "add 'loads', names of the file's loads"))
    defined: dict[str, Load] = (info.context or {}).get("loads", {})
    flaws = [
        ((index,), *unknown("load", str(name), defined))
        for index, name in enumerate(value)
        if not isinstance(name, Load) and not (isinstance(name, str) and name in defined)
    ]
    if flaws:
        raise Flaws(*flaws)
    return tuple(name if isinstance(name, Load) else defined[name] for name in value)


class Mix(TrafficSection):
    """Loads between gateways."""

    tools = {"mix": ("iperf.py", "iperf_frames.py", "mix.py", "mix_peer.py")}

    kind: Literal["mix"]
    loads: Annotated[tuple[Load, ...], PlainValidator(_loads)]

    def load(self, seed: int) -> Load:
        """Return the load of a repetition: repetitions take the loads in turn."""
        return self.loads[(seed - 1) % len(self.loads)]

    def check(self, rig: RigSection, topology: Topology) -> None:
        """Raise `Flaws` unless the rig is `gateways`, whose last pair has the sessions."""
        need_pairs(self.kind, topology)
        if topology.pairs[-1] != OTHERS:
            what = f"'{self.kind}' does not run on the rig '{topology.name}'"
            raise Flaws((("kind",), what, "write 'kind: gateways' for the rig"))
        assert isinstance(rig, Gateways)
        if any(change.at >= self.length for change in rig.schedule):
            what = f"the rig's schedule is not within {self.length}"
            raise Flaws((("length",), what, "end the schedule before the load does"))

    def job(self, run: Run, topology: Topology) -> dict[str, Any]:
        """Return the load, its sessions, and the changes of the link's rate."""
        assert isinstance(run.rig, Gateways)
        return traffic_job(
            self.load(run.seed),
            topology,
            # Independent of the qdisc: qdiscs are compared by the same sessions.
            draw=f"{run.experiment_id}/{run.link.slug}/{run.seed}",
            base_rtt=run.rig.base_rtt,
            length=run.length,
            start_jitter=self.start_jitter,
            mtu=run.rig.mtu.bytes if run.rig.mtu else None,
            schedule=run.rig.changes,
        )

    def record(
        self, run: Run, out: Path, steps: list[dict[str, Any]], qdiscs: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the record of the queues, and of the qdiscs only those under test."""
        ports = {f"{port.node} {port.interface}" for port in run.topology.queues()}
        record: dict[str, Any] = json.loads((out / QUEUES).read_text())
        return {**record, "qdiscs": {port: seen for port, seen in qdiscs.items() if port in ports}}

    def sysctls(self, run: Run, topology: Topology) -> dict[str, dict[str, str]]:
        """Map nodes to settings of hosts and of neighbours."""
        return sysctls_of_pairs(run, topology)

    @property
    def loads_in_turn(self) -> int:
        """Return the number of loads that the repetitions take in turn."""
        return len(self.loads)

    def parameters(self) -> dict[str, str]:
        """Return a size of TCP's memory that is never the limit."""
        return TCP_MEMORY

    def reduce(self, run: Run, out: Path, raw: bool) -> None:
        """Make a file in flent's form, and the record of the queues."""
        from emulation.captures import flent
        from emulation.kinds.traffic import mix_queues

        assert isinstance(run.rig, Gateways)
        parts = (self.flent_about(run), self.load(run.seed), run.link, run.rig.changes)
        content, record = mix_queues.reduce(out, run.topology, *parts)
        flent.write(content, out / "data.flent.gz")
        (out / QUEUES).write_text(json.dumps(record))


def traffic_job(
    load: Load,
    topology: Topology,
    *,
    draw: str,
    base_rtt: Duration,
    length: Duration,
    start_jitter: Duration,
    mtu: int | None,
    schedule: tuple[Change, ...],
) -> dict[str, Any]:
    """Return the job of the guest's module `mix`, ready for JSON.

    Sessions and pauses are drawn here, where they can be inspected, with the text `draw` as seed.
    """
    return {
        "tool": "mix",
        "servers": ["iperf"],
        "load": {
            "bulk": load.bulk,
            "sessions": _sessions(load, length, f"{draw} web"),
            "cbr": load.cbr,
            "cbr_back": load.cbr_back,
            "cbr_bytes": CBR_BYTES,
            "cbr_gap_us": 8 * CBR_BYTES * 10**6 // CBR_BIT_S,
            "uploads": _uploads(load, length, f"{draw} uploads"),
            "upload_bytes": UPLOAD_BYTES,
        },
        "length_s": length.seconds,
        "start_jitter_us": round(start_jitter.us),
        "mtu": mtu,
        "pairs": [
            {
                "sender": sender,
                "receiver": receiver,
                "address": topology.port(receiver).ip,
                "base_rtt_ms": rtt.ms,
            }
            for (sender, receiver), rtt in zip(topology.pairs, base_rtts(base_rtt), strict=True)
        ],
        "others": {name: topology.port(name).ip for name in OTHERS},
        "changes": [
            {
                "at_s": change.at.seconds,
                "node": node,
                "interface": interface,
                "rate_bit_s": change.rate.bits_per_second,
            }
            for change in schedule
            if change.at < length
            for node, interface in (LEFT, RIGHT)
        ],
        "captures": [
            {"node": node, "interface": interface}
            for queue in queues(load).values()
            for node, interface in ports_of(queue, topology)
        ],
    }


def _sessions(load: Load, length: Duration, draw: str) -> list[Any]:
    """Return [start, [[pause, request bytes, response bytes, delay], …]] per session, in us."""
    if not load.web:
        return []
    from emulation.kinds.traffic.packmime import (
        sessions,  # numpy takes a tenth of a second to import
    )

    return [
        [
            round(1e6 * session.start_s),
            [
                [
                    round(1e6 * exchange.pause_s),
                    exchange.request_bytes,
                    exchange.response_bytes,
                    round(1e6 * exchange.server_delay_s),
                ]
                for exchange in session.exchanges
            ],
        ]
        for session in sessions(load.web, length.seconds, _seed(draw))
    ]


def _uploads(load: Load, length: Duration, draw: str) -> list[list[int]]:
    """Return the pauses of each uploader in us, more than it can need."""
    import numpy as np

    rng = np.random.RandomState(_seed(draw))
    count = int(length.seconds / UPLOAD_IDLE_S[0]) + 1
    return [
        [round(1e6 * pause) for pause in rng.uniform(*UPLOAD_IDLE_S, count)]
        for _ in range(load.uploads)
    ]


def _seed(draw: str) -> int:
    return int.from_bytes(hashlib.sha256(draw.encode()).digest()[:4], "big")
