"""Programs, after pings over the idle path of each pair of a client and its server."""

import re

import programs
from rig import Failure


def run(rig, traffic, status):
    """Measure the RTT of each pair of `traffic` (the job's), then run its programs."""
    status("reached", base_rtts_ms=[base_rtt(rig, **pair) for pair in traffic["pairs"]])
    programs.run(rig, traffic, status)


def base_rtt(rig, client, address):
    """Return the smallest of three RTTs in ms; None where nobody answers."""
    try:
        out = rig.run(client, "ping", "-n", "-c", "3", "-i", "0.2", "-W", "5", address)
    except Failure:
        return None
    found = re.search(r"= ([0-9.]+)/", out)
    return float(found.group(1)) if found else None
