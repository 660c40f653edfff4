"""The form of a figure's file, and the parameters of notebooks: what the cell of that tag has."""

import ast
import json
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, PlainValidator

from qdisclab.analysis.errors import DataError, kind_of, require_kind
from qdisclab.emulation import project
from qdisclab.emulation.study import studies
from qdisclab.emulation.study.schema import Flaws, Section, matching, unknown

NAME: Final = "[A-Za-z0-9_-]{1,100}"  # of a figure, a folder; of a notebook
NOTEBOOKS: Final = project.folder("notebooks")
SWITCHES: Final = "switches"  # in place of eras: all that differ from another by one of theirs


def of(*kinds: str, also: Sequence[str] = ()) -> PlainValidator:
    """Return a validator of values that are of one of `kinds` and not empty, or among `also`."""

    def check(value: Any) -> Any:
        empty = not value or not str(value).strip()
        if value not in also and (empty or kind_of(value) not in kinds):
            what = f"is {value!r}, not a {' or '.join(kinds)}"
            raise Flaws(((), what, "compare it with other figures; a number is text in quotes"))
        return value

    return PlainValidator(check)


Text = Annotated[str, of("text")]
Texts = Annotated[Sequence[str], of("list of texts")]
ListsOfTexts = Annotated[
    Sequence[str] | Mapping[str, Sequence[str]], of("list of texts", "mapping to lists of texts")
]


class Parameters(Section):
    """What a figure's file says of its runs, beside the notebook's own parameters."""

    model_config = ConfigDict(extra="allow")

    paper: Text
    table: Text = ""
    experiment: Text = ""
    experiments: Annotated[Any, of("list of texts", "mapping to texts")] = ()
    link: Text = ""
    links: ListsOfTexts = ()
    qdiscs: ListsOfTexts = ()
    eras: Annotated[Any, of("list of texts", also=[SWITCHES])] = ()
    ccs: Texts = ()
    length: Annotated[Any, of("text", "mapping to texts")] = ""
    probe: Annotated[Any, of("text", "list of texts")] = ()
    unloaded: Text = ""


class Form(Section):
    """A parameter file as it is written."""

    notebook: Annotated[Text, matching(NAME, "its name alone", "no folder and no .ipynb")]
    title: Text
    caption: Text
    parameters: Parameters
    without: dict[str, ListsOfTexts] = Field(default_factory=dict)
    claims: Texts = ()
    section: Text = ""


RUNS: Final = frozenset(Parameters.model_fields)

#: What a figure's file gives every notebook, also one that does not read it.
OF_FIGURES: Final = RUNS | {"title", "caption", "data_root", "output"}


def defaults(notebook: Path) -> dict[str, Any]:
    """Return what the parameters of a notebook are where nobody gives others."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    (cell,) = (cell for cell in cells if "parameters" in cell["metadata"].get("tags", []))
    values: dict[str, Any] = {}
    exec("".join(cell["source"]), {}, values)  # noqa: S102 - what the notebook itself executes
    return values


def notebook_called(name: str, study: object = None) -> Path:
    """Return the notebook of that name: of a study's folder, of the repository or of a shipped
    study. Raises DataError where there is none."""
    file = f"{name}.ipynb"
    folders = [Path(str(study), "notebooks"), NOTEBOOKS, *studies.SHIPPED.glob("*/notebooks")]
    for folder in folders:
        if (folder / file).is_file():
            return folder / file
    raise DataError.of(folders[0], f"has no {file}", "Write the notebook's own name")


def require_kinds(notebook: str, given: MutableMapping[str, Any]) -> None:
    """Raise DataError where `given`, the names of a notebook that runs, has a parameter of another
    kind than the notebook of that name has it, or papermill was given one that it does not have.

    Defaults that are paths begin in the notebook's folder; where it runs elsewhere, they are made
    to. The study in the folder `study` is known from then on.
    """
    path = notebook_called(notebook, given.get("study"))
    defined = defaults(path)
    cells = given.get("In")
    set_here = injected(cells if isinstance(cells, list) else ())
    for name in set_here:
        if name not in OF_FIGURES and name not in defined:
            wrong, todo = unknown("parameter", name, defined)
            raise DataError.of(path.name, wrong, todo)
    for name, default in defined.items():
        require_kind(name, given[name], default)
        here = isinstance(default, str) and default.startswith("..") and given[name] == default
        if here and name not in set_here and path.parent.resolve() != Path.cwd():
            given[name] = str((path.parent / default).resolve())
    if study := given.get("study"):
        with suppress(studies.NoStudy):
            studies.add(study)


def injected(cells: Sequence[str]) -> list[str]:
    """Return the names that papermill's own cell sets, of the cells that were executed."""
    cell = next((text for text in cells if text.startswith("# Parameters")), "")
    return [
        target.id
        for statement in ast.parse(cell).body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    ]
