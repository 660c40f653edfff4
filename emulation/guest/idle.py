"""Programs, after pings over the idle path of each pair of a client and its server."""

import re

import programs
from rig import Failure


def run(rig, traffic, status):
    """Measure the RTT of each pair of `traffic` (the job's), then run its programs.

    Raises `Failure` where it is not the sum of the delays on the path.
    """
    found = []
    for pair in traffic["pairs"]:
        measured = base_rtt(rig, pair["client"], pair["address"])
        slack_ms = max(pair.get("slack_ms", 0.0), traffic.get("rtt_slack_ms", 0.0))
        check(pair, measured, slack_ms)
        found.append(measured)
    status("reached", base_rtts_ms=found)
    programs.run(rig, traffic, status)


def check(pair, measured, slack_ms):
    """Raise `Failure` if an RTT is not that of the job's `pair`; some are not known beforehand."""
    asked = pair.get("base_rtt_ms")
    if None not in (asked, measured) and not asked <= measured <= asked + slack_ms:
        path = f"the idle path from {pair['client']} to {pair['address']}"
        delays = f"its delays are {asked:g} ms in all"
        raise Failure("rig", f"{path} takes {measured:g} ms, and {delays}: what else delays pings?")


def base_rtt(rig, client, address):
    """Return the smallest of three RTTs in ms; None where nobody answers."""
    try:
        out = rig.run(client, "ping", "-n", "-c", "3", "-i", "0.2", "-W", "5", address)
    except Failure:
        return None
    found = re.search(r"= ([0-9.]+)/", out)
    return float(found.group(1)) if found else None
