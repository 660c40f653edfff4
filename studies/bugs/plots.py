"""The table of all cases: what each kernel measured, and with its mending taken back."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import pandas as pd

from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.analysis.runs.statement import Claim
from qdisclab.emulation.model.run import era_and_kernel
from qdisclab.emulation.model.series import DEFAULT_KERNEL

NOTHING: Final = "–"


def by_case(
    claims: Iterable[Claim],
    runs: Iterable[RunFile],
    measure: Callable[[RunFile], Mapping[str, float]],
    undone: pd.DataFrame,
) -> pd.DataFrame:
    """Return a row per claim: its case, the bounds, and for each kernel of `runs` the mean of the
    seeds, also of `undone` (linux, case, value)."""
    of_kernel: dict[str, list[Mapping[str, float]]] = {}
    for run in runs:
        of_kernel.setdefault(era_and_kernel(run.era)[1] or DEFAULT_KERNEL, []).append(measure(run))
    back = undone.groupby(["linux", "case"])["value"].agg(list)
    lines = []
    for claim in claims:
        low, high, unit = claim.value_low, claim.value_high, f" {claim.unit}".rstrip()
        bounds = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        line = {"case": claim.note, "without the bug": bounds + unit}
        for kernel, numbers in of_kernel.items():
            line[kernel] = cell([of[claim.note] for of in numbers if claim.note in of], low, high)
            line[f"{kernel} undone"] = cell(back.get((kernel, claim.note), []), low, high)
        lines.append(line)
    return pd.DataFrame(lines)


def cell(values: list[float], low: float, high: float) -> str:
    """Return the mean of `values`, with "(no)" where one is out of the bounds."""
    if not values:
        return NOTHING
    outside = not all(low <= value <= high for value in values)
    return f"{sum(values) / len(values):.4g}{' (no)' * outside}"
