"""A value of an axis at a point, and how it appears in the path of a run."""

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from qdisclab.emulation.model.units import Duration, Packets, Rate, Size, UnitError

LONGEST_WORD, DIGITS = 40, 8  # of a value in a path; of the digest of any other
_WORD = re.compile(rf"\w[\w.=-]{{,{LONGEST_WORD - 1}}}", re.ASCII)
_QUANTITY = re.compile(r"[0-9.]{1,20} ?[A-Za-z]{1,10}(/s)?")
_LINK = re.compile(r"[0-9.]{1,20}/[0-9.]{1,20}")
_MADE = re.compile(rf"[0-9.]+[A-Za-z]+-s|[0-9.]+-[0-9.]+|.*-[0-9a-f]{{{DIGITS}}}")


@dataclass(frozen=True)
class Value:
    """A value of an axis at a point."""

    axis: str
    value: Any  # as in the file or on the command line
    swept: bool  # whether it belongs into the id: one of several values, or the user's
    asked: bool  # whether the user set it, and not the file

    @property
    def text(self) -> str:
        """Return the value as text for people: `5 ms`, `10/1`."""
        return _text(self.value)

    @property
    def meaning(self) -> Any:
        """Return what is equal of two values that say the same."""
        return meaning(self.value)

    @property
    def slug(self) -> str:
        """Return the value as part of a path: `5ms`, `10-1`.

        No two values share a slug, except a quantity written with and without a space.
        """
        if isinstance(self.value, list | tuple):
            return "+".join(_slug(str(item)) for item in self.value)
        return _slug(self.text)


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "+".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def meaning(value: Any) -> Any:
    """Return what is equal of two values that say the same: `5ms` and `5 ms`."""
    if isinstance(value, list | tuple):
        return tuple(map(meaning, value))
    text = _text(value)
    if _LINK.fullmatch(text):
        with suppress(ValueError):
            return tuple(map(Fraction, text.split("/")))
    for kind in (Duration, Rate, Size, Packets):
        with suppress(UnitError):
            return kind.parse(text)
    return text


def _slug(text: str) -> str:
    """Return a plain word, a quantity or a link as it is; of other text the safe part and a digest.

    A word that looks like the slug of another text gets a digest, too.
    """
    if _QUANTITY.fullmatch(text) or _LINK.fullmatch(text):
        return text.replace(" ", "").replace("/", "-")
    if _WORD.fullmatch(text) and not _MADE.fullmatch(text):
        return text
    safe = re.sub(r"[^\w.=-]", "_", text, flags=re.ASCII)[:LONGEST_WORD].lstrip(".")
    return f"{safe}-{digest(text)}"


def digest(text: str) -> str:
    """Return the digits that stand for a longer text in a path."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
