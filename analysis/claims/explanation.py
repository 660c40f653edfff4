"""Why claims disagree or stay open: a variation of their experiments, run for all of the cells.

A variation is one change, the same for all claims of the experiments that it names: an era with
switches more or less, as `2014-no_rack`, or another rig, as `wifi_rrul_at_once` for `wifi_rrul`.
It is something that the testbed of the paper had, and not what fits best.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pandas as pd

CELL: Final = ("experiment", "link", "qdisc")  # columns of MEASURED
Cell = tuple[str, str, str]


@dataclass(frozen=True)
class Variation:
    """The runs of `experiments` are taken from other ones, or from another era."""

    era: str  # which it varies: "2014"
    instead: str  # "2014-no_rack", or the same era
    experiments: Mapping[str, str]  # experiment -> what is taken in its place, or the same one
    source: str  # what the testbed had, and who says so

    def __str__(self) -> str:
        if self.instead != self.era:
            return f"era {self.instead}"
        return ", ".join(f"{to} in place of {of}" for of, to in self.experiments.items())

    def measured(self, table: pd.DataFrame) -> pd.DataFrame:
        """Its measurements as a table of MEASURED, by the names of what they take the place of.

        `table` is what all runs measured.
        """
        chosen = table[table["era"] == self.instead]
        names = self.experiments.items()
        parts = (chosen[chosen["experiment"] == to].assign(experiment=of) for of, to in names)
        return pd.concat(parts).assign(era=self.era)

    def cells(self, table: pd.DataFrame, cc: str) -> tuple[set[Cell], set[Cell]]:
        """Return the cells of its experiments in the era that it varies, and those of them with
        runs."""
        table = table[table["cc"] == cc]
        own = table[(table["era"] == self.era) & table["experiment"].isin(list(self.experiments))]
        return _cells(own), _cells(own) & _cells(self.measured(table))


def _cells(table: pd.DataFrame) -> set[Cell]:
    return set(table[list(CELL)].drop_duplicates().itertuples(index=False, name=None))
