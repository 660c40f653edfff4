"""What can go wrong, tried on purpose: nothing is lost, and each error says what to do.

More of it stands where the part stands that fails: a guest that hangs, spins or dies in
test_guest.py, a damaged file in test_dataset.py, wrong experiment files in test_config.py,
interrupted kernel builds in test_kernel.py, packages that are missing in test_setup.py, jobs, nodes
and controllers that die in test_slurm.py.
"""

import errno
import gzip
import hashlib
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.site.execute import execute
from qdisclab.analysis.site.figurefile import read_figure
from qdisclab.emulate import cli
from qdisclab.emulate.commands import verify
from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.errors import GuestFailure, MissingTool, StorageError
from qdisclab.emulation.host import storage
from qdisclab.emulation.kernel import Kernel, make
from qdisclab.emulation.machine import vm
from qdisclab.emulation.machine.rootfs import RootFs
from qdisclab.emulation.model.run import Experiment, Run
from qdisclab.emulation.runs import run
from tests import ROOT, captured, write_executable
from tests.data import synthetic
from tests.data.provenances import GUEST_ROOT as TOOLS, KERNEL
from workflow import steps

#: A guest that does what is asked for at once, in place of one that boots.
LEFT = {"results": {"TCP upload BE": [1.0], "Ping (ms) ICMP": [50.0]}}


@pytest.fixture
def codel(rrul: Experiment) -> Run:
    (one,) = select(rrul, link="10/1", qdisc="codel", cc="reno", seed=3)
    return one


@pytest.fixture
def guest(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs take no time; the ids of those that were done."""
    done: list[str] = []

    def boot(run: Run, machine: vm.Machine, folder: Path, *_: Any, **__: Any) -> vm.Ending:
        done.append(run.id)
        out = folder / "job/out"
        out.mkdir(parents=True)
        with gzip.open(out / "data.flent.gz", "wt") as stream:
            json.dump(LEFT, stream)
        (out / "kernel.log").write_text("6,1,2,-;Linux version\n")
        port = {"qdiscs": [{"root": True, "packets": 1, "bytes": 1}]}
        (out / "qdiscs.json").write_text(
            json.dumps({"router_up r1-delay": port, "router_down r2-delay": port})
        )
        steps = [
            {"step": "reached", "base_rtts_ms": [50.0], "virtual_s": 1.0},
            {"step": "done", "virtual_s": 2.0},
        ]
        return vm.Ending(steps, wall_s=1.0)

    monkeypatch.setattr(run, "boot", boot)
    return done


def files(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())


# --- a full disk, a folder that cannot be written


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_that_fills_up_leaves_no_half_run(
    codel: Run, guest: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as now:
        now.setattr(run.os, "fsync", full)
        with pytest.raises(OSError, match="No space left") as caught:
            run.execute(codel, KERNEL, TOOLS, tmp_path)
    assert "seed-003" in caught.value.filename
    assert files(tmp_path) == []
    run.execute(codel, KERNEL, TOOLS, tmp_path)  # with room again
    assert len(guest) == 2
    assert [name for name in files(tmp_path) if "kernel-logs" not in name] == [
        f"{codel.id}.flent.gz", f"{codel.id}.json", f"guests/{TOOLS.digest}.json",
    ]  # fmt: skip
    assert json.loads((tmp_path / f"guests/{TOOLS.digest}.json").read_text()) == TOOLS.packages


def test_too_little_room_is_told_before_a_run(
    codel: Run, guest: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "ROOM_MIB", 1 << 40)
    with pytest.raises(StorageError, match=r"MiB are free.*; free some space") as caught:
        run.execute(codel, KERNEL, TOOLS, tmp_path / "deep/er")
    assert caught.value.exit_status == 12
    assert guest == []


def test_a_real_full_disk_is_told(tmp_path: Path) -> None:
    """A file system of 8 MiB, as an ordinary user may mount one in a namespace of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    script = (
        f"mount -t tmpfs -o size=8m none {disk} && head -c 7m /dev/zero >{disk}/old && "
        f"exec {sys.executable} -c 'from pathlib import Path; "
        f'from qdisclab.emulation.host import storage; storage.require_room(Path("{disk}/data"))\''
    )
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", script]
    done = captured(command, cwd=ROOT)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"no namespaces of one's own here: {done.stderr.strip()}")
    assert "1 MiB are free, and a run may need 16; free some space" in done.stderr


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_of_somebody_else_is_told(codel: Run, guest: list[str], tmp_path: Path) -> None:
    closed = tmp_path / "data"
    closed.mkdir(mode=0o555)
    with pytest.raises(StorageError, match="permission denied; make it writable"):
        run.execute(codel, KERNEL, TOOLS, closed)
    assert guest == []


