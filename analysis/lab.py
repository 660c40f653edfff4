"""Runs of your own from Python: open a study, choose points, run them, get tidy tables.

    from qdisclab.analysis.lab import open_study

    runs = open_study("../mine").runs("rrul", link="50/10", qdisc=["cake", "fq_codel"], seed=[1, 2])
    runs.do(probes=["packets"])
    runs.summary()
    runs.probe("packets")

Runs that exist are not repeated. This is the code behind `emulate run`, and it makes the same runs,
byte for byte.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import measured, metrics, probed
from qdisclab.analysis.measures.metrics import INDUCED
from qdisclab.analysis.runs import dataset, reports
from qdisclab.analysis.runs.dataset import Dataset
from qdisclab.analysis.runs.flentfile import TCP_KINDS
from qdisclab.analysis.runs.study import StudyFolder, study_at
from qdisclab.emulation import datafile, kernel
from qdisclab.emulation.checks import notes
from qdisclab.emulation.config import catalogue
from qdisclab.emulation.datafile import read_json, read_rows
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.kinds.probes import probe
from qdisclab.emulation.kinds.probes.probe import Probe
from qdisclab.emulation.kinds.traffic.programs import Programs
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.model.run import Run, Study
from qdisclab.emulation.model.units import Duration, quantity
from qdisclab.emulation.runs import campaign
from qdisclab.emulation.runs.index import RunFile, index
from qdisclab.emulation.runs.run import Result, paths
from qdisclab.emulation.study import studies
from qdisclab.emulation.study.schema import unknown

#: The types of the keywords of `OpenStudy.runs`, with an example of each.
KINDS: Final[Mapping[str, tuple[type, str]]] = {
    "link": (str, "'10/1'"),
    "qdisc": (str, "'codel'"),
    "cc": (str, "'cubic'"),
    "seed": (Integral, "1"),
    "era": (str, "'2014'"),
    "kernel": (str, "'6.12'"),
}

#: A column that is dropped again; no axis can have its name.
CELL: Final = "cell of the run"

#: Columns of the summary of programs.
REPORTED: Final = (
    "program", "goodput_mbit_s", "retransmits", "rtt_ms", "lost_percent", "base_rtt_ms",
)  # fmt: skip

#: Goodput of the directions of TCP_KINDS.
GOODPUT: Final = tuple(metrics.GOODPUT.values())


@dataclass(frozen=True)
class Chosen(Sequence[Run]):
    """Runs that were chosen; a sequence of `emulation.model.run.Run`."""

    all: tuple[Run, ...]
    data: Path  # the folder that they are or will be in
    testbed: Mapping[str, RunFile] = field(default_factory=dict)
    """Those that a testbed made, in place of `data`, by their ids."""

    def __repr__(self) -> str:
        there = len(self) - len(self.missing)
        return f"<{len(self)} runs of {self.all[0].experiment.ref} in {self.data}, {there} there>"

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, place: Any) -> Any:
        return self.all[place]

    def do(
        self,
        jobs: int | None = None,
        again: bool = False,
        bar: bool = True,
        probes: Sequence[str] = (),
    ) -> Chosen:
        """Execute the missing runs, `jobs` at once (default: one per core).

        On a terminal and in a notebook with a progress bar, unless `bar` is False.
        `probes` are recorded in addition to those of the experiment (docs/probes.md): runs that are
        there but lack them are repeated for them. Raises the `EmulationError` of the first that
        fails. After an interruption, call it again. Prints the notes that `emulate run` prints.
        """
        if self.testbed:
            raise ConfigError("a testbed made these runs", "do()", "do those of the study")
        if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
            raise ConfigError(f"is {jobs!r}, not a number of runs", "jobs", "write e.g. jobs=2")
        more = tuple(map(Probe.parse, [probes] if isinstance(probes, str) else probes))
        for run in self.all:
            probe.check(probe.of_run(run, more), run)  # refuses before anything is booted
        notes.of_settings(self.all)
        built, root = kernel.named(self.all[0].kernel), rootfs.build()

        def report(run: Run, result: Result) -> None:
            notes.of_result(run, result, built, root, "do(again=True)")

        campaign.do(
            self.all,
            built,
            root,
            self.data,
            jobs=jobs or len(os.sched_getaffinity(0)),
            options=campaign.Options(again=again, probes=more),
            bars=bar and (sys.stderr.isatty() or "ipykernel" in sys.modules),
            on_result=report,
        )
        notes.of_seeds(self.all, self.data)
        return self

    @property
    def missing(self) -> tuple[Run, ...]:
        """Those that are not there yet."""
        return tuple(run for run in self.all if not self._record(run).exists())

    @cached_property
    def measured(self) -> Chosen:
        """What a testbed measured of the same cells (`measured/` of the study), with the same
        tables. Raises `DataError` as `tables`, for files that cannot be used, and for none."""
        if not self._theirs:
            wrong, todo = "a testbed measured none of these cells", "Put its files there"
            raise DataError.of(self._study.folder / measured.FOLDER, wrong, todo)
        cells = {run.cell: run for run in self.all}
        runs = [replace(cells[str(Path(of.run).parent)], seed=of.seed) for of in self._theirs]
        return Chosen(tuple(runs), self.data, {file.run: file for file in self._theirs})

    @cached_property
    def _theirs(self) -> list[RunFile]:
        return measured.repetitions(self._study, self._files)

    def tables(self, **options: Any) -> Dataset:
        """Return samples, flows and runs as tidy tables (`runs.dataset`), for runs of flent's form.

        The table of runs has a column for each axis that they differ in. Raises `DataError` for a
        run that cannot be read, or is not there yet.
        """
        tables = dataset.read_runs(self._files, **options)
        more = ["run", *(name for name in self.axes if name not in tables.runs)]
        return tables._replace(runs=tables.runs.merge(self.axes[more], on="run", how="left"))

    def summary(self) -> pd.DataFrame:
        """Return one row per run of flent's form: its axes, and as means over the load the goodput
        of all flows of a direction in Mbit/s and the RTT of probes less the base RTT in ms; and the
        RTT of the idle path that pings measured.

        Of traffic `programs` one row per program that reports: goodput of all its flows in Mbit/s,
        retransmissions, mean RTT in ms, what was lost, and the RTT of the idle path between its
        hosts. NaN where there is no such flow, probe or report. `same_as`, if there, is an earlier
        seed whose counters of all queues are equal: nothing was random. Where a testbed measured
        the cells (`measured`), its means are in columns `…_measured`. Raises `DataError` as
        `tables`.
        """
        means = self._numbers()
        if twins := dataset.twins(self._files):
            means["same_as"] = means["run"].map(twins).astype("Int64")
        return self._beside(self._with_axes(means, how="left"))

    def _beside(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return `table` with what the testbed measured of each row's cell in further columns."""
        by = [CELL, *({"program"} & {*table})]
        table[CELL] = table["run"].map({run.id: run.cell for run in self.all})
        if self._theirs:
            theirs = self.measured
            numbers = theirs._numbers()
            numbers[CELL] = numbers["run"].map({run.id: run.cell for run in theirs.all})
            means = numbers.groupby(by).mean(numeric_only=True).dropna(axis="columns", how="all")
            table = table.join(means.add_suffix("_measured"), on=by)
        values = measured.stated(self._study, self._files)[["cell", "metric", "direction", "value"]]
        for cell, metric, direction, value in values.itertuples(index=False, name=None):
            rows = table[CELL] == cell
            if direction and "program" in by:
                rows &= table["program"] == direction
            table.loc[rows, f"{metric}_measured"] = value
        return table.drop(columns=CELL)

    def _numbers(self) -> pd.DataFrame:
        programs = all(isinstance(run.traffic, Programs) for run in self.all)
        return self._reported() if programs else self._means()

    def _reported(self) -> pd.DataFrame:
        self._all_there()
        rows: list[dict[str, Any]] = []
        for run in self.all:
            path = self._record(run)
            record = read_json(path)
            pairs = map(tuple, record.get("measured_pairs", ()))
            idle = dict(zip(pairs, record.get("measured_base_rtts_ms", ()), strict=False))
            clients = run.traffic.clients if isinstance(run.traffic, Programs) else {}
            for program, flows in reports.whole(path).groupby("program"):
                sums = flows[["goodput_mbit_s", "retransmits"]].astype(float).sum(min_count=1)
                means = flows[["rtt_ms", "lost_percent"]].astype(float).mean()
                about = {"run": run.id, "program": program, **sums, **means}
                base_rtt_ms = idle.get(clients.get(str(program), ()), np.nan)
                rows.append({**about, "base_rtt_ms": base_rtt_ms})
        return pd.DataFrame(rows, columns=["run", *REPORTED])

    def _means(self) -> pd.DataFrame:
        samples, flows, runs = self.tables()
        flow = flows.groupby(["run", "kind"], observed=True)["goodput_mbit_s"].sum().unstack()
        loaded = metrics.in_window(samples, runs, "loaded")
        rtt = loaded.groupby("run", observed=True)["rtt_ms"].mean()
        runs = runs.set_index("run")
        columns = {
            column: flow.get(kind, np.nan) for kind, column in zip(TCP_KINDS, GOODPUT, strict=True)
        }
        records = {run.id: read_json(self._record(run)) for run in self.all}
        idle = {run: of.get("measured_base_rtts_ms", [np.nan])[0] for run, of in records.items()}
        columns |= {INDUCED: rtt - runs["base_rtt_ms"], "base_rtt_ms": pd.Series(idle)}
        return pd.DataFrame(columns, index=runs.index).reset_index()

    def rows(self) -> pd.DataFrame:
        """Return the lines of JSON that programs printed, or the table that is a run's data: one
        row per line, with its run's axes; and what iperf, iperf3, netperf and ping reported of each
        flow and interval, with the columns of `analysis.runs.reports`.

        Raises `DataError` for a run that is not there yet, and for lines that cannot be read.
        """
        self._all_there()
        parts = []
        for run in self.all:
            record = self._record(run)
            path = record.with_suffix(datafile.ROWS)
            rows = read_rows(path) if path.exists() else []
            reported = reports.read(record).dropna(axis="columns", how="all")
            both = [part for part in (pd.DataFrame(rows), reported) if len(part)]
            parts += [part.assign(run=run.id) for part in both]
        table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame({"run": []})
        return self._with_axes(table)

    def probe(self, text: str) -> pd.DataFrame:
        """Return the table that a probe recorded, `packets` or `packets:router`, of all runs.

        It has the runs' axes as columns, and the columns of docs/probes.md; that of `packets` also
        those of `analysis.measures.packets.read`. Raises `DataError` for a run that lacks it.
        """
        self._all_there()
        wanted = Probe.parse(text)
        files = [
            (run, path)
            for run in self.all
            for path in (
                sorted(self._record(run).parent.glob(self._record(run).stem + wanted.about.end()))
                if self.testbed
                else [self.data / f"{run.id}{end}" for end in probe.files((wanted,), run).values()]
            )
        ]
        table = self._with_axes(probed.tables(wanted, files))
        texts = table.select_dtypes(include=["object", "str"]).columns
        return table.astype(dict.fromkeys(texts, "category"))

    def _with_axes(
        self, table: pd.DataFrame, how: Literal["left", "right"] = "right"
    ) -> pd.DataFrame:
        """Return `table` with the runs' axes; one that is called as a column of it ends in `_`."""
        joined: pd.DataFrame = self.axes.merge(table, on="run", how=how, suffixes=("_", ""))
        joined.attrs = table.attrs
        return joined

    def _all_there(self) -> None:
        for run in self.missing[:1]:
            wrong = f"{len(self.missing)} of {len(self)} runs are not there yet"
            raise DataError.of(self._record(run), wrong, "Do them first: .do()")

    def _record(self, run: Run) -> Path:
        made = self.testbed.get(run.id)
        return made.provenance if made else paths(run, self.data)[1]

    @property
    def _files(self) -> list[RunFile]:
        self._all_there()
        files = self.testbed or index(self.data, self.all[0].experiment.paper).by_id
        return [files[run.id] for run in self.all]

    @property
    def _study(self) -> StudyFolder:
        return study_at(self.all[0].experiment.paper)

    @cached_property
    def axes(self) -> pd.DataFrame:
        """One row per run: its id and the value of each axis in which the runs differ, as text."""
        values = {
            run.id: {**dict(run.point.axes), "era": run.era, "seed": run.seed} for run in self.all
        }
        names = dict.fromkeys(name for axes in values.values() for name in axes)
        varied = [name for name in names if len({axes.get(name) for axes in values.values()}) > 1]
        rows = [
            {"run": run} | {name: of.get(name) for name in varied} for run, of in values.items()
        ]
        return pd.DataFrame(rows, columns=["run", *varied])


