"""Where the project's own files are: recipes of kernels, studies, notebooks, the schema.

In a checkout they are beside the packages, and when installed, too: the folder `qdisclab` of the
wheel has all that a checkout has at its top.
"""

from importlib.resources import files
from pathlib import Path
from typing import Final

#: The folder with the packages: a checkout, or the installed `qdisclab`.
ROOT: Final = Path(str(files("qdisclab.emulation"))).resolve().parent


def folder(name: str) -> Path:
    """Return the project's folder of that name: qdisc, studies, notebooks or docs."""
    return ROOT / name


def data() -> Path:
    """Return the folder of the runs that ship, and of new ones of shipped studies.

    A wheel has none: `data` below the current folder takes its place.
    """
    shipped = folder("data")
    return shipped if shipped.is_dir() else Path("data")
