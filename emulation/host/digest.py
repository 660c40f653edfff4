"""The SHA-256 of a file."""

import hashlib
from pathlib import Path


def sha256(path: Path) -> str:
    """Return the SHA-256 of the file at `path`, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
