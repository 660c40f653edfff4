"""Layers: Debian packages that a guest has beside those of its root file system.

A layer is a folder of unpacked packages, kept in the user's cache under the digest of what is in
it. The guest puts it over its root, which stays what it is (`guest/layers.py`).
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulation.errors import ConfigError
from emulation.host import seal
from emulation.host.apt import NAME, PrivateApt
from emulation.host.cache import cache_dir
from emulation.machine import rootfs
from emulation.machine.rootfs import RootFs

#: Counts changes of how a layer is made; part of its digest.
RECIPE = 1


@dataclass(frozen=True)
class Layer:
    """Unpacked packages.

    `path`: the folder; `digest`: SHA-256 over names, versions and digests of its packages, of which
    `packages` has the version by name.
    """

    path: Path
    digest: str
    packages: dict[str, str]

    @property
    def about(self) -> dict[str, Any]:
        """What an identity says of it."""
        return {"digest": self.digest, "packages": self.packages}


def names(layers: Iterable[Layer]) -> list[str]:
    """What a job calls layers, and so the links to them in its guest's folder."""
    return [f"layer-{number}" for number, _ in enumerate(layers)]


def build(root: RootFs, names: Iterable[str]) -> Layer:
    """The layer of the packages `names` and of what they need that `root` lacks: cached, or made.

    A package that is named is unpacked as a whole, documentation and all, even where `root` has it:
    it left that out. Raises `ConfigError` for what is no name, and `MissingTool` where apt does not
    find a package.
    """
    wanted = tuple(sorted(set(names)))
    for name in wanted:
        if not NAME.fullmatch(name):
            raise ConfigError("is not the name of a Debian package", f"'{name}'", "write e.g. jq")
    key = hashlib.sha256(json.dumps([RECIPE, root.digest, wanted]).encode()).hexdigest()[:16]
    cache = cache_dir("layer")
    with rootfs.lock(cache):
        record = cache / f"{key}.json"
        if record.exists():
            found = json.loads(record.read_text())
            layer = Layer(cache / found["digest"], found["digest"], found["packages"])
            if seal.is_intact(layer.path):
                return layer
        with tempfile.TemporaryDirectory(dir=cache, prefix="building-") as scratch:
            apt = PrivateApt(Path(scratch) / "apt", components=("main", "non-free"))
            debs = apt.download(wanted, installed=root.packages)
            packages, digest = rootfs.identity(debs, f"layer {RECIPE}".encode())
            layer = Layer(cache / digest, digest, packages)
            place = Path(scratch) / "layer"
            rootfs.unpack(debs, place, left_out=())
            for deb in debs:
                _link(place, alternatives(_script(deb)))
            rootfs.strip_set_uid(place)
            if not seal.is_intact(layer.path):  # made for other names, of the same packages
                seal.install(place, layer.path)
            told = {"digest": digest, "packages": packages, "root": root.digest}
            finished = Path(scratch) / "record.json"
            finished.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
            finished.rename(record)
    return layer


def alternatives(script: str) -> dict[str, str]:
    """The names that a package's maintainer script gives its programs and libraries: link, target.

    That is all that is done of such scripts: `nc` and `libblas.so.3` would not be there otherwise.
    """
    found: dict[str, str] = {}
    for line in script.replace("\\\n", " ").splitlines():
        if "update-alternatives" in line:
            for link, target in re.findall(r"--(?:install|slave)\s+(/\S+)\s+\S+\s+(/\S+)", line):
                found.setdefault(link, target)
    return found


def _script(deb: Path) -> str:
    """The script that runs when the package is installed; empty where there is none."""
    control = subprocess.run(
        ["dpkg-deb", "--ctrl-tarfile", str(deb)], stdout=subprocess.PIPE, check=True
    )
    script = subprocess.run(
        ["tar", "-xO", "./postinst"], input=control.stdout, capture_output=True, check=False
    )
    return script.stdout.decode(errors="replace")


def _link(place: Path, links: dict[str, str]) -> None:
    """Make `links` of the guest in the folder of a layer, where nothing else has the name."""
    for link, target in links.items():
        path = place / link[1:]
        if (place / target[1:]).exists() and not (path.exists() or path.is_symlink()):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(target)
