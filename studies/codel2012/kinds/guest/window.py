"""One TCP connection with a fixed window, and every packet of it at every place that it passes.

The experiment of codel2012's Figs 1 to 4. The sender is Linux, which starts with the whole window,
as a route can have it do. The window is what the receiver offers, and that is one of our own
(`window_receiver`): Linux acknowledges no more than a few segments at once, and does not keep to a
window that it is told, since it adapts that to its buffer.
What comes of it: `out/<node>.<interface>.frames.gz` of each place, `out/counters.json` and
`out/window.json` with the begin of the load.
"""

import json
import os
import subprocess
import time

import iperf
from capture import Captures
from iperf_frames import Frames
from mix import check_base_rtt, set_mtu
from rig import Failure
from traffic import AROUND_S, BEAT_S, RTT_SLACK_MS

PORT = 5001

#: From the start of sender and receiver until the load begins: Python takes no longer to start.
PEERS_S = 5.0


def run(rig, traffic, status):
    """Send `traffic` (the job's) and keep what was seen of it in /job/out."""
    pair = traffic["pair"]
    set_mtu(rig, traffic["mtu"])
    iperf.meet(rig, [pair])
    found = check_base_rtt(rig, pair, traffic.get("rtt_slack_ms", RTT_SLACK_MS))
    status("reached", base_rtt_ms=found, base_rtts_ms=[found])
    set_route(rig, pair["sender"], "initcwnd", str(traffic["window"]))
    present(rig, pair, traffic["absent"])
    address = traffic["absent"]["address"]
    sizes = (traffic["ack_every"], traffic["window"], traffic["mtu"])
    words = (address, str(PORT), *map(str, sizes))
    receiver = python(rig, pair["receiver"], "window_receiver.py", *words)
    status("serving", servers=1)
    watched = [port for port in rig.ports.values() if port.get("classes")]
    with Captures(rig, traffic["captures"], ring=Frames) as captures:
        counters = [iperf.read_counters(rig, watched)]
        began = time.monotonic() + PEERS_S
        words = (address, str(PORT), f"{began:.9f}", f"{traffic['length_s']:g}")
        sender = python(rig, pair["sender"], "window_sender.py", *words)
        time.sleep(max(0.0, began - time.monotonic()))
        began_ns = time.time_ns()
        deadline = began + traffic["length_s"] + AROUND_S
        while sender.poll() is None:
            time.sleep(BEAT_S)
            captures.drain()
            status("traffic")
            if time.monotonic() > deadline:
                raise Failure("traffic", f"no end {AROUND_S:g} s after the load")
        iperf.wait_empty(captures, status)
        counters.append(iperf.read_counters(rig, watched))
    if sender.returncode or receiver.poll() not in (None, 0):
        what = f"sender and receiver ended with {sender.returncode} and {receiver.poll()}"
        raise Failure("traffic", f"{what}: see window_*.log")
    receiver.kill()
    for name, content in (("counters", counters), ("window", {"began_ns": began_ns})):
        with open(f"/job/out/{name}.json", "w") as file:
            json.dump(content, file, sort_keys=True)


def set_route(rig, node, *words):
    """Add `words` to the default route of `node` and read it back; `Failure` where they differ."""
    (route,) = json.loads(rig.run(node, "ip", "-j", "route", "show", "default"))
    where = ["default", "via", route["gateway"], "dev", route["dev"]]
    rig.run(node, "ip", "route", "replace", *where, *words)
    shown = rig.run(node, "ip", "route", "show", "default").split()
    if not all(word in shown for word in words):
        raise Failure("rig", f"{node}: the route is {' '.join(shown)}, not with {' '.join(words)}")


def present(rig, pair, absent):
    """Have packets to an address that nobody has sent to the receiver, which looks at them."""
    (link,) = json.loads(rig.run(pair["receiver"], "ip", "-j", "link", "show", "eth0"))
    words = [absent["address"], "lladdr", link["address"], "dev", absent["interface"]]
    rig.run(absent["node"], "ip", "neigh", "replace", *words, "nud", "permanent")


def python(rig, node, name, *words):
    """Start one of this experiment's programs in `node`."""
    command = ["python3", "-I", "-B", f"/job/guest/{name}", *words]
    with open(f"/job/out/{os.path.splitext(name)[0]}-{node}.log", "w") as log:
        return subprocess.Popen(
            rig.inside(node, *command), stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
