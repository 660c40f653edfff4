"""What every figure, or run, does once, done before the first: imports, fonts, templates, digests.

A process that has rehearsed (`workflow.forks`) hands it all on to its forks, for which it is a
fifth of what they would do.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from emulation.config import catalogue
from emulation.errors import EmulationError
from emulation.study import studies

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"

#: What figures, their notebooks and kernels import without being asked, or as they start.
IMPORTED = (
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.logger",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "IPython.lib.lexers",
    "analysis.measures.__main__",
    "analysis.site.claims",
    "analysis.site.execute",
    "analysis.site.outputs",
    "analysis.site.report",
    "analysis.site.verdicts",
    "ipykernel.debugger",
    "ipykernel.kernelapp",
    "ipykernel.kernelspec",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib.pyplot",
    "psutil",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "scipy.stats",
    "seaborn",
    "sqlite3",
    "tornado.platform.asyncio",
    "workflow.kernels",
    "xml.dom.expatbuilder",
)

#: The templates of the report's pages.
PAGES = ("index.html", "paper.html", "runs.html", "variant.html")


def rehearse_runs() -> None:
    """What `emulate run` does first."""
    importlib.import_module("emulate.commands.run")
    _catalogues()


def rehearse() -> None:
    """Do all of it."""
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # no word that nobody debugs
    for module in IMPORTED:
        importlib.import_module(module)
    _notebooks()
    _catalogues()
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder:
        _picture(Path(folder))
    _page()


def _notebooks() -> None:
    """Import what the notebooks do, and know which code each kind of measure is made of."""
    import pandas as pd

    from analysis import sources
    from analysis.measures import registry, store, table
    from analysis.runs import study

    notebooks = sorted(NOTEBOOKS.glob("*.ipynb"))
    for path in sources.closure(notebooks, without=["emulation"], root=ROOT):
        if path.suffix == ".py":
            parts = path.relative_to(ROOT).with_suffix("").parts
            importlib.import_module(".".join(parts).removesuffix(".__init__"))
    for known in study.known():
        for measure in registry.registry_of(known).measures.values():
            store.code(known, measure)
    nothing = pd.DataFrame(columns=list(table.MEASURED.columns), dtype=str)
    table.MEASURED.validate(nothing.astype({"seed": int, "value": float}))


def _catalogues() -> None:
    """Read the studies, which forks read again where they have changed since."""
    with suppress(EmulationError):  # which a figure of that study says, too
        for folder in studies.known().values():
            catalogue.load(folder)


def _picture(folder: Path) -> None:
    from matplotlib.figure import Figure

    from analysis.plots import style

    def draw(palette: style.Palette) -> Figure:
        figure = Figure(layout="constrained")
        axes = figure.subplots()
        axes.plot([1, 100], [1, 100], color=palette.ink, label="a")
        axes.set(xlabel="Time (s)", ylabel="Goodput (Mbit/s)", xscale="log", title="title")
        axes.legend()
        return figure

    style.save(draw, folder / "figure")


def _page() -> None:
    from analysis.site import notebookpage, pages

    for name in PAGES:
        pages.common().get_template(name)
    notebookpage.render(NOTEBOOKS / "rrul.ipynb", "title")
