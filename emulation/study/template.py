"""The folder that `emulate new` makes: a study that runs without changes."""

import re
from pathlib import Path

from qdisclab.emulation import errors, project
from qdisclab.emulation.study import studies, trust

#: The files of a new study, and what they call it.
FOLDER, NAME = Path(__file__).with_name("new"), "my-study"
FILES = (studies.FILE, "probe.py", "figures/latency.yaml", "README.md")

SCHEMA = project.folder("docs") / "study.schema.json"


def make(folder: Path) -> list[Path]:
    """Write a new study into `folder`, which must not exist, and return the files written.

    The study is trusted from then on, however the user changes it. Raises `ConfigError` for a
    folder that exists or whose name cannot be that of a study.
    """
    name, where = folder.name, "emulate new"
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
        todo = "write lower-case letters, digits, - and _, e.g. my-study"
        raise errors.ConfigError(f"'{name}' is not a name for a study", where, todo)
    if name in studies.shipped():
        raise errors.ConfigError(f"there already is a study '{name}'", where, "choose another name")
    if folder.exists():
        raise errors.ConfigError("exists already", str(folder), "name a folder that does not exist")
    texts = {file: text(file, str(folder) if file == "README.md" else name) for file in FILES}
    texts |= {SCHEMA.name: SCHEMA.read_text(), ".gitignore": "data/\n"}
    for file, content in texts.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    trust.own(folder)
    return [folder / file for file in texts]


def text(file: str, name: str) -> str:
    """Return one of `FILES` for a study of that name."""
    return (FOLDER / file).read_text(encoding="utf-8").replace(NAME, name)
