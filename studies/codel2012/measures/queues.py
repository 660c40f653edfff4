"""Runs between two gateways: what their queues did (codel2012).

A row of `gateways.read_run` per queue, with what the run varies.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from analysis.runs.axes import axes
from analysis.runs.dataset import Dataset, RunFile, facts, read_record, runs_alone, usable
from emulation.config import ownfile

from . import gateways

DIRECTIONS: Final = ("forward", "reverse")
FAMILIES: Final = {"codel": "codel", "red": "red", "pfifo": "tail_drop"}
"""The algorithm of a qdisc -> what the article calls it, whatever its buffer and target."""
ALIKE: Final = {"codel": "codel", "red": "ared", "tail_drop": "pfifo_fast"}
"""A family -> the qdisc of other papers that it is drawn like."""
NAMES: Final = {"codel": "CoDel", "red": "RED", "tail_drop": "Tail Drop"}

BULK: Final = "bulk"


def read_run(file: RunFile) -> list[dict[str, Any]]:
    """One row per queue: the columns of dataset.RUNS, load, family of the qdisc, and measurements.

    Delays in ms are those of the packets that were sent while the load lasted; dropped_percent is a
    share of those that arrived. Raises DataError if the provenance lacks an entry.
    """
    record = read_record(file)
    with usable(file):
        varied = axes(file)
        about = {
            **facts(file, record),
            "mtu_link": _mtu_link(varied),
            "family": family(varied),
        }
    return [{**about, **queue} for queue in gateways.read_run(file)]


def _mtu_link(run_axes: Mapping[str, str]) -> str:
    """`128 kbit/s 500 B`."""
    mtu = run_axes.get("mtu", "1500")
    return f"{_bandwidth(_rate(run_axes['link']))} {mtu}\xa0B"


def read_runs(files: Sequence[RunFile]) -> pd.DataFrame:
    """The rows of read_run of all `files`; raises ValueError for none."""
    if not files:
        raise ValueError("no runs to read")
    return pd.DataFrame([row for file in files for row in read_run(file)])


def dataset(table: pd.DataFrame) -> Dataset:
    """The runs of read_runs' `table`, for outputs.publish."""
    return runs_alone(table.drop_duplicates("run", ignore_index=True))


def data_found(table: pd.DataFrame) -> pd.DataFrame:
    """One row per era, congestion control and experiment: links, qdiscs, loads, runs, kernel."""
    rows = []
    for key, runs in table.groupby(["era", "cc", "experiment"], observed=True, sort=False):
        counts = [runs[name].nunique() for name in ("link", "qdisc", "load", "run")]
        rows.append((*key, *counts, ", ".join(sorted(set(runs["kernel_release"])))))
    columns = ["era", "cc", "experiment", "links", "qdiscs", "loads", "runs", "kernel"]
    return pd.DataFrame(rows, columns=columns)


def family(run_axes: Mapping[str, str]) -> str:
    """`codel` of `codel_830`; for other qdiscs, and the user's own, their name."""
    qdisc = run_axes["qdisc"]
    return qdisc if qdisc in ownfile.drawn() else FAMILIES.get(run_axes["algorithm"], qdisc)


def overview(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Medians over runs of each quantity, with quartiles of the median delay and of utilisation."""
    rows = []
    groups = dict(list(table.groupby(list(by), observed=True)))
    for key in sorted(groups, key=_place):
        runs = groups[key]
        rows.append(
            {
                **dict(zip(by, key, strict=True)),
                "runs": len(runs),
                **{
                    f"{name} ({unit})": f"{low:.3g} – {middle:.3g} – {high:.3g}"
                    for name, unit, (low, middle, high) in (
                        ("Median delay", "ms", runs["median_ms"].quantile([0.25, 0.5, 0.75])),
                        (
                            "Utilisation",
                            "%",
                            runs["utilisation_percent"].quantile([0.25, 0.5, 0.75]),
                        ),
                    )
                },
                "Jain's index of drop shares": runs["jain"].median(),
                "Dropped (%)": runs["dropped_percent"].median(),
            }
        )
    return pd.DataFrame(rows)


def _place(key: Sequence[object]) -> tuple[tuple[float, str], ...]:
    """A sort key: links by their rate, other numbers by value, names alphabetically."""
    places = []
    for part in key:
        name = str(part)
        number = part if isinstance(part, float) else _rate(name) if name[0].isdigit() else 0.0
        places.append((number, name))
    return tuple(places)


def ticks(table: pd.DataFrame, by: str) -> tuple[dict[object, str], str]:
    """The values of the column `by` in order, each with its label, and a title for the axis.

    `mtu_link` is the link and the largest packet.
    """
    if by == "base_rtt_ms":
        return {
            value: f"{value:g}" for value in sorted(set(table[by]))
        }, "RTT of the empty path (ms)"
    values = sorted(set(table[by]), key=lambda value: (_rate(value), str(value)))
    if by == "mtu_link":
        return {value: value.replace(" ", "\n") for value in values}, "Bandwidth and MTU"
    return {value: _bandwidth(_rate(value)) for value in values}, "Bandwidth"


def _rate(link: str) -> float:
    """In Mbit/s, of `10/10` or of a value of mtu_link."""
    text = str(link)
    if "bit/s" in text:
        return float(text.split("\xa0")[0]) * (1e-3 if "kbit" in text else 1)
    return float(text.partition("/")[0])


def _bandwidth(mbit_s: float) -> str:
    return f"{mbit_s:g}\xa0Mbit/s" if mbit_s >= 1 else f"{1000 * mbit_s:g}\xa0kbit/s"


def by_load(table: pd.DataFrame) -> pd.DataFrame:
    """One row per load and qdisc: runs, and medians over them."""
    rows = [
        (
            load,
            qdisc,
            len(runs),
            *(runs[name].median() for name in ("median_ms", "utilisation_percent", "jain")),
        )
        for (load, qdisc), runs in table.groupby(["load", "qdisc"], observed=True)
    ]
    names = ["Median delay (ms)", "Utilisation (%)", "Jain's index of drop shares"]
    return pd.DataFrame(rows, columns=["Load", "qdisc", "Runs", *names])
