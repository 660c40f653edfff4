"""What there is of a cell already: the values that a paper prints, and the shipped runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from analysis.errors import DataError
from analysis.measures import metrics
from analysis.runs import dataset
from analysis.runs.published import read_published
from analysis.runs.study import study_at
from emulation.model.run import Point

PAPER: Final = ("gbw2015", "rrul")
PUBLISHED: Final = "fig2.csv"  # Fig. 2 shows CUBIC
PUBLISHED_CC: Final = "cubic"

#: Quantity -> its value: latency (ms, induced), download, upload (Mbit/s).
Values = Mapping[str, float]


def published(cell: Point) -> Values:
    """The values of the cell in Fig. 2 of gbw2015; empty where it has none.

    Raises DataError where the file cannot be read.
    """
    if cell.cc != PUBLISHED_CC:
        return {}
    table = read_published(study_at(PAPER[0]).published / PUBLISHED)
    rows = table[(table["link"] == cell.link.name) & (table["qdisc"] == cell.qdisc)]
    # What the paper calls one direction is compared with the upload, as in Fig. 2a and 2b.
    names = rows["direction"].replace({"one": "upload", "round_trip": "latency"})
    return dict(zip(names.astype(str), rows["value"].astype(float), strict=True))


def shipped(cell: Point, era: str, data: Path) -> tuple[int, Values]:
    """How many runs of the cell the folder `data` has, and the medians over them.

    (0, nothing) where there is none. Raises DataError for runs that cannot be read.
    """
    paper, experiment = PAPER
    variant = dataset.variant_name(experiment, era)
    try:
        found = dataset.find_runs(
            data, paper, variant, link=cell.link.name, qdiscs=[cell.qdisc], cc=cell.cc
        )
    except DataError:
        return 0, {}
    kinds = ["tcp_download", "tcp_upload", "ping_icmp"]
    table = metrics.run_metrics(
        dataset.read_runs(found, kinds=kinds, jobs=1), window="loaded", probe="ping_icmp"
    )
    columns = {"latency": metrics.INDUCED, **metrics.GOODPUT}
    return len(found), {name: float(table[column].median()) for name, column in columns.items()}
