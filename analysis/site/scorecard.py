"""The scorecard of `emulate score`: its table as text and as a page, and the table that ships."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.metrics import Interval
from qdisclab.analysis.measures.score import NUMBERS, SCORES, STUDY, Number, intervals
from qdisclab.analysis.runs.published import read_table
from qdisclab.analysis.site.pages import render
from qdisclab.emulation.model.run import NONE

#: A queue and the control of its flows.
Contestant = tuple[str, str]


@dataclass(frozen=True)
class ScoreRow:
    """A number of all contestants, None of one that has none."""

    number: Number
    intervals: Sequence[Interval | None]
    misses: Sequence[bool]  # whether a seed's value is not within the bounds

    def width_percent(self, place: int) -> float:
        """Return how long the bar of the contestant at `place` is, as part of the longest."""
        means = [interval.mean for interval in self.intervals if interval]
        interval, most = self.intervals[place], max(means, default=0.0)
        return 100 * max(interval.mean, 0.0) / most if interval and most > 0 else 0.0


@dataclass(frozen=True)
class Card:
    """A table: contestants, those that were asked for first, and a row per number."""

    asked: Sequence[Contestant]
    others: Sequence[Contestant]
    rows: Sequence[ScoreRow]

    @property
    def columns(self) -> list[Contestant]:
        """All contestants."""
        return [*self.asked, *self.others]


def compare(ours: pd.DataFrame, listed: pd.DataFrame, study: str = STUDY) -> Card:
    """Put the numbers of `ours` from a study beside those of `listed` that share a control with it,
    or else a queue.

    Both are tables of score.SCORES. A queue is compared with queues under the same control, a
    control with controls over the same queue.
    """
    numbers = {number.id: number for number in NUMBERS if number.study == study}
    ours, listed = (table[table["number"].isin(list(numbers))] for table in (ours, listed))
    asked = _contestants(ours)
    qdiscs, controls = {qdisc for qdisc, _ in asked}, {cc for _, cc in asked}
    others = [of for of in _contestants(listed) if of not in asked]
    beside = [of for of in others if of[1] in controls] or [of for of in others if of[0] in qdiscs]
    table = pd.concat([ours, listed]).drop_duplicates(_KEY)
    means = intervals(table)
    missed = {
        (qdisc, cc, number)
        for qdisc, cc, number, value in table[[*_KEY[:3], "value"]].itertuples(index=False)
        if not numbers[number].low <= value <= numbers[number].high
    }
    rows = []
    for number in numbers.values():
        cells = [(*contestant, number.id) for contestant in (*asked, *beside)]
        rows.append(ScoreRow(number, [*map(means.get, cells)], [cell in missed for cell in cells]))
    return Card(asked, beside, rows)


_KEY = ["qdisc", "cc", "number", "seed"]


def _contestants(scores: pd.DataFrame) -> list[Contestant]:
    pairs = zip(scores["qdisc"].astype(str), scores["cc"].astype(str), strict=True)
    return list(dict.fromkeys(pairs))


def name(contestant: Contestant) -> str:
    """`cake`, and with another control than CUBIC `cake, bbr`; of a case the control alone."""
    qdisc, cc = contestant
    if qdisc == NONE:
        return cc
    return qdisc if cc == "cubic" else f"{qdisc}, {cc}"


def cell(interval: Interval | None, *, whole: bool = True) -> str:
    """`5.1 ± 0.3`, or the mean alone; a dash for nothing."""
    if interval is None:
        return "–"
    mean, around = _rounded(interval.mean), half(interval)
    return f"{mean} ± {around}" if whole and around else mean


def half(interval: Interval) -> str:
    """Return half of an interval, to the digits of its mean or one of its own; empty for one
    seed."""
    value = interval.high - interval.mean
    if value != value:
        return ""
    digits = len(_rounded(interval.mean).partition("e")[0].partition(".")[2])
    return f"{value:.{digits}f}" if round(value, digits) else f"{round(value, 6):.1g}"


def heading(card: Card) -> str:
    """Return what was asked for: `cake`, or a control that was tried with several queues once."""
    controls = {cc for _, cc in card.asked}
    if len(card.asked) > 1 and len(controls) == 1 and controls != {"cubic"}:
        return f"{controls.pop()} over {', '.join(qdisc for qdisc, _ in card.asked)}"
    return "; ".join(map(name, card.asked))


def _rounded(value: float) -> str:
    value = round(value, 6)  # equal seeds leave 1e-14 of an interval
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def text(card: Card) -> str:
    """Return the table for a console: intervals of what was asked for, means of the known ones."""
    lines = [["", *map(name, card.columns)]]
    for row in card.rows:
        of = row.number
        best = f" ({of.best})" if of.study != STUDY else ""
        numbered = enumerate(zip(row.intervals, row.misses, strict=True))
        cells = [cell(at, whole=n < len(card.asked)) + " (no)" * miss for n, (at, miss) in numbered]
        lines.append([f"{of.title}{f', {of.unit}' if of.unit else ''}{best}", *cells])
    first, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
    rows = ([line[0].ljust(first), *map(str.rjust, line[1:], widths)] for line in lines)
    return "\n".join("  ".join(cells).rstrip() for cells in rows)


def page(card: Card, cases: Card | None = None) -> str:
    """Return the page's HTML, with a second table for the cases of a control."""
    cards = [card, cases] if cases else [card]
    return render(
        "score.html", cards=cards, name=name, cell=cell, half=half, heading=heading, there=(),
        here="",
    )  # fmt: skip


def recorded(path: Path) -> pd.DataFrame:
    """Return the table SCORES at `path`, or an empty one where there is none; raise DataError
    where it cannot be read, or its folder is not there."""
    if path.exists():
        return read_table(path, SCORES, "scores")
    if not path.parent.is_dir():
        raise DataError.of(path, "its folder does not exist", "Make it")
    return pd.DataFrame(columns=list(SCORES.columns))


def record(ours: pd.DataFrame, path: Path) -> None:
    """Put `ours` into the table at `path`, in the place of the same contestants' rows."""
    old = recorded(path)
    keys, order = set(_contestants(ours)), [number.id for number in NUMBERS]
    others = old[[of not in keys for of in zip(old["qdisc"], old["cc"], strict=True)]]
    table = pd.concat([others, ours]).sort_values(
        _KEY, key=lambda of: of.map(order.index) if of.name == "number" else of
    )
    table.to_csv(path, index=False, lineterminator="\n")
