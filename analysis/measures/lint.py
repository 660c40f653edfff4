"""Whether a flent file was measured on the rig that its name says.

Scripts write the labels of a campaign, and scripts fail. What a file records of its rig, and its
own numbers, tell whether the label can be believed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from qdisclab.analysis.runs.rigrecord import DOWN, UP, Interface, RigRecord, rate_mbit_s

WRONG, UNKNOWN, NOTE = "wrong", "unknown", "note"

#: Qdiscs that a name may speak of, as tc calls them.
QDISCS: Final = frozenset(
    {
        "bfifo", "cake", "choke", "codel", "dualpi2", "fq", "fq_codel", "fq_pie", "gred",
        "lfq_cobalt", "pfifo", "pfifo_fast", "pie", "ramp", "red", "sfb", "sfq",
    }
)  # fmt: skip
#: Names of qdiscs in papers and scripts -> the kinds of tc that may stand for them.
CALLED: Final[Mapping[str, frozenset[str]]] = {
    "ared": frozenset({"red"}),
    "fifo": frozenset({"pfifo", "bfifo", "pfifo_fast"}),
}
SEES_NO_SUPERPACKETS: Final = frozenset({"cake"})  # splits them

MOST_OF_RATE: Final = 1.02  # payload by rate: above it packets go around the shaper
LEAST_OF_RATE: Final = 0.5  # below it the shaper is hardly the bottleneck
RTT_SHARE, RTT_MS = 0.1, 2.0  # how far a round trip may be off its label, or be shorter under load


@dataclass(frozen=True)
class LintFinding:
    """Something about a file that its reader should know."""

    level: str  # WRONG: not the rig of the name; UNKNOWN: not recorded; NOTE
    about: str  # "qdisc", "rate", "RTT", …
    text: str


@dataclass(frozen=True)
class Label:
    """What the name of a file says about its rig; None or empty where it says nothing."""

    qdisc: str = ""
    rates_mbit_s: tuple[float, float] | None = None  # (down, up)
    rtt_ms: float | None = None
    cc: str = ""
    ecn: bool | None = None
    offloads: bool | None = None


def lint(record: RigRecord) -> list[LintFinding]:
    """Return all findings about a file, the wrong ones first."""
    label = _turned(record, label_of(record))
    checks = (_tools, _qdisc, _rates, _rtt, _tcp)
    findings = [finding for check in checks for finding in check(record, label)]
    return sorted(findings, key=lambda finding: (WRONG, UNKNOWN, NOTE).index(finding.level))


def label_of(record: RigRecord) -> Label:
    """Return what title and file name say.

    flent-batch writes `qdisc:codel rtt:10ms rate:10Mbit/10Mbit`.

    Without such keys a qdisc is a whole word of the title or the file's name, `rrul-fq_codel-48ms`;
    the longest one counts, as `fq_codel` is not CoDel.
    """
    keys = dict(re.findall(r"(\w+):(\S+)", record.title))
    words = re.split(r"[^a-z0-9_]+", f"{record.title} {record.file_name}".lower())
    named = sorted((QDISCS | CALLED.keys()) & set(words), key=len)
    ecn = {"ecn": True, "noecn": False}
    ecns = {ecn[word] for word in (keys.get("ecn", ""), *words) if word in ecn}
    rtt = re.fullmatch(r"([0-9.]+)ms", keys.get("rtt", ""))
    return Label(
        qdisc=keys.get("qdisc", "").lower() or (named[-1] if named else ""),
        rates_mbit_s=_labelled_rates(keys.get("rate") or keys.get("bandwidth", "")),
        rtt_ms=float(rtt[1]) if rtt else None,
        cc=keys.get("cc", ""),
        ecn=ecns.pop() if len(ecns) == 1 else None,
        offloads=False if any(word.endswith("nooffload") for word in words) else None,
    )


def _labelled_rates(text: str) -> tuple[float, float] | None:
    down, *up = (rate_mbit_s(part) for part in text.split("/"))
    other = up[0] if up else down
    return (down, other) if down and other and len(up) < 2 else None


def _turned(record: RigRecord, label: Label) -> Label:
    """Return the label, with its two rates the other way round where only that fits the file.

    Some write down/up, others up/down.
    """
    if label.rates_mbit_s is None:
        return label
    other = replace(label, rates_mbit_s=label.rates_mbit_s[::-1])
    as_is, turned = (
        any(finding.level == WRONG for finding in _rates(record, way)) for way in (label, other)
    )
    return other if as_is and not turned else label


# --- checks -------------------------------------------------------------------------------------


def _tools(record: RigRecord, _: Label) -> Iterator[LintFinding]:
    if record.failed:
        yield LintFinding(WRONG, "tools", f"flent says that {record.failed} of its tools failed")
    if not record.series:
        yield LintFinding(NOTE, "series", "none in the file: nothing that was measured is compared")
    empty = [name for name, values in record.series.items() if not np.isfinite(values).any()]
    if empty:
        shown = ", ".join(sorted(empty)[:3]) + ", …" * (len(empty) > 3)
        yield LintFinding(WRONG, "series", f"no value at all in {len(empty)} series: {shown}")


def _qdisc(record: RigRecord, label: Label) -> Iterator[LintFinding]:
    """Compare the qdisc and offloads of the label with those of the bottleneck's interface."""
    both = (_bottleneck(record, direction, label) for direction in (DOWN, UP))
    bottlenecks = [interface for interface in both if interface is not None]
    kinds = CALLED.get(label.qdisc, frozenset({label.qdisc}))
    for interface in bottlenecks:
        if label.qdisc and kinds.isdisjoint(interface.kinds):
            text = f"the name says {label.qdisc}; {interface} has {_list(interface.kinds)}"
            yield LintFinding(WRONG, "qdisc", text)
        if interface.offloads and label.offloads is False:
            text = f"the name says none; on at {interface}: {_list(interface.offloads)}"
            yield LintFinding(WRONG, "offloads", text)
        elif interface.offloads and SEES_NO_SUPERPACKETS.isdisjoint(interface.kinds):
            text = f"on at {interface}, whose qdisc sees superpackets: {_list(interface.offloads)}"
            yield LintFinding(NOTE, "offloads", text)
    if label.qdisc and not bottlenecks:
        everywhere = {kind for interface in record.interfaces for kind in interface.kinds}
        hosts = "; a router's were not recorded" if len(record.sysctls) == 1 else ""
        seen = f"; recorded: {_list(sorted(everywhere))}" if everywhere else "; none is recorded"
        text = f"no interface with the shaper, so not whether it is {label.qdisc}"
        yield LintFinding(UNKNOWN, "qdisc", f"{text}{seen}{hosts}")


