"""Grids of quantities, and how those of two are compared."""

from qdisclab.analysis.claims.check import Every, less, rising
from qdisclab.analysis.claims.quantity import Quantity, cells, several


def places(condition: Every) -> list[tuple[str, ...]]:
    return [tuple(f"{of.link} {of.qdisc}" for of in check.quantities) for check in condition]


def test_a_grid_has_all_combinations_the_last_argument_first() -> None:
    grid = cells("m", "x", ("a", "b"), ("1", "2"))
    assert [(of.link, of.qdisc) for of in grid] == [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")]


def test_equal_values_are_compared_one_by_one_and_others_each_with_each() -> None:
    left, right = cells("m", "x", ("a", "b"), "1"), cells("m", "x", ("a", "b"), ("2", "3"))
    assert places(less(left, right)) == [
        ("a 1", "a 2"), ("a 1", "a 3"), ("b 1", "b 2"), ("b 1", "b 3"),
    ]  # fmt: skip


def test_one_cell_makes_one_check() -> None:
    one, other = cells("m", "x", "a", "1"), Quantity("m", "x", "a", "2")
    assert less(one, other) == less(*one, other)
    assert len(list(less(one, other))) == 1


def test_an_argument_may_vary_slowest() -> None:
    @several("experiment")
    def of(metric: str, experiment: str) -> Quantity:
        return Quantity(metric, experiment, "a", "1")

    assert [(q.metric, q.experiment) for q in of(("m", "n"), ("x", "y"))] == [
        ("m", "x"), ("n", "x"), ("m", "y"), ("n", "y"),
    ]  # fmt: skip


def test_a_trend_of_grids_is_one_in_each_of_their_cells() -> None:
    trend = rising(*(cells("m", "x", link, ("1", "2")) for link in ("a", "b")))
    assert [places(part) for part in trend] == [[("a 1", "b 1")], [("a 2", "b 2")]]
