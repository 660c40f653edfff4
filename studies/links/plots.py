"""Links that send by a trace, beside what was published of the same."""

from typing import Final

import pandas as pd

NAMES: Final = {"cubic": "CUBIC", "vegas": "Vegas", "cubic_codel": "CUBIC, CoDel"}
#: Whose traces are another recording.
OTHER: Final = "Verizon LTE"
#: Of CUBIC over CoDel, in the plots' files: the mean of eight links.
CODEL_MS: Final = 497.4


def beside(ours: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return a row per link and way, and the means of the six links that are the published ones and
    of all: what each setting carries and delays, with the published value in parentheses."""
    both = ours.merge(published, "left", ["link", "way", "setting"], suffixes=("", "_published"))
    groups = dict(tuple(both.groupby(["link", "way"], sort=False)))
    parts = {f"{link}, {way}": part for (link, way), part in groups.items()}
    parts["mean of six"] = both[both.link != OTHER]
    parts["mean of eight"] = both
    lines = []
    for name, part in parts.items():
        line = {"Link": name}
        for setting, title in NAMES.items():
            means = part[part.setting == setting].mean(numeric_only=True)
            if name == "mean of eight" and setting == "cubic_codel":
                means["self_inflicted_ms_published"] = CODEL_MS
            line[f"{title}: kbit/s"] = _cell(means, "throughput_kbit_s", 1)
            line[f"{title}: s"] = _cell(means, "self_inflicted_ms", 1e3)
        lines.append(line)
    return pd.DataFrame(lines)


def _cell(means: "pd.Series[float]", column: str, unit: float) -> str:
    value, known = means[column] / unit, means[f"{column}_published"] / unit
    return f"{value:.3g}" if pd.isna(known) else f"{value:.3g} ({known:.3g})"
