"""A queue discipline: the paper's name for it, and the `tc` kind and options it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from emulation.model.units import Duration, Packets, Rate, Size

#: The value of an option; `True` is a bare flag (`adaptive`, `noecn`).
Option = Rate | Duration | Size | Packets | int | float | bool

_CODEL: Mapping[str, type] = {
    "target": Duration,
    "interval": Duration,
    "limit": Packets,
    "ce_threshold": Duration,
    "ecn": bool,
    "noecn": bool,
}
_PIE: Mapping[str, type] = {
    "target": Duration,
    "tupdate": Duration,
    "limit": Packets,
    "alpha": int,
    "beta": int,
    "ecn": bool,
    "noecn": bool,
    "bytemode": bool,
    "dq_rate_estimator": bool,
}

#: Words of CAKE that stand for a round-trip time, in us, and for what a link adds to a packet
#: (iproute2 6.1, tc/q_cake.c).
_CAKE_RTTS = {
    "datacentre": 100,
    "lan": 1_000,
    "metro": 10_000,
    "regional": 30_000,
    "internet": 100_000,
    "oceanic": 300_000,
    "satellite": 1_000_000,
    "interplanetary": 1_000_000_000,
}
_CAKE_LINKS: Mapping[str, Mapping[str, int | str]] = {
    **{
        word: {"overhead": overhead, "framing": "atm"}
        for word, overhead in (
            *(("conservative", 48), ("pppoa-vcmux", 10), ("pppoa-llc", 14), ("pppoe-vcmux", 32)),
            *(("pppoe-llcsnap", 40), ("bridged-vcmux", 24), ("bridged-llcsnap", 32)),
            *(("ipoa-vcmux", 8), ("ipoa-llcsnap", 16)),
        )
    },
    "pppoe-ptm": {"overhead": 30, "framing": "ptm"},
    "bridged-ptm": {"overhead": 22, "framing": "ptm"},
    "ethernet": {"overhead": 38, "mpu": 84, "framing": "noatm"},
    "docsis": {"overhead": 18, "mpu": 64, "framing": "noatm"},
}

#: Groups of exclusive options of CAKE: the shaper, how flows are isolated, the tins, …
_CAKE_CHOICES = (
    ("bandwidth", "unlimited"),
    (
        *("flowblind", "srchost", "dsthost", "hosts", "flows"),
        *("dual-srchost", "dual-dsthost", "triple-isolate"),
    ),
    ("besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"),
    ("nat", "nonat"),
    ("wash", "nowash"),
    ("split-gso", "no-split-gso"),
    ("ack-filter", "ack-filter-aggressive", "no-ack-filter"),
    ("atm", "noatm", "ptm", *_CAKE_LINKS),
    ("overhead", *_CAKE_LINKS),
    ("mpu", *_CAKE_LINKS),
    ("rtt", *_CAKE_RTTS),
    ("ingress", "egress"),
)

#: The same of DualPI2: what happens on overload, where it drops, and what goes into its L queue.
_DUALPI2_CHOICES = (
    ("drop_on_overload", "overflow"),
    ("drop_enqueue", "drop_dequeue"),
    ("l4s_ect", "any_ect"),
    ("split_gso", "no_split_gso"),
)

#: The options of each kind that an experiment may set, with their types (iproute2, tc/q_*.c).
TC_OPTIONS: Mapping[str, Mapping[str, type]] = {
    "pfifo_fast": {},
    "pfifo": {"limit": Packets},
    "pfifo_head_drop": {"limit": Packets},
    "bfifo": {"limit": Size},
    "red": {
        "limit": Size,
        "min": Size,
        "max": Size,
        "avpkt": Size,
        "burst": int,
        "bandwidth": Rate,
        "probability": float,
        "adaptive": bool,
        "harddrop": bool,
        "ecn": bool,
    },
    "choke": {
        "limit": Packets,
        "min": Packets,
        "max": Packets,
        "avpkt": Size,
        "burst": int,
        "bandwidth": Rate,
        "probability": float,
        "ecn": bool,
    },
    "pie": _PIE,
    "codel": _CODEL,
    "sfq": {"limit": Packets, "depth": int, "flows": int, "divisor": int, "perturb": int},
    "fq_codel": {
        **_CODEL,
        "flows": int,
        "quantum": Size,
        "memory_limit": Size,
        "drop_batch": Packets,
    },
    "fq": {
        "limit": Packets,
        "flow_limit": Packets,
        "quantum": Size,
        "initial_quantum": Size,
        "maxrate": Rate,
        "buckets": int,
        "pacing": bool,
        "nopacing": bool,
        "refill_delay": Duration,
        "low_rate_threshold": Rate,
        "orphan_mask": int,
        "timer_slack": Duration,
        "horizon": Duration,
        "horizon_cap": bool,
        "horizon_drop": bool,
        "ce_threshold": Duration,
    },
    "fq_pie": {**_PIE, "flows": int, "quantum": Size, "memory_limit": Size, "ecn_prob": int},
    "sfb": {
        "rehash": Duration,
        "db": Duration,
        "limit": Packets,
        "max": Packets,
        "target": Packets,
        "increment": float,
        "decrement": float,
        "penalty_rate": int,  # packets per second
        "penalty_burst": Packets,
    },
    "cake": {
        **{flag: bool for choice in _CAKE_CHOICES for flag in choice},
        "bandwidth": Rate,
        "rtt": Duration,
        "memlimit": Size,
        "overhead": int,
        "mpu": int,
        "fwmark": int,
    },
    "dualpi2": {
        **{flag: bool for choice in _DUALPI2_CHOICES for flag in choice},
        "limit": Packets,
        "memlimit": Size,
        "target": Duration,
        "tupdate": Duration,
        "alpha": float,  # Hz
        "beta": float,  # Hz
        "step_thresh": Duration,
        "step_packets": Packets,  # later releases of tc: `step_thresh 5p`
        "min_qlen_step": Packets,
        "coupling_factor": int,
        "classic_protection": int,  # percent
    },
    "tbf": {"rate": Rate, "burst": Size, "limit": Size},
    "htb": {"default": int},
    "hfsc": {"default": int},
    "drr": {},
    "prio": {"bands": int},
    # The jitter follows the delay; with a rate, no packet overtakes another.
    "netem": {"delay": Duration, "jitter": Duration, "rate": Rate, "limit": Packets},
}

#: Options that are not compared: `tc` folds them into others, or the kernel adapts them
#: (`probability`).
NOT_READ_BACK: Mapping[str, frozenset[str]] = {
    "red": frozenset({"avpkt", "bandwidth", "burst", "probability"}),
    "choke": frozenset({"avpkt", "bandwidth", "burst"}),
}

#: Groups of options of which at most one may be set.
CHOICES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "cake": _CAKE_CHOICES,
    "dualpi2": (*_DUALPI2_CHOICES, ("step_thresh", "step_packets")),
    "fq": (("pacing", "nopacing"), ("horizon_cap", "horizon_drop")),
    **dict.fromkeys(("codel", "fq_codel", "pie", "fq_pie"), (("ecn", "noecn"),)),
}

#: Options without which `tc` does not install a qdisc of the kind.
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "choke": ("limit", "bandwidth"),
    "red": ("limit", "avpkt"),
    "tbf": ("rate", "burst", "limit"),
}

#: The least and the greatest value that `tc` accepts, where it does not accept all.
_RANGES: Mapping[tuple[str, str], tuple[int, int]] = {
    ("cake", "overhead"): (0, 256),
    ("cake", "mpu"): (0, 256),
    **{(kind, name): (0, 32) for kind in ("pie", "fq_pie") for name in ("alpha", "beta")},
    ("fq_pie", "ecn_prob"): (0, 100),
    ("dualpi2", "coupling_factor"): (1, 255),
    ("dualpi2", "classic_protection"): (0, 100),
}

#: Gains that the kernel has in parts of a hertz: how many parts.
_GAINS = {("dualpi2", "alpha"): 256, ("dualpi2", "beta"): 256}

#: Kinds whose flags are read back under their own names: they are choices of several.
_NAMED_FLAGS = frozenset({"cake", "dualpi2"})

#: Sizes that `tc` reads as a bare number: `1514`, not `1514b`.
_BARE = frozenset({("fq_codel", "quantum"), ("fq", "quantum"), ("fq", "initial_quantum")})

#: Options that name a class by its digits, which `tc` reads as hexadecimal: `20` of `1:20`.
_CLASSES = frozenset({("htb", "default"), ("hfsc", "default")})

#: Options that `tc` takes without their names, behind the option before them.
_NAMELESS = frozenset({("netem", "jitter")})

#: Times that `tc` counts in nanoseconds or reads as bare milliseconds; it counts others in us.
_NANOSECONDS = frozenset({("fq", "timer_slack"), ("netem", "delay")})
_MILLISECONDS = frozenset({("sfb", "rehash"), ("sfb", "db")})


def flaws(kind: str, options: Mapping[str, Option | None]) -> Iterator[tuple[str, str, str]]:
    """Yield the options that `tc` would refuse or round: (option, what is wrong, what to do)."""
    for choice in CHOICES.get(kind, ()):
        chosen = [name for name in choice if options.get(name) not in (None, False)]
        if len(chosen) > 1:
            what = f"excludes '{chosen[0]}': {kind} takes only one of {', '.join(choice)}"
            yield chosen[1], what, "remove one of the two"
    for name, value in options.items():
        if isinstance(value, Duration):
            unit, step = _time_unit(kind, name)
            if value.nanoseconds % step:
                what = f"'{value}' is not a whole number of {unit}"
                yield name, what, f"{kind} counts {name} in {unit}"
        if (kind, name) in _RANGES and isinstance(value, int):
            least, most = _RANGES[kind, name]
            if not least <= value <= most:
                yield name, f"{value} is out of range", f"write {least} to {most}"
        parts = _GAINS.get((kind, name))
        if parts and isinstance(value, float) and value * parts % 1:
            what = f"{value:g} is not a whole number of 1/{parts} Hz"
            yield name, what, f"write {round(value * parts) / parts}"
        of_buckets = (kind, name) == ("fq", "buckets")
        if of_buckets and isinstance(value, int) and value.bit_count() != 1:
            yield name, f"{value} is not a power of two", "write e.g. 1024"


def missing(kind: str, options: Mapping[str, Option | None]) -> Iterator[tuple[str, str, str]]:
    """Yield the options that `tc` needs for `kind` and that are missing, in the form of `flaws`."""
    for name in REQUIRED.get(kind, ()):
        if options.get(name) is None:
            yield name, f"'{name}' is missing, which {kind} needs", "add it to its options"


#: Kinds that mark what can be marked, whatever their options, and those that do so by default.
_MARK, _MARK_UNLESS_TOLD = {"cake", "dualpi2", "sfb"}, {"fq_codel"}

#: Options by which other kinds mark.
_MARKING = ("ecn", "ce_threshold")


def marks(qdisc: Qdisc) -> bool | None:
    """Whether a qdisc marks packets of senders with ECN; None for kinds of the user's own."""
    if qdisc.kind not in TC_OPTIONS:
        return None
    options = dict(qdisc.options)
    if qdisc.kind in _MARK or any(options.get(name) for name in _MARKING):
        return True
    return qdisc.kind in _MARK_UNLESS_TOLD and not options.get("noecn")


