"""Eras: whether a run has the behaviour of today's Linux or of a former one.

`modern` is the kernel as it is. A switch restores one behaviour that Linux has since changed, and
an era is a set of switches: `2014` is Linux 3.14, `2014-no_gso` is the same
without one switch, `modern+pie_tune` is today's kernel with one. The kernel's side of a switch is
an option, a sysctl or a module parameter, some of them added by `qdisc/patches`, so that stock `tc`
configures everything. Other traits of a testbed are switches, too, but of no era: `2014+ticks_4ms`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from emulation.model.qdisc import Qdisc
from emulation.model.units import Duration, Option, Packets

MODERN = "modern"


@dataclass(frozen=True)
class Switch:
    """One behaviour of a former kernel, and how to restore it."""

    name: str
    restores: str  # the behaviour, in words
    changed: str  # the release and commit that changed it, or the reason for the switch
    parameters: tuple[tuple[str, str], ...] = ()  # (`sch_pie.name`, value), for the whole guest
    sysctls: tuple[tuple[str, str], ...] = ()  # (name, value), on client and server
    options: tuple[tuple[str, str, Option], ...] = ()  # (kind of tc, option, value)
    module: str = ""  # a kernel module: its folder in qdisc/src
    tick: Duration | None = None  # of the clock by which packets leave the emulated delay
    noise: float = 0  # of the emulated delay, in packet times of the bottleneck
    ring: bool = False  # whether the module is what the bottleneck has below its queue


_PIE = (
    Switch(
        "pie_tune",
        "PIE adapts its drop probability in smaller steps below 10 and 1 % only",
        "5.1, 3f7ae5f3dc52",
        parameters=(("sch_pie.tune_steps", "2"),),
    ),
    Switch(
        "pie_short_prob",
        "PIE computes its drop probability with 32 bits",
        "5.1, 3f7ae5f3dc52",
        parameters=(("sch_pie.short_prob", "Y"),),
    ),
    Switch(
        "pie_random",
        "PIE drops at random, without keeping drops apart",
        "5.1, 95400b975dd3",
        parameters=(("sch_pie.derandomize", "N"),),
    ),
    Switch(
        "pie_burst",
        "PIE lets bursts of 100 ms pass, not of 150 ms",
        "5.1, 30a92ad703b9",
        parameters=(("sch_pie.burst_ms", "100"),),
    ),
    Switch(
        "pie_rate",
        "PIE takes the delay from the rate at which 10,000 bytes leave, not from time stamps",
        "5.1, 575090036c76 and 5.5, cec2975f2b70",
        parameters=(("sch_pie.dq_threshold", "10000"),),
        options=(("pie", "dq_rate_estimator", True),),
    ),
)

_FQ_CODEL = (
    Switch(
        "single_drop",
        "fq_codel drops one packet of the longest queue when its limit is reached, not half of it",
        "4.7, 9d18562a2278",
        options=(("fq_codel", "drop_batch", Packets(1)),),
    ),
)

_TCP = (
    Switch(
        "no_gso",
        "TCP sends segment by segment where segmentation offloads are off",
        "4.17, 0a6b2a1dc2a2",
        sysctls=(("net.ipv4.tcp_gso", "0"),),
    ),
    Switch(
        "count_acks",
        "windows grow by acknowledgments, not by the segments that they are for",
        "4.0, 95224ac1801c",
        sysctls=(("net.ipv4.tcp_count_acks", "1"),),
    ),
    Switch(
        "hystart_early",
        "CUBIC leaves slow start when the RTT has grown by a sixteenth, not by an eighth",
        "3.19, 42eef7a0bb09",
        parameters=(("tcp_cubic.hystart_early", "Y"),),
    ),
    Switch(
        "saved_ssthresh",
        "a connection starts with the slow-start threshold of the last one to the same peer",
        "5.6, 65e6d90168f3",
        sysctls=(("net.ipv4.tcp_no_ssthresh_metrics_save", "0"),),
    ),
    Switch(
        "syn_backoff",
        "each SYN that is repeated waits twice as long as the one before, from the first on",
        "6.5, ccce324dabfe",
        sysctls=(("net.ipv4.tcp_syn_linear_timeouts", "0"),),
    ),
)

#: How senders find and repair losses. Only parts of Linux 3.14 can be restored, and with them
#: CoDel is further from what was measured then than without (docs/eras.md): no era has them.
_RECOVERY = (
    Switch(
        "no_sack_compression",
        "each segment that arrives out of order is acknowledged at once",
        "4.18, 5d9f4262b7ea",
        sysctls=(("net.ipv4.tcp_comp_sack_nr", "0"),),
    ),
    Switch(
        "no_rack",
        "losses are found by duplicate acknowledgments (RFC 6675), not by time (RACK)",
        "4.18, b38a51fec1c1",
        sysctls=(("net.ipv4.tcp_recovery", "0"),),
    ),
    Switch(
        "fack",
        "losses are found by forward acknowledgment, without RACK",
        "4.15, 713bafea9292",
        sysctls=(("net.ipv4.tcp_recovery", "0"), ("net.ipv4.tcp_fack", "1")),
    ),
    Switch(
        "fack_reordering",
        "forward acknowledgment ends where reordering raises its threshold, not at the first sign",
        "4.15, 713bafea9292",
        sysctls=(("net.ipv4.tcp_recovery", "0"), ("net.ipv4.tcp_fack", "2")),
    ),
    Switch(
        "early_retransmit",
        "with less than four segments in flight a loss is repaired after a quarter of the RTT",
        "4.11, bec41a11dd3d",
        sysctls=(("net.ipv4.tcp_recovery", "0"), ("net.ipv4.tcp_early_retransmit", "1")),
    ),
    Switch(
        "prr_grow",
        "throughout recovery one segment more is sent than was delivered, up to the threshold",
        "4.3, 3759824da87b",
        sysctls=(("net.ipv4.tcp_prr_grow", "1"),),
    ),
    Switch(
        "tlp_delack",
        "a tail loss probe waits 10 ms at least, and for delayed acknowledgments of one segment",
        "4.14, bb4d991a28cc",
        sysctls=(("net.ipv4.tcp_tlp_delack", "1"),),
    ),
    Switch(
        "no_tlp",
        "there are no tail loss probes",
        "3.10, 6ba8a3b19e76",
        sysctls=(("net.ipv4.tcp_early_retrans", "0"),),
    ),
)

#: How CUBIC sees round trips. In the eras by code only.
_CUBIC = (
    Switch(
        "cubic_jiffies",
        "CUBIC takes the RTT from a clock of jiffies, which are milliseconds",
        "3.15, 740b0f1841f6",
        parameters=(("tcp_cubic.rtt_jiffies", "Y"),),
    ),
    Switch(
        "hystart_train",
        "a train of acknowledgments ends slow start at half of the least RTT",
        "5.6, cece509f9a7f",
        parameters=(("tcp_cubic.train_alone", "Y"),),
    ),
)

#: Receivers. In no era yet: the shipped runs were made without (docs/eras.md).
_RECEIVER = (
    Switch(
        "quickack",
        "after a segment out of order a receiver acknowledges up to 16 segments one by one",
        "4.18, a3893637e1eb",
        module="quickack",
    ),
    Switch(
        "quickack_ce",
        "as quickack, and after a mark of congestion: 16 acknowledgments, not 2",
        "4.18, 522040ea5fdd",
        parameters=(("quickack.ce", "Y"),),
        module="quickack",
    ),
    Switch(
        "receive_buffer",
        "a receive buffer begins with 87380 bytes, not with 131072",
        "4.20, a337531b942b",
        sysctls=(("net.ipv4.tcp_rmem", "4096 87380 6291456"),),
    ),
)

#: Senders. In no era either; a study adds it where stations have queues.
_SENDER = (
    Switch(
        "small_queues",
        "a connection may have 128 KiB in its own host's queues, however slowly they leave",
        "3.12, c9eeec26e32e",
        sysctls=(
            ("net.ipv4.tcp_limit_output_bytes", "131072"),
            ("net.ipv4.tcp_pacing_ca_ratio", "1000"),
            ("net.ipv4.tcp_pacing_ss_ratio", "1000"),
        ),
        module="small_queues",
    ),
    Switch(
        "queue_truesize",
        "a segment takes 4352 bytes of the 128 KiB of small_queues, not 2763",
        "by measurement, as send_buffer: 131072 * 2763 / 4352",
        sysctls=(("net.ipv4.tcp_limit_output_bytes", str(131072 * 2763 // 4352)),),
    ),
)

#: Clocks as coarse as that of Debian's stock kernel 3.2 (250 Hz), on which dummynet delayed the
#: packets of a testbed, as fine as a network card's interrupts at 20 000 a second, and others.
TICKS = ("20 us", "50 us", "100 us", "250 us", "1 ms", "4 ms")
_CLOCK = tuple(
    Switch(
        f"ticks_{text.replace(' ', '')}",
        f"packets leave the emulated delay at ticks of {text}, with the same delay on average",
        "not a change of Linux: netem holds packets to the nanosecond, dummynet to a tick",
        module="ticks",
        tick=Duration.parse(text),
    )
    for text in TICKS
)

#: An Intel card, by its driver (`e1000e/netdev.c` of Linux 3.14.4): it waits 32 us for more
#: packets (`BURST_RDTR`, `BURST_RADV`), and interrupts 4000 times a second at most, at 1 Gbit/s
#: 20,000 times (`e1000_set_itr`, whose next step takes 10,000 bytes in one interrupt).
_CARD = tuple(
    Switch(
        f"card_{name}",
        f"a card on a wire of {name} takes packets in batches, {gap} apart at least",
        "not a change of Linux: e1000e moderates the interrupts of an 82571EB",
        parameters=(("sch_card.link_mbit", link_mbit),),
        module="card",
        tick=Duration.parse(gap),
    )
    for name, link_mbit, gap in (("100m", "100", "250 us"), ("1g", "1000", "50 us"))
)

#: A Realtek card of 100 Mbit/s, by its driver: `8139too` of Linux 3.8 has four
#: descriptors (`NUM_TX_DESC`) and no byte queue limits. On the wire a frame takes a checksum of 4
#: bytes, a preamble of 8 and a gap of 12 that HTB does not count.
_RING = Switch(
    "ring_8139",
    "below the queue a card has four descriptors, and its wire, not HTB, limits the rate",
    "not a change of Linux: 8139too has four descriptors and no byte queue limits",
    parameters=(("sch_ring.descriptors", "4"), ("sch_ring.framing", "24")),
    module="ring",
    ring=True,
)

#: 4 MB hold 963 segments of 4352 bytes, the size of one in Linux 3.14 with scatter-gather off, as
#: all offloads were; today's Linux takes 2763 bytes, as measured by what gets in flight.
_SEND_BUFFER = Switch(
    "send_buffer",
    "a send buffer of 4 MB holds 963 segments",
    "by measurement: a segment takes 2763 bytes of it, took 4352",
    sysctls=(("net.ipv4.tcp_wmem", f"4096 16384 {963 * 2763}"),),
)

#: What hosts do to the time of packets, and an emulated path does not: without it flows lock into
#: step with the packets of the bottleneck. The remedy and its size, uniform from 0 to the time that
#: the bottleneck takes for a packet, are S. Floyd's and V. Jacobson's ("On Traffic Phase Effects in
#: Packet-Switched Gateways", 1992). A rig's `noise` sets another size.
_NOISE = Switch(
    "host_noise",
    "the emulated delay varies by one packet time of the bottleneck, without reordering",
    "not a change of Linux: hosts have interrupts, timers and caches",
    noise=1,
)

#: The PIE of its authors, from before the first one in Linux. Whether it marked where Linux drops
#: is not known.
_MARKS = Switch(
    "pie_mark_all",
    "PIE with ecn marks at any probability, and does not drop above 10 %",
    "not a change of Linux: PIE marks at 10 % at most since 3.14",
    parameters=(("sch_pie.mark_all", "Y"),),
)

#: Traits of a testbed other than its kernel; in no ablation of an era.
TESTBED: tuple[Switch, ...] = (_SEND_BUFFER, _NOISE, _MARKS, *_CLOCK, *_CARD, _RING)

#: Every switch of Linux's behaviour.
SWITCHES: tuple[Switch, ...] = (
    *(*_PIE, *_FQ_CODEL, *_TCP, *_CUBIC, *_RECOVERY, *_RECEIVER, *_SENDER),
)

#: All that Linux 3.14 did otherwise and the series can be made to do, by its source (docs/eras.md),
#: and the rule of `host_noise`: decided before any run with it was compared with a paper.
_BY_CODE = tuple(
    switch.name
    for switch in (*SWITCHES, _SEND_BUFFER, _NOISE)
    if switch.name not in ("fack", "no_tlp")  # fack_reordering is the whole of the former
)

#: The switches of each era.
ERAS: dict[str, tuple[str, ...]] = {
    MODERN: (),
    "2014": tuple(switch.name for switch in (*_PIE, *_FQ_CODEL, *_TCP)),
    # Linux 3.8: senders that counted bytes (RFC 3465), which 3.9 lost.
    "2013": tuple(
        switch.name for switch in (*_PIE, *_FQ_CODEL, *_TCP) if switch.name != "count_acks"
    ),
    # Linux 4.3 to 4.8: by the code, too, all that was changed later.
    "2016": tuple(
        name
        for name in _BY_CODE
        if name
        not in (
            *("count_acks", "hystart_early", "prr_grow", "cubic_jiffies"),
            *("small_queues", "queue_truesize", _SEND_BUFFER.name, _NOISE.name),
        )
    ),
    "2014c": _BY_CODE,
    # Linux 3.8 had no tail loss probes (3.10), and counted bytes, as above.
    "2013c": (*(name for name in _BY_CODE if name not in ("count_acks", "tlp_delack")), "no_tlp"),
}

_BY_NAME = {switch.name: switch for switch in (*SWITCHES, *TESTBED)}

#: The names of all switches.
NAMES: tuple[str, ...] = tuple(_BY_NAME)


def switches(era: str, besides: Iterable[str] = ()) -> tuple[Switch, ...]:
    """Return the switches of `era`: a name of `ERAS`, then `+name` or `-name` for each change.

    `besides` are switches added to every era but `MODERN`. Raises `ValueError` for an unknown name
    (with the valid ones), for a change that has no effect, as what it takes out is part of another
    switch, and for a clock beside noise.
    """
    base, *changes = re.split(r"(?=[+-])", era)
    if base not in ERAS:
        raise ValueError(f"unknown era '{base}'; valid: {', '.join(ERAS)}")
    on = set(ERAS[base]) | (set(besides) if base != MODERN else set())
    for change in changes:
        sign, name = change[0], change[1:]
        if name not in _BY_NAME:
            raise ValueError(
                f"unknown switch '{name}' of era '{era}'; valid: {', '.join(_BY_NAME)}"
            )
        if (name in on) == (sign == "+"):
            raise ValueError(f"era '{era}': '{name}' is already {'on' if sign == '+' else 'off'}")
        on ^= {name}
    chosen = tuple(switch for name, switch in _BY_NAME.items() if name in on)
    for out in sorted({change[1:] for change in changes} - on):
        if others := _including(_BY_NAME[out], chosen):
            what = f"era '{era}': '{out}' is part of {' and '.join(others)} as well"
            raise ValueError(f"{what}; leave out {'that' if len(others) == 1 else 'these'}, too")
    clocks = [switch.name for switch in chosen if switch.tick or switch.noise]
    if len(clocks) > 1:
        raise ValueError(f"era '{era}': {' and '.join(clocks)} exclude each other; choose one")
    return chosen


def _including(out: Switch, on: Iterable[Switch]) -> tuple[str, ...]:
    """Return the names of those `on` by which all that `out` does is done without it."""
    settings = _settings(out)
    if not settings or not settings <= frozenset().union(*map(_settings, on)):
        return ()
    return tuple(f"'{switch.name}'" for switch in on if _settings(switch) & settings)


def _settings(switch: Switch) -> frozenset[tuple[object, ...]]:
    """Return all that `switch` sets, as (where, value) and (kind, option, value)."""
    module = ((switch.module, ""),) if switch.module else ()
    return frozenset((*switch.parameters, *switch.sysctls, *switch.options, *module))


def parameters(on: Iterable[Switch]) -> dict[str, str]:
    """Map files below `/sys/module` to the values of module parameters that `on` sets."""
    return {
        f"/sys/module/{module}/parameters/{name}": value
        for switch in on
        for path, value in switch.parameters
        for module, name in (path.split("."),)
    }


def sysctls(on: Iterable[Switch]) -> dict[str, str]:
    """Map sysctls of the hosts to the values that `on` sets."""
    return {name: value for switch in on for name, value in switch.sysctls}


def modules(on: Iterable[Switch]) -> tuple[str, ...]:
    """Return the folders in qdisc/src of the kernel modules that `on` needs."""
    return tuple(switch.module for switch in on if switch.module)


def tick(on: Iterable[Switch]) -> Duration | None:
    """Return the tick at which packets leave the emulated delay; None means to the nanosecond."""
    return next((switch.tick for switch in on if switch.tick), None)


def clock(on: Iterable[Switch]) -> str:
    """Return the module that delays packets in the place of netem; "" means netem."""
    return next((switch.module for switch in on if switch.tick), "")


def ring(on: Iterable[Switch]) -> str:
    """Return the module that is a card's ring below the queue under test; "" means none."""
    return next((switch.module for switch in on if switch.ring), "")


def noise(on: Iterable[Switch]) -> float:
    """Return by how many packet times of the bottleneck the emulated delay varies."""
    return sum(switch.noise for switch in on)


def restored(qdisc: Qdisc, on: Iterable[Switch]) -> Qdisc:
    """Return `qdisc` with the options that `on` sets for its kind and the experiment does not."""
    added = {
        option: value
        for switch in on
        for kind, option, value in switch.options
        if kind == qdisc.kind and option not in dict(qdisc.options)
    }
    return replace(qdisc, options=(*qdisc.options, *added.items()))
