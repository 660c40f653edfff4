"""Describe a run of the workflow as an RO-Crate, of the profile Workflow Run Crate 0.5.

`ro-crate-metadata.json`, beside croissant.json, says which figures `./reproduce-all` has made,
when, and of which runs. The crate is the checkout, so there is none of results elsewhere.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qdisclab.emulation.project import ROOT

if TYPE_CHECKING:
    from workflow.plan import Plan

FILE = "ro-crate-metadata.json"

_SPECIFICATION = "https://w3id.org/ro/crate/1.1"
_HUB = "https://w3id.org/workflowhub/workflow-ro-crate"
_PROFILES = (
    "https://w3id.org/ro/wfrun/process/0.5",
    "https://w3id.org/ro/wfrun/workflow/0.5",
    f"{_HUB}/1.0",
)
_SNAKEMAKE = "https://snakemake.readthedocs.io"


def describe(
    about: dict[str, Any],
    used: Iterable[str],
    made: Iterable[str],
    began: datetime,
    ended: datetime,
) -> dict[str, Any]:
    """Return the crate of a run that took the folders `used` and left the folders `made`.

    `about` is `project` of pyproject.toml.
    """
    folders = {name: _entity(name, "Dataset", name=name) for name in (*used, *made)}
    licences = [f"https://spdx.org/licenses/{name}" for name in about["license"].split(" AND ")]
    parts = [
        _entity(
            "Snakefile", ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            name=about["description"], version=about["version"], encodingFormat="text/plain",
            programmingLanguage=_to(f"{_HUB}#snakemake"),
        ),
        _entity("README.md", "File", about=_to("./"), encodingFormat="text/markdown"),
        _entity("croissant.json", "File", about=_to("data/"), encodingFormat="application/ld+json"),
        *folders.values(),
    ]  # fmt: skip
    run = _entity(
        "#run", "CreateAction", name="reproduce-all", instrument=_to("Snakefile"),
        description="Figures drawn, each from its notebook and runs", object=_to(*used),
        result=_to(*made), startTime=began.isoformat("T", "seconds"),
        endTime=ended.isoformat("T", "seconds"),
    )  # fmt: skip
    root = _entity(
        "./", "Dataset", name=about["name"], description=about["description"],
        datePublished=ended.isoformat(), license=_to(*licences), conformsTo=_to(*_PROFILES),
        mainEntity=_to("Snakefile"), hasPart=_to(*(part["@id"] for part in parts)),
        mentions=_to("#run"), author=_to("#authors"), publisher=_to("#authors"),
    )  # fmt: skip
    context = [
        _entity(FILE, "CreativeWork", about=_to("./"),
                conformsTo=_to(_SPECIFICATION, _PROFILES[-1])),
        _entity(f"{_HUB}#snakemake", "ComputerLanguage", name="Snakemake", url=_to(_SNAKEMAKE),
                identifier=_to(_SNAKEMAKE), version=version("snakemake")),
        _entity("#authors", "Organization", name=about["authors"][0]["name"]),
        *(_entity(name, "CreativeWork", name=name) for name in licences),
        *(_entity(name, "CreativeWork", name=name, version=name.rpartition("/")[2])
          for name in _PROFILES),
    ]  # fmt: skip
    return {"@context": f"{_SPECIFICATION}/context", "@graph": [*context, root, *parts, run]}


def _to(*names: str) -> Any:
    entities = [{"@id": name} for name in names]
    return entities[0] if len(entities) == 1 else entities


def _entity(name: str, kind: str | list[str], /, **about: Any) -> dict[str, Any]:
    return {"@id": name, "@type": kind, **about}


def write(plan: Plan, began: datetime, root: Path = ROOT) -> None:
    """Write the crate of a run of `plan` that has just ended; say so where that cannot be.

    It has the figures of what lies in the checkout: of its runs, or those of a study in it.
    """
    pages, runs = plan.pages.resolve(), plan.runs_root.resolve()
    if not pages.is_relative_to(root):
        return
    of = {
        name: (plan.root_of(figure) if plan.scale is None else figure.study).resolve()
        for name, figure in plan.figures.items()
        if (pages / name).is_dir()
    }
    of = {name: folder for name, folder in of.items() if folder.is_relative_to(root)}
    if not of:
        return
    used = sorted({f"{folder.relative_to(root)}/" for folder in of.values()})
    made = [f"{pages.relative_to(root) / name}/" for name in of]
    if plan.scale is not None and runs.is_relative_to(root):  # runs made anew
        made = [f"{runs.relative_to(root)}/", *made]
    about = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    content = describe(about, used, made, began, datetime.now(UTC))
    try:
        (root / FILE).write_text(json.dumps(content, indent=1) + "\n")
    except OSError as error:  # the checkout is an image's
        print(f"==> this run is not described: {error}", flush=True)
