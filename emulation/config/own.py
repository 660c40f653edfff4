"""The user's own qdiscs and congestion controls for shipped studies: `qdisc/own.yaml`.

Each qdisc joins the sweeps of all experiments of the studies that the file names, and their
figures. The sections are those of a study file; a study of one's own has its qdiscs in its own
file. `emulation.config.ownfile` says where the file is.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from qdisclab.emulation.config import ownfile
from qdisclab.emulation.config.ownfile import FILE
from qdisclab.emulation.config.studyfile import ControlSection, QdiscSection, StudyFile
from qdisclab.emulation.errors import ConfigError, KernelBuildError
from qdisclab.emulation.host.cache import until_changed
from qdisclab.emulation.kernel import module
from qdisclab.emulation.study.problems import validated
from qdisclab.emulation.study.schema import Flaws, Name, Section, unknown
from qdisclab.emulation.study.source import ParsedFile


class OwnFile(Section):
    """The whole file."""

    papers: list[Name] = Field(min_length=1)
    qdiscs: dict[Name, QdiscSection] = Field(default_factory=dict)
    controls: dict[Name, ControlSection] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not (self.qdiscs or self.controls):
            raise Flaws(((), "has neither qdiscs nor controls", "add 'qdiscs' or 'controls'"))
        return self


@dataclass(frozen=True)
class Own:
    """The file's content; equal where path and time of the last change are."""

    path: Path = FILE
    changed: int = 0
    papers: tuple[str, ...] = field(default=(), compare=False)
    qdiscs: dict[str, QdiscSection] = field(default_factory=dict, compare=False)
    controls: dict[str, ControlSection] = field(default_factory=dict, compare=False)

    def joined(self, file: StudyFile) -> tuple[StudyFile, list[str]]:
        """Return a study file with what joins it, and the names of that."""
        if file.study not in self.papers:
            return file, []
        qdiscs, controls = file.qdiscs.keys() & self.qdiscs, file.controls.keys() & self.controls
        for noun, shared in (("qdisc", qdiscs), ("congestion control", controls)):
            for name in shared:
                what = f"'{name}' is a {noun} of {file.study} already"
                raise ConfigError(what, str(self.path), "give yours another name")
        both = {"qdiscs": file.qdiscs | self.qdiscs, "controls": file.controls | self.controls}
        return file.model_copy(update=both), [*self.qdiscs, *self.controls]

    def outside(self, study: str, name: str) -> str:
        """Return what to do so that a qdisc or control of the file can be used in `study`, which it
        does not join; empty for another name."""
        if study in self.papers or name not in {**self.qdiscs, **self.controls}:
            return ""
        return f"'{name}' of {self.path} can be used where its `papers` have {study}"

    def check(self, studies: Iterable[str]) -> None:
        """Raise `ConfigError` where the file names an unknown one of the `studies`."""
        names = list(studies)
        for name in self.papers:
            if name not in names:
                what, todo = unknown("paper", name, names)
                raise ConfigError(what, str(self.path), todo)


def own() -> Own:
    """Return the content of the user's file, which may not exist; `ConfigError` if it is wrong."""
    path = ownfile.path()
    return Own() if path is None else _read(path)


def load(path: Path) -> Own:
    """Read the file at `path`; raise `ConfigError` with all its problems."""
    source = ParsedFile.of(path)
    file = validated(source, OwnFile, "papers")
    for key, sections in (("qdiscs", file.qdiscs), ("controls", file.controls)):
        for name, section in sections.items():
            sections[name] = _placed(section, path.parent, source, (key, name))
    source.check()
    return Own(path, path.stat().st_mtime_ns, tuple(file.papers), file.qdiscs, file.controls)


_read = until_changed(load)


def _placed(section: Any, place: Path, source: ParsedFile, where: tuple[str, str]) -> Any:
    """Return `section` with an absolute path of its module, as the study that it joins lies
    elsewhere; add a problem to `source` where `place` has no such module."""
    if section.module is None:
        return section
    folder = place / section.module
    try:
        module.source(folder)
    except KernelBuildError as error:
        source.add((*where, "module"), error.what, error.todo)
    return section.model_copy(update={"module": str(folder.resolve())})
