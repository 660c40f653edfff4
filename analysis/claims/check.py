"""The words that rules are made of: checks on quantities, and how checks combine.

A check is a statistic of the means of one or more quantities, and the bounds that it has to lie in.
A word that gets grids of quantities makes a check of each of their cells (`quantity.aligned`), all
of which have to hold. All words here only describe; `verdict` looks values up and decides.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeVar

import numpy as np
import scipy

from qdisclab.analysis.claims.quantity import Cells, Quantity as Quantity, aligned
from qdisclab.analysis.measures import agreement
from qdisclab.analysis.measures.agreement import REPETITIONS
from qdisclab.analysis.measures.registry import metrics
from qdisclab.analysis.runs.flentfile import Floats
from qdisclab.emulation.model.run import NONE

Missing = Literal[
    "data", "metric", "resolution", "seeds", "spread", "rule", "setting", "read back", "distance"
]
"""What keeps a claim from a verdict. It lacks runs, something measured in them, repetitions or a
rule; it is a setting, of which there is nothing to measure, or one that each run has as the paper
prints it and reads back; what is compared is the same to the resolution of the measure; or what was
measured is at so small a distance from the bound that more repetitions would tell little."""


@dataclass(frozen=True)
class Statistic:
    """A function of the quantities' means, of shape (quantities, …) to (…).

    Where `spread` is set, of their standard deviations over seeds in place of the means.
    """

    name: str
    of: Callable[[Floats], Floats]
    logarithmic: bool = False  # its error is that of a factor; needs positive values
    spread: bool = False
    relative: bool | None = None  # whether what is close is so by the bound or by the means


VALUE: Final = Statistic("mean", lambda mean: mean[0], relative=True)
FACTOR: Final = replace(VALUE, name="mean factor", logarithmic=True)
DIFFERENCE: Final = Statistic("difference", lambda mean: mean[0] - mean[1], relative=False)
RATIO: Final = Statistic("ratio", lambda mean: mean[0] / mean[1], logarithmic=True, relative=True)
GROWTH: Final = replace(
    DIFFERENCE,
    name="growth of the difference",
    of=lambda mean: (mean[2] - mean[3]) - (mean[0] - mean[1]),
)
SPREAD: Final = Statistic(
    "difference of the standard deviations", lambda spread: spread[0] - spread[1], spread=True
)


def _rank_correlation(mean: Floats) -> Floats:
    ranks = scipy.stats.rankdata(mean.reshape(2, -1, *mean.shape[1:]), axis=1)
    first, second = ranks - ranks.mean(axis=1, keepdims=True)
    product = (first * second).sum(axis=0)
    return np.asarray(product / np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0)))


RANKS: Final = Statistic("rank correlation", _rank_correlation)


def _trend(mean: Floats) -> Floats:
    place = np.arange(len(mean), dtype=np.float64).reshape(-1, *[1] * (mean.ndim - 1))
    return _rank_correlation(np.concatenate([np.broadcast_to(place, mean.shape), mean]))


TREND: Final = Statistic("rank correlation with their order", _trend)


@dataclass(frozen=True)
class Check:
    """`low` <= `statistic` of `quantities` <= `high`; without equality where `strict`."""

    statistic: Statistic
    quantities: tuple[Quantity, ...]
    low: float = -np.inf
    high: float = np.inf
    strict: bool = False

    def __iter__(self) -> "Iterator[Check]":
        yield self

    @property
    def unit(self) -> str:
        """Unit of the statistic: that of the metric, none of a ratio."""
        has_none = self.statistic in (RATIO, RANKS, TREND)
        return "" if has_none else metrics()[self.quantities[0].metric].unit

    @property
    def text(self) -> str:
        """What is looked at: "mean induced latency, 10/10: codel − pfifo_fast (medians)"."""
        medians = any(quantity.median for quantity in self.quantities)
        return f"{self._about} (medians)" if medians else self._about

    @property
    def _about(self) -> str:
        first = self.quantities[0]
        names = _parts(self.quantities)
        if self.statistic is RANKS:
            other = self.quantities[len(self.quantities) // 2]
            return f"order of qdiscs, {_where(first)} and {_where(other)}"
        if self.statistic is TREND:
            last = self.quantities[-1]
            there = "" if _place(last) == _place(first) else f", {_place(last)}"
            return f"trend of {_where(first)}: {first.qdisc} to {last.qdisc}{there}"
        if self.statistic is SPREAD:
            return f"spread over runs of {_where(first)}: {' − '.join(names)}"
        if self.statistic is GROWTH:
            other = self.quantities[2]
            to = other.link if other.experiment == first.experiment else _place(other)
            return f"{_where(first)} to {to}: {names[0]} − {names[1]}"
        sign = {DIFFERENCE: " − ", RATIO: " / "}.get(self.statistic, "")
        if any(other.metric != first.metric for other in self.quantities):
            titles = [metrics()[quantity.metric].title for quantity in self.quantities]
            return f"{_joined(first.qdisc, _place(first))}: {sign.join(titles)}"
        if names == [NONE]:
            return _where(first)
        return f"{_where(first)}: {sign.join(names)}"

    @property
    def bounds(self) -> str:
        """What is asked of it: "< 0 ms", "0.5 to 1.5"."""
        unit = f" {self.unit}" if self.unit else ""
        if np.isinf(self.low):
            return f"{'<' if self.strict else '≤'} {self.high:.4g}{unit}"
        if np.isinf(self.high):
            return f"{'>' if self.strict else '≥'} {self.low:.4g}{unit}"
        if self.low == self.high:
            return f"= {self.low:.4g}{unit}"
        return f"{self.low:.4g} to {self.high:.4g}{unit}"


@dataclass(frozen=True)
class Printed(Check):
    """The mean agrees with a `value` that the paper prints with so much `error`, in its unit.

    It does where it lies within the error, or within the spread that the paper's `repetitions`
    would have (analysis.measures.agreement). `step` is what one event makes of a metric that counts
    events: where no seed had any, there may be as many as would not be seen.
    """

    value: float = np.nan
    error: float = 0.0
    repetitions: int = REPETITIONS
    step: float = 0.0

    def bounded(self, of_seeds: Sequence[Floats]) -> "Printed":
        """With the bounds that follow from the values of our seeds, those of each quantity."""
        if self.statistic is RATIO:
            ratios = of_seeds[0] / of_seeds[1]
            reach = agreement.factor(ratios, self.value, self.error, repetitions=self.repetitions)
            return replace(self, low=self.value / reach, high=self.value * reach)
        (samples,) = of_seeds
        seeds = len(samples)
        deviation = samples.std(ddof=1) if seeds > 1 else np.nan
        spread = agreement.spread(deviation, seeds, repetitions=self.repetitions)
        if not samples.any():
            spread = np.fmax(spread, agreement.unseen(self.step, seeds))
        reach = float(agreement.allowed(self.error, spread))
        return replace(self, low=self.value - reach, high=self.value + reach)

    @property
    def bounds(self) -> str:
        """What is asked of it: "7.95 ± 2.1 %"."""
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.value:g} ± {self.value - self.low:.2g}{unit} as printed"

    def distance(self, value: float) -> str:
        """Return how far `value` is from the printed one: "12 % less"."""
        if self.value == 0:
            return "nothing is printed"
        share = 100 * (value / self.value - 1)
        digits = ".2g" if abs(share) < 99.5 else ".0f"
        return f"{abs(share):{digits}} % {'less' if share < 0 else 'more'}"


@dataclass(frozen=True)
class Several:
    """What other conditions are parts of."""

    parts: tuple["Condition", ...]

    def __iter__(self) -> "Iterator[Condition]":
        yield from self.parts


class Every(Several):
    """Holds where all of its parts do."""


class Some(Several):
    """Holds where at least one of its parts does."""


@dataclass(frozen=True)
class Lacking:
    """Cannot be tested: `what` is missing, of the kind `missing`."""

    what: str
    missing: Missing = "data"


@dataclass(frozen=True)
class Same:
    """The statement of another claim once more: its rule, and counted there alone."""

    claim: str  # "g006"


Checks = Check | Every
Condition = Checks | Some | Lacking


def every(*parts: Condition) -> Every:
    """All of `parts`."""
    return Every(parts)


def some(*parts: Condition) -> Some:
    """At least one of `parts`."""
    return Some(parts)


def setting(what: str) -> Lacking:
    """Return a statement that is not about a result."""
    return Lacking(what, "setting")


def read_back(what: str) -> Lacking:
    """Return a setting that the study has as the paper prints it, and that each run compares with
    what the rig says before it starts."""
    return Lacking(what, "read back")


def within(cells: Cells, low: float = -np.inf, high: float = np.inf) -> Checks:
    """The mean lies between `low` and `high`, in the metric's unit, bounds included."""

    kinds = metrics()
    factors = {of.metric for of in cells if of.metric in kinds and kinds[of.metric].factor}
    return _of_all(
        Check(FACTOR if of.metric in factors else VALUE, (of,), low, high) for of in cells
    )


