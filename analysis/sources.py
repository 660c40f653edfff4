"""Which files of this project a notebook or a module is made of: what it imports, and so on.

Read off the sources, nothing is imported. A change of a file then makes those figures stale that
its code is part of, and no others.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager

from analysis.errors import DataError

#: The packages of this project that notebooks import.
PACKAGES = ("analysis", "emulation")

#: Of this one the analysis uses names and constants: what its modules import in turn is no part of
#: a figure, unless the notebook itself imports the package.
NAMES_ONLY = "emulation"


def closure(
    start: Iterable[Path],
    names: Iterable[str] = (),
    without: Iterable[str] = (),
    root: Path = Path(),
) -> list[Path]:
    """The files that the files of `start` and the functions `names` ("module:function") import.

    With those of `start`, sorted. A module or package of `without` is left out, with what only it
    imports. `root` is the folder that has the packages, and is in front of what is found.
    """
    return list(_closure(tuple(start), tuple(names), tuple(without), root))


@cache  # figures share notebooks and modules
def _closure(
    start: tuple[Path, ...], names: tuple[str, ...], left_out: tuple[str, ...], root: Path
) -> tuple[Path, ...]:
    found = set(start)
    open_ = [(module, True) for path in found for module in _imports(path)]
    for name in names:
        module, _, function = name.partition(":")
        path = _file(module, root)
        if path is not None:
            found.add(path)
            open_ += [(one, not _names_only(one)) for one in _imports(path, function)]
    while open_:
        module, follow = open_.pop()
        if any(module == one or module.startswith(f"{one}.") for one in left_out):
            continue
        path = _file(module, root)
        if path is None or path in found:
            continue
        found.add(path)
        if follow:
            inside = _names_only(module)
            open_ += [(one, inside or not _names_only(one)) for one in _imports(path)]
    return tuple(sorted(found))


def _names_only(module: str) -> bool:
    return module.partition(".")[0] == NAMES_ONLY


@cache
def _file(module: str, root: Path) -> Path | None:
    """The source of `module` below `root`; None where it is not ours."""
    if module.split(".")[0] not in PACKAGES:
        return None
    path = root.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def own_code(folder: Path, *names: str) -> list[Path]:
    """The files of the modules or packages `names` of the study in `folder`."""
    patterns = [f"{name}{end}" for name in names for end in (".py", "/*.py")]
    return sorted(path for pattern in patterns for path in folder.glob(pattern))


def check_notebook(path: Path) -> None:
    """Raise DataError where `path` is no notebook with code of Python and a kernel to run it."""
    _imports(path)
    if "kernelspec" not in json.loads(path.read_text(encoding="utf-8")).get("metadata", {}):
        raise DataError.of(path, "names no kernel", "Save it from JupyterLab")


@cache
def _imports(path: Path, function: str = "") -> tuple[str, ...]:
    """The modules that a notebook, a module or one `function` of a module names in imports."""
    try:
        tree = ast.parse(_source(path))
    except SyntaxError as error:
        raise DataError.of(path, f"is no Python: {error.msg}", "Correct it") from error
    nodes = list(ast.walk(tree)) if not function else list(_reachable(tree, function))
    found = dict.fromkeys(module for node in nodes for module in _named(node))
    return tuple(found)


def _source(path: Path) -> str:
    if path.suffix != ".ipynb":
        return path.read_text(encoding="utf-8")
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError.of(path, "is no notebook", "Save it from JupyterLab") from error
    # "%matplotlib inline" and its like become calls
    plain = TransformerManager().transform_cell  # type: ignore[no-untyped-call]
    return "\n".join(map(plain, code))


def _named(node: ast.AST) -> Iterator[str]:
    """The modules of an import, each with the packages that it is in."""
    names: list[str] = []
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
    elif isinstance(node, ast.Import):
        names = [one.name for one in node.names]
    for name in names:
        parts = name.split(".")
        yield from (".".join(parts[: end + 1]) for end in range(len(parts)))


def _reachable(tree: ast.Module, function: str) -> Iterator[ast.AST]:
    """The imports that `function` uses, itself or through what else the module defines."""
    defined: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined |= {target.id: node for target in targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for one in node.names:
                name = one.asname or one.name.partition(".")[0]
                defined[name] = type(node)(**{**vars(node), "names": [one]})
    seen, open_ = set(), [function]
    while open_:
        name = open_.pop()
        if name in seen or name not in defined:
            continue
        seen.add(name)
        for part in ast.walk(defined[name]):
            yield part
            if isinstance(part, ast.Name):
                open_.append(part.id)
