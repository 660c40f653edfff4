"""The user's cache folder: kernels, root file systems, measured speeds."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_dir(kind: str) -> Path:
    """The folder `kind` below `$XDG_CACHE_HOME/qdisc-lab`, made if it is not there.

    Where the home folder cannot be written, a folder of the user's below the temporary folder.
    """
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    for root in (Path(base), Path(tempfile.gettempdir()) / f"cache-{os.getuid()}"):
        path = root / "qdisc-lab" / kind
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(path, os.W_OK):
            return path
    raise PermissionError(f"no cache folder can be written: set XDG_CACHE_HOME (tried {base})")
