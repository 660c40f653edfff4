"""A test of flent, from one node to another: netperf's flows, probes, calls, pages.

```yaml
traffic:
  kind: flent
  test: rrul_be                  # any test of flent
  length: 140 s
  step: 200 ms                   # between two samples
  start_jitter: 50 ms            # each TCP flow starts up to this much later, as the seed says
  servers: [netserver, irtt]     # also ditg, web, flood
  options: {test-parameter: "upload_streams=8"}    # further options of flent
  client: client                 # the nodes
  server: server
```

The data are flent's own file.
"""

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator

from qdisclab.emulation.errors import TrafficFailure
from qdisclab.emulation.kinds.rigs.base import RigSection
from qdisclab.emulation.kinds.traffic.base import TrafficSection
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.topology import Topology
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.study.schema import Flaws, Settings, naming, unknown

SERVERS = Literal["netserver", "irtt", "ditg", "web", "flood"]

#: The files in `emulation/guest` of those that do not come with Debian.
SERVER_FILES: Mapping[str, tuple[str, ...]] = {
    "ditg": ("ditg.py", "ditg_pickle.py"),
    "web": ("web.py", "web_getter.py", "web_sites.py"),
    "flood": ("flood.py",),
}

#: The guest's shell knows no longer pause before a flow (`guest/traffic.py`).
MOST_JITTER = Duration(10**9)

#: Flent's name for its runner of netperf.
NETPERF = "NetperfDemoRunner"


#: What flent wrote, in the folder of what a guest leaves, where it is to be kept. All that was
#: measured is measured by then, so the data stay the same.
RAW = "raw.flent.gz"


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise Flaws(((), f"'{name}' appears twice", "remove one of the two"))
    return names


Servers = Annotated[tuple[SERVERS, ...], Field(min_length=1), AfterValidator(_each_once)]
_NAMES = naming("[a-z][a-z0-9-]*", "the name of an option", "lower-case letters, digits and -")
Options = Annotated[Settings, _NAMES]


class Flent(TrafficSection):
    """A test of flent."""

    tools = {"flent": (), "live": ("live.py",)}

    kind: Literal["flent"]
    servers: Servers = ("netserver", "irtt")
    options: Options = ()
    client: str = "client"
    server: str = "server"

    @field_validator("start_jitter")
    @classmethod
    def _below_a_second(cls, jitter: Duration) -> Duration:
        if jitter > MOST_JITTER:
            what = f"is more than {MOST_JITTER}, of which flent's flows start within"
            raise Flaws(((), what, "shorten it"))
        return jitter

    @classmethod
    def guest_files(cls, tool: str, traffic: Mapping[str, Any]) -> Iterator[str | Path]:
        """Yield the files of its tool and of its servers."""
        yield from super().guest_files(tool, traffic)
        for server in traffic["servers"]:
            yield from SERVER_FILES.get(server, ())

    def check(self, rig: RigSection, topology: Topology) -> None:
        """Raise `Flaws` unless its nodes are two hosts that can reach each other."""
        self.check_length(self.length)
        hosts = [node.name for node in topology.nodes if node.host]
        for key, name in (("client", self.client), ("server", self.server)):
            if name not in hosts:
                raise Flaws(((key,), *unknown("host", name, hosts)))
        if self.client == self.server:
            raise Flaws((("server",), f"'{self.server}' is the client, too", "name another host"))
        try:
            topology.path(self.client, self.server)
        except ValueError as error:
            raise Flaws((("server",), str(error), "add a wire to the rig")) from None
        addresses, rtts = len(topology.port(self.server).ips), len(rig.base_rtts) or 1
        if addresses != rtts:
            what = f"'{self.server}' has {addresses} addresses and the rig {rtts} base RTTs"
            raise Flaws((("server",), what, "give it one address, or each its base RTT"))

    def check_length(self, length: Duration) -> None:
        """Raise `Flaws` unless they are whole seconds, as flent takes no others."""
        if length.nanoseconds % 10**9:
            what = f"'{length}' is not a whole number of seconds"
            raise Flaws((("length",), what, "write e.g. '20 s'"))

    def job(self, run: Run, topology: Topology) -> dict[str, Any]:
        """Return flent's command, the servers, and the RTT of the idle path."""
        rtts = zip(topology.port(self.server).ips, run.base_rtts, strict=True)
        return {
            "tool": "live" if run.watched else "flent",
            "test": self.test,
            "title": run.id,
            "length_s": run.length.seconds,
            "step_s": self.step.seconds,
            "start_jitter_us": round(self.start_jitter.us),
            "client": self.client,
            "server": self.server,
            "servers": list(self.servers),
            "options": dict(self.options),
            "hosts": [{"address": address, "base_rtt_ms": rtt.ms} for address, rtt in rtts],
        }

    def record(
        self, run: Run, out: Path, steps: list[dict[str, Any]], qdiscs: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the number of pages that failed, which fetch times do not show."""
        failures = (step["failures"] for step in steps if step["step"] == "fetched")
        return {"page_failures": next(failures)} if "web" in self.servers else {}

    def ends(self, topology: Topology) -> tuple[str, str] | None:
        """Return its two nodes."""
        return self.client, self.server

    def sysctls(self, run: Run, topology: Topology) -> dict[str, dict[str, str]]:
        """Map the two nodes to their settings."""
        return {host: run.sysctls(host) for host in (self.client, self.server)}

    def reduce(self, run: Run, out: Path) -> None:
        """Check that each flow moved data; flent's own file is the data."""
        check_flows(out / "data.flent.gz")


def check_flows(file: Path) -> None:
    """Raise `TrafficFailure` where a flow of the flent `file` moved no data or lacks its result."""
    with gzip.open(file) as stream:
        content = json.load(stream)
    results, reports = content["results"], content.get("metadata", {}).get("SERIES_META", {})
    idle = sorted(
        name
        for name, samples in results.items()
        if not name.endswith("::loss") and not name.endswith("::induced_delay")  # may well be 0
        # flent drops the samples of a flow that starves at first, but keeps netperf's own count.
        if not any(sample for sample in samples if sample is not None)
        and not reports.get(name, {}).get("BYTES_RECVD")
    )
    if idle or not results:
        what = "no data moved in " + (", ".join(idle) or "any flow")
        raise TrafficFailure(what, file.name, "look at flent.log")
    flows = ((name, of) for name, of in reports.items() if name.startswith("TCP"))
    netperfs = ((name, of) for name, of in flows if of.get("RUNNER") == NETPERF)
    if unfinished := sorted(name for name, of in netperfs if "ELAPSED_TIME" not in of):
        what = "netperf ended without its result: " + ", ".join(unfinished)
        todo = "look at flent.log; a flow that starves can lose netperf's control connection"
        raise TrafficFailure(what, file.name, todo)
