"""The file of the study `mine` that tests write, with one experiment, `first`."""

from collections.abc import Callable

from qdisclab.emulation.model.run import Experiment

Read = Callable[[str], Experiment]  #: the fixture `first_of`
Refusal = Callable[[str], list[str]]  #: the fixture `refusal`

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
