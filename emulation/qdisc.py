"""A queue discipline: the paper's name for it, and the `tc` kind and options behind the name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from emulation.units import Duration, Packets, Rate, Size

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

#: The options of each kind that an experiment may set, and what each holds (iproute2, tc/q_*.c).
TC_OPTIONS: Mapping[str, Mapping[str, type]] = {
    "pfifo_fast": {},
    "pfifo": {"limit": Packets},
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
    "pie": {
        "target": Duration,
        "tupdate": Duration,
        "limit": Packets,
        "alpha": int,
        "beta": int,
        "ecn": bool,
        "noecn": bool,
        "bytemode": bool,
        "dq_rate_estimator": bool,
    },
    "codel": _CODEL,
    "sfq": {"limit": Packets, "depth": int, "flows": int, "divisor": int, "perturb": int},
    "fq_codel": {
        **_CODEL,
        "flows": int,
        "quantum": Size,
        "memory_limit": Size,
        "drop_batch": Packets,
    },
    "tbf": {"rate": Rate, "burst": Size, "limit": Size},
    "htb": {"default": int},
    "prio": {"bands": int},
    "netem": {"delay": Duration, "rate": Rate, "limit": Packets},
}

#: Options not compared: `tc` folds them into others, or the kernel adapts them (`probability`).
NOT_READ_BACK: Mapping[str, frozenset[str]] = {
    "red": frozenset({"avpkt", "bandwidth", "burst", "probability"})
}


@dataclass(frozen=True)
class ModuleSource:
    """The kernel module that brings a kind of qdisc, as source."""

    name: str  # as the guest's kernel calls it: `sch_ramp`
    folder: Path  # its Kbuild and C files
    digest: str  # of those


@dataclass(frozen=True)
class Qdisc:
    """A queue discipline with its options."""

    name: str  # the paper's name: `ared`, `fq_nocodel`
    kind: str  # the kind of `tc`: `red`, `fq_codel`
    options: tuple[tuple[str, Option], ...] = ()  # in the order in which `tc` gets them
    txqueuelen: Packets | None = None  # of the interface below it; None leaves the rig's own
    module: ModuleSource | None = None  # of a qdisc of the user's own (`emulation.own`)

    def tc_arguments(self) -> tuple[str, ...]:
        """What follows `tc qdisc add dev X parent 1:1 handle 10:`, the kind first."""
        words = [self.kind]
        for name, value in self.options:
            if isinstance(value, bool):
                words += [name] if value else []
            else:
                words += [name, _argument(value)]
        return tuple(words)

    def expect(self) -> dict[str, str | int | float | bool]:
        """What must be read back: the kind and each option as a JSON number or boolean.

        A `Rate` is `<option>_bit_s` and a `Duration` `<option>_us`; a size (bytes), a packet count
        and a plain number keep the option's name. `noecn` reads `"ecn": false`. Options that
        cannot be read back (`NOT_READ_BACK`) are left out.
        """
        expected: dict[str, str | int | float | bool] = {"kind": self.kind}
        for name, value in self.options:
            if name in NOT_READ_BACK.get(self.kind, ()):
                continue
            match value:
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


def _argument(value: Rate | Duration | Size | Packets | int | float) -> str:
    """`value` as `tc` reads it without loss: `10000000bit`, `13000us`, `12500b`, `127`, `0.02`."""
    match value:
        case Rate():
            return f"{value.bits_per_second}bit"
        case Duration():
            microseconds, rest = divmod(value.nanoseconds, 1000)
            return f"{value.nanoseconds}ns" if rest else f"{microseconds}us"
        case Size():
            return f"{value.bytes}b"
        case Packets():
            return str(value.count)
        case _:
            return str(value)


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() else value
