"""Which qdiscs and congestion controls the kernels of a series have, built in or as modules.

Building a kernel needs none of this, so a change to a kind of qdisc leaves a kernel that an image
has built valid.
"""

from collections.abc import Iterable
from functools import lru_cache

from qdisclab.emulation.kernel import recipe
from qdisclab.emulation.kinds.qdiscs import KINDS
from qdisclab.emulation.model.control import of_linux

#: Congestion controls that are not called as their option is.
_NAMES = {"hstcp": "highspeed"}

#: Kinds of qdiscs that every kernel has.
_ALWAYS = frozenset({"pfifo_fast", "pfifo", "pfifo_head_drop", "bfifo"})


def lacking(series: str, kinds: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return those of the kinds of qdiscs and congestion controls that a series does not have."""
    on = _options_on(series)
    absent = {kind for kind in kinds if f"CONFIG_NET_SCH_{kind.upper()}" not in on} - _ALWAYS
    absent -= {kind for kind in absent if kind in KINDS and KINDS[kind].linux}
    unknown = {name for name in set(names).difference(controls(series)) if not of_linux(name)}
    return sorted(absent | unknown)


def qdisc_modules(series: str, kinds: Iterable[str]) -> list[str]:
    """Return the files of Linux whose modules a series needs for these kinds of qdiscs.

    Of a kernel of the user's own nothing is known: it has what its runs ask for.
    """
    if series not in recipe.all_series():
        return []
    on = _options_on(series)
    absent = {kind for kind in kinds if f"CONFIG_NET_SCH_{kind.upper()}" not in on}
    return sorted({KINDS[kind].linux for kind in absent & KINDS.keys()} - {""})


def control_modules(series: str, names: Iterable[str]) -> list[str]:
    """Return those of Linux's congestion controls that a series has as modules alone."""
    if series not in recipe.all_series():
        return []
    return sorted(name for name in set(names).difference(controls(series)) if of_linux(name))


def controls(series: str) -> list[str]:
    """Return the congestion controls of a series, sorted."""
    on = (name for name in _options_on(series) if name.startswith("CONFIG_TCP_CONG_"))
    names = (name.removeprefix("CONFIG_TCP_CONG_").lower() for name in on)
    return sorted({"reno", *(_NAMES.get(name, name) for name in names)} - {"advanced"})


@lru_cache(maxsize=8)
def _options_on(series: str) -> frozenset[str]:
    return frozenset(option.name for option in recipe.load(series).options if option.value == "y")
