"""Eras: which Linux behaves in a run, today's or that of the papers.

`modern` is the kernel as it is. A switch restores one behaviour that Linux has since changed, and
an era is a set of switches: `2014` is what gbw2015 ran (Linux 3.14), `2014-no_rack` all of it but
one, `modern+single_drop` today's with one of them. The kernel's side of a switch is an option, a
sysctl or a module parameter, some of them added by `qdisc/patches`, so that stock `tc` configures
everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from emulation.qdisc import Option, Qdisc

MODERN = "modern"


@dataclass(frozen=True)
class Switch:
    """One behaviour of a former kernel, and how it is had back."""

    name: str
    restores: str  # for people: what it does
    changed: str  # the release that changed it, and the commit or the reason where there is none
    parameters: tuple[tuple[str, str], ...] = ()  # (`sch_pie.name`, value), of the whole guest
    sysctls: tuple[tuple[str, str], ...] = ()  # (name, value), on client and server
    options: tuple[tuple[str, str, Option], ...] = ()  # (kind of tc, option, value)


#: Every switch that there is.
SWITCHES: tuple[Switch, ...] = (
    Switch(
        "single_drop",
        "fq_codel drops one packet of the longest queue when its limit is reached, not half of it",
        "4.7, 9d18562a2278",
        options=(("fq_codel", "drop_batch", 1),),
    ),
    Switch(
        "no_sack_compression",
        "each segment that arrives out of order is acknowledged at once",
        "4.18, 5d9f4262b7ea",
        sysctls=(("net.ipv4.tcp_comp_sack_nr", "0"),),
    ),
    Switch(
        "saved_ssthresh",
        "a connection starts with the slow-start threshold that the last one to its peer ended with",
        "5.6, 65e6d90168f3",
        sysctls=(("net.ipv4.tcp_no_ssthresh_metrics_save", "0"),),
    ),
    Switch(
        "syn_backoff",
        "each SYN that is repeated waits twice as long as the one before, from the first on",
        "6.5, ccce324dabfe",
        sysctls=(("net.ipv4.tcp_syn_linear_timeouts", "0"),),
    ),
    Switch(
        "no_rack",
        "losses are found by duplicate acknowledgments (RFC 6675), not by time (RACK)",
        "4.18, b38a51fec1c1",
        sysctls=(("net.ipv4.tcp_recovery", "0"),),
    ),
)

#: The switches of each era.
ERAS: dict[str, tuple[str, ...]] = {
    MODERN: (),
    "2014": tuple(switch.name for switch in SWITCHES),
}

_BY_NAME = {switch.name: switch for switch in SWITCHES}


def switches(era: str) -> tuple[Switch, ...]:
    """The switches of `era`: a name of `ERAS`, then `+name` and `-name` for each change of it.

    Raises `ValueError`, with the valid names, for a name that is none, a switch that is on already
    or one that is not on to be taken away.
    """
    base, *changes = re.split(r"(?=[+-])", era)
    if base not in ERAS:
        raise ValueError(f"unknown era '{base}'; valid: {', '.join(ERAS)}")
    on = set(ERAS[base])
    for change in changes:
        sign, name = change[0], change[1:]
        if name not in _BY_NAME:
            raise ValueError(
                f"unknown switch '{name}' of era '{era}'; valid: {', '.join(_BY_NAME)}"
            )
        if (name in on) == (sign == "+"):
            raise ValueError(f"era '{era}': '{name}' is {'on' if sign == '+' else 'off'} already")
        on ^= {name}
    return tuple(switch for switch in SWITCHES if switch.name in on)


def parameters(on: Iterable[Switch]) -> dict[str, str]:
    """Value by file below `/sys/module` of the module parameters that `on` sets."""
    return {
        f"/sys/module/{module}/parameters/{name}": value
        for switch in on
        for path, value in switch.parameters
        for module, name in (path.split("."),)
    }


def sysctls(on: Iterable[Switch]) -> dict[str, str]:
    """Value by sysctl that `on` sets on the hosts."""
    return {name: value for switch in on for name, value in switch.sysctls}


def restored(qdisc: Qdisc, on: Iterable[Switch]) -> Qdisc:
    """`qdisc` with the options that `on` sets for its kind; the experiment's own go first."""
    added = {
        option: value
        for switch in on
        for kind, option, value in switch.options
        if kind == qdisc.kind and option not in dict(qdisc.options)
    }
    return replace(qdisc, options=(*qdisc.options, *added.items()))
