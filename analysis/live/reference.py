"""What there is of a cell already: the values that a paper prints, and the shipped runs."""

from collections.abc import Mapping
from pathlib import Path

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import metrics
from qdisclab.analysis.plots.panels import PUBLISHED_CC
from qdisclab.analysis.runs import dataset
from qdisclab.analysis.runs.published import read_published
from qdisclab.emulation.model.run import Point

#: Quantity -> its value: latency (ms, induced), download, upload (Mbit/s).
Values = Mapping[str, float]


def published(cell: Point, table: Path) -> Values:
    """Return the values of the cell in a table of published ones; empty where it has none.

    Raises DataError where the file cannot be read.
    """
    if cell.cc != PUBLISHED_CC:
        return {}
    values = read_published(table)
    rows = values[(values["link"] == cell.link.name) & (values["qdisc"] == cell.qdisc)]
    # What a paper calls one direction is compared with the upload.
    names = rows["direction"].replace({"one": "upload", "round_trip": "latency"})
    return dict(zip(names.astype(str), rows["value"].astype(float), strict=True))


def shipped(paper: str, cell: Point, era: str, data: Path) -> tuple[int, Values]:
    """Return how many runs of the cell the folder `data` has, and the medians over them.

    (0, nothing) where there is none. Raises DataError for runs that cannot be read.
    """
    try:
        runs = dataset.find_runs(
            data, paper, cell.label, eras=era, links=cell.link.name, qdiscs=cell.qdisc, ccs=cell.cc
        )
    except DataError:
        return 0, {}
    kinds = ["tcp_download", "tcp_upload", "ping_icmp"]
    table = metrics.run_metrics(
        dataset.read_runs(runs, kinds=kinds, jobs=1), window="loaded", probe="ping_icmp"
    )
    columns = {"latency": metrics.INDUCED, **metrics.GOODPUT}
    return len(runs), {name: float(table[column].median()) for name, column in columns.items()}
