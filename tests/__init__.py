"""Tests, in the folders of what they test."""

from pathlib import Path
from typing import Final

#: The repository.
ROOT: Final = Path(__file__).resolve().parents[1]
