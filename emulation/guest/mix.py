"""The load of codel2012: bulk transfers, web sessions, constant bit rate and uploads at once.

Bulk transfers are iperf's, a process a flow; everything else is sent by one process on each side
(`mix_peer.py`). At the moments of the job the bottleneck gets another rate. What comes of it:
`out/<node>.<interface>.frames.gz` for each captured port, `out/counters.json`, and `out/mix.json`
with the instants of the load and of the changes.
"""

import ctypes
import json
import os
import re
import subprocess
import time

import iperf
from capture import Captures
from iperf_frames import Frames
from readback import classes, compare, compare_class, read
from rig import Failure, add_class, add_qdisc
from traffic import AROUND_S, BEAT_S, RTT_SLACK_MS, wait_listening

#: From the start of the peers until the load begins: Python takes no longer to start.
PEERS_S = 5.0

#: Of an idle path a ping's frame of so many bytes takes the bottleneck's time as well.
PING_BYTES = 98

WEB_PORT = 80

_PR_SET_TIMERSLACK = 29


class Ring(Frames):
    """A ring for 32768 packets a beat: more than 100 Mbit/s are, also where many are dropped."""

    RING_BYTES = 1 << 22


def run(rig, traffic, status):
    """Send `traffic` (the job's) and keep what was seen of it in /job/out."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)  # wake when asked to, to the ns
    if traffic["mtu"]:
        set_mtu(rig, traffic["mtu"])
    iperf.meet(rig, traffic["pairs"])
    slack_ms = traffic.get("rtt_slack_ms", RTT_SLACK_MS)
    found = [check_base_rtt(rig, pair, slack_ms) for pair in traffic["pairs"]]
    status("reached", base_rtt_ms=found[-1], base_rtts_ms=found[-1:])
    bulk = [pair for pair in traffic["pairs"] if pair["sender"] not in traffic["others"]]
    bulk = bulk[: traffic["load"]["bulk"]]
    servers = [iperf.listen(rig, pair["receiver"], traffic["length_s"]) for pair in bulk]
    began = time.monotonic() + PEERS_S
    peers = start_peers(rig, traffic, began)
    status("serving", servers=len(servers) + len(peers))
    watched = [port for port in rig.ports.values() if port.get("classes")]
    with Captures(rig, traffic["captures"], ring=Ring) as captures:
        counters = [iperf.read_counters(rig, watched)]
        told = send(rig, traffic, bulk, began, captures, status)
        iperf.wait_empty(captures, status)
        counters.append(iperf.read_counters(rig, watched))
    for name, process in [*peers.items(), *(("iperf", server) for server in servers)]:
        if process.poll() not in (None, 0):
            raise Failure("traffic", f"{name} ended with status {process.returncode}")
        process.kill()
    for name, content in (("counters", counters), ("mix", told)):
        with open(f"/job/out/{name}.json", "w") as file:
            json.dump(content, file, sort_keys=True)


def set_mtu(rig, mtu):
    """Give every port `mtu`, and each queue under test anew: CoDel looks at it once."""
    for port in rig.ports.values():
        node, device = port["node"], port["interface"]
        rig.run(node, "ip", "link", "set", device, "mtu", str(mtu))
        (seen,) = json.loads(rig.run(node, "ip", "-j", "link", "show", device))
        if seen["mtu"] != mtu:
            raise Failure("rig", f"{node} {device}: mtu is {seen['mtu']}, not {mtu}")
        if port.get("classes"):
            root, *inside = [add_qdisc(port, asked) for asked in port["qdiscs"]]
            within = [add_class(port, asked) for asked in port["classes"]]
            rig.batch(node, "tc", [f"qdisc del dev {device} root", root, *within, *inside])
    problems = compare(rig.ports, read(rig))
    if problems:
        raise Failure("rig", "; ".join(problems))


def check_base_rtt(rig, pair, slack_ms):
    """The smallest RTT of a pair's idle path in ms, by ping; `Failure` if it is another.

    It may be longer by `slack_ms` and by what the bottleneck takes for a ping.
    """
    out = rig.run(pair["sender"], "ping", "-c", "3", "-i", "0.2", "-W", "5", pair["address"])
    found = re.search(r"= ([0-9.]+)/", out)
    measured = float(found.group(1)) if found else 0.0
    slowest = min(
        asked["rate_bit_s"] for port in rig.ports.values() for asked in port.get("classes", ())
    )
    slack = slack_ms + 2 * 8e3 * PING_BYTES / slowest
    if not pair["base_rtt_ms"] <= measured <= pair["base_rtt_ms"] + slack:
        what = f"the idle path to {pair['address']} takes {measured} ms"
        raise Failure("rig", f"{what}, not {pair['base_rtt_ms']:g}")
    return measured


def start_peers(rig, traffic, began):
    """The processes that send all but the bulk transfers, by node; they know when to begin."""
    load = traffic["load"]
    if not any(load[name] for name in ("sessions", "cbr", "cbr_back", "uploads")):
        return {}
    peers = {}
    for node in traffic["others"]:
        command = ["python3", "-I", "-B", "/job/guest/mix_peer.py", node, f"{began:.9f}"]
        with open(f"/job/out/mix-{node}.log", "w") as log:
            peers[node] = subprocess.Popen(
                rig.inside(node, *command), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
    wait_listening(rig, "servers", "tcp", WEB_PORT)
    return peers


def send(rig, traffic, bulk, began, captures, status):
    """Start every flow and make every change at its moment; returns when that was (ns of 1970)."""
    length_s = traffic["length_s"]
    starts = iperf.start_times(traffic["load"]["bulk"], traffic["start_jitter_us"])
    flows, changes = [], []
    held = {
        node: hold_tc(rig, node)
        for node in dict.fromkeys(one["node"] for one in traffic["changes"])
    }

    def start(number):
        flows.append(iperf.start_flow(rig, bulk[number % len(bulk)], number, length_s))

    def change(asked):
        port = rig.ports[asked["node"], asked["interface"]]
        changes.append({**asked, **set_rate(held[asked["node"]], port, asked)})

    def beat():
        captures.drain()
        status("traffic")

    todo = [(late_s, start, (number,)) for number, late_s in starts]
    todo += [(asked["at_s"], change, (asked,)) for asked in traffic["changes"]]
    todo += [(number * BEAT_S, beat, ()) for number in range(1, int(length_s / BEAT_S) + 1)]
    time.sleep(max(0.0, began - time.monotonic()))
    began_ns = time.time_ns()
    for at_s, do, arguments in sorted(todo, key=lambda one: one[0]):
        time.sleep(max(0.0, began + at_s - time.monotonic()))
        do(*arguments)
    deadline = began + length_s + AROUND_S
    while any(flow.poll() is None for flow in flows):
        time.sleep(BEAT_S)
        beat()
        if time.monotonic() > deadline:
            raise Failure("traffic", f"iperf has not ended {AROUND_S:g} s after its load")
    for flow in flows:
        if flow.returncode:
            raise Failure("traffic", f"iperf ended with {flow.returncode}: {iperf.said(flow)}")
    return {
        "began_ns": began_ns,
        "starts_s": [late_s for _, late_s in starts],
        "changes": changes,
    }


def hold_tc(rig, node):
    """A tc in `node` that does each line at once: to start one would take virtual time.

    It answers line by line, as it writes to what it takes for a terminal.
    """
    terminal, end = os.openpty()
    tc = subprocess.Popen(
        rig.inside(node, "tc", "-batch", "-"), stdin=subprocess.PIPE, stdout=end, bufsize=0
    )
    os.close(end)
    tc.terminal = os.fdopen(terminal)
    return tc


def set_rate(tc, port, asked):
    """Give the class of a bottleneck another rate and read it back; `Failure` where it differs.

    Returns between which instants that was done, in ns since 1970.
    """
    where, device = f"{asked['node']} {asked['interface']}", asked["interface"]
    wanted = {**port["classes"][0], "rate_bit_s": asked["rate_bit_s"]}
    line = add_class(port, wanted).replace("class add", "class change")
    since_ns = time.time_ns()
    try:
        tc.stdin.write(f"{line}\nclass show dev {device} classid 1:1\n".encode())
        said = tc.terminal.readline()
    except OSError as error:
        raise Failure("rig", f"{where}: tc refused {line}: {error.strerror}") from None
    until_ns = time.time_ns()
    (seen,) = classes(said.strip()) or [None]
    problems = compare_class(where, wanted, seen)
    if problems:
        raise Failure("rig", "; ".join(problems))
    return {"since_ns": since_ns, "until_ns": until_ns}
