"""Layers: Debian packages that a guest has in addition to those of its root file system.

A layer is a folder of unpacked packages in the user's cache, named by the digest of its content.
The guest mounts it over its root, which stays unchanged (`guest/layers.py`).
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from qdisclab.emulation.errors import ConfigError, MissingTool
from qdisclab.emulation.host import bundle, lock as locks, seal, storage
from qdisclab.emulation.host.apt import NAME, PrivateApt
from qdisclab.emulation.host.cache import cache_dir, lock
from qdisclab.emulation.host.debs import script
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.machine.rootfs import RootFs, Unpacked

#: What a Debian system has and the root file system does not, which measurements do not need.
SYSTEM = (
    "bc", "bsdutils", "diffutils", "gzip", "libc-bin", "ncurses-base", "ncurses-bin", "psmisc",
    "python-is-python3", "python3-lib2to3",
)  # fmt: skip

#: Counts changes of how a layer is made; part of its digest.
RECIPE = 2


#: What is understood of a maintainer script: an assignment, the head of a loop, an alternative.
_ASSIGNED = re.compile(r"""\s*(\w+)=('[^'$\\]*'|"[^"`\\]*"|[\w$\{}./+-]*)\s*""")
_LOOP = re.compile(r"\s*for (\w+) in ([^;\\]*)")
_ALTERNATIVE = re.compile(r"--(?:install|slave)\s+([/$]\S+)\s+\S+\s+([/$]\S+)")


class Layer(Unpacked):
    """Packages that a guest mounts over its root file system."""

    @property
    def about(self) -> dict[str, Any]:
        """Return the layer's entry in an identity."""
        return {"digest": self.digest, "packages": self.packages}


def names(layers: Iterable[Layer]) -> list[str]:
    """Return the names of layers in a job, which are also the links to them in its folder."""
    return [f"layer-{number}" for number, _ in enumerate(layers)]


def build(root: RootFs, names: Iterable[str]) -> Layer:
    """Return the layer of the packages `names` and their dependencies that `root` lacks.

    It is taken from the cache or made. A package that is named is unpacked as a whole, even if
    `root` has it, since `root` leaves out its documentation. Raises `ConfigError` for a bad name
    and `MissingTool` if apt does not find a package.
    """
    wanted = tuple(sorted(set(names)))
    for name in wanted:
        if not NAME.fullmatch(name):
            raise ConfigError("is not the name of a Debian package", f"'{name}'", "write e.g. jq")
    return _build(root, wanted, partial(_from_apt, root, wanted))


def system(root: RootFs) -> Layer:
    """Return the layer of the packages `SYSTEM`, in the versions of the lock where they can be had.

    Raises `MissingTool` where apt does not have them either.
    """
    pinned = locks.load()

    def download(scratch: Path) -> tuple[Path, ...]:
        folder = scratch / "debs"
        if pinned.sources().fetch(pinned.system, folder):
            return _from_apt(root, SYSTEM, scratch)
        return tuple(sorted(folder.glob("*.deb")))

    return _build(root, locked(), download)


def of_commands(
    root: RootFs, packages: Sequence[str], warn: Callable[[str], object]
) -> tuple[Layer, ...]:
    """Return the layers of `packages` and of a Debian system; where the latter cannot be had,
    `warn` and leave it out."""
    layers = (build(root, packages),) if packages else ()
    try:
        return (*layers, system(root))
    except MissingTool as error:
        warn(f"the guest lacks commands such as diff and killall: {error}")
        return layers


def locked() -> tuple[str, ...]:
    """Return the packages of the lock's layer, with their versions."""
    return tuple(map(str, locks.load().system))


def key(root: RootFs, wanted: tuple[str, ...]) -> str:
    """Return what names the layer of the packages `wanted` over `root`, before it is made."""
    return hashlib.sha256(json.dumps([RECIPE, root.digest, wanted]).encode()).hexdigest()[:16]


def _from_apt(root: RootFs, names: tuple[str, ...], scratch: Path) -> tuple[Path, ...]:
    apt = PrivateApt(scratch / "apt", components=rootfs.COMPONENTS)
    return apt.download(names, installed=root.packages)


def _build(
    root: RootFs, wanted: tuple[str, ...], download: Callable[[Path], tuple[Path, ...]]
) -> Layer:
    """Return the layer over `root` that the cache has for `wanted`, or make it of a download."""
    name, cache = key(root, wanted), cache_dir("layer")
    with lock(cache):
        record = cache / f"{name}.json"
        if (cached := Layer.recorded(record)) is not None:
            return cached
        if (packed := bundle.entry("layer", name)) is not None:
            digest = packed.about["digest"]
            layer = Layer(cache / digest, digest, packed.about["packages"])
            packed.install(layer.path)
            layer.record(record)
            return layer
        with storage.building(cache) as scratch:
            debs = download(scratch)
            packages, digest = rootfs.identity(debs, f"layer {RECIPE}".encode())
            layer = Layer(cache / digest, digest, packages)
            place = scratch / "layer"
            rootfs.unpack(debs, place, left_out=())
            for deb in debs:
                _link(place, alternatives(script(deb)))
            rootfs.strip_set_uid(place)
            if not seal.is_intact(layer.path):  # else other names have led to the same packages
                seal.install(place, layer.path)
            layer.record(record)
    return layer


def alternatives(script: str) -> dict[str, str]:
    """Return link -> target of the alternatives that a package's maintainer script installs.

    Nothing else of such scripts is done: without it there would be no `nc` and no `libblas.so.3`.
    Variables have the values that the script writes down, and those of a loop one after another.
    """
    links: dict[str, str] = {}
    values: dict[str, list[str]] = {}
    for line in script.replace("\\\n", " ").splitlines():
        if match := _ASSIGNED.fullmatch(line):
            values[match[1]] = _expanded(match[2].strip("'\""), values)
        elif match := _LOOP.match(line):
            values[match[1]] = " ".join(_expanded(match[2], values)).split()
        elif "update-alternatives" in line:
            for words in _ALTERNATIVE.findall(line):
                for pair in _expanded("\n".join(words), values):
                    links.setdefault(*pair.split("\n"))
    return links


def _expanded(text: str, values: dict[str, list[str]]) -> list[str]:
    """Return `text` with each value of its variables; nothing where one has none."""
    if (name := re.search(r"\$\{?(\w*)", text)) is None:
        return [text]
    form = re.compile(rf"\$(?:{name[1]}\b|\{{{name[1]}\}})")
    filled = (form.sub(value, text) for value in values.get(name[1], ()))
    return [whole for each in filled if each != text for whole in _expanded(each, values)]


def _link(place: Path, links: dict[str, str]) -> None:
    """Make `links` of the guest in a layer's folder, unless another file has the name."""
    for link, target in links.items():
        path = place / link[1:]
        if (place / target[1:]).exists() and not (path.exists() or path.is_symlink()):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(target)
