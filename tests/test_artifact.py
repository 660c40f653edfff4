"""The artifact appendix: its commands ask for what exists."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from qdisclab.emulate.cli import build_parser
from tests import ROOT, captured

PAGE = (ROOT / "docs/artifact.md").read_text()
EMULATE = sorted(set(re.findall(r"(?:^|`)\.venv/bin/emulate ([^`\n]+)", PAGE, re.MULTILINE)))
REPRODUCE = sorted(set(re.findall(r"(?:^|`)\./reproduce-all([^`\n]*)", PAGE, re.MULTILINE)))


@pytest.mark.parametrize("words", EMULATE)
def test_emulate_takes_it(words: str) -> None:
    command = words.split()[0]
    assert build_parser(command).parse_args(shlex.split(words)).command == command


def test_there_is_a_command_of_each_kind() -> None:
    assert {words.split()[0] for words in EMULATE} == {"claims", "exec", "verify"}
    assert len(REPRODUCE) == 9


@pytest.mark.parametrize("words", REPRODUCE)
def test_reproduce_all_takes_it(words: str) -> None:
    """An option that is unknown, or names what is not there, ends it before the last one counts."""
    command = [*shlex.split(f"./reproduce-all{words}"), "--help"]
    assert subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0
    names = re.findall(r"--figure (\S+)/(\S+)", words)
    assert all((ROOT / f"studies/{study}/figures/{name}.yaml").is_file() for study, name in names)
    studies = re.findall(r"--study (\S+)", words)
    assert all((ROOT / f"studies/{study}/study.yaml").is_file() for study in studies)


def at_smoke_scale(words: str) -> str:
    """The same command with little to do."""
    words = re.sub(r"verify \d+", "verify 1", words)
    words = words.replace("claims", "claims --study battling2013")
    if "reproduce-all" in words and "--figure" not in words and "--setup-only" not in words:
        words += " --figure gbw2015/fig2b"
    return words + " --scale smoke" if words.count("--emulate") > words.count("--scale") else words


@pytest.mark.kernel
def test_commands_work_at_smoke_scale(scratch: Path) -> None:
    """In one folder, in which what a command has made is there for the next."""
    commands = [f"./reproduce-all{words}" for words in REPRODUCE]
    commands += [f".venv/bin/emulate {words}" for words in EMULATE]
    for words in dict.fromkeys(map(at_smoke_scale, commands)):
        done = captured(shlex.split(words), cwd=scratch)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    assert {str(path.relative_to(scratch / "results")) for path in scratch.rglob("table.csv")} >= {
        f"{place}gbw2015/fig2b/table.csv" for place in ("", "emulated-smoke/")
    }
