"""The SHA-256 of a file."""

import hashlib
from pathlib import Path

from qdisclab.emulation import datafile


def sha256(path: Path) -> str:
    """Return the SHA-256 of the file at `path`, in hexadecimal digits; `DamagedData` for a pipe."""
    with open(path, "rb", opener=datafile.regular) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
