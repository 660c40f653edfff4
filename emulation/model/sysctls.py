"""The kernel settings that a study may set on a node: those of the network, `net.*`.

A node is a network namespace and has its own copy of most of `net.*`. Other settings affect the
whole guest, including the rig, or name a program for the kernel to start (`kernel.core_pattern`):
no study has a use for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from emulation.model import era as eras

#: The setting that the axis `cc` varies.
CONTROL = "net.ipv4.tcp_congestion_control"

#: Settings that are known to affect results, and their meaning, in addition to those of switches of
#: eras (`emulation.model.era`). Others of `net.*` may be set, but `emulate check` and `emulate run`
#: point them out.
KNOWN = {
    "net.ipv4.ip_no_pmtu_disc": "whether the MTU of a path is discovered",
    "net.ipv4.tcp_adv_win_scale": "how much of a buffer is window",
    "net.ipv4.tcp_autocorking": "small writes are sent together",
    "net.ipv4.tcp_comp_sack_delay_ns": "how long acknowledgments wait for each other, at the most",
    "net.ipv4.tcp_comp_sack_nr": "how many acknowledgments become one",
    CONTROL: "the congestion control of one node",
    "net.ipv4.tcp_dsack": "segments that arrive twice are reported",
    "net.ipv4.tcp_ecn": "whether ECN is asked for and granted; from 3 on AccECN",
    "net.ipv4.tcp_ecn_option": "how often AccECN's option is sent",
    "net.ipv4.tcp_ecn_option_beacon": "how often it is sent at least in a round trip",
    "net.ipv4.tcp_ecn_fallback": "a lost SYN with ECN is repeated without it",
    "net.ipv4.tcp_early_retrans": "tail loss probes",
    "net.ipv4.tcp_fastopen": "data in the SYN",
    "net.ipv4.tcp_frto": "spurious timeouts are detected",
    "net.ipv4.tcp_limit_output_bytes": "what a connection may have in its host's queues",
    "net.ipv4.tcp_min_rtt_wlen": "the window of the least RTT",
    "net.ipv4.tcp_moderate_rcvbuf": "receive buffers grow by themselves",
    "net.ipv4.tcp_mtu_probing": "the MTU of a path is probed",
    "net.ipv4.tcp_no_metrics_save": "connections do not remember those before",
    "net.ipv4.tcp_no_ssthresh_metrics_save": "connections do not remember former thresholds",
    "net.ipv4.tcp_notsent_lowat": "what an application may write ahead",
    "net.ipv4.tcp_pacing_ca_ratio": "pacing in congestion avoidance, percent",
    "net.ipv4.tcp_pacing_ss_ratio": "pacing in slow start, percent",
    "net.ipv4.tcp_recovery": "RACK",
    "net.ipv4.tcp_recv_batch_ms": "how long a read goes on after its first data (a patch of ours)",
    "net.ipv4.tcp_reordering": "duplicate acknowledgments until a loss, at first",
    "net.ipv4.tcp_rmem": "the receive buffer: least, at first, most",
    "net.ipv4.tcp_sack": "selective acknowledgments",
    "net.ipv4.tcp_slow_start_after_idle": "slow start after a pause",
    "net.ipv4.tcp_timestamps": "time stamps",
    "net.ipv4.tcp_tso_win_divisor": "the share of a window that one burst may have",
    "net.ipv4.tcp_window_scaling": "windows above 64 KiB",
    "net.ipv4.tcp_wmem": "the send buffer: least, at first, most",
    "net.ipv4.udp_rmem_min": "the least receive buffer of UDP",
    "net.ipv4.udp_wmem_min": "the least send buffer of UDP",
}
#: Values of `tcp_ecn` by which a host asks for ECN where it connects, and those that are AccECN
#: (linux, Documentation/networking/ip-sysctl.rst, from 7.0 on).
ECN, ASKS_FOR_ECN, ACCURATE_ECN = "net.ipv4.tcp_ecn", ("1", "3", "4"), ("3", "4", "5")
#: Setting -> the releases that have it, where not all do.
SINCE = {"net.ipv4.tcp_ecn_option": "7.0..", "net.ipv4.tcp_ecn_option_beacon": "7.0.."}

LONGEST = 200  # characters of a name or a value; buffers are three numbers
_NAME = re.compile(r"net(\.[A-Za-z0-9_-]+){2,}")  # no slash, which sysctl takes for a dot


def flaw(name: str, value: str) -> tuple[str, str] | None:
    """Return what is wrong with a setting and what to do; None where it is valid."""
    if not _NAME.fullmatch(name) or len(name) > LONGEST:
        return "is not a setting of the network", "write one of net.*, e.g. net.ipv4.tcp_ecn"
    if not value.isprintable() or len(value) > LONGEST:
        return f"{value[:40]!r} is not the value of a setting", "write numbers or a word"
    return None


def releases(name: str, value: str) -> str:
    """Return the range of releases that take the setting: `7.0..`; `..` for all."""
    if name == ECN and value in ACCURATE_ECN:
        return "7.0.."
    return SINCE.get(name, "..")


def unusual(name: str) -> bool:
    """Whether the effect of the setting on results is unknown."""
    of_eras = (setting for switch in eras.SWITCHES for setting, _ in switch.sysctls)
    return name not in KNOWN and name not in of_eras


def notes(*settings: Iterable[tuple[str, str]] | Mapping[str, str]) -> Iterator[str]:
    """Yield notes for the user on the settings of a rig and of its nodes."""
    for several in settings:
        for name in dict(several):
            if unusual(name):
                yield f"{name} is none of the settings that are known to affect results"
