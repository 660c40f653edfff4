"""The panel of `notebooks/explore.ipynb`: choose a run, watch it, compare it with the paper.

The panel is drawn from the thread of the notebook's kernel; the run is in one of its own
(`emulation.runs.live`), so that cells can be executed meanwhile.
"""

import asyncio
import html
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import ipywidgets as widgets
import pandas as pd

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.live import readings
from qdisclab.analysis.measures import metrics
from qdisclab.analysis.plots import style
from qdisclab.analysis.plots.panels import PUBLISHED_CC
from qdisclab.analysis.runs import dataset
from qdisclab.analysis.runs.published import read_published
from qdisclab.analysis.runs.settings import TCP, linux_of
from qdisclab.analysis.words import NONE, number
from qdisclab.emulation.config import explore, ownfile, remarks
from qdisclab.emulation.config.explore import Choice
from qdisclab.emulation.errors import EmulationError, Interrupted
from qdisclab.emulation.model.era import ERAS
from qdisclab.emulation.model.run import Point
from qdisclab.emulation.model.units import Duration, Rate, UnitError
from qdisclab.emulation.runs.live import Live

LOOK_S: Final = 0.25  # between two looks at the run
DRAW_SHARE: Final = 0.3  # of the time at most goes into drawing
QUANTITIES: Final = {
    "latency": "induced latency (ms)",
    "download": "download (Mbit/s)",
    "upload": "upload (Mbit/s)",
}
_ERROR: Final = (
    '<div role="alert" style="border-left: 4px solid #b3261e; padding: .4em .8em; '
    'white-space: pre-wrap; line-height: 1.4">{}</div>'
)

#: Quantity -> its value: latency (ms, induced), download, upload (Mbit/s).
Values = Mapping[str, float]


