"""docs/your-own-study.md, followed word by word in a clone of this checkout."""

import hashlib
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import ROOT, captured

PAGE = ROOT / "docs" / "your-own-study.md"

pytestmark = pytest.mark.kernel


def blocks() -> list[tuple[str, str]]:
    """The commands of the page in their order: (language, text)."""
    return re.findall(r"^```(sh|python)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def share_packages(clone: Path) -> None:
    """Give the clone the packages of this checkout, and say that they are installed, as they are.

    Installing them there would make this checkout's environment that of the clone.
    """
    place = clone / ".venv"
    place.mkdir()
    for path in (ROOT / ".venv").iterdir():
        if not path.name.startswith("installed"):
            (place / path.name).symlink_to(path)
    asked = [clone / "pyproject.toml", clone / "workflow" / "constraints.txt"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in asked)).hexdigest()
    (place / "installed").write_text(f"{digest}\n")


def test_the_page_leads_to_runs_tables_and_a_figure(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    if not (ROOT / ".git").exists():  # the archive for machines without a network
        pytest.skip("git clones it")
    subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), str(clone)], check=True)
    share_packages(clone)
    environment = {
        **os.environ,
        "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(clone),
    }
    for language, text in blocks():
        command = ["bash", "-euo", "pipefail", "-c", text]
        if language == "python":
            command = ["python", "-c", text]
        done = captured(command, cwd=clone, env=environment, timeout=900)
        assert done.returncode == 0, f"{text}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert (clone / "my-study/data/my-study/first,base_rtt=100ms/20-5/cake/cubic").is_dir()
    assert (clone / "results/index.html").is_file()
    drawn = clone / "results/my-study/latency"
    assert {"figure.svg", "table.csv", "summary.json"} <= {path.name for path in drawn.iterdir()}
