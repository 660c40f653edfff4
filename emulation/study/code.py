"""A study's own Python: modules and packages of its folder, as `rigs.py` or `measures/`.

Each study is a package of its own (`study_1a2b3c4d`): its modules import each other with a dot
(`from .measures import …`), and those of two studies may have the same names. Nothing is executed
before the user has agreed to it (`trust`); a file that has changed since is executed anew.
"""

import hashlib
import importlib
import os
import pkgutil
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.study import studies, trust

#: Of the names of studies' packages.
PREFIX = "study_"
REMEDY = "correct it"

#: Packages of studies -> the files of theirs that were executed, each as it was then.
_executed: dict[str, dict[str, os.stat_result]] = {}


def path_of(folder: Path, name: str) -> Path | None:
    """Return the file of a study's module or package, as `plots` or `plots.edge`.

    None where there is none. Raises `ConfigError` where there are both, and for a link that leads
    out of the study's folder.
    """
    place = Path(*name.split("."))
    possible = (place / "__init__.py", place.with_suffix(".py"))
    paths = [path for path in possible if (folder / path).is_file()]
    if len(paths) > 1:
        what = f"there are {paths[1]} and {paths[0].parent}/"
        raise ConfigError(what, str(folder), "move the one into the other")
    return trust.code_at(folder, str(paths[0])) if paths else None


def module(folder: Path, name: str) -> ModuleType:
    """Return a module or package of the study in `folder`, as `plots` or `plots.edge`.

    Raises `ConfigError` where the study has none, where the user has not agreed to it, and, with
    file and line, where it fails.
    """
    if (path := path_of(folder, name)) is None:
        file = f"{name.replace('.', '/')}.py"
        raise ConfigError(f"the study has no {file}", str(folder), "write it there")
    package = _package(folder)
    full = f"{package}.{name}"
    if full not in sys.modules or not _unchanged(package):
        trust.require("" if folder.parent == studies.SHIPPED else folder)
        _execute(folder, package, full, path)
    return sys.modules[full]


def modules(folder: Path, name: str) -> Sequence[ModuleType]:
    """Return a module of a study, or all modules of its folder of that name; as `module`.

    Empty where the study has neither. The folder needs no `__init__.py`.
    """
    names = [name] if path_of(folder, name) else []
    inside = pkgutil.iter_modules([str(studies.inside(folder, name))])
    names += sorted(f"{name}.{about.name}" for about in inside)
    return [module(folder, full) for full in names]


@contextmanager
def blamed(folder: Path, doing: str = "", otherwise: object = None) -> Iterator[None]:
    """Inside, what the code of a study raises becomes a `ConfigError` with its file and line.

    `doing` says what fails. `otherwise` is the place of an error that comes up in none of the
    study's files, as of a call with too few arguments; by default the folder.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        what = f"{doing}{type(error).__name__}: {text}"
        raise ConfigError(what, _place(error, folder, otherwise), REMEDY) from error


def _package(folder: Path) -> str:
    """Return the name of the package of a study; modules are found in its folder."""
    place = os.path.realpath(folder)
    name = f"{PREFIX}{hashlib.sha256(os.fsencode(place)).hexdigest()[:8]}"
    if name not in sys.modules:
        package = ModuleType(name, f"The code of {place}.")
        package.__path__ = [place]
        sys.modules[name] = package
        _executed[name] = {}
    return name


def _modules_of(package: str) -> list[tuple[str, ModuleType]]:
    return [item for item in list(sys.modules.items()) if item[0].startswith(f"{package}.")]


def _unchanged(package: str) -> bool:
    """Return whether all files of a package are as they were executed; forget it otherwise."""
    for path, before in _executed[package].items():
        try:
            now = os.stat(path)  # noqa: PTH116 - of each file, each time
        except OSError:
            break
        if (now.st_mtime_ns, now.st_size) != (before.st_mtime_ns, before.st_size):
            break
    else:
        return True
    for name, _ in _modules_of(package):
        del sys.modules[name]
    _executed[package] = {}
    return False


class _Loader(SourceFileLoader):
    """Executes a file of a study, whenever that is imported, from its source."""

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code; its bytecode is not that in the study, which nobody has read."""
        prefix, sys.pycache_prefix = sys.pycache_prefix, trust.bytecode()
        try:
            return super().get_code(fullname)
        finally:
            sys.pycache_prefix = prefix


class _Finder:
    """Finds what of studies is imported, by `module` and by their own modules."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where the module is; None of others than studies' own."""
        if not name.startswith(PREFIX):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


sys.meta_path.insert(0, _Finder)


def _execute(folder: Path, package: str, full: str, path: Path) -> None:
    before = dict(_modules_of(package))
    importlib.invalidate_caches()  # the file may have been written a moment ago
    try:
        with blamed(folder, otherwise=path):
            importlib.import_module(full)
    except ConfigError:
        for name, _ in _modules_of(package):
            if name not in before:
                del sys.modules[name]
        raise
    for name, executed in _modules_of(package):
        file = getattr(executed, "__file__", None)
        if name not in before and file:
            _executed[package][file] = os.stat(file)  # noqa: PTH116


def _place(error: BaseException, folder: Path, otherwise: object) -> str:
    """Return file and line of the study's code where `error` came up."""
    roots = (folder, Path(os.path.realpath(folder)))
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    trace = traceback.extract_tb(error.__traceback__)
    frames = [of for of in trace if any(Path(of.filename).is_relative_to(root) for root in roots)]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else str(otherwise or folder)
