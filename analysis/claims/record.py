"""What the claims of each study came to, kept until something changes that they depend on.

That is the code that assesses them and its libraries, what the study says apart from its figures,
and the files of its runs, by size and time. A plot is no part of it. Nothing here assesses a claim:
`analysis.claims.assess` does, so that a notebook that only shows verdicts is not made of that code.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from analysis.errors import DataError
from analysis.runs.study import StudyFolder
from analysis.sources import closure
from emulation.host.cache import kept, states

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = "verdicts"

#: What verdicts are computed with.
LIBRARIES: Final = ("numpy", "pandas", "pyarrow", "scipy")

#: What of a study's folder says nothing about its claims, beside its runs, of which sizes and times
#: tell.
LEFT_OUT: Final = (
    "figures", "notebooks", "data", "README.md", "log", "log.md", "values.csv", "__pycache__",
)  # fmt: skip

#: A claim with its verdicts, as `summary.as_json` makes it.
Claim = dict[str, Any]


class _NotKeptError(Exception):
    """Nothing is kept, or something else has changed since."""


def verdicts(
    study: StudyFolder, data: Path, compute: Callable[[], list[Claim]] | None = None
) -> list[Claim] | None:
    """Return the claims of `study` with their verdicts on its runs below `data`.

    Where none are kept, or what they depend on has changed, `compute` makes them; without it,
    None is returned.
    """

    def missing() -> list[Claim]:
        raise _NotKeptError

    runs = (study.runs_root(data) / study.name).resolve()
    place = hashlib.sha256(f"{study.folder.resolve()}\0{runs}".encode()).hexdigest()[:16]
    try:
        claims: list[Claim] = kept(FOLDER, place, _digest(study, runs), compute or missing)
    except _NotKeptError:
        return None
    return claims


def require_distinct(claims: Iterable[Claim], studies: Iterable[StudyFolder]) -> None:
    """Raise DataError where claims of two studies have one id."""
    statements = {study.name: study.statements for study in studies}
    papers: dict[str, str] = {}
    for claim in claims:
        paper = papers.setdefault(claim["id"], claim["paper"])
        if paper != claim["paper"]:
            wrong = f"'{claim['id']}' is a claim of {paper} already"
            raise DataError.of(
                statements[claim["paper"]], wrong, "Begin its ids with other letters"
            )


def _digest(study: StudyFolder, runs: Path) -> str:
    """Return a digest of all that the verdicts on the claims of `study` depend on."""
    digest = _code().copy()
    for name in _files(study.folder):
        digest.update(_content(study.folder.resolve() / name))
    for line in sorted(states(runs)):
        digest.update(line.encode() + b"\0")
    return digest.hexdigest()


@cache
def _code() -> "hashlib._Hash":
    package = ROOT / "analysis"
    start = [package / "claims/assess.py", *package.glob("measures/*.py")]
    code = hashlib.sha256(" ".join(map(metadata.version, LIBRARIES)).encode())
    for path in closure(start, root=ROOT):
        code.update(_content(path))
    return code


def _content(path: Path) -> bytes:
    return f"{path}\0".encode() + path.read_bytes() + b"\0"


def _files(folder: Path) -> Iterator[str]:
    """Yield the names of the files of a study that its claims may depend on; none in folders that
    are links, as with `trust.executes`."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        files = [Path(place, name) for name in names if name not in LEFT_OUT]
        yield from sorted(str(path.relative_to(folder)) for path in files if path.is_file())