def test_a_file_in_place_of_a_folder_is_told(codel: Run, guest: list[str], tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(StorageError, match="data: not a directory; name another path"):
        run.execute(codel, KERNEL, TOOLS, tmp_path / "data")
    assert guest == []


def test_a_read_only_folder_is_told(
    codel: Run, guest: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = os.statvfs(tmp_path)
    parts = list(about)
    parts[8] |= os.ST_RDONLY
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(parts))
    with pytest.raises(StorageError, match="read-only file system; name a folder on"):
        run.execute(codel, KERNEL, TOOLS, tmp_path)
    assert guest == []


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "no space left on device; free some space"),
        (errno.EROFS, "read-only file system; name a folder"),
        (errno.EACCES, "permission denied; make it writable"),
        (errno.ENAMETOOLONG, "file name too long; name another path"),
        (errno.ENOTDIR, "not a directory; name another path"),
        (errno.EEXIST, "file exists; name another path"),
    ],
)
def test_commands_tell_it_without_a_traceback(
    number: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    gbw2015: Path,
) -> None:  # fmt: skip
    def fail(args: Any) -> int:
        raise OSError(number, os.strerror(number), "data/x")

    monkeypatch.setattr("qdisclab.emulate.commands.check.run", fail)
    assert cli.main(["check", str(gbw2015)]) == 12
    assert capsys.readouterr().err.startswith(f"emulate: error: data/x: {said}")
    monkeypatch.setattr("qdisclab.analysis.site.execute.execute", lambda *_, **__: fail(None))
    file = str(ROOT / "studies/gbw2015/figures/fig2b.yaml")
    assert steps.main(["figure", file, "--data", "d", "--results", "r"]) == 12
    assert capsys.readouterr().err.startswith(f"error: data/x: {said}")


def test_the_first_of_several_files_that_failed_is_told() -> None:
    found = storage.of(shutil.Error([("a", "data/b", "No space left on device")]))
    assert str(found) == "data/b: No space left on device; look at its disk and folder"
    text = str(OSError(errno.ENOSPC, "No space left on device", "a", None, "data/b"))  # copytree's
    assert str(storage.of(shutil.Error([("a", "data/b", text)]))) == (
        "data/b: no space left on device; free some space, then run it again: what is done stays"
    )


def test_other_errors_of_the_host_are_not_hidden() -> None:
    with pytest.raises(ConnectionResetError):
        storage.of(ConnectionResetError(errno.ECONNRESET, "reset"))


# --- damaged data


