"""Quantities of claims: a metric in a cell, or in each cell of a grid."""

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Quantity:
    """A metric in a cell; its values are those of the cell's runs, one per seed."""

    metric: str  # of those that measures give
    experiment: str  # "rrul"
    link: str  # "10/1"
    qdisc: str
    cc: str = ""  # congestion control; empty: the one that is asked about
    median: bool = False  # of the runs, where the paper draws that; otherwise their mean

    def __iter__(self) -> "Iterator[Quantity]":
        yield self


@dataclass(frozen=True)
class Grid:
    """The quantities that `make` returns for each combination of the values of its arguments."""

    make: Callable[..., Quantity]
    axes: Mapping[str, tuple[Any, ...]]  # argument -> its values

    def __iter__(self) -> Iterator[Quantity]:
        for values in itertools.product(*self.axes.values()):
            yield self.make(**dict(zip(self.axes, values, strict=True)))


Cells = Quantity | Grid


def several(*slowest: str) -> Callable[[Callable[..., Quantity]], Callable[..., Grid]]:
    """Make a function of a quantity return a grid of them: each argument may be a tuple of values.

    Those of later arguments vary faster; the arguments `slowest` come first.
    """

    def decorate(make: Callable[..., Quantity]) -> Callable[..., Grid]:
        signature = inspect.signature(make)

        @functools.wraps(make)
        def grid(*arguments: Any, **named: Any) -> Grid:
            given = signature.bind(*arguments, **named)
            given.apply_defaults()
            values = {name: given.arguments[name] for name in (*slowest, *given.arguments)}
            axes = {
                name: tuple(value) if isinstance(value, list | tuple) else (value,)
                for name, value in values.items()
            }
            return Grid(make, axes)

        return grid

    return decorate


cells = several("metric", "experiment")(Quantity)
"""The quantities of each metric, experiment, link and qdisc."""


def aligned(*grids: Cells) -> Iterator[tuple[Quantity, ...]]:
    """Yield quantities to compare, one of each of `grids`.

    Where an argument has the same values in two of them, they are at the same one; where it has
    others, each of one is compared with each of the other.
    """
    axes = [grid.axes if isinstance(grid, Grid) else {} for grid in grids]
    places = dict.fromkeys(axis for of in axes for axis in of.items())
    for values in itertools.product(*(values for _, values in places)):
        at = dict(zip(places, values, strict=True))
        yield tuple(
            grid.make(**{axis[0]: at[axis] for axis in grid.axes.items()})
            if isinstance(grid, Grid)
            else grid
            for grid in grids
        )
