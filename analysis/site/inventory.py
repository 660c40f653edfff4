"""What ran: every run below a folder of data, for pages of its own.

A run is clean where its guest's kernel logged nothing to complain of, and its data file has the
digest that its provenance names.
"""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs import study
from qdisclab.analysis.runs.dataset import RunFile, all_runs, usable
from qdisclab.analysis.runs.order import in_order
from qdisclab.analysis.site import pages
from qdisclab.analysis.words import ranges
from qdisclab.emulation.config import remarks
from qdisclab.emulation.config.catalogue import all_labels
from qdisclab.emulation.config.request import run_of
from qdisclab.emulation.datafile import read_json
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.model.run import Experiment

#: A run: its `file`, and by their names what `_row` tells of it.
Row = dict[str, Any]


def files_of(row: Row, folder: Path) -> list[tuple[str, str]]:
    """Return what the files of a run are, and their addresses as seen from `folder`."""
    run: RunFile = row["file"]
    files = [("data", run.data), ("provenance", run.provenance)]
    if run.is_reduced:
        files = [("provenance and measures", run.provenance)]
    return [(text, quote(Path(os.path.relpath(path, folder)).as_posix())) for text, path in files]


@dataclass(frozen=True)
class Variant:
    """The runs of an experiment in an era."""

    paper: str
    name: str  # "rrul@2014"
    rows: tuple[Row, ...]

    @property
    def qdiscs(self) -> list[str]:
        """The queues that ran, in the order of figures."""
        return in_order({row["file"].qdisc for row in self.rows})

    @property
    def notes(self) -> dict[tuple[str, str, str], tuple[str, ...]]:
        """The notes on its runs by link, qdisc and congestion control, where there are any."""
        files = ((row["file"], row["notes"]) for row in self.rows)
        return {(of.link, of.qdisc, of.cc): notes for of, notes in files if notes}

    @property
    def facts(self) -> dict[str, Any]:
        """What the templates say of them all."""
        virtual_s = sum(row["virtual_s"] for row in self.rows)
        wall_s = sum(row["wall_s"] for row in self.rows)
        kernels = sorted({(row["release"], row["kernel"]) for row in self.rows})
        tools: dict[str, list[str]] = {}
        for tool, version in sorted({pair for row in self.rows for pair in row["tools"]}):
            tools.setdefault(tool, []).append(version)
        return {
            "paper": self.paper,
            "variant": self.name,
            "runs": len(self.rows),
            "seeds": ranges(sorted({row["file"].seed for row in self.rows})),
            "lengths": ", ".join(f"{s:g}" for s in sorted({row["length_s"] for row in self.rows})),
            "virtual_s": virtual_s,
            "wall_s": wall_s,
            "factor": f"{virtual_s / wall_s:.1f}" if wall_s else "–",
            "kernels": ", ".join(dict.fromkeys(release for release, _ in kernels)),
            "notes": list(dict.fromkeys(note for row in self.rows for note in row["notes"])),
            "damaged": sum(row["verdict"] != "clean" for row in self.rows),
            "identities": {
                "kernels": [{"release": release, "digest": digest} for release, digest in kernels],
                "tools": {tool: ", ".join(versions) for tool, versions in tools.items()},
            },
        }


def variants(data: Path) -> list[Variant]:
    """Return all runs below `data` and in the data of studies that do not ship, by paper.

    Raises DataError for a provenance that cannot be used.
    """
    roots = {data, *(folder.runs_root(data) for folder in study.known())}
    runs: dict[tuple[str, str], list[RunFile]] = {}
    for run in (run for root in sorted(roots) for run in all_runs(root)):
        runs.setdefault((run.paper, run.variant), []).append(run)
    order = study.in_order({paper for paper, _ in runs})
    experiments = _experiments()
    return [
        Variant(paper, name, _rows(runs[paper, name], experiments))
        for paper, name in sorted(runs, key=lambda of: (order.index(of[0]), of[1]))
    ]


def _experiments() -> dict[str, Experiment]:
    """Return the experiments of all studies that can be read, as `run_of` takes them."""
    experiments: dict[str, Experiment] = {}
    for folder in study.known():
        with contextlib.suppress(DataError):
            experiments |= all_labels(folder.about.experiments)
    return experiments


def _rows(files: Iterable[RunFile], experiments: Mapping[str, Experiment]) -> tuple[Row, ...]:
    rows, notes = [], dict[tuple[str, ...], tuple[str, ...]]()
    for file in files:
        record = read_json(file.provenance)
        if file.cell not in notes:
            notes[file.cell] = ()
            with contextlib.suppress(ConfigError):  # of a run that its study no longer has
                notes[file.cell] = tuple(remarks.of_run(run_of(record, experiments)))
        rows.append(_row(file, record, notes[file.cell]))
    return tuple(rows)


def _row(file: RunFile, record: Mapping[str, Any], notes: tuple[str, ...]) -> Row:
    """Return what pages tell of a run.

    `identity` is a digest of all that its bytes depend on, `notes` are on settings that do not do
    what they seem to, and on its guest.
    """
    with usable(file):
        identity = record["identity"]
        there = file.data.is_file() and sha256(file.data) == record["data_sha256"]
        spelled_out = json.dumps(identity, sort_keys=True).encode()
        return {
            "file": file,
            **{name: float(record[name]) for name in ("virtual_s", "wall_s", "length_s")},
            "identity": hashlib.sha256(spelled_out).hexdigest()[:12],
            "kernel": str(identity["kernel"]["digest"]),
            "release": str(identity["kernel"]["release"]),
            "tools": tuple(sorted(identity["root"]["tools"].items())),
            "verdict": str(record["kernel_log"]) if there or file.is_reduced else "data damaged",
            "notes": (*notes, *record.get("notes", ())),
        }


def write_runs(ran: Sequence[Variant], results: Path, there: Iterable[str]) -> list[Path]:
    """Write runs.html and a page per variant into `results`, where any ran; return their paths."""
    shutil.rmtree(results / "runs", ignore_errors=True)
    if not ran:
        (results / pages.RUNS_PAGE).unlink(missing_ok=True)
        return []
    groups = groupby(ran, key=lambda variant: variant.paper)
    papers = [(pages.of_paper(paper), [of.facts for of in group]) for paper, group in groups]
    name, rows = pages.RUNS_PAGE, [row for _, group in papers for row in group]
    html = {results / name: pages.render(name, here=name, there=there, papers=papers, rows=rows)}
    for variant in ran:
        page = results / "runs" / variant.paper / f"{variant.name}.html"
        html[page] = _render_variant(variant, page.parent, there)
    for page, text in html.items():
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    return [*html]


def _render_variant(variant: Variant, folder: Path, there: Iterable[str]) -> str:
    qdiscs = variant.qdiscs

    def place(row: Row) -> tuple[Any, ...]:
        run: RunFile = row["file"]
        return run.link, qdiscs.index(run.qdisc), run.cc, run.seed

    rows = sorted(variant.rows, key=place)
    links = [(link, [*group]) for link, group in groupby(rows, key=lambda row: row["file"].link)]
    return pages.render(
        "variant.html", "../../", here="", there=there, about=variant.facts, links=links,
        folder=folder, files_of=files_of,
    )  # fmt: skip
