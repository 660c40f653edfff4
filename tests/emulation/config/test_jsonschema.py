"""The JSON Schema that lies in docs is today's, and says what study files may have."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from qdisclab.emulation.config import jsonschema as ours
from qdisclab.emulation.study import studies, template
from qdisclab.emulation.study.source import ParsedFile
from tests import ROOT

DOCS = ROOT / "docs" / "study.schema.json"


def content(folder: Path) -> Any:
    """A study file as an editor sees it."""
    text = (folder / studies.FILE).read_text()
    return ParsedFile.read(text).value


def test_the_file_in_docs_is_what_the_program_makes() -> None:
    assert DOCS.read_text() == ours.text(), (
        "python -m qdisclab.emulation.config.jsonschema > docs/study.schema.json"
    )


@pytest.mark.parametrize("name", list(studies.shipped()))
def test_every_shipped_study_is_valid_and_names_the_schema(name: str) -> None:
    folder = studies.shipped()[name]
    jsonschema.validate(content(folder), json.loads(DOCS.read_text()))
    first = (folder / studies.FILE).read_text().splitlines()[0]
    assert (folder / first.partition("$schema=")[2]).resolve() == DOCS.resolve()


def test_a_new_study_has_a_copy_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "my-study"
    template.make(folder)
    text = (folder / studies.FILE).read_text()
    assert (folder / text.splitlines()[0].partition("$schema=")[2]).read_text() == DOCS.read_text()
    assert str(DOCS.parents[1]) not in text


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("titel",), "x"),
        (("experiments", "rrul", "traffic", "lenght"), "20 s"),
        (("experiments", "rrul", "traffic", "length"), "20"),
        (("experiments", "rrul", "rig"), {"kind": "daisychain"}),
        (("rig", "base_rtt"), 50),
        (("format",), 2),
    ],
)
def test_a_slip_is_found(path: tuple[str, ...], value: Any) -> None:
    whole = content(studies.shipped()["gbw2015"])
    here = whole
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(whole, json.loads(DOCS.read_text()))
