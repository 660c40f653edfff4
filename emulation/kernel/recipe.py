"""What a kernel is made of: patches, options, and where its source comes from.

Reads the folder `qdisc/`. Nothing here runs a program.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qdisclab.emulation import project
from qdisclab.emulation.errors import KernelBuildError
from qdisclab.emulation.host import cache, debs, lock
from qdisclab.emulation.host.digest import sha256

#: The folder with KERNEL.toml, the fragments and the patches.
RECIPE_DIR = project.folder("qdisc")

#: The key of a patch in `inputs` whose `Patch.host_only` is true.
HOST_ONLY = "host_only"

#: The keys in `inputs` of the profile's digest, and of the options that the user asked for.
PROFILE, OWN = "profile", "own_options"

_RANGE = re.compile(r"(\d+\.\d+)?\.\.(\d+\.\d+)?")
_RELEASE = re.compile(r"(\d+)\.\d+\.\d+$")
_OPTION = re.compile(r'(CONFIG_\w+)=(y|n|-?\d+|0x[0-9a-fA-F]+|"[^"]*")(?:\s+#\s*(\S+))?')


def parse_series(text: str) -> tuple[int, int]:
    """Parse `6.12` as (6, 12); raise `KernelBuildError` for anything else."""
    if not re.fullmatch(r"\d+\.\d+", text):
        here = f"name one without an update, of those here: {', '.join(all_series())}"
        todo = f"{here}; or as `emulate kernel list` does"
        raise KernelBuildError(f"{text!r} is not a kernel series", todo=todo)
    major, minor = text.split(".")
    return int(major), int(minor)


def in_range(series: str, releases: str, where: str = "") -> bool:
    """Return whether `series` is in `releases`: `FIRST..LAST`, inclusive, either may be missing.

    Raises `KernelBuildError` if `releases`, which stands at `where`, is not a range.
    """
    if (match := _RANGE.fullmatch(releases)) is None:
        what = f"{releases!r} is not a range of releases, such as 6.12..6.15 or 7.2.."
        raise KernelBuildError(what, where)
    first, last = match.groups()
    return parse_series(first or series) <= parse_series(series) <= parse_series(last or series)


@dataclass(frozen=True)
class Option:
    """A kernel option that a fragment asks for."""

    name: str  # with its CONFIG_
    value: str  # as in .config; `n` for an option that must be off
    fragment: str  # the file's name


@dataclass(frozen=True)
class Patch:
    """A patch of the series file that applies to the release."""

    name: str  # the file's name without the folder
    path: Path
    sha256: str
    host_only: bool = False  # changes no byte of a guest that runs to its end


@dataclass(frozen=True)
class Origin:
    """Where the source of a series comes from."""

    package: str  # Debian package
    suites: tuple[str, ...]  # Debian suites in addition to those of /etc/apt
    locked: tuple[debs.Deb, ...]  # versions of the lock, preferred first
    objects: int  # files that a build compiles, for the progress bar


@dataclass(frozen=True)
class Recipe:
    """Everything that a build takes, except the source and the compiler."""

    series: str
    patches: tuple[Patch, ...]
    options: tuple[Option, ...]
    origin: Origin | None  # None: the user has to name a tarball
    #: How often each branch is taken, by the major release of the compiler that counted:
    #: qdisc/profile/SERIES-gcc-MAJOR.tar.xz, made by `python -m workflow.train`.
    profiles: dict[str, Path] = field(default_factory=dict)
    own: tuple[Option, ...] = ()  # those of `options` that the user asks for besides

    def profile(self, compiler: str) -> Path | None:
        """Return the profile for a compiler of that version, the first line of `gcc --version`."""
        return self.profiles.get(major(compiler))

    @property
    def config_sha256(self) -> str:
        """Return a digest of the options, independent of their order and comments."""
        lines = sorted(f"{option.name}={option.value}" for option in self.options)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def major(compiler: str) -> str:
    """Return 12 of `gcc (Debian 12.2.0-14) 12.2.0`; "" where that is no version of gcc."""
    match = _RELEASE.search(compiler)
    return match[1] if match else ""


def parse_fragment(text: str, name: str, series: str) -> list[Option]:
    """Return the options of a fragment that apply to `series`; a bad line: `KernelBuildError`."""
    options = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if (match := _OPTION.fullmatch(line.rstrip())) is None:
            todo = "write CONFIG_NAME=y, =n, a number or a quoted string, then at most a range"
            raise KernelBuildError(f"not an option: {line.strip()!r}", f"{name}:{number}", todo)
        option, value, releases = match.groups()
        if not releases or in_range(series, releases, f"{name}:{number}"):
            options.append(Option(option, value, name))
    return options


def merge(options: Iterable[Option]) -> tuple[Option, ...]:
    """Return `options` without repetitions; raise `KernelBuildError` if two fragments disagree."""
    merged: dict[str, Option] = {}
    for option in options:
        first = merged.setdefault(option.name, option)
        if first.value != option.value:
            both = f"{first.value} in {first.fragment} and {option.value} in {option.fragment}"
            raise KernelBuildError(f"{option.name} is {both}", todo="ask for it once")
    return tuple(merged.values())


def missing(options: Iterable[Option], config: str) -> list[Option]:
    """Return the `options` whose value differs in `config`, the text of a .config."""
    present = dict(line.split("=", 1) for line in config.splitlines() if line.startswith("CONFIG_"))
    return [option for option in options if present.get(option.name, "n") != option.value]


def parse_patches(text: str, series: str, folder: Path) -> tuple[Patch, ...]:
    """Return the patches for `series` from the text of the series file in `folder`.

    Raises `KernelBuildError` for a bad line, a missing file, and a patch none of whose versions is
    for `series`.
    """
    patches: list[Patch] = []
    covered: dict[str, bool] = {}  # name -> whether there is a line for this series
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("#")[0].split()
        if not words:
            continue
        where = f"{folder.name}/series:{number}"
        mark = words[1] if len(words) == 3 else ""
        if len(words) not in (2, 3) or mark not in ("", "none", "host"):
            todo = "write RELEASES FILE, as 6.12..6.15 6.12/name.patch"
            raise KernelBuildError(f"not a line of a series: {line.strip()!r}", where, todo)
        upstream = mark == "none"
        path = folder / words[-1]
        applies = in_range(series, words[0], where)
        if not upstream and not path.is_file():
            raise KernelBuildError(f"there is no {path}", where, "add the patch or drop its line")
        if applies and covered.get(path.name):
            what = f"a second version of {path.name} for {series}"
            raise KernelBuildError(what, where, "make the ranges disjoint")
        covered[path.name] = covered.get(path.name, False) or applies
        if applies and not upstream:
            patches.append(Patch(path.name, path, sha256(path), host_only=mark == "host"))
    if uncovered := sorted(name for name, is_covered in covered.items() if not is_covered):
        todo = f"choose from {', '.join(all_series())}; to build {series}, add one, or widen"
        todo += " a range if the patch applies and boots"
        what = f"no version for {series} of {_some(uncovered)}"
        raise KernelBuildError(what, f"{folder.name}/series", todo)
    return tuple(patches)


def _some(names: Sequence[str]) -> str:
    """Return the first of `names`, and how many more there are."""
    more = f" and {len(names) - 3} more" if len(names) > 4 else ""
    return ", ".join(names[:3] if more else names) + more


def _table() -> dict[str, Any]:
    path = RECIPE_DIR / "KERNEL.toml"
    try:
        return _parsed(path)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise KernelBuildError(what=f"cannot be read: {error}", where=str(path)) from error


@cache.until_changed  # who selects runs asks for the series of each
def _parsed(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


def all_series() -> tuple[str, ...]:
    """Return the series with a source in KERNEL.toml."""
    return tuple(_table()["series"])


def packed() -> tuple[str, ...]:
    """Return the SHA-256 of the packed kernels that KERNEL.toml knows."""
    return tuple(row["packed"] for row in _table()["series"].values() if "packed" in row)


def load(series: str, config: Path | None = None) -> Recipe:
    """Return the recipe for `series` (`6.12`), with the options of `config` besides.

    Raises `KernelBuildError` where one of them is faulty.
    """
    parse_series(series)
    row = _table()["series"].get(series)
    origin = row and Origin(
        package=row["package"],
        suites=tuple(row.get("suites", ())),
        locked=lock.load().kernels.get(series, ()),
        objects=int(row["objects"]),
    )
    options: list[Option] = []
    for path in sorted((RECIPE_DIR / "config").glob("*.config")):
        options += parse_fragment(path.read_text(), path.name, series)
    own = [] if config is None else parse_fragment(_text(config), str(config), series)
    patches = RECIPE_DIR / "patches"
    paths = sorted((RECIPE_DIR / "profile").glob(f"{series}-gcc-*.tar.xz"))
    profiles = {re.split(r"-gcc-|\.tar", of.name)[1]: of for of in paths}
    return Recipe(
        series=series,
        patches=parse_patches((patches / "series").read_text(), series, patches),
        options=merge([*options, *own]),
        origin=origin,
        profiles=profiles,
        own=tuple(own),
    )


def _text(config: Path) -> str:
    try:
        return config.read_text()
    except (OSError, ValueError) as error:
        what = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise KernelBuildError(what, f"--config {config}") from error


def inputs(recipe: Recipe, compiler: str, settings: Iterable[str]) -> dict[str, Any]:
    """Return all that determines the binary except the source, for the digest and the record.

    `compiler` is its version, `settings` are the arguments of make.
    """
    profile = recipe.profile(compiler)
    own = sorted(f"{option.name}={option.value}" for option in recipe.own)
    return {
        "series": recipe.series,
        "patches": [
            {"name": patch.name, "sha256": patch.sha256}
            | ({HOST_ONLY: True} if patch.host_only else {})
            for patch in recipe.patches
        ],
        "config_sha256": recipe.config_sha256,
        "compiler": compiler,
        "settings": list(settings),
        **({PROFILE: sha256(profile)} if profile else {}),
        **({OWN: own} if own else {}),
    }


def digest(source_sha256: str, ingredients: dict[str, Any]) -> str:
    """Return the name of a build: a digest of its source and its other `ingredients`."""
    text = json.dumps({"source": source_sha256, **ingredients}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def identity(source_sha256: str, ingredients: dict[str, Any]) -> str:
    """Return a digest of what can affect results: not patches for the host alone, nor a profile.

    Without those it equals the `digest`.
    """
    patches = [patch for patch in ingredients["patches"] if not patch.get(HOST_ONLY)]
    others = {name: value for name, value in ingredients.items() if name != PROFILE}
    return digest(source_sha256, {**others, "patches": patches})
