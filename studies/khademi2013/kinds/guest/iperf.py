"""Bulk TCP flows by iperf 2 between the pairs of the rig, and every packet of them.

The load of khademi2013 (Sec. 3.1.3). Each flow is a process of its own, so that each starts at a
time of its own. What comes of it: `out/<node>.<interface>.frames.gz` for each observed port,
`out/counters.json`, and `out/iperf.json` with the flows and the instants of the load.
"""

import json
import os
import subprocess
import time

from capture import Captures
from iperf_frames import Frames
from rig import Failure
from traffic import AROUND_S, BEAT_S, RTT_SLACK_MS, check_base_rtt, wait_listening

PORT = 5001  # iperf's own

#: After so long no neighbour is asked back: delay_first_probe_time and up to three questions.
CERTAIN_S = 9.0

#: How long nothing may be captured until the network counts as empty, in beats.
QUIET_BEATS = 2


def run(rig, traffic, status):
    """Send `traffic` (the job's) and keep what was seen of it in /job/out."""
    meet(rig, traffic["pairs"])
    found = check_base_rtts(rig, traffic)
    status("reached", base_rtt_ms=found[0], base_rtts_ms=found)
    servers = [listen(rig, pair["receiver"], traffic["length_s"]) for pair in traffic["pairs"]]
    status("serving", servers=len(servers))
    watched = [port for port in rig.ports.values() if port.get("classes")]
    with Captures(rig, traffic["captures"], ring=Frames) as captures:
        counters = [read_counters(rig, watched)]
        told = send(
            rig, traffic, captures, lambda: counters.append(read_counters(rig, watched)), status
        )
        wait_empty(captures, status)
        counters.append(read_counters(rig, watched))
    for server in servers:
        if server.poll() is not None:
            raise Failure("traffic", f"iperf's server died with status {server.returncode}")
        server.kill()
    for name, content in (("counters", counters), ("iperf", told)):
        with open(f"/job/out/{name}.json", "w") as file:
            json.dump(content, file, sort_keys=True)


def check_base_rtts(rig, traffic):
    """The smallest RTT of each pair's idle path in ms; `Failure` if one is another than asked."""
    slack_ms = traffic.get("rtt_slack_ms", RTT_SLACK_MS)
    return [
        check_base_rtt(
            rig,
            pair["sender"],
            {"address": pair["address"], "base_rtt_ms": traffic["base_rtt_ms"]},
            slack_ms,
        )
        for pair in traffic["pairs"]
    ]


def meet(rig, pairs):
    """Have all neighbours know each other's addresses, and know for sure.

    One who was asked believes the asker for 5 s and then asks back; the job's sysctls make that the
    last question of a run. None may be asked under load: it would go through the queue under test.
    """
    for pair in pairs:
        rig.run(pair["sender"], "ping", "-c", "1", "-W", "5", pair["address"])
    time.sleep(CERTAIN_S)


def listen(rig, node, length_s, around_s=AROUND_S):
    """iperf's server in `node`; it reports each flow as a line of CSV at its end.

    -C: there is no header before the data. Without it a server closes a connection whose first
    bytes take more than 4 s, and reads from no other meanwhile, which congestion makes happen. With
    it a server waits no longer than -t for a next connection.
    """
    command = ["iperf", "-s", "-C", "-y", "C", "-t", f"{length_s + around_s:g}"]
    with open(f"/job/out/iperf-{node}.csv", "w") as log:
        server = subprocess.Popen(
            rig.inside(node, *command), stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    wait_listening(rig, node, "tcp", PORT)
    return server


def send(rig, traffic, captures, on_beat, status, around_s=AROUND_S):
    """Start every flow and wait for its end; returns what was sent and when (ns since 1970)."""
    starts = start_times(traffic["flows"], traffic["start_jitter_us"])
    began_ns = time.time_ns()
    began = time.monotonic()
    flows = [start_pings(rig, traffic)] if "ping_interval_s" in traffic else []
    for number, late_s in starts:
        time.sleep(max(0.0, began + late_s - time.monotonic()))
        pair = traffic["pairs"][number % len(traffic["pairs"])]
        flows.append(start_flow(rig, pair, number, traffic["length_s"]))
    deadline = began + traffic["length_s"] + around_s
    beat = began
    while any(flow.poll() is None for flow in flows):
        beat += BEAT_S
        time.sleep(max(0.0, beat - time.monotonic()))
        captures.drain()
        if time.monotonic() < began + traffic["length_s"]:
            on_beat()
        status("traffic")
        if time.monotonic() > deadline:
            raise Failure("traffic", f"iperf has not ended {around_s:g} s after its load")
    for flow in flows:
        if flow.returncode:
            program = os.path.basename(flow.log)
            raise Failure("traffic", f"{program}: ended with {flow.returncode}: {said(flow)}")
    return {"began_ns": began_ns, "starts_s": [late_s for _, late_s in starts]}


def start_times(flows, jitter_us):
    """(number of the flow, seconds until it starts), in the order of the starts.

    How late comes from the kernel's random numbers, hence from the seed.
    """
    late = [int.from_bytes(os.urandom(4), "little") % jitter_us / 1e6 for _ in range(flows)]
    return sorted(enumerate(late), key=lambda one: one[1])


def start_flow(rig, pair, number, length_s):
    """The client of one flow of `pair`."""
    log = f"/job/out/iperf-flow{number}.log"
    command = ["iperf", "-C", "-c", pair["address"], "-t", f"{length_s:g}"]
    with open(log, "w") as file:
        flow = subprocess.Popen(
            rig.inside(pair["sender"], *command),
            stdin=subprocess.DEVNULL, stdout=file, stderr=file,
        )  # fmt: skip
    flow.log = log
    return flow


def start_pings(rig, traffic):
    """ping from the first sender to its receiver while the load lasts."""
    pair, every_s = traffic["pairs"][0], traffic["ping_interval_s"]
    count = int(traffic["length_s"] / every_s)
    command = ["ping", "-n", "-i", f"{every_s:g}", "-c", f"{count}", "-W", "5", pair["address"]]
    log = "/job/out/ping.log"
    with open(log, "w") as file:
        pings = subprocess.Popen(
            rig.inside(pair["sender"], *command),
            stdin=subprocess.DEVNULL, stdout=file, stderr=file,
        )  # fmt: skip
    pings.log = log
    return pings


def said(flow):
    """The end of what a client said."""
    with open(flow.log) as file:
        return file.read()[-600:].strip()


def wait_empty(captures, status, around_s=AROUND_S, quiet_beats=QUIET_BEATS):
    """Wait until nothing is captured for `quiet_beats`; `Failure` where it takes `around_s`."""
    quiet, deadline = 0, time.monotonic() + around_s
    while quiet < quiet_beats:
        time.sleep(BEAT_S)
        quiet = 0 if captures.drain() else quiet + 1
        status("draining")
        if time.monotonic() > deadline:
            raise Failure("traffic", f"packets are still sent {around_s:g} s after the load")


def read_counters(rig, ports):
    """What `tc -s` says of the qdiscs of `ports`, and when (ns since 1970)."""
    shown = {
        f"{port['node']} {port['interface']}": json.loads(
            rig.run(port["node"], "tc", "-s", "-j", "qdisc", "show", "dev", port["interface"])
        )
        for port in ports
    }
    return {"time_ns": time.time_ns(), "qdiscs": shown}
