"""Tests, in the folders of what they test."""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

OwnFile = Callable[[str], Path]  #: the fixture `own_file`

#: The repository.
ROOT: Final = Path(__file__).resolve().parents[1]


def write_files(folder: Path, texts: Mapping[str, str]) -> Path:
    """Write a text by the name of its file below `folder`, with the folders between; return it."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def write_executable(path: Path, text: str) -> Path:
    """Write a script, of the shell unless it says of what; return its path."""
    path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def captured(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command, and keep what it prints; `options` are those of `subprocess.run`."""
    return subprocess.run(command, capture_output=True, text=True, **options)
