"""Write `SHA256SUMS` anew, after runs came into the data: `python -m workflow.checksums`.

A line is a digest and a path, as sha256sum(1) writes and checks them. Logs of kernels that no run
names any more, as after `emulate run --again`, are removed before.
"""

import argparse
import json
import sys
from pathlib import Path

from qdisclab.emulation import project
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.runs.index import indexes
from qdisclab.emulation.runs.run import kernel_log
from qdisclab.emulation.study import studies

NAME = "SHA256SUMS"
DATA = project.folder("data")


def text(data: Path) -> str:
    """Return a line for each file of the shipped studies, guests and kernel logs below `data`."""
    folders = [data / name for name in (*studies.shipped(), "guests", "kernel-logs")]
    files = sorted(
        str(path.relative_to(data))
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file()
    )
    lines = (f"{sha256(data / name)}  {name}" for name in files)
    return "".join(f"{line}\n" for line in lines)


def without_run(data: Path) -> list[Path]:
    """Return the logs of kernels below `data` that no run there names."""
    runs = (run.provenance for study in indexes(data) for run in study.runs)
    named = {data / kernel_log(json.loads(path.read_text())["kernel_log_sha256"]) for path in runs}
    return sorted({*(data / kernel_log("")).parent.iterdir()} - named)


def main(arguments: list[str] | None = None) -> int:
    """Write the digests; return the exit status."""
    about = f"Write {NAME} of the data anew; remove logs of kernels that no run names."
    argparse.ArgumentParser("python -m workflow.checksums", description=about).parse_args(arguments)
    for path in without_run(DATA):
        path.unlink()
    (DATA / NAME).write_text(text(DATA))
    return 0


if __name__ == "__main__":
    sys.exit(main())
