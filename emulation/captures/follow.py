"""Follow packets from where they are sent, or arrive before a queue, to where they come out.

A packet is identified by its headers (`packet` of `emulation.captures.frames`). Packets of no
socket have the identification 0, so that a second SYN-ACK, say, equals the first. Which of such
twins was dropped cannot be known. The rule: a packet that comes out is the latest equal packet that
went in before it and is not matched with a packet that comes out later (`latest`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from qdisclab.emulation.captures.frames import Bools, Ints
from qdisclab.emulation.errors import GuestFailure

Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Followed:
    """What became of the packets of a table of `frames.decode`.

    Because observing takes no virtual time, `delay_ns` is exact.
    """

    before: pd.DataFrame
    behind: pd.DataFrame
    place: Ints  # row in `behind` of each packet of `before`; -1 if it was dropped

    @property
    def sent(self) -> Bools:
        """Return which packets left."""
        return self.place >= 0

    @property
    def marked(self) -> Bools:
        """Return which packets were marked on the way."""
        marked = np.zeros(len(self.place), dtype=bool)
        marked[self.sent] = self.behind["ce"].to_numpy()[self.place[self.sent]]
        already: Bools = self.before["ce"].to_numpy(dtype=bool)
        return marked & ~already

    @cached_property
    def left_ns(self) -> Ints:
        """Return when each packet left, since 1970; -1 if it was dropped."""
        left = np.full(len(self.place), -1, dtype=np.int64)
        left[self.sent] = self.behind["time_ns"].to_numpy()[self.place[self.sent]]
        return left

    @property
    def delay_ns(self) -> Ints:
        """Return how long each packet took; -1 if it was dropped."""
        return np.where(self.sent, self.left_ns - self.before["time_ns"].to_numpy(), -1)


def latest(went_in: Ints, came_out: Ints) -> Pairs:
    """Match each packet that came out with the latest that went in and is not matched yet.

    Packets that came out last are matched first. Each pair is (index in `came_out`, index in
    `went_in`).
    """
    pairs, free = [], len(went_in)
    for index in range(len(came_out) - 1, -1, -1):
        free = min(free, int(np.searchsorted(went_in, came_out[index], side="right"))) - 1
        pairs.append((index, free))
    return pairs


def in_order(went_in: Ints, came_out: Ints) -> Pairs:
    """Match the first packet that came out with the first that went in, and so on, as `latest`.

    By this rule the last packets were dropped.
    """
    return [(index, index if index < len(went_in) else -1) for index in range(len(came_out))]


def follow(
    before: pd.DataFrame,
    behind: pd.DataFrame,
    where: str,
    twins: Callable[[Ints, Ints], Pairs] = latest,
) -> Followed:
    """Follow each packet of `before` to `behind`, tables with `time_ns` and `packet`.

    `twins` matches equal packets. Raises `GuestFailure` if a packet comes out of `where` that did
    not go in, or leaves before it arrived.
    """
    before, behind = (table.reset_index(drop=True) for table in (before, behind))
    keys = [table["packet"].to_numpy() for table in (before, behind)]
    times = [table["time_ns"].to_numpy() for table in (before, behind)]
    twin = before["packet"].duplicated(keep=False).to_numpy()
    alone = np.flatnonzero(~twin)
    row = pd.Index(keys[0][alone]).get_indexer(pd.Index(keys[1]))  # of each packet behind
    unique = row >= 0
    row[unique] = alone[row[unique]]
    for into, out_of in _groups(keys[0], twin, keys[1], ~unique):
        into, out_of = (
            rows[np.argsort(at[rows], kind="stable")]
            for rows, at in zip((into, out_of), times, strict=True)
        )
        for index, which in twins(times[0][into], times[1][out_of]):
            row[out_of[index]] = into[which] if which >= 0 else -1
    if (row < 0).any() or len(np.unique(row)) < len(row):
        raise GuestFailure("packets come out that did not go in", where)
    if (times[1] < times[0][row]).any():
        raise GuestFailure("packets leave before they arrive", where)
    place = np.full(len(before), -1, dtype=np.int64)
    place[row] = np.arange(len(row))
    return Followed(before, behind, place)


def _groups(before: Ints, of_before: Bools, behind: Ints, of_behind: Bools) -> list[list[Ints]]:
    """Return the rows before and behind of each key that several packets share, if any came out."""
    groups = [
        pd.Series(np.flatnonzero(chosen)).groupby(keys[chosen]).indices
        for keys, chosen in ((before, of_before), (behind, of_behind))
    ]
    rows = [np.flatnonzero(chosen) for chosen in (of_before, of_behind)]
    shared = (key for key in groups[1] if key in groups[0])
    return [[rows[side][groups[side][key]] for side in (0, 1)] for key in shared]
