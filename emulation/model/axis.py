"""A value of an axis at a point, and what the path of a run says of it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

LONGEST_WORD, DIGITS = 40, 8  # of a value in a path, and of the digest of any other value
_WORD = re.compile(rf"\w[\w.=-]{{,{LONGEST_WORD - 1}}}", re.ASCII)
_QUANTITY = re.compile(r"[0-9.]{1,20} ?[A-Za-z]{1,10}(/s)?")
_LINK = re.compile(r"[0-9.]{1,20}/[0-9.]{1,20}")
_MADE = re.compile(rf"[0-9.]+[A-Za-z]+-s|[0-9.]+-[0-9.]+|.*-[0-9a-f]{{{DIGITS}}}")


@dataclass(frozen=True)
class Value:
    """A value of an axis at a point."""

    axis: str
    value: Any  # as the file or the command line has it
    swept: bool  # one of several, or asked for: it belongs into the id
    asked: bool  # by somebody, and not by the file

    @property
    def text(self) -> str:
        """For people: `5 ms`, `10/1`."""
        if isinstance(self.value, list | tuple):
            return "+".join(str(one) for one in self.value)
        if isinstance(self.value, bool):
            return str(self.value).lower()
        return str(self.value)

    @property
    def slug(self) -> str:
        """For a path: `5ms`, `10-1`; no two values have the same one, but for a quantity that is
        written with a space and without."""
        if isinstance(self.value, list | tuple):
            return "+".join(_slug(str(one)) for one in self.value)
        return _slug(self.text)


def _slug(text: str) -> str:
    """`text` where it is a plain word, a quantity or a link; else what is left of it, and a digest.

    A word that looks like what is made of something else gets a digest, too.
    """
    if _QUANTITY.fullmatch(text) or _LINK.fullmatch(text):
        return text.replace(" ", "").replace("/", "-")
    if _WORD.fullmatch(text) and not _MADE.fullmatch(text):
        return text
    left = re.sub(r"[^\w.=-]", "_", text, flags=re.ASCII)[:LONGEST_WORD].lstrip(".")
    return f"{left}-{digest(text)}"


def digest(text: str) -> str:
    """What stands for a longer text in a path."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
