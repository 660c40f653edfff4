"""Eras: whether a run has the behaviour of today's Linux or of a former one.

`modern` is the kernel as it is. A switch restores one behaviour that Linux has since changed, and
an era is a set of switches: `2014` is Linux 3.14, `2014-no_gso` is the same without one switch,
`modern+pie_tune` is today's kernel with one. The kernel's side of a switch is an option, a sysctl
or a module parameter, some of them added by `qdisc/patches`, so that stock `tc` configures
everything. Other traits of a testbed are switches, too, but of no era: `2014+ticks_4ms`. All of
them are in `eras.toml`.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.units import Duration, Option, Packets

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

    @classmethod
    def of(cls, name: str, entry: Mapping[str, Any]) -> Self:
        """Return the switch of an entry of `eras.toml`."""
        about = {**entry, "tick": Duration.parse(entry["tick"]) if "tick" in entry else None}
        about |= {key: tuple(entry.get(key, {}).items()) for key in ("parameters", "sysctls")}
        about["options"] = tuple(
            (kind, option, Packets.parse(value) if isinstance(value, str) else value)
            for kind, options in entry.get("options", {}).items()
            for option, value in options.items()
        )
        return cls(name, **about)


_TABLE = tomllib.loads(Path(__file__).with_name("eras.toml").read_text(encoding="utf-8"))

#: Every switch of Linux's behaviour, and traits of a testbed other than its kernel, which are in no
#: ablation of an era.
SWITCHES, TESTBED = (
    tuple(Switch.of(*item) for item in _TABLE[part].items()) for part in ("linux", "testbed")
)

#: The switches of each era.
ERAS: dict[str, tuple[str, ...]] = {era: tuple(names) for era, names in _TABLE["eras"].items()}

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
            what = f"unknown switch '{name}' of era '{era}'"
            raise ValueError(f"{what}; valid: {', '.join(_BY_NAME)}")
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
