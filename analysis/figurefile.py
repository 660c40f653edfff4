"""A figure is a notebook and a parameter file, `notebooks/figures/<paper>/<figure>.yaml`.

Keys: `notebook`, `title`, `caption`, `parameters`. The parameters are those of papermill; of them
`paper`, `experiment`, `link`, `qdiscs` and `cc` also say which runs the figure needs. A figure of
measurements that are no runs has `paper` and `table`, a file below the data root, in their place.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from analysis.errors import DataError

KEYS: Final = ("notebook", "title", "caption", "parameters")
DATA_KEYS: Final = ("paper", "experiment", "link", "qdiscs", "cc")


class Cell(NamedTuple):
    """One point of a sweep, all of whose runs belong to the figure."""

    paper: str
    experiment: str
    link: str  # "10/1"
    qdisc: str
    cc: str

    @property
    def folder(self) -> str:
        """Where the cell's runs lie below the data root."""
        link = self.link.replace("/", "-")
        return f"{self.paper}/{self.experiment}/{link}/{self.qdisc}/{self.cc}"


@dataclass(frozen=True)
class FigureFile:
    """One parameter file, checked."""

    path: Path
    notebook: Path
    title: str
    caption: str
    parameters: dict[str, Any]

    @property
    def name(self) -> str:
        """`gbw2015/fig2a`: also the folder of its results."""
        return f"{self.parameters['paper']}/{self.path.stem}"

    def cells(self) -> list[Cell]:
        """The cells that the figure needs, in the order of the file; none where it has a table."""
        if "table" in self.parameters:
            return []
        paper, experiment, link, qdiscs, cc = (self.parameters[key] for key in DATA_KEYS)
        return [Cell(paper, experiment, link, qdisc, cc) for qdisc in qdiscs]


def read_figure(path: Path) -> FigureFile:
    """Read a parameter file.

    Raises DataError when it is missing, not YAML, has unknown or lacks required keys, or names a
    notebook that does not exist.
    """
    remedy = "Compare it with the other files in its folder"
    try:
        content = YAML(typ="safe").load(path)
    except FileNotFoundError as error:
        raise DataError.of(path, "no such file", "`notebooks/figures` has the figures") from error
    except YAMLError as error:
        raise DataError.of(path, f"not YAML ({error})", remedy) from error
    if not isinstance(content, dict) or set(content) != set(KEYS):
        given = sorted(content) if isinstance(content, dict) else content
        raise DataError.of(path, f"has the keys {given}, not {sorted(KEYS)}", remedy)
    parameters = content["parameters"]
    needed = ("paper",) if "table" in parameters else DATA_KEYS
    missing = [key for key in needed if key not in parameters]
    if missing:
        raise DataError.of(path, f"parameters lack {', '.join(missing)}", remedy)
    notebook = path.parents[2] / f"{content['notebook']}.ipynb"
    if not notebook.is_file():
        raise DataError.of(path, f"names the notebook {notebook}, which does not exist", remedy)
    return FigureFile(path, notebook, content["title"], content["caption"].strip(), parameters)
