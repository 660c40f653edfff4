"""Import what figures, their kernels and runs need, and do what each of them does first.

The fork server of `workflow.steps` imports this module, and all of its processes share the result.
"""

import gc
import importlib
import os
import pkgutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pandas as pd

from qdisclab import analysis
from qdisclab.emulation import kinds, project
from qdisclab.emulation.config import catalogue
from qdisclab.emulation.errors import EmulationError
from qdisclab.emulation.study import studies

#: What figures, their notebooks, kernels and runs import without being asked, or as they start.
IMPORTED = (
    "IPython.core.completerlib", "IPython.core.debugger", "IPython.core.logger",
    "IPython.core.oinspect", "IPython.extensions.storemagic", "IPython.lib.lexers",
    "ipykernel.debugger", "ipykernel.kernelapp", "ipykernel.kernelspec",
    "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "matplotlib.pyplot",
    "psutil", "pyarrow.dataset", "pyarrow.parquet", "qdisclab.emulate.commands.run",
    "scipy.stats", "seaborn", "sqlite3", "tornado.platform.asyncio", "workflow.kernels",
    "xml.dom.expatbuilder",
)  # fmt: skip


def load() -> None:
    """Do all of it."""
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # no word that nobody debugs
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as ipykernel does
    for name in IMPORTED:
        importlib.import_module(name)
    for package in (analysis, kinds):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    _read_studies()
    _measure_nothing()
    with tempfile.TemporaryDirectory(prefix="preload-") as folder:
        _draw(Path(folder))
    _write_a_page()


def _read_studies() -> None:
    """Read the studies, which are read again where they have changed since."""
    with suppress(EmulationError):  # which a figure of that study says, too
        for folder in studies.known().values():
            catalogue.load(folder)


def _measure_nothing() -> None:
    """Know the measures of all studies and their code, and check a table without rows."""
    from qdisclab.analysis.measures import registry, table
    from qdisclab.analysis.runs import study
    from qdisclab.analysis.sources import digest

    for folder in study.known():
        for measure in registry.registry_of(folder).measures.values():
            digest(measure.files(folder.folder))
    nothing = pd.DataFrame(columns=list(table.MEASURED.columns), dtype=str)
    table.MEASURED.validate(nothing.astype({"seed": int, "value": float}))


def _draw(folder: Path) -> None:
    from matplotlib.figure import Figure

    from qdisclab.analysis.plots import style

    def draw(palette: style.Palette) -> Figure:
        figure = Figure(layout="constrained")
        axes = figure.subplots()
        axes.plot([1, 100], [1, 100], color=palette.ink, label="a")
        axes.set(xlabel="Time (s)", ylabel="Goodput (Mbit/s)", xscale="log", title="title")
        axes.legend()
        return figure

    style.save(draw, folder / "figure")


def _write_a_page() -> None:
    from qdisclab.analysis.site import notebookpage, pages

    environment = pages.common()
    for name in environment.list_templates(extensions=["html"]):
        environment.get_template(name)
    notebookpage.render(min(project.folder("notebooks").glob("*.ipynb")), "title")


load()
gc.freeze()  # pages of memory that all processes share