class Explorer:
    """Widgets to choose a run, and what it shows. `panel` is to be displayed, and `files`: where
    the last run's are. The run before it stays beside it.

    `data`: the shipped runs; `output`: the folder that takes the runs' files; `first`: what is
    chosen at first; where it cannot be, the panel says so; `published`: the file of a paper's
    values, if any.
    """

    def __init__(
        self, data: Path, output: Path, first: Choice, published: Path | None = None
    ) -> None:
        self.published = published
        self._failure: Exception | None = None
        self.data, self.output = data, output
        self.run: Live | None = None
        self._ran = first  # what `run` is
        self._ports: Sequence[tuple[str, str]] = ()  # with its queues under test
        self._earlier: tuple[readings.Before, readings.Numbers] | None = None
        self._choice = first
        self._beside: list[readings.Beside] = []
        self._columns: dict[str, Values] = {}
        self._drawn: tuple[float, float] = (0.0, 0.0)  # when, how long it took
        self.inputs = _inputs(first)
        self.start = widgets.Button(description="Run", button_style="primary", icon="play")
        self.cancel = widgets.Button(description="Cancel", icon="stop", disabled=True)
        self.bar = widgets.FloatProgress(min=0, max=1, layout=widgets.Layout(width="24em"))
        self.progress = widgets.HTML()
        self.note = widgets.HTML()
        self.error = widgets.HTML()
        self.image = widgets.Image(format="png", layout=widgets.Layout(max_width="100%"))
        self.image.layout.visibility = "hidden"
        self.table = widgets.HTML()
        self.files = widgets.HTML("no run yet: press Run above")
        self.start.on_click(self._on_start)
        self.cancel.on_click(lambda button: self.stop())
        for widget in self.inputs.values():
            widget.observe(lambda change: self._announce(), names="value")
        inputs, wrapping = [*self.inputs.values()], widgets.Layout(flex_flow="row wrap")
        rows = [widgets.HBox(inputs[at : at + 3], layout=wrapping) for at in (0, 3, 6)]
        buttons = [self.start, self.cancel, self.bar, self.progress]
        rows += [self.note, widgets.HBox(buttons, layout=wrapping)]
        self.panel = widgets.VBox([*rows, self.error, self.image, self.table])
        self._announce()

    def choice(self) -> Choice:
        """Return what the widgets say; raise `UnitError` for anything but a quantity."""
        values = {name: widget.value for name, widget in self.inputs.items()}
        for name, unit in (("down", "Mbit/s"), ("up", "Mbit/s")):
            values[name] = Rate.parse(f"{values[name]:g} {unit}")
        for name, unit in (("base_rtt", "ms"), ("length", "s")):
            values[name] = Duration.parse(f"{values[name]:g} {unit}")
        return replace(self._choice, **values)

    def begin(self) -> bool:
        """Start the chosen run; return whether it could be started. Errors are shown."""
        self.error.value = self.table.value = ""
        try:
            self._choice = self.choice()
            run = self._choice.run()
            self._look_up()
        except (EmulationError, UnitError) as error:
            self._fail(error)
            return False
        self.start.disabled, self.cancel.disabled = True, False
        self._keep()
        self._ran = self._choice
        self._ports = [(port.node, port.interface) for port in run.topology.queues()]
        self.run = Live(run, self.output).start()
        return True

    def _keep(self) -> None:
        """Keep what the last run came to, to draw it beside the next."""
        if self.run is None or self.run.result is None:
            return
        of, so_far = self._ran, readings.readings(dict(self.run.outputs), self._ports)
        label = f"{of.qdisc}, seed {of.seed}, before"
        self._earlier = readings.Before(so_far, of.qdisc, label), readings.numbers(so_far, of)

    def stop(self) -> None:
        """Stop the run that goes on."""
        if self.run is not None:
            self.run.stop()

    def watch(self) -> Live:
        """Start the chosen run and return when it has ended: for programs.

        Raises what keeps it from being started.
        """
        if not self.begin():
            assert self._failure is not None
            raise self._failure
        assert self.run is not None
        self.run.wait()
        self._show()
        return self.run

    def _on_start(self, button: widgets.Button) -> None:
        if self.begin():
            # which would be forgotten otherwise
            self._task = asyncio.get_event_loop().create_task(self._follow())

    async def _follow(self) -> None:
        assert self.run is not None
        while not self.run.finished:
            self._show()
            await asyncio.sleep(LOOK_S)
        self._show()

    def _show(self) -> None:
        """Bring the panel up to date."""
        run = self.run
        assert run is not None
        finished = run.finished  # before all that is read, so that the last look sees all
        self._progress(run)
        when, took = self._drawn
        if finished or time.monotonic() - when > max(1.0, took / DRAW_SHARE):
            began = time.monotonic()
            self._draw(run)
            self._drawn = (time.monotonic(), time.monotonic() - began)
        if finished:
            self.start.disabled, self.cancel.disabled = False, True
            if run.error is not None:
                self._fail(run.error)
            elif made := run.result:
                paths = "<br>".join(html.escape(str(of)) for of in (made.data, made.provenance))
                self.files.value = f"The last run's files:<br>{paths}"

    def _progress(self, run: Live) -> None:
        done = run.result is not None
        self.bar.max = run.total_s
        self.bar.value = run.total_s if done else min(run.virtual_s, run.total_s)
        self.bar.bar_style = "success" if done else "danger" if run.error else "info"
        factor = f" · ×{run.virtual_s / run.wall_s:.1f}" if run.wall_s and run.virtual_s else ""
        self.progress.value = (
            f"<span>virtual {run.virtual_s:.0f} of about {run.total_s:.0f} s · "
            f"wall {run.wall_s:.0f} s{factor} · {html.escape(run.doing)}</span>"
        )

    def _draw(self, run: Live) -> None:
        so_far = readings.readings(dict(run.outputs), self._ports)
        if not so_far.ping_s.size:
            return
        before, columns, beside = None, self._columns, self._beside
        if self._earlier:
            before, then = self._earlier
            columns = {before.label: dict(zip(QUANTITIES, then, strict=True)), **columns}
            means = then.latency_ms, then.upload_mbit_s
            beside = [readings.Beside(before.label, *means, False, before.qdisc), *beside]
        with style.styled("light") as palette:
            drawn = readings.figure(so_far, palette, self._choice, beside, before)
            self.image.value = readings.png(drawn)
        self.image.layout.visibility = "visible"
        now = dict(zip(QUANTITIES, readings.numbers(so_far, self._choice), strict=True))
        columns = {"this run": now, **columns}
        table = pd.DataFrame(columns, index=[*QUANTITIES], dtype=float).rename(index=QUANTITIES)
        self.table.value = str(table.to_html(float_format=number, na_rep=NONE, border=0))

    def _look_up(self) -> None:
        """Return what the paper and the shipped runs have of the chosen cell."""
        self._beside, self._columns = [], {}
        cell = self._choice.published()
        if cell is None:
            return
        printed = published(cell, self.published) if self.published else {}
        paper, era = self._choice.run().experiment.paper, self._choice.era
        runs, medians = shipped(paper, cell, era, self.data)
        columns = {"published": printed, f"shipped, median of {runs}": medians}
        self._columns = {label: values for label, values in columns.items() if values}
        self._beside = [
            readings.Beside(label, values["latency"], values["upload"], label == "published")
            for label, values in self._columns.items()
        ]

    def _announce(self) -> None:
        """Say what the choice is: a cell of the paper, or how its values come about."""
        try:
            text = self._remarks(self.choice())
        except (EmulationError, UnitError) as error:
            text = str(error)
        self.note.value = f"<i>{html.escape(text)}</i>"

    def _remarks(self, chosen: Choice) -> str:
        run = chosen.run()
        paper = run.experiment.paper
        if chosen.published() is None:
            text = "No cell of the paper: nothing to compare with."
        elif chosen.qdisc in ownfile.drawn():
            text = f"A link and load of {paper}, with a qdisc of your own."
        else:
            text = f"A cell of {paper}; its own length is {run.experiment.traffic.length}."
        return "".join((text, *(f" Note: {note}." for note in remarks.of_run(run))))

    def _fail(self, error: Exception) -> None:
        self._failure = error
        text = "stopped" if isinstance(error, Interrupted) else f"{type(error).__name__}: {error}"
        self.error.value = _ERROR.format(html.escape(text))


