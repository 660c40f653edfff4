"""What the claims of studies came to, as JSON, kept until something changes that they depend on.

That is the code that settles them and its libraries, what the studies say apart from their figures,
and the files of their runs, by size and time. A plot is no part of it. Without a cache folder that
can be written the claims are settled each time.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from analysis.runs.study import Study, known
from analysis.sources import closure
from emulation.host.cache import kept, states

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = "settled"

#: What verdicts are computed with.
LIBRARIES: Final = ("numpy", "pandas", "pyarrow", "scipy")

#: What of a study's folder says nothing about its claims, beside its runs, of which sizes and times
#: tell.
LEFT_OUT: Final = ("figures", "notebooks", "data", "README.md", "__pycache__")


def settle(data: Path, studies: Iterable[Study] | None = None) -> list[dict[str, Any]]:
    """Every claim of `studies`, or of all that are known, on the runs below `data`, in the form of
    `summary.as_json`. Raises DataError as `assess_studies` does."""
    of = list(known() if studies is None else studies)

    def make() -> list[dict[str, Any]]:
        from analysis.claims.assessed import assess_studies  # SciPy takes a second to import
        from analysis.claims.summary import as_json

        return as_json(assess_studies(data, of))

    place = hashlib.sha256("\0".join(_places(data, of)).encode()).hexdigest()[:16]
    return list(kept(FOLDER, place, _digest(data, of), make))


def _places(data: Path, studies: Iterable[Study]) -> Iterator[str]:
    for one in studies:
        yield from (str(one.folder.resolve()), str(one.runs_root(data).resolve()))


def _digest(data: Path, studies: Iterable[Study]) -> str:
    """Digest of all that verdicts depend on."""
    digest = hashlib.sha256(" ".join(map(metadata.version, LIBRARIES)).encode())
    package = ROOT / "analysis/claims"
    code = closure([package / "assessed.py", package / "summary.py"], root=ROOT)
    for study in studies:
        code += [study.folder / name for name in _said(study.folder)]
    for path in code:
        digest.update(f"{path}\0".encode() + path.read_bytes() + b"\0")
    for study in studies:
        for line in sorted(states(study.runs_root(data) / study.name)):
            digest.update(line.encode() + b"\0")
    return digest.hexdigest()


def _said(folder: Path) -> Iterator[str]:
    """The names of the files of a study that its claims may depend on; folders that are links have
    none, as with `trust.executes`."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        files = [Path(place, name) for name in names if name not in LEFT_OUT]
        yield from sorted(str(path.relative_to(folder)) for path in files if path.is_file())
