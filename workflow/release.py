"""Make all files of a release: `python -m workflow.release DIST`.

Both wheels, the source distribution, an archive that needs no network (`offline`), and SHA256SUMS
of them. `.zenodo.json` and `codemeta.json` are written from CITATION.cff and pyproject.toml.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import yaml

from qdisclab.emulation import project
from qdisclab.emulation.host import debs, lock
from qdisclab.emulation.host.digest import sha256
from workflow import bundle

#: Of what the archive for machines without a network installs.
EXTRAS = "dev,notebooks,slurm,workflow"


def zenodo(cited: dict[str, Any]) -> dict[str, Any]:
    """Return the description that Zenodo reads, of the content of CITATION.cff."""
    return {
        "title": cited["title"],
        "version": cited["version"],
        "publication_date": str(cited["date-released"]),
        "upload_type": "software",
        "license": "MIT",
        "creators": [{"name": author["name"]} for author in cited["authors"]],
        "related_identifiers": [
            {"identifier": paper["doi"], "relation": "isSupplementTo", "scheme": "doi"}
            for paper in cited["references"]
            if "doi" in paper
        ],
    }


def codemeta(cited: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    """Return the description of CodeMeta 3.0, of CITATION.cff and `project` of pyproject.toml."""
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": about["name"],
        "description": about["description"],
        "version": about["version"],
        "datePublished": str(cited["date-released"]),
        "license": [
            f"https://spdx.org/licenses/{name}" for name in about["license"].split(" AND ")
        ],
        "author": [{"@type": "Organization", "name": who["name"]} for who in about["authors"]],
        "programmingLanguage": ["Python", "C"],
        "operatingSystem": "Linux, x86-64",
        "softwareRequirements": about["dependencies"],
    }


def describe(root: Path) -> dict[str, str]:
    """Return the text of each generated description by its file's name."""
    cited = yaml.safe_load((root / "CITATION.cff").read_text())
    about = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    contents = {".zenodo.json": zenodo(cited), "codemeta.json": codemeta(cited, about)}
    return {
        name: json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        for name, content in contents.items()
    }


def offline(root: Path, dist: Path, scratch: Path) -> Path:
    """Write the archive for machines without a network; return it.

    It has the checkout without its history, `wheels/` of all dependencies, and in `packages/` the
    guest's packages and the kernels' sources; the kernels themselves are in the bundle's wheel.
    `workflow/setup.sh` takes them from there.
    """
    place = scratch / "qdisc-lab"
    place.mkdir()
    files = _run(root, "git", "archive", "HEAD")
    subprocess.run(["tar", "-x", "-C", str(place)], input=files, check=True)
    build = tomllib.loads((root / "pyproject.toml").read_text())["build-system"]["requires"]
    needed = [f"{root}[{EXTRAS}]", *build, "editables"]
    constraints = ["--constraint", str(root / "workflow/constraints.txt")]
    _run(root, sys.executable, "-m", "pip", "wheel", "-q", "-w", str(place / "wheels"),
         *constraints, *needed)  # fmt: skip
    for wheel in dist.glob("*.whl"):
        shutil.copy(wheel, place / "wheels")
    pinned = lock.load()
    packages = place / "packages"
    packages.mkdir()
    kernels = [pinned.kernels[series][0] for series in bundle.SERIES]
    wanted = (*pinned.guest, *pinned.system, *pinned.tools, *kernels)
    if lacking := pinned.sources().fetch(wanted, packages):
        what = f"no source has {len(lacking)} packages, the first {lacking[0]}"
        raise SystemExit(f"release: error: {what}; name a folder or mirror in {debs.PLACE}")
    archive = dist / "qdisc-lab-offline.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(place, "qdisc-lab")
    return archive


def _run(root: Path, *command: str) -> bytes:
    return subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE).stdout


def main(arguments: list[str] | None = None) -> int:
    """Write the files that the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m workflow.release", description=__doc__)
    parser.add_argument(
        "dist", type=Path, nargs="?", default=Path("dist"), help="folder of the files"
    )
    parser.add_argument("--describe", action="store_true", help="write the descriptions alone")
    given = parser.parse_args(arguments)
    root, dist = project.ROOT, given.dist.resolve()
    for name, text in describe(root).items():
        (root / name).write_text(text)
    if given.describe:
        return 0
    dist.mkdir(parents=True, exist_ok=True)
    print("==> source distribution and wheel", flush=True)
    _run(root, sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist))
    print("==> wheel of the guest, with its kernels", flush=True)
    if status := bundle.main([str(dist)]):
        return status
    print("==> archive for machines without a network", flush=True)
    with tempfile.TemporaryDirectory(dir=dist) as scratch:
        offline(root, dist, Path(scratch))
    names = sorted(path.name for path in dist.iterdir() if path.suffix in (".whl", ".gz", ".tar"))
    sums = "".join(f"{sha256(dist / name)}  {name}{os.linesep}" for name in names)
    (dist / "SHA256SUMS").write_text(sums)
    return 0


if __name__ == "__main__":
    sys.exit(main())
