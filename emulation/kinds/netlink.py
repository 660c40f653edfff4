"""Attributes of the kernel's netlink messages."""

import struct
from collections.abc import Iterator


def attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (number, content) of each attribute."""
    at = 0
    while at + 4 <= len(content):
        length, number = struct.unpack_from("<HH", content, at)
        yield number & 0x3FFF, content[at + 4 : at + length]  # without NLA_F_NESTED
        at += -(-length // 4) * 4


def text(content: bytes) -> str:
    """Return the text that an attribute holds."""
    return content.split(b"\0")[0].decode()
