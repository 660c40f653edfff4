"""What the shared packages do not name: papers, their testbeds and their figures."""

import re
from collections.abc import Iterator
from pathlib import Path

from qdisclab.emulation.study import studies
from tests import ROOT

SHARED = ("analysis", "emulation", "emulate", "workflow", "Snakefile")
ENDINGS = (".py", ".html", ".css", ".smk", ".yaml")

#: Studies of no paper: what measures the testbed, examples, the battery that scores qdiscs, and one
#: that is called as a congestion control.
OURS = {"asked", "bbr", "bugs", "links", "rfc7928", "testbed"}

#: The eras of testbeds; `emulation.model.era` says which switches each is, and nothing else does.
ERAS = r"201[0-9]c"
ERA_FILE = "emulation/model/era.py"

#: Guests get these modules, and a run is known by their bytes: words in them change with new runs.
GUEST = "emulation/guest/"


def shared_files() -> Iterator[Path]:
    for name in SHARED:
        for path in [ROOT / name] if (ROOT / name).is_file() else (ROOT / name).rglob("*"):
            if path.suffix in ENDINGS or path.name == "Snakefile":
                yield path.relative_to(ROOT)


def test_shared_packages_name_no_paper_no_era_and_no_figure() -> None:
    papers = sorted(set(studies.shipped()) - OURS)
    assert len(papers) >= 7
    named = re.compile(rf"\b({'|'.join(papers)})\b|\b({ERAS})\b")
    found = [
        f"{path}:{number}: {match[0]}"
        for path in shared_files()
        if not str(path).startswith(GUEST)
        for number, line in enumerate((ROOT / path).read_text("utf-8").splitlines(), start=1)
        for match in named.finditer(line)
        if not (match[2] and str(path) == ERA_FILE)
    ]
    assert found == []


def test_a_class_of_the_shared_packages_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = {}
    for path in shared_files():
        if path.suffix == ".py" and not str(path).startswith((GUEST, "emulation/study/new")):
            for name in re.findall(r"^class (\w+)", (ROOT / path).read_text("utf-8"), re.MULTILINE):
                places.setdefault(name, []).append(str(path))
    assert len(places) > 150
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
