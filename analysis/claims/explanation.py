"""Why a claim disagrees: an experiment that changes one thing and makes it agree.

Such an experiment is an era with one switch more or less, as `2014-no_rack`, or the same traffic
over another rig, as `wifi_rrul_at_once` for `wifi_rrul`: its runs are in the data, or what they
measured is a table of `measure.MEASURED`, `data/ablation/<name>.csv`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pandas as pd
import pandera.pandas as pa

from analysis.claims.measure import MEASURED
from analysis.errors import DataError

SHIPPED: Final = Path(__file__).parents[2] / "data"


@dataclass(frozen=True)
class Explanation:
    """Measurements of the era `instead` are taken in place of those of `era`, where it has any."""

    era: str  # in which the claim disagrees
    instead: str  # `2014-no_rack`
    file: Path | None = None  # below the data folder, that of other runs or the repository's;
    # None: runs of that era are in the data
    experiments: tuple[tuple[str, str], ...] = ()  # (one, and which is taken in its place)

    def __str__(self) -> str:
        rigs = ", ".join(other for _, other in self.experiments)
        era = "" if rigs and self.instead == self.era else f"era {self.instead}"
        what = ", ".join(part for part in (era, rigs) if part)
        return what + (f" ({self.file.as_posix()})" if self.file else "")

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
        if self.experiments:
            chosen = chosen[chosen["experiment"].isin([other for _, other in self.experiments])]
            names = {other: one for one, other in self.experiments}
            chosen = chosen.assign(experiment=chosen["experiment"].replace(names))
        return chosen.assign(era=self.era)


def _read(path: Path) -> pd.DataFrame:
    remedy = "Restore it from the repository"
    try:
        return MEASURED.validate(pd.read_csv(path, dtype={"era": str}))
    except FileNotFoundError as error:
        raise DataError.of(path, "no such file", remedy) from error
    except (ValueError, KeyError, pa.errors.SchemaError) as error:
        raise DataError.of(path, f"not a table of measurements ({error})", remedy) from error
