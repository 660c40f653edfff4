"""Quantities with a unit: rate, duration, size and packets.

Each is an integer of its base unit, so that equal means equal. Text is parsed exactly or refused:
a bare number, an unknown unit, a negative value and a value that is no whole number of base units
all raise `UnitError`. `str` writes what `parse` reads.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, TypeVar

from qdisclab.emulation.errors import ConfigError

NUMBER_AND_UNIT = re.compile(r"(?P<number>[+-]?\d+(?:\.\d+)?)\s*(?P<unit>\S.*)?", re.ASCII)


MOST = 2**63  # base units; the guest's kernel counts with 64 bits and a sign
LONGEST_NUMBER = 40  # characters


class UnitError(ValueError):
    """Text that is not a quantity; the message says what is wrong and gives an example."""


@dataclass(frozen=True, order=True)
class Amount:
    """A whole, non-negative number of base units; each subclass has one field, named after them."""

    UNITS: ClassVar[Mapping[str, int]] = {}  # unit -> base units; the base unit comes first
    WRITTEN: ClassVar[tuple[str, ...]] = ()  # the units that `str` may use, smallest first
    EXAMPLE: ClassVar[str] = ""  # text that `parse` accepts

    def __post_init__(self) -> None:
        if type(self.base) is not int:
            what = f"{self.base!r}: {type(self).__name__} holds a whole number of {self.unit()}"
            raise UnitError(f"{what}; parse text such as '{self.EXAMPLE}'")
        if self.base < 0:
            raise UnitError(f"{self.base} {self.unit()}: is negative; write e.g. '{self.EXAMPLE}'")

    @property
    def base(self) -> int:
        """Return the value in base units."""
        value: int
        (value,) = vars(self).values()
        return value

    @classmethod
    def unit(cls) -> str:
        """Return the base unit: bit/s, ns, B or packets."""
        return next(iter(cls.UNITS))

    @classmethod
    def parse(cls, text: str, example: str = "") -> Self:
        """Read `text`, a number and a unit; raise `UnitError` where it is not exactly that.

        `example`: what the error has users write, where EXAMPLE is no value of its kind.
        """
        try:
            return cls._read(text)
        except UnitError as error:
            raise UnitError(f"{error}; write e.g. '{example or cls.EXAMPLE}'") from None

    @classmethod
    def _read(cls, text: str) -> Self:
        if (match := NUMBER_AND_UNIT.fullmatch(text.strip())) is None:
            raise UnitError(f"'{text}': is not a number and a unit")
        number, unit = match["number"], match["unit"]
        if unit is None:
            raise UnitError(f"'{text}': a bare number has no unit")
        if unit not in cls.UNITS:
            raise UnitError(f"'{text}': {cls._unknown(unit)}")
        if number.startswith("-"):
            raise UnitError(f"'{text}': is negative")
        if len(number) > LONGEST_NUMBER:
            raise UnitError(f"'{text[:40]}': has too many digits")
        value = Fraction(number) * cls.UNITS[unit]
        if value.denominator != 1:
            raise UnitError(f"'{text}': is not a whole number of {cls.unit()}")
        if value >= MOST:
            raise UnitError(f"'{text}': is too large")
        return cls(value.numerator)  # type: ignore[call-arg]  # the field of the subclass

    @classmethod
    def _unknown(cls, unit: str) -> str:
        units = {name.casefold(): name for name in cls.UNITS}
        close = [name for name in units if name.startswith(unit.casefold())]  # m: ms or min
        close = close or difflib.get_close_matches(unit.casefold(), units, n=1)
        names = " or ".join(f"'{units[name]}'" for name in close)
        hint = f", did you mean {names}?" if close else ""
        return f"unknown unit '{unit}'{hint} (known: {', '.join(cls.UNITS)})"

    def __str__(self) -> str:
        whole = [unit for unit in self.WRITTEN if self.base and self.base % self.UNITS[unit] == 0]
        unit = whole[-1] if whole else self.unit()
        return f"{self.base // self.UNITS[unit]} {unit}"


@dataclass(frozen=True, order=True)
class Rate(Amount):
    """How fast a link sends."""

    UNITS = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
    WRITTEN = tuple(UNITS)
    EXAMPLE = "10 Mbit/s"

    bits_per_second: int  # bit/s

    @property
    def mbit_per_s(self) -> float:
        """Return the rate in Mbit/s."""
        return self.bits_per_second / 10**6


@dataclass(frozen=True, order=True)
class Duration(Amount):
    """How long something takes."""

    UNITS = {
        "ns": 1,
        "us": 10**3,
        "µs": 10**3,
        "ms": 10**6,
        "s": 10**9,
        "min": 60 * 10**9,
        "h": 3600 * 10**9,
    }
    WRITTEN = ("ns", "us", "ms", "s")
    EXAMPLE = "50 ms"

    nanoseconds: int  # ns

    @classmethod
    def of_seconds(cls, text: str) -> Self:
        """Read `text` as `parse` does; a number without a unit is of seconds."""
        match = NUMBER_AND_UNIT.fullmatch(text.strip())
        bare = match is not None and match["unit"] is None
        return cls.parse(f"{text} s" if bare else text, "20 s")

    @property
    def us(self) -> float:
        """Return the duration in microseconds."""
        return self.nanoseconds / 10**3

    @property
    def ms(self) -> float:
        """Return the duration in milliseconds."""
        return self.nanoseconds / 10**6

    @property
    def seconds(self) -> float:
        """Return the duration in seconds."""
        return self.nanoseconds / 10**9


@dataclass(frozen=True, order=True)
class Size(Amount):
    """How many bytes something has."""

    UNITS = {
        "B": 1,
        "kB": 10**3,
        "KiB": 2**10,
        "MB": 10**6,
        "MiB": 2**20,
        "GB": 10**9,
        "GiB": 2**30,
    }
    WRITTEN = tuple(UNITS)
    EXAMPLE = "1514 B"

    bytes: int  # B


@dataclass(frozen=True, order=True)
class Packets(Amount):
    """How many packets a queue holds."""

    UNITS = {"packets": 1, "packet": 1}
    WRITTEN = ("packets",)
    EXAMPLE = "127 packets"

    count: int  # packets


#: The value of a qdisc's option; `True` is a bare flag (`adaptive`, `noecn`).
Option = Rate | Duration | Size | Packets | int | float | bool


Q = TypeVar("Q", bound=Amount)


def quantity(parse: Callable[[str], Q], text: str | None, option: str) -> Q | None:
    """Return the quantity of an option's text, if any; raise `ConfigError` for another text."""
    try:
        return None if text is None else parse(text)
    except UnitError as error:
        raise ConfigError(str(error), option) from error
