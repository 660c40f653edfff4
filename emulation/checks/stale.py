"""Which runs are no longer what would be made today, and why.

A run is stale where the kernel, the guest's tools, the code in the guest or what the guest is told
to do have changed since: its provenance names what it was made of. Stale runs are data like others;
figures and claims show what they measured.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from qdisclab import emulation
from qdisclab.emulation import datafile, errors, kernel
from qdisclab.emulation.checks import identities
from qdisclab.emulation.config import catalogue, ownfile, request
from qdisclab.emulation.config.job import jobs_of
from qdisclab.emulation.host.cache import cache_dir, digest, remembered, state, states
from qdisclab.emulation.kernel.recipe import RECIPE_DIR
from qdisclab.emulation.machine import provenance, rootfs
from qdisclab.emulation.machine.rootfs import RootFs
from qdisclab.emulation.runs.index import RunFile, index
from qdisclab.emulation.study import studies

#: Part of a run's identity -> how people call it.
PARTS = {
    "kernel": "the kernel or its patches",
    "tools": "the guest's tools",
    "guest": "the code in the guest",
    "job": "the experiment",
}

#: Why a run is stale.
STALE = {part: f"{what} changed" for part, what in PARTS.items()} | {
    "gone": "there is no such point any more",
    "study": f"there is no study of that name here; {studies.VARIABLE} can name its folder",
}

#: The code that says what a run is made of, and the folder of the cache that keeps what came out.
SOURCE = Path(emulation.__file__).parent
FOLDER = "stale"
LIBRARIES = ("numpy", "pydantic", "PyYAML")

#: Where nothing that is known has changed, and the kernel or the guest's tools are not built here.
UNKNOWN = "unknown"

#: Where all of PARTS is the same, and the guest's Debian got another package beside the tools.
MENDED = "root"


def causes(runs: Iterable[RunFile]) -> Counter[str]:
    """Count how many of `runs` are stale for which reason.

    The keys are those of `STALE`, `MENDED`, `UNKNOWN` and "current". A run counts once, for the
    first reason. The result for all runs of a study is kept until one of them, the code, a study, a
    kernel or the guest's tools change.
    """
    root_fs = rootfs.find()
    kernels = {series: _identity(series) for series in kernel.all_series()}
    texts = [str(kernels), str(root_fs), *map(metadata.version, LIBRARIES)]
    for folder in (SOURCE, RECIPE_DIR, *studies.known().values()):
        texts += [str(folder), *states(folder, ("__pycache__", studies.DATA))]
    texts += map(state, sorted(cache_dir("kernel").glob("*/kernel.json")))
    texts += [state(own) for own in [ownfile.path()] if own]
    by_study: dict[tuple[Path, str], list[RunFile]] = {}
    for run in runs:
        by_study.setdefault((run.root, run.paper), []).append(run)
    counted: Counter[str] = Counter()
    for (root, study), chosen in by_study.items():
        whole = index(root, study)
        equal = identities.read(root)
        now = digest([*texts, *map("=".join, sorted(equal)), whole.state])
        make = partial(_causes, whole.runs, root_fs, kernels, equal)
        reasons = remembered(FOLDER, str((root / study).absolute()), now, make)
        counted.update(reasons[run.run] for run in chosen)
    return counted


def _causes(
    runs: Iterable[RunFile],
    root_fs: RootFs | None,
    kernels: dict[str, str | None],
    equal: frozenset[identities.Pair],
) -> dict[str, str]:
    """Return by id the first reason for which each run is stale, or `current`.

    `equal` has digests of the guest's code whose runs gave the same bytes.
    """
    labels = catalogue.all_labels(catalogue.experiments())
    causes: dict[str, str] = {}
    cells: dict[str, list[RunFile]] = {}
    for run in runs:
        causes[run.run] = "gone"
        cells.setdefault(_cell(run), []).append(run)
    for cell in cells.values():
        try:
            first = request.run_of(cell[0].request, labels)
        except request.OtherLength:
            causes |= {run.run: "job" for run in cell}
            continue
        except studies.NoStudy:
            causes |= {run.run: "study" for run in cell}
            continue
        except errors.ConfigError:
            continue
        here = [run for run in cell if run.run == replace(first, seed=run.seed).id]
        jobs = jobs_of(first, (run.seed for run in here))
        for run, job in zip(here, jobs, strict=True):
            if first.kernel not in kernels:  # a series of the user's own
                kernels[first.kernel] = _identity(first.kernel)
            try:
                then = _made_of(datafile.read_json(run.provenance)["identity"])
            except (errors.DamagedData, LookupError, TypeError):
                continue
            now = _today(job, kernels[first.kernel], root_fs)
            if (then["guest"], now["guest"]) in equal:
                then["guest"] = now["guest"]
            parts = [part for part in (*PARTS, MENDED) if now[part] is not None]
            differs = (part for part in parts if now[part] != then[part])
            rest = "current" if len(parts) > len(PARTS) else UNKNOWN
            causes[run.run] = next(differs, rest)
    return causes


def _cell(run: RunFile) -> str:
    """Return what runs have in common that differ in their seed alone."""
    about = {name: value for name, value in run.request.items() if name not in ("run", "seed")}
    outside = [axis for axis in about["outside_sweep"] if axis != "seed"]
    return json.dumps({**about, "outside_sweep": outside}, sort_keys=True)


def sentences(counted: Counter[str], where: Path) -> list[str]:
    """Return a sentence per reason for the user; none where all runs are current."""
    total = counted.total()
    words = {part: f"are stale: {why}" for part, why in STALE.items()} | {
        UNKNOWN: "cannot be told: the kernel or the guest's tools are not built here"
        " (./reproduce-all --setup-only)",
        MENDED: "had the same tools among other packages of Debian: 'emulate verify' compares",
    }
    parts = (item for item in counted.items() if item[0] != "current")
    return [f"{count} of {total} runs in {where} {words[part]}" for part, count in parts]


def _identity(series: str) -> str | None:
    """Return that of today's kernel of `series`; None where it is not built."""
    built = kernel.find(series)
    return built.identity if built else None


def _today(job: dict[str, Any], kernel_digest: str | None, root: RootFs | None) -> dict[str, Any]:
    """Return by part what a run would be made of, as a digest or versions; None where that is not
    built yet."""
    return {
        "kernel": kernel_digest,
        "tools": {name: root.packages[name] for name in provenance.SPELLED_OUT} if root else None,
        "root": root.digest if root else None,
        "guest": provenance.guest_code_digest(job),
        "job": provenance.job_digest(job),
    }


def _made_of(identity: dict[str, Any]) -> dict[str, Any]:
    """Return the same of a run that was made, from its provenance."""
    root = {"tools": identity["root"]["tools"], "root": identity["root"]["digest"]}
    others = {"guest": identity["guest"], "job": identity["job"]}
    return {"kernel": identity["kernel"]["digest"], **root, **others}
