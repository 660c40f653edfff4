"""Provenances of runs that nobody made, as small as `emulation.runs.index` takes them."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.request import request
from qdisclab.emulation.kernel import Kernel
from qdisclab.emulation.machine import provenance
from qdisclab.emulation.machine.rootfs import RootFs
from qdisclab.emulation.model.run import Run, era_and_kernel, variant_name
from qdisclab.emulation.runs.index import RunFile, run_file

#: In place of what guests are made of, where none boots.
KERNEL = Kernel(Path("/k/linux"), "k" * 16, "6.12.117", "6.12", {})
GUEST_ROOT = RootFs(Path("/r"), "r" * 16, dict.fromkeys(provenance.SPELLED_OUT, "1.0"))


def of_run(root: Path, run: Run, **more: Any) -> RunFile:
    """Write the provenance of a run that a study has, with `more` entries."""
    identity = {"kernel": {"series": run.kernel, "release": run.kernel, "digest": "0" * 16}}
    return _write(root, request(run) | {"identity": identity} | more)


def of_cell(root: Path, name: str, link: str, qdisc: str, cc: str, seed: int = 1) -> Run:
    """Choose a run of the experiment `name` of a shipped study."""
    return select(experiment(name), link=link, qdisc=qdisc, cc=cc, seed=seed)[0]


def made_up(
    root: Path, study: str, experiment: str, era: str = "modern", link: str = "10/1",
    qdisc: str = "codel", cc: str = "cubic", seed: int = 1, length_s: float = 20, **more: Any,
) -> RunFile:  # fmt: skip
    """Write the provenance of a run that no study need have, with `more` entries."""
    told, kernel = era_and_kernel(era)
    variant = variant_name(experiment, told, kernel)
    about = {
        "run": f"{study}/{variant}/{link.replace('/', '-')}/{qdisc}/{cc}/seed-{seed:03d}",
        "paper": study, "experiment": experiment, "link": link, "qdisc": qdisc, "cc": cc,
        "seed": seed, "era": told, "kernel": kernel or "6.12", "length_s": length_s, "length": "",
        "axes": {"link": link, "qdisc": qdisc, "cc": cc},
    }  # fmt: skip
    return _write(root, about | more)


def printed(run: RunFile, **texts: str) -> RunFile:
    """Leave what programs of a run printed beside it, by their names; return the run."""
    with tarfile.open(run.provenance.with_suffix(".output.tar.gz"), "w:gz") as archive:
        for program, text in texts.items():
            about = tarfile.TarInfo(f"{program}/stdout")
            about.size = len(text)
            archive.addfile(about, io.BytesIO(text.encode()))
    return run


def _write(root: Path, record: dict[str, Any]) -> RunFile:
    path = root / f"{record['run']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))
    return run_file(root, path)
