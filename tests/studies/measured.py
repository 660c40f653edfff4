"""The numbers of shipped runs, for tests of what pages say."""

from functools import cache

import pandas as pd

from analysis.measures.table import measure_runs
from analysis.runs.dataset import find_several
from tests import ROOT


@cache
def measured(
    study: str, experiment: str, eras: tuple[str, ...], ccs: tuple[str, ...], *links: str
) -> pd.DataFrame:
    """As `measure_runs`, of runs that are whole or not."""
    runs = find_several(
        ROOT / "data", study, [experiment], eras=eras, ccs=ccs, links=links, reduced=True
    )
    return measure_runs(runs)
