"""The file of the study `mine` that tests write, with one experiment, `first`."""

DAISY = "{kind: daisy_chain, base_rtt: 50 ms, edge_rate: 1 Gbit/s}"
RRUL = "{kind: flent, test: rrul_be, length: 20 s, step: 200 ms, start_jitter: 50 ms}"
CODEL = "{link: [10/1], qdisc: [codel], cc: cubic}"


def text(rig: str = DAISY, traffic: str = RRUL, sweep: str = CODEL, more: str = "") -> str:
    """Return the file; `more` are lines of other sections."""
    return f"""\
format: 1
study: mine
title: A study
{more}rig: {rig}
experiments:
  first:
    title: First
    traffic: {traffic}
    sweep: {sweep}
"""
