"""Make one figure: `python -m qdisclab.analysis.site.execute studies/mine/figures/fig2a.yaml`.

papermill runs the notebook with the parameters of the file, nbconvert renders it. Everything goes
to `<results>/<paper>/<figure>/`: figure.svg, figure-dark.svg, figure.png, table.csv, summary.json,
notebook.ipynb and notebook.html. Exit status 1 when the figure cannot be made, 2 when its file is
wrong.
"""

import argparse
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import papermill

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs.dataset import cells_of
from qdisclab.analysis.runs.study import study_at
from qdisclab.analysis.site import notebookpage
from qdisclab.analysis.site.figurefile import FigureFile, check_values, read_figure
from qdisclab.analysis.site.outputs import SUMMARY, read_summary, write_summary
from qdisclab.analysis.site.parameters import RUNS
from qdisclab.emulation import project
from qdisclab.emulation.host.storage import command
from qdisclab.emulation.study import trust
from qdisclab.emulation.study.schema import unknown

NOTEBOOK = "notebook.ipynb"
PAGE = "notebook.html"


def execute(figure: FigureFile, data_root: Path, results: Path, kernels: str | None = None) -> Path:
    """Run the figure's notebook on `data_root` and return the folder of its results.

    `kernels` is the class that manages its kernel, where that is not Jupyter's own. On a terminal
    there is a bar of its progress.
    The folder is emptied first, and complete when its notebook.html exists. Raises DataError when
    the notebook fails; the notebook with the failing cell stays in the folder.
    """
    if figure.notebook.resolve().is_relative_to(figure.study.resolve()):
        trust.require(figure.study)
    check_values(figure, data_root)
    folder = (results / figure.name).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    parameters = {
        **figure.parameters,
        "title": figure.form.title,
        "caption": figure.form.caption.strip(),
        "data_root": str(data_root.resolve()),
        "output": str(folder),
    }
    defaults = papermill.inspect_notebook(str(figure.notebook))
    # what says which runs it needs it need not read, but for their length, which is their folder's
    unread = RUNS - {"length"}
    for name in figure.parameters.keys() - defaults.keys() - unread:
        wrong, todo = unknown("parameter", name, defaults)
        raise DataError.of(figure.path, f"{wrong} of the notebook", todo)
    of_study = {"claims": figure.claims, "study": str(study_at(figure.study).folder.resolve())}
    parameters |= {name: value for name, value in of_study.items() if name in defaults}
    written = folder / NOTEBOOK
    manager = {"kernel_manager_class": kernels} if kernels else {}
    # The notebook's process imports the code that draws it, not that of another checkout.
    paths = [str(project.ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, paths)))
    os.environ["PYTHONPYCACHEPREFIX"] = trust.bytecode()
    try:
        papermill.execute_notebook(
            str(figure.notebook),
            str(written),
            parameters,
            progress_bar=sys.stderr.isatty(),
            cwd=str(figure.notebook.parent),
            kernel_name="python3",
            start_timeout=600,
            **manager,
        )
    except papermill.PapermillExecutionError as error:
        (folder / SUMMARY).unlink(missing_ok=True)
        wrong = f"cell {error.exec_count} failed: {error.ename}: {error.evalue}".rstrip(".")
        raise DataError.of(figure.path, wrong, f"{written} shows the cell") from error
    summary, alt = folder / SUMMARY, ""
    if summary.is_file():
        facts = read_summary(summary)
        facts = replace(facts, claims=figure.claims, section=figure.form.section)
        write_summary(summary, replace(facts, lacking=_lacking(figure, data_root)))
        alt = facts.alt
    page = notebookpage.render(written, figure.form.title, alt)
    (folder / PAGE).write_text(page, encoding="utf-8")
    return folder


def _lacking(figure: FigureFile, root: Path) -> list[dict[str, Any]]:
    """Return the cells without a run below `root`, of settings that others have runs of; an
    ablation does without."""
    cells = [] if figure.ablation else figure.cells()
    runs = {cell: cell in cells_of(root, cell.paper) for cell in cells}
    shown = {(cell.era, cell.cc) for cell, there in runs.items() if there}
    return [
        cell._asdict() for cell, there in runs.items() if not there and (cell.era, cell.cc) in shown
    ]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m qdisclab.analysis.site.execute", description=__doc__
    )
    parser.add_argument("figure", type=Path, help="parameter file of the figure")
    parser.add_argument(
        "--length",
        action="append",
        default=[],
        help="of the runs, in place of the paper's: 20s; of those of some experiments: rrul=20s, "
        "for each",
    )
    parser.add_argument("--data", type=Path, default=Path("data"), help="root of the runs")
    parser.add_argument("--results", type=Path, default=Path("results"), help="where results go")
    return parser.parse_args(arguments)


def length_of(given: list[str]) -> dict[str, str | dict[str, str]]:
    """Return the notebook's parameter `length`, if it is given."""
    if given and "=" in given[0]:
        return {"length": dict(text.split("=") for text in given)}
    return {"length": given[0]} if given else {}


@command
def draw(given: argparse.Namespace, kernels: str | None = None) -> int:
    """Draw the figure of the command line; return the exit status. `kernels` as in `execute`."""
    figure = read_figure(given.figure)
    figure = replace(figure, parameters={**figure.parameters, **length_of(given.length)})
    print(execute(figure, given.data, given.results, kernels))
    return 0


if __name__ == "__main__":
    sys.exit(draw(parse()))
