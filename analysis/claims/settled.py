"""What the claims of each study came to, as JSON, kept until something changes that they depend on.

That is the code that settles them and its libraries, what the study says apart from its figures,
and the files of its runs, by size and time. A plot is no part of it. Without a cache folder that
can be written the claims are settled each time.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from analysis.errors import DataError
from analysis.runs.study import StudyFolder, known
from analysis.sources import closure
from emulation.host.cache import keep, kept, states

if TYPE_CHECKING:
    from analysis.claims.verdict import Assessment

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = "settled"

#: What verdicts are computed with.
LIBRARIES: Final = ("numpy", "pandas", "pyarrow", "scipy")

#: What of a study's folder says nothing about its claims, beside its runs, of which sizes and times
#: tell.
LEFT_OUT: Final = (
    "figures", "notebooks", "data", "README.md", "log", "log.md", "values.csv", "__pycache__",
)  # fmt: skip


def settle(
    data: Path,
    studies: Iterable[StudyFolder] | None = None,
    anew: Callable[[StudyFolder], None] = lambda study: None,
) -> list[dict[str, Any]]:
    """Every claim of `studies`, or of all that are known, on the runs below `data`, in the form of
    `summary.as_json`.

    `anew` gets each study whose claims are not kept, before they are settled. Raises DataError as
    `assess_study` does, and where claims of two studies have one id.
    """

    def make(study: StudyFolder) -> list[dict[str, Any]]:
        from analysis.claims.assessed import assess_study  # SciPy takes a second to import
        from analysis.claims.summary import as_json

        anew(study)
        return as_json(assess_study(study, data))

    found: list[dict[str, Any]] = []
    for study, place, of in _digests(data, studies):
        own = kept(FOLDER, place, of, partial(make, study))
        _distinct(study, own, found)
        found += own
    return found


def assess_and_keep(
    data: Path, studies: Iterable[StudyFolder] | None = None, *, jobs: int | None = None
) -> list["Assessment"]:
    """As `settle`, with all that pages show of the claims: they are assessed whatever is kept, and
    kept for `settle`. `jobs` processes read the runs, by default one a core."""
    from analysis.claims.assessed import assess_study
    from analysis.claims.summary import as_json

    found: list[Assessment] = []
    told: list[dict[str, Any]] = []
    for study, place, of in _digests(data, studies):
        own = assess_study(study, data, jobs=jobs)
        as_told = as_json(own)
        keep(FOLDER, place, of, as_told)
        _distinct(study, as_told, told)
        found += own
        told += as_told
    return found


def _distinct(
    study: StudyFolder, claims: Iterable[Mapping[str, Any]], before: Iterable[Mapping[str, Any]]
) -> None:
    """Raise DataError where a claim of `study` has the id of one `before`."""
    taken = {one["id"]: one["paper"] for one in before}
    for one in claims:
        if one["id"] in taken:
            wrong = f"'{one['id']}' is a claim of {taken[one['id']]} already"
            raise DataError.of(study.statements, wrong, "Begin its ids with other letters")


def _digests(
    data: Path, studies: Iterable[StudyFolder] | None
) -> Iterator[tuple[StudyFolder, str, str]]:
    """Each study, or each that is known, with a name for its place and that of its runs, and a
    digest of all that its verdicts depend on."""
    package = ROOT / "analysis/claims"
    code = hashlib.sha256(" ".join(map(metadata.version, LIBRARIES)).encode())
    for path in closure([package / "assessed.py", package / "summary.py"], root=ROOT):
        code.update(_content(path))
    for study in known() if studies is None else studies:
        runs = (study.runs_root(data) / study.name).resolve()
        digest = code.copy()
        for name in _said(study.folder):
            digest.update(_content(study.folder.resolve() / name))
        for line in sorted(states(runs)):
            digest.update(line.encode() + b"\0")
        place = f"{study.folder.resolve()}\0{runs}".encode()
        yield study, hashlib.sha256(place).hexdigest()[:16], digest.hexdigest()


def _content(path: Path) -> bytes:
    return f"{path}\0".encode() + path.read_bytes() + b"\0"


def _said(folder: Path) -> Iterator[str]:
    """The names of the files of a study that its claims may depend on; folders that are links have
    none, as with `trust.executes`."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        files = [Path(place, name) for name in names if name not in LEFT_OUT]
        yield from sorted(str(path.relative_to(folder)) for path in files if path.is_file())