@pytest.mark.parametrize("damage", ["truncated", "corrupt"])
def test_a_damaged_file_stops_its_figure_alone(
    damage: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = synthetic.write_run(tmp_path, "10-10", "codel", 1)
    content = path.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes(255 - one for one in content[middle : middle + 64])
    path.write_bytes(content[:-200] if damage == "truncated" else flipped + content[middle + 64 :])
    file = str(ROOT / "studies/gbw2015/figures/spreadb.yaml")
    arguments = [file, "--data", str(tmp_path), "--results", str(tmp_path / "r")]
    assert steps.main(["figure", *arguments]) == 1
    said = capfd.readouterr().err
    assert "seed-001.flent.gz" in said
    assert "delete the run's two files and run it again" in said
    assert not (tmp_path / "r/gbw2015/spreadb/summary.json").exists()
    told = json.loads(path.with_name("seed-001.json").read_text())
    assert path.read_bytes() != content
    assert told["run"].endswith("seed-001")  # both files stay as they were


# --- a guest that is killed


def test_a_killed_guest_is_told_and_leaves_no_data(
    codel: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("EMULATE_WALL", "none")  # no guest may start a shell of the host
    killed = write_executable(tmp_path / "linux", 'kill -KILL "$$"')
    kernel = Kernel(killed, "k" * 16, "6.12.117", "6.12", {})
    data, keep = tmp_path / "data", tmp_path / "failed"
    with pytest.raises(
        GuestFailure, match=r"status -9.*ran out of memory.*its logs are in"
    ) as told:
        run.execute(codel, kernel, TOOLS, data, keep=keep)
    assert str(keep / codel.id) in str(told.value)
    assert (keep / codel.id / "job/job.json").is_file()
    assert not data.exists()


# --- a notebook that raises


def test_a_notebook_that_raises_is_told_with_its_cell(tmp_path: Path) -> None:
    folder = tmp_path / "mine/figures"
    folder.mkdir(parents=True)
    (folder.parent / "notebooks").mkdir()
    (folder.parent / "study.yaml").touch()
    cells = [
        nbformat.v4.new_code_cell("output = ''", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell("raise KeyError('no such column')"),
    ]
    notebook = nbformat.v4.new_notebook(
        cells=cells,
        metadata={"kernelspec": {"name": "python3", "display_name": "P", "language": "python"}},
    )
    nbformat.write(notebook, folder.parent / "notebooks/broken.ipynb")
    file = folder / "x.yaml"
    text = "notebook: broken\ntitle: t\ncaption: c\nparameters: {paper: mine, table: t}\n"
    file.write_text(text)
    with pytest.raises(DataError, match=r"cell \d+ failed: KeyError: 'no such column'") as told:
        execute(read_figure(file), tmp_path, tmp_path / "results")
    kept = tmp_path / "results/mine/x/notebook.ipynb"
    assert f"{kept} shows the cell" in str(told.value)
    assert "no such column" in kept.read_text()
    assert not (kept.parent / "summary.json").exists()


# --- a tool that is missing


def test_a_missing_tool_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MissingTool, match="building a kernel needs make") as told:
        make.check_tools()
    assert told.value.exit_status == 3
    assert told.value.todo.startswith("install make gcc binutils flex")


def test_a_guest_without_a_tool_is_made_again(tmp_path: Path) -> None:
    with pytest.raises(MissingTool, match=r"netserver.*remove that folder"):
        RootFs(tmp_path, "d", {}).check()


# --- two at once


def test_two_runs_of_the_same_at_once_leave_one(
    codel: Run, guest: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second begins before the first has put its files in place."""
    boot: Callable[..., vm.Ending] = run.boot

    def slow(*arguments: Any, **options: Any) -> vm.Ending:
        monkeypatch.setattr(run, "boot", boot)
        run.execute(codel, KERNEL, TOOLS, tmp_path)
        return boot(*arguments, **options)

    monkeypatch.setattr(run, "boot", slow)
    run.execute(codel, KERNEL, TOOLS, tmp_path)
    assert len(guest) == 2
    target, record = run.paths(codel, tmp_path)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    assert json.loads(record.read_text())["data_sha256"] == digest
    assert len(files(tmp_path)) == 4  # with the kernel's log and the guest's packages


# --- a clock of the host that jumps


def test_a_clock_that_jumps_changes_nothing(
    codel: Run, guest: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Durations are of the monotonic clock, and no file carries the host's date."""
    run.execute(codel, KERNEL, TOOLS, tmp_path / "a")
    monkeypatch.setattr(time, "time", lambda: 0.0)
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    run.execute(codel, KERNEL, TOOLS, tmp_path / "b")
    records = [run.paths(codel, tmp_path / one)[1].read_text() for one in "ab"]
    assert re.sub(r'"data_sha256.*', "", records[0]) == re.sub(r'"data_sha256.*', "", records[1])


def test_no_module_on_the_host_reads_its_date() -> None:
    """But for lines of evidence, ages of files and when a crate was made; guests have a clock."""
    dated = re.compile(r"\btime\.time\(|\btime_ns\(|datetime\.now|date\.today|utcnow")
    paths = [
        path
        for package in ("emulation", "analysis", "workflow")
        for path in (ROOT / package).rglob("*.py")
        if "guest" not in path.parts
    ]
    assert len(paths) > 80
    dating = {path.name for path in paths if dated.search(path.read_text(encoding="utf-8"))}
    assert dating == {
        "verify.py",
        "identities.py",
        "index.py",
        "steps.py",
        "crate.py",
        "reproduce.py",
    }
    assert verify.__name__ == "qdisclab.emulate.commands.verify"
