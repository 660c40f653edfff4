"""Which files of this project a notebook or a module depends on: what it imports, and so on.

Imports of packages are read off their sources by `grimp`, those of a notebook or of a study's
module here; nothing is imported. A change of a file then makes those figures stale that its code is
part of, and no others.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final

import grimp
from IPython.core.inputtransformer2 import TransformerManager

from qdisclab.analysis.errors import DataError, refused
from qdisclab.emulation import datafile
from qdisclab.emulation.host import cache as user_cache
from qdisclab.emulation.project import ROOT

#: The package of this project that notebooks and studies import.
PACKAGE: Final = "qdisclab"

#: What the analysis computes with. Of other modules of the emulation it uses names and constants,
#: so what those import in turn is no part of a figure.
COMPUTES: Final = ("qdisclab.emulation.captures", "qdisclab.emulation.model")

#: Characters of code of a notebook; the longest that ships has 6,000.
MOST_CODE: Final = 1 << 18

#: What numbers and verdicts are computed with.
LIBRARIES: Final = ("numpy", "pandas", "pyarrow", "scipy")


def digest(start: Iterable[Path]) -> str:
    """Return a digest of what code computes: that of `start`, all it imports, and LIBRARIES."""
    return _digest(tuple((path, path.stat().st_mtime_ns) for path in sorted(start)))


@cache  # many runs are measured by few modules
def _digest(start: tuple[tuple[Path, int], ...]) -> str:
    files = closure([path for path, _ in start], root=ROOT)
    return user_cache.digest([*map(metadata.version, LIBRARIES), *contents(files)])


def contents(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the name and the text of each file of `paths`."""
    for path in paths:
        yield str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name)
        yield path.read_text(encoding="utf-8", errors="surrogateescape")


def closure(start: Iterable[Path], without: Iterable[str] = (), root: Path = Path()) -> list[Path]:
    """Return the files of `start` and of all modules that they import, sorted.

    A module of `without` is left out, with what only it imports. `root` is the folder that has the
    packages; paths begin with it.
    """
    files = set(start)
    names = {name for path in files for name in _imports(path)}
    modules = _modules(frozenset(names), frozenset(without))
    return sorted(files.union(_file(module, root) for module in modules))


@cache  # figures share notebooks and modules
def _modules(start: frozenset[str], without: frozenset[str]) -> frozenset[str]:
    """Return the modules `start`, all that they import, and the packages that those are in."""
    graph, waiting, visited = _graph(), set(start), set(without)
    while waiting:
        module = waiting.pop()
        if module in visited or module not in graph.modules:
            continue
        visited.add(module)
        imported = graph.find_modules_directly_imported_by(module)
        if not module.startswith("qdisclab.analysis"):
            imported = {name for name in imported if name.startswith(COMPUTES)}
        waiting |= {part for name in imported for part in _with_packages(name)}
    return frozenset(visited - without)


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph(PACKAGE, cache_dir=None)


def _with_packages(name: str) -> Iterator[str]:
    """Yield a module's name and those of the packages below PACKAGE that it is in."""
    parts = name.split(".")
    return (".".join(parts[: end + 1]) for end in range(1, len(parts)))


def _file(module: str, root: Path) -> Path:
    path = root.joinpath(*module.split(".")[1:])
    package = path / "__init__.py"
    return package if package.is_file() else path.with_suffix(".py")


def own_code(folder: Path, *names: str) -> list[Path]:
    """Return the files of the modules or packages `names` of the study in `folder`."""
    patterns = [f"{name}{end}" for name in names for end in (".py", "/*.py")]
    return sorted(path for pattern in patterns for path in folder.glob(pattern))


def check_notebook(path: Path) -> None:
    """Raise DataError where `path` is no notebook with code of Python and a kernel to run it."""
    _imports(path)
    if "kernelspec" not in json.loads(datafile.read(path)).get("metadata", {}):
        raise DataError.of(path, "names no kernel", "Save it from JupyterLab")


@cache
def _imports(path: Path) -> frozenset[str]:
    """Return the modules that a notebook or a module imports by name, and their packages."""
    text = _source(path)
    deep = refused(path, "is nested too deeply", "Write it flat", RecursionError, MemoryError)
    with refused(path, "is not Python: {0.msg}", "Correct it", SyntaxError), deep:
        tree = ast.parse(text)
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{part.name}" for part in node.names)}
        elif isinstance(node, ast.Import):
            names |= {part.name for part in node.names}
    return frozenset(part for name in names for part in _with_packages(name))


def _source(path: Path) -> str:
    if path.suffix != ".ipynb":
        with refused(path, "is not text ({})", "Correct it", UnicodeDecodeError):
            return datafile.read(path).decode()
    todo = "Save it from JupyterLab"
    with refused(path, "is no notebook", todo, KeyError, TypeError, ValueError, RecursionError):
        cells = json.loads(datafile.read(path, todo=todo))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    if sum(map(len, code)) > MOST_CODE:
        raise DataError.of(path, f"has more than {MOST_CODE >> 10} KiB of code", "Split it")
    # "%matplotlib inline" and its like become calls
    plain = TransformerManager().transform_cell  # type: ignore[no-untyped-call]
    return "\n".join(map(plain, code))
