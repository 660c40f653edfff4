"""Bulk TCP flows by iperf 2 between wired hosts and WiFi stations, and every packet of them.

As `iperf`, whose parts these are; but flows go both ways where the job has pairs both ways, and
the qdiscs that are counted are those that the job names.
"""

import json

from capture import Captures
from iperf import check_base_rtts, listen, meet, read_counters, send, wait_empty
from iperf_frames import Frames
from rig import Failure

#: Pings of each pair before anything is measured: rate control starts at its lowest rate and looks
#: at what became of its frames every 100 ms.
PINGS, EVERY_S = 30, 0.1

#: In place of iperf's: flows that starve repeat a segment after up to 120 s (TCP_RTO_MAX), so that
#: it takes so long until they end, and so long without a packet until they have.
AROUND_S, QUIET_BEATS = 900.0, 125


def run(rig, traffic, status):
    """Send `traffic` (the job's) and keep what was seen of it in /job/out."""
    meet(rig, traffic["pairs"])
    for pair in traffic["pairs"]:
        rig.run(pair["sender"], "ping", "-c", f"{PINGS}", "-i", f"{EVERY_S:g}", pair["address"])
    found = check_base_rtts(rig, traffic)
    status("reached", base_rtt_ms=found[0], base_rtts_ms=found)
    length_s = traffic["length_s"]
    servers = [listen(rig, pair["receiver"], length_s, AROUND_S) for pair in traffic["pairs"]]
    status("serving", servers=len(servers))
    counted = [rig.ports[place["node"], place["interface"]] for place in traffic["counted"]]
    with Captures(rig, traffic["captures"], ring=Frames) as captures:
        counters = [read_counters(rig, counted)]
        told = send(
            rig, traffic, captures, lambda: counters.append(read_counters(rig, counted)), status,
            AROUND_S,
        )  # fmt: skip
        wait_empty(captures, status, AROUND_S, QUIET_BEATS)
        counters.append(read_counters(rig, counted))
    for server in servers:
        if server.poll() is not None:
            raise Failure("traffic", f"iperf's server died with status {server.returncode}")
        server.kill()
    for name, content in (("counters", counters), ("iperf", told)):
        with open(f"/job/out/{name}.json", "w") as file:
            json.dump(content, file, sort_keys=True)
