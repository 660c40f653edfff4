"""What each switch of `emulation.model.era` does: eras that differ by one, compared run by run.

A switch is added to today's Linux, `modern+<switch>`, and taken away from that of 2014,
`2014-<switch>`; one that is not part of that era is added to it, `2014+<switch>`. Runs of one seed
draw the same random numbers in all eras, so that effects are differences of pairs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from qdisclab.analysis.errors import require_texts
from qdisclab.analysis.measures.metrics import CELL, GOODPUT, INDUCED, means
from qdisclab.analysis.runs.dataset import RunFile, find_runs
from qdisclab.analysis.runs.settings import PAST, eras_of, other_era
from qdisclab.analysis.words import intervals
from qdisclab.emulation.model.era import ERAS, SWITCHES
from qdisclab.emulation.model.run import DEFAULT_ERA

ALL: Final = "all"  # the switches of 2014 together
QUANTITIES: Final = {  # metric -> what it is, and its unit
    INDUCED: ("induced latency", "ms"),
    GOODPUT["download"]: ("download", "Mbit/s"),
    GOODPUT["upload"]: ("upload", "Mbit/s"),
}


def find_ablation(
    root: Path,
    paper: str,
    experiment: str,
    *,
    qdiscs: Sequence[str],
    ccs: Sequence[str],
    link: str,
    length: str = "",
) -> list[RunFile]:
    """Return the runs of `eras_of`, whole or as their measures; DataError if there is none."""
    require_texts("qdiscs", qdiscs)
    wanted = {qdisc: eras_of(qdisc) for qdisc in qdiscs}
    eras = list(dict.fromkeys(era for eras in wanted.values() for era in eras))
    runs = find_runs(
        root, paper, experiment, eras=eras, ccs=ccs, links=link, qdiscs=qdiscs, length=length,
        reduced=True,
    )  # fmt: skip
    return [run for of in qdiscs for run in runs if run.qdisc == of and run.era in wanted[of]]


def effects(per_run: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell, switch, base and quantity: qdisc, link, cc, switch, base, quantity,
    unit, n_seeds, effect, ci_low, ci_high.

    `per_run` is from table.measure_runs, of the eras of `eras_of`. The effect is the mean
    over seeds of the value with the switch on minus that with it off: on top of today's Linux
    (`base` is modern) and within or on top of that of 2014. The switch `all` is the 2014 era as a
    whole. The interval is Student's t of the differences; one seed has none.
    """
    keys = ["link", "qdisc", "cc", "seed"]
    by_era = {str(era): rows.set_index(keys) for era, rows in per_run.groupby("era", observed=True)}
    pairs = [(ALL, DEFAULT_ERA, PAST, DEFAULT_ERA)]
    for name in (switch.name for switch in SWITCHES):
        other = other_era(name)
        in_2014 = (PAST, other) if name in ERAS[PAST] else (other, PAST)
        pairs += [(name, DEFAULT_ERA, f"{DEFAULT_ERA}+{name}", DEFAULT_ERA),
                  (name, PAST, *in_2014)]  # fmt: skip
    parts = []
    for name, base, with_it, without in pairs:
        if with_it in by_era and without in by_era:
            columns = list(QUANTITIES)
            change = (by_era[with_it][columns] - by_era[without][columns]).dropna().reset_index()
            parts.append(means(change, keys[:3], columns).assign(switch=name, base=base))
    table = pd.concat(parts, ignore_index=True).rename(columns={"mean": "effect"})
    names = ["switch", "base", "quantity", "unit", "n_seeds", "effect", "ci_low", "ci_high"]
    table["unit"] = [QUANTITIES[name][1] for name in table["quantity"]]
    return table[[*CELL[1:], *names]]


def overview(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `effects` for a notebook: what each switch restores, intervals as
    texts."""
    restores = {switch.name: switch.restores for switch in SWITCHES}
    table = rows.assign(
        interval=intervals(rows["ci_low"], rows["ci_high"]),
        quantity=[QUANTITIES[name][0] for name in rows["quantity"]],
        restores=rows["switch"].map(restores).fillna("all of these"),
    )
    columns = ["switch", "restores", "qdisc", "base", "quantity", "effect", "unit", "interval"]
    return table[[*columns, "n_seeds"]]
