"""Links that send by a trace, beside what was published of the same."""

from typing import Final

import pandas as pd

NAMES: Final = {
    "cubic": "CUBIC",
    "cubic_window": "CUBIC, 3 MB",
    "vegas": "Vegas",
    "cubic_codel": "CUBIC, CoDel",
}
#: Whose traces are another recording.
OTHER: Final = "Verizon LTE"
#: Of CUBIC over CoDel, in the plots' files: the mean of eight links.
CODEL_MS: Final = 497.4
EIGHT: Final = 8


def beside(ours: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return a row per link and way, and the means of those of the published traces that have all
    settings, and of all eight: what each setting carries and delays, and what was published."""
    ours = ours[ours.setting.isin(NAMES)]
    both = ours.merge(published, "left", ["link", "way", "setting"], suffixes=("", "_published"))
    groups = dict(tuple(both.groupby(["link", "way"], sort=False)))
    parts = {f"{link}, {way}": part for (link, way), part in groups.items()}
    whole = both.groupby(["link", "way"]).setting.transform("nunique") == both.setting.nunique()
    same = both[whole & (both.link != OTHER)]
    parts[f"mean of {len(same.groupby(['link', 'way']))}"] = same
    if whole.all() and len(groups) == EIGHT:
        parts[f"mean of {EIGHT}"] = both
    lines = []
    for name, part in parts.items():
        line = {"Link": name, "Kind": "mean" if name.startswith("mean") else "link"}
        for setting, title in NAMES.items():
            means = part[part.setting == setting].mean(numeric_only=True)
            if name == f"mean of {EIGHT}" and setting == "cubic_codel":
                means["self_inflicted_ms_published"] = CODEL_MS
            for ending, whose in (("", title), ("_published", f"{title}, published")):
                line[f"{whose}: kbit/s"] = means[f"throughput_kbit_s{ending}"]
                line[f"{whose}: s"] = means[f"self_inflicted_ms{ending}"] / 1e3
        lines.append(line)
    return pd.DataFrame(lines).dropna(axis="columns", how="all")
