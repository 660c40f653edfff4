"""Attributes of the kernel's netlink messages."""

import struct
from collections.abc import Iterator
from functools import cache


def attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (number, content) of each attribute."""
    at = 0
    while at + 4 <= len(content):
        length, number = struct.unpack_from("<HH", content, at)
        yield number & 0x3FFF, content[at + 4 : at + length]  # without NLA_F_NESTED
        at += -(-length // 4) * 4


@cache
def fields(words: str) -> tuple[tuple[str, str], ...]:
    """Return (name, type) of the fields of a struct, from words such as `flows` and `credit:i4`.

    Without a type it is `u4`. A field without a name fills its place.
    """
    pairs = (word.partition(":") for word in words.split())
    return tuple((name, kind or "u4") for name, _, kind in pairs)


def text(content: bytes) -> str:
    """Return the text that an attribute holds."""
    return content.split(b"\0")[0].decode()