def _inputs(first: Choice) -> dict[str, Any]:
    """Return the widgets by the names of what they choose, in rows of three."""
    numbers = {
        "down": (widgets.FloatText, first.down.mbit_per_s, "down, Mbit/s"),
        "up": (widgets.FloatText, first.up.mbit_per_s, "up, Mbit/s"),
        "base_rtt": (widgets.FloatText, first.base_rtt.ms, "base RTT, ms"),
        "flows": (widgets.IntText, first.flows, "flows each way"),
        "length": (widgets.FloatText, first.length.seconds, "load, s"),
        "seed": (widgets.IntText, first.seed, "seed"),
    }
    titles = {
        "qdisc": ("qdisc", {name: name for name in explore.qdiscs(first.experiment)}),
        "era": ("era", {era: linux_of(era) for era in reversed(ERAS)}),
        "cc": ("TCP", {cc: TCP[cc] for cc in ("cubic", "reno", "bbr")}),
    }
    look = {"style": {"description_width": "8.5em"}, "layout": widgets.Layout(width="18em")}
    inputs: dict[str, Any] = {}
    for name, (text, of_value) in titles.items():
        value = getattr(first, name)  # which can be chosen, there or not
        there = of_value | {value: of_value.get(value, value)}
        options = [(title, key) for key, title in there.items()]
        inputs[name] = widgets.Dropdown(options=options, value=value, description=text, **look)
    for name, (kind, value, text) in numbers.items():
        inputs[name] = kind(value=value, description=text, **look)
    return inputs


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
    tables = dataset.read_runs(runs, kinds=["tcp_download", "tcp_upload", "ping_icmp"], jobs=1)
    table = metrics.run_metrics(tables, window="loaded", probe="ping_icmp")
    columns = {"latency": metrics.INDUCED, **metrics.GOODPUT}
    return len(runs), {name: float(table[column].median()) for name, column in columns.items()}