def near(cells: Cells, value: float, factor: float, margin: float) -> Checks:
    """The mean is within a factor or a margin of `value`, whichever is wider; 0 is exactly 0.

    The quantity is one that cannot be negative, so that a bound below 0 is none: the interval over
    a few seeds may well go there.
    """
    if value == 0:
        return within(cells, 0, 0)
    low = min(value / factor, value - margin)
    return within(cells, low if low > 0 else -np.inf, max(value * factor, value + margin))


def printed(quantity: Cells, value: float, error: float, *, step: float = 0.0) -> Printed:
    """Ask that the mean agrees with a printed `value`, see Printed."""
    return Printed(VALUE, (*quantity,), value=value, error=error, step=step)


def printed_ratio(
    a: Cells, b: Cells, value: float, error: float, *, repetitions: int = REPETITIONS
) -> Printed:
    """a / b agrees with a printed `value`, see Printed; in logarithms."""
    return Printed(RATIO, (*a, *b), value=value, error=error, repetitions=repetitions)


def less(smaller: Cells, greater: Cells) -> Checks:
    """The mean of the first is less than that of the second."""
    return _compared(DIFFERENCE, smaller, greater, high=0, strict=True)


def apart(a: Cells, b: Cells, low: float = -np.inf, high: float = np.inf) -> Checks:
    """The difference a − b lies between `low` and `high`, in the metric's unit."""
    return _compared(DIFFERENCE, a, b, low=low, high=high)


