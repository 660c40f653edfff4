"""Qdiscs of the user's own, beside those of shipped studies: `qdisc/own.yaml`, if there is one.

Each joins the sweeps of the experiments of the studies that the file names, and every figure of
them. Its sections are those of a study file; in a study of one's own they are written there. Where
the file is says `emulation.config.ownfile`.
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
    """The file, which counts as equal where its path and the time of its last change are."""

    path: Path = FILE
    changed: int = 0
    papers: tuple[str, ...] = field(default=(), compare=False)
    qdiscs: dict[str, QdiscSection] = field(default_factory=dict, compare=False)

    def joined(self, file: StudyFile) -> tuple[StudyFile, list[str]]:
        """A study file with the qdiscs that join it, and their names."""
        if file.study not in self.papers:
            return file, []
        for name in self.qdiscs:
            if name in file.qdiscs:
                what = f"'{name}' is a qdisc of {file.study} already"
                raise ConfigError(what, str(self.path), "give yours another name")
        return file.model_copy(update={"qdiscs": {**file.qdiscs, **self.qdiscs}}), [*self.qdiscs]

    def check(self, studies: Iterable[str]) -> None:
        """Raise `ConfigError` where it names a study that there is not."""
        known = list(studies)
        for name in self.papers:
            if name not in known:
                what, todo = unknown("paper", name, known)
                raise ConfigError(what, str(self.path), todo)


def own() -> Own:
    """What the user's file has, nothing where there is none; `ConfigError` where it is wrong."""
    path = ownfile.path()
    return Own() if path is None else _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _read(path: Path, changed: int) -> Own:
    return load(path)


def load(path: Path) -> Own:
    """Read such a file; raise `ConfigError` with all its problems."""
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
            # A path of its own, as the study that it joins lies elsewhere.
            qdiscs[name] = section.model_copy(update={"module": str(folder.resolve())})
    if file is None or source.problems:
        raise ConfigError.of(str(path), source.problems)
    return Own(path, path.stat().st_mtime_ns, tuple(file.papers), qdiscs)
