"""The pages' commands: `emulate run` selects runs, whatever page calls it."""

import re
import shlex

import pytest

from qdisclab.emulate import cli
from tests import ROOT

_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)

#: What is left out, or stands for a name of the reader's; what the reader makes before.
_OPEN = re.compile(r"[…$]|\b[A-Z]{4,}\b(?!=)|\b(my-study|on-paper|ramp|aimd)\b")


def commands() -> dict[str, list[str]]:
    """The words of each `emulate run` in the pages' blocks of commands."""
    named = {}
    for page in sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/*/*.md"))):
        for block in _BLOCK.findall(page.read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                if re.match(r"(\.venv/bin/)?emulate run ", line) and not _OPEN.search(line):
                    words = shlex.split(line, comments=True)[2:]
                    named[f"{page.relative_to(ROOT)}: {' '.join(words)}"] = words
    return named


@pytest.mark.parametrize(
    "words", [pytest.param(words, id=name) for name, words in commands().items()]
)
def test_a_run_of_a_page_is_one(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    status = cli.main(["run", *words, "--dry-run"])
    assert status == 0, capsys.readouterr().err
