"""Addresses by name: `{server}` is that of a node, `{server.eth1}` that of one of its ports."""

import re
from collections.abc import Iterable, Iterator, Mapping

_NAME = re.compile(r"\{([A-Za-z_]\w*(?:\.[\w.-]+)?)\}", re.ASCII)


def by_name(ports: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Map names to addresses without prefix, from (node, interface, address) of each port.

    A node has the first of its addresses; a port without one has no name.
    """
    words: dict[str, str] = {}
    for node, interface, address in ports:
        if address:
            ip = address.partition("/")[0]
            words.setdefault(node, ip)
            words[f"{node}.{interface}"] = ip
    return words


def names(text: str) -> Iterator[str]:
    """Yield the names in braces in `text`."""
    return (match[1] for match in _NAME.finditer(text))


def filled(text: str, words: Mapping[str, str]) -> str:
    """Replace the known names in braces in `text`; other braces stay."""
    return _NAME.sub(lambda match: words.get(match[1], match[0]), text)
