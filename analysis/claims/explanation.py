"""Why a claim disagrees or stays open: an experiment with a named change that makes it agree.

Such an experiment is an era with switches more or less, as `2014-no_rack`, or one of the paper's
with another setting or rig, as `wifi_rrul_at_once` for `wifi_rrul`: its runs are in the data, or
what they measured is a table of `measure.MEASURED`, `data/ablation/<name>.csv`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pandas as pd
import pandera.pandas as pa

from analysis.claims.measure import MEASURED
from analysis.errors import DataError

Place = tuple[str, str, str]
"""Experiment, link and qdisc; what is empty is each."""
PLACE: Final = ("experiment", "link", "qdisc")  # columns of MEASURED
SHIPPED: Final = Path(__file__).parents[2] / "data"


@dataclass(frozen=True)
class Explanation:
    """Measurements of the era `instead` are taken in place of those of `era`, where it has any.

    Where `cells` are given, they are taken in place of others, and nothing else is.
    """

    era: str  # in which the claim disagrees
    instead: str  # `2014-no_rack`
    file: Path | None = None  # below the data folder, that of other runs or the repository's;
    # None: runs of that era are in the data
    cells: Mapping[Place, Place] = field(default_factory=dict)  # of the rule -> taken in its place

    def __str__(self) -> str:
        era = "" if self.instead == self.era else f"era {self.instead}"
        taken = ", ".join(f"{_named(to)} in place of {_named(of)}" for of, to in self.cells.items())
        file = f"({self.file.as_posix()})" if self.file else ""
        return " ".join(part for part in (era, taken, file) if part)

    def measured(self, data: Path, table: pd.DataFrame) -> pd.DataFrame:
        """The experiment's measurements as a table of MEASURED with the name of `era`.

        `table` has those of the runs in `data`. Raises DataError where `file` is missing, is not
        such a table or lacks the era; without a file there may be none.
        """
        if self.file is not None:
            own = data / self.file
            table = _read(own if own.exists() else SHIPPED / self.file)
        chosen = table[table["era"] == self.instead]
        if chosen.empty and self.file is not None:
            known = ", ".join(sorted(table["era"].unique()))
            raise DataError.of(data / self.file, f"no era {self.instead!r}", f"It has {known}")
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


def _read(path: Path) -> pd.DataFrame:
    remedy = "Restore it from the repository"
    try:
        return MEASURED.validate(pd.read_csv(path, dtype={"era": str}))
    except FileNotFoundError as error:
        raise DataError.of(path, "no such file", remedy) from error
    except (ValueError, KeyError, pa.errors.SchemaError) as error:
        raise DataError.of(path, f"not a table of measurements ({error})", remedy) from error