@dataclass(frozen=True)
class OpenStudy:
    """A study, shipped or in a folder."""

    study: Study
    folder: Path

    def __repr__(self) -> str:
        study, names = self.study, ", ".join(self.experiments)
        points = sum(len(experiment.points) for experiment in study.experiments)
        runs = sum(len(each.points) * len(each.seeds) for each in study.experiments)
        return (
            f"{study.name}: {study.title}\n"
            f"  in {self.folder}, runs in {self.data}\n"
            f"  {len(self.experiments)} experiments with {points} points, {runs} runs:\n"
            f"  {textwrap.shorten(names, 88, placeholder=' …')}\n"
            "  .runs(EXPERIMENT, …) chooses runs"
        )

    @property
    def experiments(self) -> list[str]:
        """The names of its experiments."""
        return [experiment.name for experiment in self.study.experiments]

    def runs(
        self,
        experiment: str,
        *,
        length: str | float | None = None,
        data: Path | str | None = None,
        settings: Mapping[str, Any] | None = None,
        **chosen: Any,
    ) -> Chosen:
        """Return the runs of an experiment with the values chosen, as `emulate run` has them.

        `chosen`: `link`, `qdisc`, `cc`, `seed`, `era`, `kernel`; `settings`: other axes or
        parameters, each with a value or, but for `kernel`, a list: `{"rig.base_rtt": "20 ms"}`.
        `length` is a text, "20 s", or seconds. `data` is where they lie: that of the study unless
        it is given. Raises `ConfigError` for what cannot be.
        """
        about = catalogue.experiment(f"{self._place}/{experiment}")
        more = (settings or {}).items()
        given = {axis: list(value) if _several(value) else [value] for axis, value in more}
        chosen = {name: _checked(name, value) for name, value in chosen.items()}
        if _several(chosen.get("era")):  # of which the sweep takes several as values of an axis
            given["era"] = chosen.pop("era")
        text = None if length is None else str(length)
        span = quantity(Duration.of_seconds, text, "length")
        runs = catalogue.select(about, length=span, settings=given, **chosen)
        if not runs:
            raise ConfigError("nothing is chosen", about.id, "see its points: emulate list")
        return Chosen(runs, Path(data) if data is not None else self.data)

    @property
    def data(self) -> Path:
        """Where its runs lie: a study of one's own keeps them in its folder."""
        return studies.data_folder(self.folder)

    @property
    def _place(self) -> str:
        return self.study.name if self.folder.parent == studies.SHIPPED else str(self.folder)


def open_study(name: str | Path) -> OpenStudy:
    """Open a shipped study by its name, or any by its folder; `ConfigError` where there is none."""
    folder = studies.add(name)
    return OpenStudy(catalogue.load(folder), folder)


def _several(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)


def _checked(name: str, value: Any) -> Any:
    """Return a value of `OpenStudy.runs`, or a list of them; `ConfigError` for one of another kind
    or of another name."""
    if name not in KINDS:
        what, todo = unknown("option", name, KINDS)
        raise ConfigError(what, "runs()", f"{todo}; an axis: settings={{{name!r}: …}}")
    several = _several(value) and name != "kernel"
    values = list(value) if several else [value]
    kind, example = KINDS[name]
    for given in values if value is not None else ():
        if not isinstance(given, kind) or isinstance(given, bool):
            raise ConfigError(f"is {given!r}", name, f"write e.g. {name}={example}")
    return values if several else value
