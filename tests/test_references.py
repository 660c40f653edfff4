"""What pages, docstrings and comments refer to exists: files, modules, names and anchors."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests import ROOT, captured

PACKAGES = ("analysis", "emulate", "emulation", "qdisclab", "tests", "workflow")

#: What a user makes, or a command: named in pages, and not in the repository.
MADE = re.compile(
    r"(results|my-study|qdisc/own\.yaml|data/(my-study|identities\.csv))\b|.*/(data|source|build)/"
)

#: Names of other projects that docstrings cite: of flent, zlib, ELF, a driver and a library.
FOREIGN = frozenset(
    (
        "combiners.py", "bar_combine", "cdf_combine", "DitgRunner", "tests/netperf_definitions.inc",
        "zlib.compressobj", "wbits", "PT_INTERP", "NUM_TX_DESC", "BURST_RDTR", "BURST_RADV",
        "e1000_set_itr", "study_1a2b3c4d", "libblas.so.3", "taskset",
    )
)  # fmt: skip

if not (ROOT / ".git").exists():  # the archive for machines without a network
    pytest.skip("git lists the files", allow_module_level=True)

_QUOTED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_PATH = re.compile(r"\.?[\w.-]*(/[\w.-]+)+/?")
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_PAGE = re.compile(r"\b(?:[\w-]+/)+[\w-]+\.md\b|\b[A-Z]+\.md\b")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@cache
def tracked() -> frozenset[str]:
    """All files of the repository and their folders, relative to its root."""
    listed = captured(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True
    ).stdout.split("\n")
    files = {name for name in listed if name and (ROOT / name).exists()}
    folders = {str(parent) for name in files for parent in Path(name).parents}
    return frozenset(files | folders)


def named(suffix: str) -> list[str]:
    """The files whose names end with `suffix`, without the runs' data."""
    return sorted(n for n in tracked() if n.endswith(suffix) and not n.startswith("data/gbw"))


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def slugs(text: str) -> set[str]:
    """The anchors that a page's headings get."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def dead_links(page: str) -> Iterator[str]:
    """The links of a page to files and headings that do not exist."""
    for target in _LINK.findall(re.sub(r"`[^`\n]*`", "", read(page))):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        place = (ROOT / page).parent / path if path else ROOT / page
        known = place.resolve().is_relative_to(ROOT) and place.exists()
        if not known or (anchor and anchor not in slugs(place.read_text(encoding="utf-8"))):
            yield f"{page}: {target}"


def test_links_lead_somewhere() -> None:
    assert [dead for page in named(".md") for dead in dead_links(page)] == []


@cache
def defined(module: str) -> frozenset[str] | None:
    """Return the names that a module of ours defines or imports, and the attributes of its classes.

    Return None where there is no such module.
    """
    path = ROOT / module.removeprefix("qdisclab.").replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not source.is_file():
        return frozenset() if path.is_dir() else None
    names: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{name}" for item in node.body for name in _names(item)}
        names |= set(_names(node))
    return frozenset(names)


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in node.names)


def resolves(dotted: str) -> bool:
    """Whether a dotted name that begins with a package of ours is a module or a name of one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        names = defined(".".join(parts[:length]))
        if names is not None:
            rest = ".".join(parts[length:])
            return not rest or rest in names
    return False


def is_path(text: str) -> bool:
    """Whether `text` looks like a path in the repository."""
    return bool(_PATH.fullmatch(text)) and (
        text.startswith("./") or text.split("/")[0] in tracked()
    )


def exists(path: str) -> bool:
    name = path.removeprefix("./").rstrip("/")
    return name in tracked() or bool(MADE.match(path.removeprefix("./")))


@cache
def modules() -> dict[str, list[str]]:
    """The dotted names of our modules and packages by their last part."""
    found: dict[str, list[str]] = {}
    for name in named(".py"):
        dotted = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        found.setdefault(dotted.rpartition(".")[2], []).append(dotted)
    return found


def is_constant_elsewhere(word: str) -> bool:
    """Whether `word` is a constant of a module, and no module of ours with that name has it."""
    module, _, name = word.rpartition(".")
    return name.isupper() and not any(
        dotted.endswith(module) and name in (defined(dotted) or ())
        for dotted in modules().get(module.rpartition(".")[2], [])
    )


def dead_names(text: str) -> list[str]:
    """The paths and dotted names in backticks that lead nowhere, and pages that do not exist."""
    dead = []
    for quoted in _QUOTED.findall(text):
        word = quoted.removesuffix("()")
        if word in FOREIGN:
            continue
        if is_path(word):
            dead += [] if exists(word) else [quoted]
        elif _PATH.fullmatch(word) and word.endswith(".py"):
            dead += [] if any(name.endswith(f"/{word}") for name in tracked()) else [quoted]
        elif _DOTTED.fullmatch(word) and word.split(".")[0] in PACKAGES:
            dead += [] if resolves(word) or word in tracked() else [quoted]
        elif _DOTTED.fullmatch(word) and is_constant_elsewhere(word):
            dead.append(quoted)
        elif module := re.match(r"(?:\S*python3? )?-m ([\w.]+)", word):
            ours = module[1].split(".")[0] in PACKAGES
            dead += [quoted] if ours and defined(module[1]) is None else []
    return dead


def test_what_a_page_names_exists() -> None:
    assert [f"{page}: {name}" for page in named(".md") for name in dead_names(read(page))] == []


def texts(source: str) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a module, with their lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
            text := ast.get_docstring(node)
        ):
            yield getattr(node, "lineno", 1), text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


@cache
def words() -> frozenset[str]:
    """All identifiers and words of the repository outside of docstrings, comments and pages."""
    found: set[str] = set()
    for name in named(".py"):
        for token in tokenize.generate_tokens(io.StringIO(read(name)).readline):
            if token.type == tokenize.NAME or (
                token.type == tokenize.STRING and not token.string.startswith('"""')
            ):
                found.update(re.findall(r"\w+", token.string))
    for suffix in (".yaml", ".csv", ".toml", ".smk", ".c", ".h", ".html", ".ipynb", ".config"):
        for name in named(suffix):
            found.update(re.findall(r"\w+", read(name)))
    return frozenset(found)


def unknown_words(text: str) -> list[str]:
    """The names in backticks of which a part occurs nowhere but in docstrings and pages."""
    return [
        quoted
        for quoted in _QUOTED.findall(text)
        if re.fullmatch(r"[A-Za-z_][\w.]*(\(\))?", quoted)
        and quoted not in FOREIGN
        and not set(re.findall(r"\w+", quoted)) <= words()
    ]


def test_what_a_docstring_names_exists() -> None:
    dead = [
        f"{module}:{line}: {name}"
        for module in named(".py")
        for line, text in texts(read(module))
        for name in [*dead_names(text), *unknown_words(text)]
    ]
    assert dead == []


def test_the_pages_that_files_name_exist() -> None:
    suffixes = (".py", ".yaml", ".ipynb", ".c", ".h", ".html", ".smk")
    dead = [
        f"{name}: {page}"
        for suffix in suffixes
        for name in named(suffix)
        for page in set(_PAGE.findall(read(name)))
        if page.split("/")[0] in ("docs", "studies", "qdisc", "data")
        and not name.startswith("tests/")
        and page not in tracked()
    ]
    assert dead == []
