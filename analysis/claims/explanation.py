"""Why a claim disagrees or stays open: an experiment with a named change that makes it agree.

Such an experiment is an era with switches more or less, as `2014-no_rack`, or one of the paper's
with another setting or rig, as `wifi_rrul_at_once` for `wifi_rrul`. Its runs are in the data.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pandas as pd

Place = tuple[str, str, str]
"""Experiment, link and qdisc; what is empty is each."""
PLACE: Final = ("experiment", "link", "qdisc")  # columns of MEASURED


@dataclass(frozen=True)
class Explanation:
    """Measurements of the era `instead` are taken in place of those of `era`, where it has any.

    Where `cells` are given, they are taken in place of others, and nothing else is.
    """

    era: str  # in which the claim disagrees
    instead: str  # `2014-no_rack`
    cells: Mapping[Place, Place] = field(default_factory=dict)  # of the rule -> taken in its place

    def __str__(self) -> str:
        era = "" if self.instead == self.era else f"era {self.instead}"
        taken = ", ".join(f"{_named(to)} in place of {_named(of)}" for of, to in self.cells.items())
        return " ".join(part for part in (era, taken) if part)

    def measured(self, table: pd.DataFrame) -> pd.DataFrame:
        """The experiment's measurements as a table of MEASURED with the name of `era`.

        `table` is what all runs measured; there may be none of the experiment.
        """
        chosen = table[table["era"] == self.instead]
        if not self.cells:
            return chosen.assign(era=self.era)
        parts = [
            _taken(chosen, to).assign(
                **{name: one for name, one in zip(PLACE, of, strict=True) if one}
            )
            for of, to in self.cells.items()
        ]
        return pd.concat(parts).assign(era=self.era)


def _named(place: Place) -> str:
    return " ".join(part for part in place if part)


def _taken(table: pd.DataFrame, place: Place) -> pd.DataFrame:
    """The rows of `table` of that place."""
    names = [name for name, value in zip(PLACE, place, strict=True) if value]
    values = [value for value in place if value]
    return table[(table[names] == values).all(axis=1)]
