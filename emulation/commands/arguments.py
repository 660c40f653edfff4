"""Values of command-line options that several subcommands have."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """A whole number of 1 or more; an `argparse` error, which says what it is, for others."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number
