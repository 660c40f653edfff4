"""What `execute` stores beside a run, without a guest."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.kinds.probes.probe import Probe
from qdisclab.emulation.model.run import Experiment, Run
from qdisclab.emulation.runs import run as running

KERNEL: Any = SimpleNamespace(digest="kernel")
ROOT: Any = SimpleNamespace(digest="root", packages={})
SAMPLED = (Probe.parse("sockets"),)


@pytest.fixture
def run(rrul: Experiment) -> Run:
    return select(rrul, link="10/10", qdisc="codel", cc="cubic", seed=1)[0]


@pytest.fixture
def guest(run: Run, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A guest that leaves its `says` in each file."""
    told = SimpleNamespace(says="one", boots=0)

    def boot(_: Run, __: Any, folder: Path, *more: Any) -> SimpleNamespace:
        told.boots += 1
        out = folder / "job/out"
        out.mkdir(parents=True)
        left = ["data.flent.gz", "kernel.log", *(["probe.sockets.parquet"] if more[2] else [])]
        for name in left:
            (out / name).write_text(told.says)
        (out / "qdiscs.json").write_text("{}")
        return SimpleNamespace(virtual_s=1.0, wall_s=1.0, steps=[], notes=[])

    def record(*given: Any) -> dict[str, Any]:
        digest = sha256(given[5])
        return {"data_sha256": digest, "kernel_log_sha256": "0" * 64}

    for place, name, instead in (
        (running, "boot", boot),
        (running, "machine_of", lambda *_: None),
        (running, "replace", lambda *_, **__: None),
        (running.provenance, "identity", lambda *_: {}),
        (running.provenance, "record", record),
        (running.module, "build", lambda *_, **__: None),
        (running.probe, "check_there", lambda *_: None),
        (running.speed, "remember", lambda *_: None),
        (type(run.traffic), "record", lambda *_: {}),
    ):
        monkeypatch.setattr(place, name, instead)
    return told


def files(data: Path, run: Run) -> dict[str, str]:
    stem = run.id.rpartition("/")[2]
    cell = (data / run.id).parent
    return {path.name.removeprefix(f"{stem}."): path.read_text() for path in cell.iterdir()}


@pytest.mark.parametrize(("says", "left"), [("one", ["sockets.parquet"]), ("two", [])])
def test_what_was_sampled_goes_with_the_data_that_it_belongs_to(
    says: str, left: list[str], run: Run, guest: SimpleNamespace, tmp_path: Path
) -> None:
    running.execute(run, KERNEL, ROOT, tmp_path, probes=SAMPLED)
    (tmp_path / f"{run.id}0.json").write_text("another")
    guest.says = says
    running.execute(run, KERNEL, ROOT, tmp_path, again=True)
    found = files(tmp_path, run)
    assert sorted(found) == sorted(["flent.gz", "json", "seed-0010.json", *left])
    assert found["flent.gz"] == says
    running.execute(run, KERNEL, ROOT, tmp_path, probes=SAMPLED)
    assert guest.boots == 3 - len(left)
    assert files(tmp_path, run)["sockets.parquet"] == says
