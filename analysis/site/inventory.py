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
from typing import Any, Final
from urllib.parse import quote

from analysis.errors import DataError
from analysis.runs import study
from analysis.runs.dataset import RunFile, all_runs, usable
from analysis.runs.files import read_json
from analysis.runs.order import in_order
from analysis.site import pages
from analysis.words import ranges
from emulation.config import remarks
from emulation.config.catalogue import all_labels
from emulation.config.request import run_of
from emulation.errors import ConfigError
from emulation.model.run import Experiment

CLEAN: Final = "clean"


@dataclass(frozen=True)
class Row:
    """One run."""

    file: RunFile
    reduced: bool  # to its provenance and measures
    virtual_s: float
    wall_s: float
    length_s: float  # of load
    identity: str  # digest of all that its bytes depend on
    kernel: str  # digest
    release: str
    tools: tuple[tuple[str, str], ...]  # name, version
    verdict: str
    notes: tuple[str, ...]  # on settings that do not do what they seem to, and on its guest

    def files(self, folder: Path) -> list[tuple[str, str]]:
        """Return what its files are, and their addresses as seen from `folder`."""
        files = [("data", self.file.data), ("provenance", self.file.provenance)]
        if self.reduced:
            files = [("provenance and measures", self.file.provenance)]
        return [
            (text, quote(Path(os.path.relpath(path, folder)).as_posix())) for text, path in files
        ]


@dataclass(frozen=True)
class Variant:
    """The runs of an experiment in an era."""

    paper: str
    name: str  # "rrul@2014"
    rows: tuple[Row, ...]

    @property
    def notes(self) -> dict[tuple[str, str, str], tuple[str, ...]]:
        """The notes on its runs by link, qdisc and congestion control, where there are any."""
        return {
            (row.file.link, row.file.qdisc, row.file.cc): row.notes
            for row in self.rows
            if row.notes
        }

    @property
    def facts(self) -> dict[str, Any]:
        """What the templates say of them all."""
        virtual_s, wall_s = (sum(getattr(r, n) for r in self.rows) for n in ("virtual_s", "wall_s"))
        kernels = sorted({(row.release, row.kernel) for row in self.rows})
        tools: dict[str, list[str]] = {}
        for tool, version in sorted({pair for row in self.rows for pair in row.tools}):
            tools.setdefault(tool, []).append(version)
        return {
            "paper": self.paper,
            "variant": self.name,
            "runs": len(self.rows),
            "seeds": ranges(sorted({row.file.seed for row in self.rows})),
            "lengths": ", ".join(
                f"{length:g}" for length in sorted({r.length_s for r in self.rows})
            ),
            "virtual_s": virtual_s,
            "wall_s": wall_s,
            "factor": f"{virtual_s / wall_s:.1f}" if wall_s else "–",
            "kernels": ", ".join(dict.fromkeys(release for release, _ in kernels)),
            "notes": list(dict.fromkeys(note for row in self.rows for note in row.notes)),
            "damaged": sum(row.verdict != CLEAN for row in self.rows),
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
    rows, notes = [], dict[tuple[str, str, str], tuple[str, ...]]()
    for file in files:
        record = read_json(file.provenance)
        cell = file.link, file.qdisc, file.cc
        if cell not in notes:
            notes[cell] = _notes(record, experiments)
        rows.append(_row(file, record, notes[cell]))
    return tuple(rows)


def _notes(record: Mapping[str, Any], experiments: Mapping[str, Experiment]) -> tuple[str, ...]:
    """Return the notes of the console before a run; none on a run that its study no longer has."""
    try:
        return tuple(remarks.of_run(run_of(record, experiments)))
    except ConfigError:
        return ()


def _row(file: RunFile, record: Mapping[str, Any], notes: tuple[str, ...]) -> Row:
    with usable(file):
        identity = record["identity"]
        reduced = file.is_reduced
        same = reduced or _digest(file.data) == record["data_sha256"]
        clean = CLEAN if record["kernel_log"] == "clean" else str(record["kernel_log"])
        return Row(
            file=file,
            reduced=reduced,
            virtual_s=float(record["virtual_s"]),
            wall_s=float(record["wall_s"]),
            length_s=float(record["length_s"]),
            identity=hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12],
            kernel=str(identity["kernel"]["digest"]),
            release=str(identity["kernel"]["release"]),
            tools=tuple(sorted(identity["root"]["tools"].items())),
            verdict=clean if same else "data damaged",
            notes=(*notes, *record.get("notes", ())),
        )


def _digest(data: Path) -> str:
    """Return the SHA-256 of a file; empty where there is none."""
    return hashlib.sha256(data.read_bytes()).hexdigest() if data.is_file() else ""


def write_runs(ran: Sequence[Variant], results: Path, there: Iterable[str]) -> list[Path]:
    """Write runs.html and a page per variant into `results`, where any ran; return their paths."""
    shutil.rmtree(results / "runs", ignore_errors=True)
    if not ran:
        (results / pages.RUNS_PAGE).unlink(missing_ok=True)
        return []
    papers = [
        (pages.of_paper(paper), [variant.facts for variant in group])
        for paper, group in groupby(ran, key=lambda variant: variant.paper)
    ]
    page = results / pages.RUNS_PAGE
    rows = [row for _, group in papers for row in group]
    text = pages.render(page.name, here=page.name, there=there, papers=papers, rows=rows)
    page.write_text(text, encoding="utf-8")
    written = [page]
    for variant in ran:
        page = results / "runs" / variant.paper / f"{variant.name}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(_render_variant(variant, page.parent, there), encoding="utf-8")
        written.append(page)
    return written


def _render_variant(variant: Variant, folder: Path, there: Iterable[str]) -> str:
    rank = {name: n for n, name in enumerate(in_order({r.file.qdisc for r in variant.rows}))}
    rows = sorted(
        variant.rows,
        key=lambda row: (row.file.link, rank[row.file.qdisc], row.file.cc, row.file.seed),
    )
    links = [(link, [*group]) for link, group in groupby(rows, key=lambda row: row.file.link)]
    return pages.render(
        "variant.html", "../../", here="", there=there, about=variant.facts, links=links,
        folder=folder,
    )  # fmt: skip
