"""Values of command-line options that several subcommands have."""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.model.units import Duration, Size, UnitError, quantity
from qdisclab.emulation.study.schema import LEAST_MEMORY, MEMORY


def whole(text: str) -> int:
    """Return a whole number; raise an error of `argparse` for any other text."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a whole number") from None


def positive(text: str) -> int:
    """Return a whole number of 1 or more; raise an error of `argparse` for any other text."""
    number = whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def random_seed(text: str) -> int:
    """Return the seed of a guest's random numbers; raise an error of `argparse` for none."""
    number = whole(text)
    if not 0 <= number < 2**64:
        raise argparse.ArgumentTypeError(f"{text} is no number from 0 to 2^64 - 1")
    return number


def seconds(text: str) -> float:
    """Return a time above 0 in seconds, of text with or without a unit; errors as `whole`."""
    try:
        number = Duration.of_seconds(text).seconds
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if not number:
        raise argparse.ArgumentTypeError(f"'{text}' is not above 0; write e.g. '20 s'")
    return number


def kernel_name(text: str) -> str:
    """Return the name of a kernel: a series or digest, also of a path that a build printed."""
    path = Path(text)
    return path.parent.name if path.name == "linux" and not path.is_dir() else text


def memory(text: str | None) -> Size | None:
    """Return the memory that `--memory` names; raise `ConfigError` for less than a guest needs."""
    size = quantity(partial(Size.parse, example=MEMORY), text, "--memory")
    if size is not None and size < LEAST_MEMORY:
        what = f"'{size}' is not a possible memory of a guest"
        raise ConfigError(what, "--memory", f"give '{LEAST_MEMORY}' or more")
    return size


class Once(argparse.Action):
    """An option that can be given once: of two values one would be dropped silently."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "is given twice; leave one of them out")
        setattr(namespace, self.dest, values)


def add_flags(parser: argparse.ArgumentParser, **texts: str) -> None:
    """Add options that are off unless they are given, with what `--help` says of each."""
    for name, text in texts.items():
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=text)


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add `--jobs`, of commands that boot several guests."""
    text = "number of runs at once, one per core (default: %(default)s)"
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help=text)


def add_unconfined(parser: argparse.ArgumentParser) -> None:
    """Add `--unconfined`, which `emulate.cli` puts into effect."""
    text = "build and run without a wall around guests and compilers (SECURITY.md): for a host "
    add_flags(parser, unconfined=f"{text}that cannot give one, and only for code that you trust")


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add what guests that execute something of the user's share."""
    several: dict[str, Any] = {"action": "append", "default": []}
    text = "an additional file or folder below the current one to copy; can be given more than once"
    parser.add_argument("--file", metavar="PATH", help=text, **several)
    text = "an additional Debian package for the guest, with its dependencies; can be given more "
    parser.add_argument("--package", metavar="NAME", help=f"{text}than once", **several)
    text = "seed of all random numbers (default: %(default)s)"
    parser.add_argument("--seed", type=random_seed, default=1, help=text)
    add_unconfined(parser)