def ratio(a: Cells, b: Cells, low: float = -np.inf, high: float = np.inf) -> Checks:
    """a / b lies between `low` and `high`."""
    return _compared(RATIO, a, b, low=low, high=high)


def below(smaller: Cells, greater: Cells, factor: float | None = None) -> Checks:
    """The first is less than the second or, with `factor`, at most that many times it."""
    return less(smaller, greater) if factor is None else ratio(smaller, greater, high=factor)


def rising(*cells: Cells) -> Every:
    """Each mean is less than the next: a trend, over links for instance."""
    trends = [every(*map(less, of, of[1:])) for of in aligned(*cells)]
    return every(*trends) if len(trends) > 1 else trends[0]


def tending(*cells: Cells, low: float) -> Every:
    """Spearman's rank correlation of the means with the order in which they stand is at least
    `low`: a tendency, where `rising` asks for each step."""
    return every(*(Check(TREND, of, low) for of in aligned(*cells)))


def widening(a: Cells, b: Cells, c: Cells, d: Cells) -> Checks:
    """c − d is more than a − b."""
    return _compared(GROWTH, a, b, c, d, low=0, strict=True)


def steadier(a: Cells, b: Cells) -> Checks:
    """a varies less over its runs than b."""
    return _compared(SPREAD, a, b, high=0, strict=True)


def same_order(first: Iterable[Quantity], second: Iterable[Quantity], low: float) -> Check:
    """Spearman's rank correlation of the means of `first` and `second` is at least `low`."""
    return Check(RANKS, (*first, *second), low)


def _compared(statistic: Statistic, *cells: Cells, **bounds: Any) -> Checks:
    return _of_all(Check(statistic, of, **bounds) for of in aligned(*cells))


def _of_all(checks: Iterable[Check]) -> Checks:
    made = tuple(checks)
    return made[0] if len(made) == 1 else Every(made)


Leaf = TypeVar("Leaf", Check, Lacking)


def leaves(condition: Condition, kind: type[Leaf]) -> Iterator[Leaf]:
    """Every check in `condition`, or everything that it lacks, from left to right."""
    if isinstance(condition, kind):
        yield condition
    elif isinstance(condition, Several):
        for part in condition.parts:
            yield from leaves(part, kind)


def _where(quantity: Quantity) -> str:
    return f"{metrics()[quantity.metric].title}, {_place(quantity)}"


def _place(quantity: Quantity) -> str:
    """Return the cell without its qdisc; RRUL goes without saying."""
    experiment = "" if quantity.experiment == "rrul" else quantity.experiment
    return _joined(experiment, quantity.link, quantity.cc)


def _joined(*parts: str) -> str:
    """Return those of `parts` that say something: a run of programs may have no link or qdisc."""
    return ", ".join(part for part in parts if part not in ("", NONE))


def _parts(quantities: tuple[Quantity, ...]) -> list[str]:
    """Return the qdiscs, with what else differs between two quantities; experiments where there is
    no qdisc."""
    first, names = quantities[0], [quantity.qdisc for quantity in quantities]
    if len(quantities) == 2:
        other = quantities[1]
        without = {*names} == {NONE}
        names = [first.experiment, other.experiment] if without else names
        more = [other.link] if other.link != first.link else []
        more += [other.experiment] if other.experiment != first.experiment and not without else []
        more += [other.cc or "in this setting"] if other.cc != first.cc else []
        names[1] = " ".join([names[1], *more])
    return names
