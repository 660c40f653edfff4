"""Kinds by their names: each module of a package defines one, and so may a study's own modules.

A module is found because it is there: nothing lists them. A module of the package that defines no
kind helps the others.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Generic, TypeVar

from qdisclab.emulation.errors import ConfigError

K = TypeVar("K")


class Registry(Mapping[str, K], Generic[K]):
    """The kinds of one noun by name: those of a package, sorted by module, then those of studies.

    The package's modules are imported when the first kind is looked up.
    """

    def __init__(self, noun: str, package: str, name: Callable[[object], str | None]) -> None:
        """`name` returns the name of a value that is a kind of this noun; None of any other."""
        self.noun, self._package, self._name = noun, package, name
        self._kinds: dict[str, tuple[K, Path]] = {}
        self._is_complete = False

    def add(self, module: ModuleType) -> int:
        """Add the kinds that `module` defines, and return how many of this noun it has.

        Raises `ConfigError` for a name that a kind of another file has.
        """
        file = Path(str(module.__file__)).resolve()
        kinds: dict[str, K] = {}
        for value in vars(module).values():
            is_its_own = not isinstance(value, type) or value.__module__ == module.__name__
            if is_its_own and (name := self._name(value)) is not None:
                kinds[name] = value
        for name, kind in kinds.items():
            first, place = self._all().get(name, (kind, file))
            if first is not kind and not _same(place, file):
                what = f"the {self.noun} '{name}' is defined a second time, first in {place}"
                raise ConfigError(what, str(file), "give one of the two another name")
            self._kinds[name] = kind, file
        return len(kinds)

    def forget(self, folder: Path) -> None:
        """Forget the kinds of files in `folder`, before they are added again."""
        for name, (_, file) in list(self._kinds.items()):
            if file.parent == folder:
                del self._kinds[name]

    def file(self, name: str) -> Path:
        """Return the file that defines a kind."""
        return self._all()[name][1]

    def __getitem__(self, name: str) -> K:
        return self._all()[name][0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, tuple[K, Path]]:
        if not self._is_complete:
            self._is_complete = True  # also while they are imported
            package = importlib.import_module(self._package)
            for about in pkgutil.iter_modules(package.__path__):
                self.add(importlib.import_module(f"{self._package}.{about.name}"))
        return self._kinds


def _same(left: Path, right: Path) -> bool:
    """Return whether two files are one, or equal files of a study and of a copy of it."""
    if left.parent == right.parent:
        return left == right
    return left.is_file() and left.read_bytes() == right.read_bytes()
