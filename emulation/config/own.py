"""The user's own qdiscs for shipped studies: `qdisc/own.yaml`, if it exists.

Each qdisc joins the sweeps of all experiments of the studies that the file names, and their
figures. The sections are those of a study file; a study of one's own has its qdiscs in its own
file. `emulation.config.ownfile` says where the file is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from pydantic import Field

from emulation.config import ownfile
from emulation.config.ownfile import FILE
from emulation.config.studyfile import QdiscSection, StudyFile
from emulation.errors import ConfigError, KernelBuildError
from emulation.kernel import module
from emulation.study.problems import validated
from emulation.study.schema import Name, Section, unknown
from emulation.study.source import Source


class OwnFile(Section):
    """The whole file."""

    papers: list[Name] = Field(min_length=1)
    qdiscs: dict[Name, QdiscSection] = Field(min_length=1)


@dataclass(frozen=True)
class Own:
    """The file's content; equal where path and time of the last change are."""

    path: Path = FILE
    changed: int = 0
    papers: tuple[str, ...] = field(default=(), compare=False)
    qdiscs: dict[str, QdiscSection] = field(default_factory=dict, compare=False)

    def joined(self, file: StudyFile) -> tuple[StudyFile, list[str]]:
        """Return a study file with the qdiscs that join it, and their names."""
        if file.study not in self.papers:
            return file, []
        for name in self.qdiscs:
            if name in file.qdiscs:
                what = f"'{name}' is a qdisc of {file.study} already"
                raise ConfigError(what, str(self.path), "give yours another name")
        return file.model_copy(update={"qdiscs": {**file.qdiscs, **self.qdiscs}}), [*self.qdiscs]

    def check(self, studies: Iterable[str]) -> None:
        """Raise `ConfigError` where the file names an unknown study."""
        known = list(studies)
        for name in self.papers:
            if name not in known:
                what, todo = unknown("paper", name, known)
                raise ConfigError(what, str(self.path), todo)


def own() -> Own:
    """Return the content of the user's file, which may not exist; `ConfigError` if it is wrong."""
    path = ownfile.path()
    return Own() if path is None else _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _read(path: Path, changed: int) -> Own:
    return load(path)


def load(path: Path) -> Own:
    """Read the file at `path`; raise `ConfigError` with all its problems."""
    source = Source.of(path)
    file = validated(source, OwnFile, "papers")
    qdiscs = {}
    for name, section in file.qdiscs.items() if file else ():
        qdiscs[name] = section
        if section.module is not None:
            folder = path.parent / section.module
            try:
                module.source(folder)
            except KernelBuildError as error:
                where = ("qdiscs", name, "module")
                source.problems.append(source.problem(where, error.what, error.todo))
            # An absolute path, as the study that it joins lies elsewhere.
            qdiscs[name] = section.model_copy(update={"module": str(folder.resolve())})
    if file is None or source.problems:
        raise ConfigError.of(str(path), source.problems)
    return Own(path, path.stat().st_mtime_ns, tuple(file.papers), qdiscs)