#: Files in the folder of a module that it is built from.
INPUTS = ("Kbuild", "*.c", "*.h")


@dataclass(frozen=True)
class ModuleSource:
    """The source of a kernel module that provides a kind of qdisc or a congestion control."""

    name: str  # in the guest's kernel: `sch_ramp`
    folder: Path  # with its Kbuild and C files
    digest: str  # of these files
    plugin: bool = False  # for `tc` alone: the kernel has the qdisc
    controls: tuple[str, ...] = field(default=(), compare=False)  # that a study says it registers


@dataclass(frozen=True)
class Qdisc:
    """A queue discipline with its options."""

    name: str  # the paper's name: `ared`, `fq_nocodel`
    kind: str  # the kind of `tc`: `red`, `fq_codel`
    options: tuple[tuple[str, Option], ...] = ()  # in the order of the `tc` command
    txqueuelen: Packets | None = None  # of the interface; None leaves that of the rig
    module: ModuleSource | None = None  # of the user's own qdisc (`emulation.config.own`)

    def tc_arguments(self) -> tuple[str, ...]:
        """Return what follows `tc qdisc add dev X parent 1:1 handle 10:`, the kind first."""
        words = [self.kind]
        for name, value in self.options:
            if isinstance(value, bool):
                words += [name] if value else []
            else:
                words += [] if (self.kind, name) in _NAMELESS else [name]
                words += [_argument(self.kind, name, value)]
        return tuple(words)

    def expect(self) -> dict[str, str | int | float | bool]:
        """Return what must be read back: the kind and each option as a JSON number or boolean.

        A `Rate` becomes `<option>_bit_s`, a `Duration` `<option>_us`; a size (bytes), a packet
        count and a plain number keep the option's name. `noecn` becomes `"ecn": false`, but a flag
        of CAKE or DualPI2, which have choices of several, keeps its name. Options that cannot be
        read back (`NOT_READ_BACK`) are left out.
        """
        expected: dict[str, str | int | float | bool] = {"kind": self.kind}
        for name, value in self.options:
            if name in NOT_READ_BACK.get(self.kind, ()):
                continue
            match value:
                case int() if (self.kind, name) in _CLASSES:
                    expected[name] = int(str(value), 16)
                case bool() if self.kind == "cake" and name in _CAKE_RTTS:
                    expected |= {"rtt_us": _CAKE_RTTS[name]} if value else {}
                case bool() if self.kind == "cake" and name in _CAKE_LINKS:
                    link = _CAKE_LINKS[name] if value else {}
                    expected |= {key: link[key] for key in link if key != "framing"}
                    expected |= {str(link["framing"]): True} if link else {}
                case bool() if self.kind in _NAMED_FLAGS:
                    expected[name] = value
                case bool():
                    flag, negated = name.removeprefix("no"), name.startswith("no")
                    expected[flag] = value is not negated
                case Rate():
                    expected[f"{name}_bit_s"] = value.bits_per_second
                case Duration():
                    expected[f"{name}_us"] = _number(value.us)
                case Size() | Packets():
                    expected[name] = value.base
                case _:
                    expected[name] = value
        return expected


def _argument(kind: str, name: str, value: Rate | Duration | Size | Packets | int | float) -> str:
    """Write `value` for `tc`, without loss: `10000000bit`, `13000us`, `12500b`, `127`, `0.02`."""
    match value:
        case Rate():
            return f"{value.bits_per_second}bit"
        case Duration() if (kind, name) in _MILLISECONDS:
            return str(value.nanoseconds // 1_000_000)
        case Duration():
            microseconds, rest = divmod(value.nanoseconds, 1000)
            return f"{value.nanoseconds}ns" if rest else f"{microseconds}us"
        case Size():
            return str(value.bytes) if (kind, name) in _BARE else f"{value.bytes}b"
        case Packets():
            return str(value.count)
        case _:
            return str(value)


def _time_unit(kind: str, name: str) -> tuple[str, int]:
    """Return the unit in which `tc` counts a time, by name and in nanoseconds."""
    if (kind, name) in _NANOSECONDS:
        return "nanoseconds", 1
    if (kind, name) in _MILLISECONDS:
        return "milliseconds", 1_000_000
    return "microseconds", 1000


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() else value