def _rates(record: RigRecord, label: Label) -> Iterator[LintFinding]:
    for place, direction in enumerate((DOWN, UP)):
        goodput, interface = _goodput(record, direction), _bottleneck(record, direction, label)
        wanted = label.rates_mbit_s[place] if label.rates_mbit_s else None
        rate = interface.rate_mbit_s if interface else None
        if wanted and rate and abs(rate - wanted) > 0.01 * wanted:
            text = f"the name says {wanted:g} Mbit/s of {direction}; {interface} shapes to {rate:g}"
            yield LintFinding(WRONG, "rate", text)
        limit = rate or wanted
        if limit and goodput and goodput > MOST_OF_RATE * limit:
            source = str(interface) if rate else "the name"
            text = f"{direction}s move {goodput:.3g} Mbit/s, more than the {limit:g} of {source}"
            yield LintFinding(WRONG, "goodput", text)
        elif limit and goodput is not None and goodput < LEAST_OF_RATE * limit:
            text = f"{direction}s move {goodput:.3g} Mbit/s of {limit:g}: is that the bottleneck?"
            yield LintFinding(NOTE, "goodput", text)


def _rtt(record: RigRecord, label: Label) -> Iterator[LintFinding]:
    for name, values in record.pings.items():
        idle = values[(record.time_s < record.delay_s) & np.isfinite(values)]
        loaded = values[record.loaded & np.isfinite(values)]
        if not idle.size:
            continue
        median = float(np.median(idle))
        wanted = label.rtt_ms
        if wanted and abs(median - wanted) > RTT_SHARE * wanted + RTT_MS:
            text = f"the name says {wanted:g} ms; without load '{name}' is {median:.3g} ms"
            yield LintFinding(WRONG, "RTT", text)
        least = float(idle.min())
        if loaded.size and loaded.min() < (1 - RTT_SHARE) * least - RTT_MS:
            text = f"'{name}' takes {least:.3g} ms or more without load, {loaded.min():.3g} with"
            yield LintFinding(WRONG, "RTT", f"{text}: other paths, or load before it began")


def _tcp(record: RigRecord, label: Label) -> Iterator[LintFinding]:
    """Compare congestion control and ECN with those of the host that opens the connections."""
    own = record.sysctls.get("", {})
    used = record.parameters.get("tcp_cong_control", own.get("net.ipv4.tcp_congestion_control"))
    if label.cc and used and label.cc != used and "," not in str(used):
        text = f"the name says {label.cc}; the client's is {used}"
        yield LintFinding(WRONG, "congestion control", text)
    asks = own.get("net.ipv4.tcp_ecn")
    if asks is not None and label.ecn is not None and (asks in (1, 3)) != label.ecn:
        text = f"the name says {'on' if label.ecn else 'off'}; the client's tcp_ecn is {asks}"
        yield LintFinding(WRONG, "ECN", text)


def _bottleneck(record: RigRecord, direction: str, label: Label) -> Interface | None:
    """Return the recorded interface that shapes packets of that direction most, if any.

    The shaper of a host that its flows do not half fill, such as its gigabit, is not the bottleneck
    unless the label has its rate.
    """
    shaping = [
        (interface.rate_mbit_s, place, interface)
        for place, interface in enumerate(record.interfaces)
        if interface.direction == direction and interface.rate_mbit_s is not None
    ]
    rate, _, interface = min(shaping, default=(0.0, 0, None))
    if interface is None or interface.host or rate in (label.rates_mbit_s or ()):
        return interface
    return interface if (_goodput(record, direction) or 0.0) >= LEAST_OF_RATE * rate else None


def _goodput(record: RigRecord, direction: str) -> float | None:
    """Return the goodput of all TCP flows of a direction in Mbit/s, mean under load, if any."""
    flows = [values[record.loaded] for values in record.flows(direction).values()]
    rates = [float(np.nanmean(values)) for values in flows if np.isfinite(values).any()]
    return sum(rates) if rates else None


def _list(words: Sequence[str]) -> str:
    return ", ".join(words) or "nothing"
