"""Tests of the scratch folder of a guest: whose it is, and what of it the host touches."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from qdisclab.emulation.errors import GuestFailure, StorageError
from qdisclab.emulation.host import scratch, storage
from tests import ROOT

HOLD = (
    "import sys\nfrom pathlib import Path\nfrom qdisclab.emulation.host import scratch\n"
    "with scratch.folder(Path(sys.argv[1])) as folder:\n"
    "    (folder / 'file').touch()\n"
    "    print(folder, flush=True)\n"
    "    sys.stdin.read()\n"
)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A folder as a guest leaves it."""
    (tmp_path / "guest/job/out").mkdir(parents=True)
    return tmp_path / "guest"


def test_a_folder_goes_with_its_run(tmp_path: Path) -> None:
    with scratch.folder(tmp_path) as made:
        assert made.parent == tmp_path
        assert made.stat().st_mode & 0o777 == 0o700
        (made / "file").touch()
    assert not list(tmp_path.iterdir())


def test_a_folder_belongs_to_who_holds_its_lock(tmp_path: Path) -> None:
    """Not to a process id, which other containers and nodes have, too."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        cwd=ROOT,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().decode().strip())
        with scratch.folder(tmp_path) as ours:
            assert sorted(path for path in tmp_path.iterdir() if path.is_dir()) == sorted(
                [theirs, ours]
            )
        assert (theirs / "file").exists()
        other.kill()
    assert theirs.exists()
    with scratch.folder(tmp_path) as ours:
        assert [path for path in tmp_path.iterdir() if path.is_dir()] == [ours]
    assert not list(tmp_path.iterdir())


def test_what_another_machine_left_goes_after_a_day(tmp_path: Path) -> None:
    left = tmp_path / "guest-other-x"
    left.mkdir()
    lock = left.with_suffix(".lock")
    lock.touch()
    with scratch.folder(tmp_path):
        assert left.exists()
    os.utime(lock, (0, time.time() - scratch.OLD_S - 1))
    with scratch.folder(tmp_path):
        assert not left.exists()


def test_what_others_have_laid_out_leads_nowhere(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "file").touch()
    place = tmp_path / "tmp"
    place.mkdir()
    stem = f"guest-{scratch._machine()}"
    (place / f"{stem}-a").symlink_to(mine)
    (place / f"{stem}-a.lock").touch()
    (place / f"{stem}-b").mkdir()
    (place / f"{stem}-b.lock").symlink_to(mine / "file")
    (place / f"{stem}-c").mkdir()
    os.mkfifo(place / f"{stem}-c.lock")
    (place / f"{stem}-d").mkdir()
    (place / f"{stem}-d.lock").touch()
    if os.getuid() == 0:
        os.chown(place / f"{stem}-d.lock", 65534, 65534)
    with scratch.folder(place):
        assert (mine / "file").exists()
        assert not (place / f"{stem}-a").is_symlink()
        assert (place / f"{stem}-b").exists()
        assert (place / f"{stem}-d").exists() == (os.getuid() == 0)


def test_limits(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch.check(job)
    sparse = job / "job/out/sparse"
    sparse.touch()
    os.truncate(sparse, scratch.MOST_BYTES + 1)
    with pytest.raises(GuestFailure, match="job/out/sparse: the guest left more than 4096 MiB"):
        scratch.check(job)
    sparse.unlink()
    (job / "console").touch()
    os.truncate(job / "console", scratch.MOST_TEXT + 1)
    with pytest.raises(GuestFailure, match="console: the guest left more than 16 MiB"):
        scratch.check(job)
    os.truncate(job / "console", 0)
    monkeypatch.setattr(scratch, "MOST_FILES", 10)
    for number in range(11):
        (job / f"job/out/{number}").touch()
    with pytest.raises(GuestFailure, match="more than 10 files"):
        scratch.check(job)


def test_a_full_disk(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "ROOM_MIB", 1 << 40)
    with pytest.raises(StorageError, match="the disk is full"):
        scratch.check(job)


def test_folders_deeper_than_python_goes(job: Path, tmp_path: Path) -> None:
    before = Path.cwd()
    try:
        os.chdir(job / "job/out")
        for _ in range(2500):
            os.mkdir("a")  # noqa: PTH102
            os.chdir("a")
    finally:
        os.chdir(before)
    scratch.tame(job)
    with pytest.raises(GuestFailure, match="job/out/a/a: the guest left more than 32 folders in e"):
        scratch.check(job)
    scratch.keep(job, tmp_path / "kept")
    assert (tmp_path / "kept/job/out/a/a/a").is_dir()
    storage.remove(job)
    assert not job.exists()


def test_what_is_kept_is_files(job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "MOST_COPIED", 3)
    (job / "root").symlink_to("/etc")
    (job / "console").write_text("12345")
    (job / "job/out/link").symlink_to("/etc/passwd")
    os.mkfifo(job / "job/out/pipe")
    target = tmp_path / "kept"
    target.mkdir()
    (target / "earlier").touch()
    scratch.keep(job, target)
    assert {str(path.relative_to(target)) for path in target.rglob("*")} == {
        *("root", "console", "job", "job/out")
    }
    assert (target / "console").read_text() == "123"


def test_texts_are_read_from_files_only(tmp_path: Path) -> None:
    pipe, link, text = (tmp_path / name for name in ("pipe", "link", "text"))
    os.mkfifo(pipe)
    text.write_bytes(b"said\xff")
    link.symlink_to(text)
    found = [scratch.read_text(path) for path in (pipe, link, text, tmp_path / "none", tmp_path)]
    assert found == ["", "", "said\ufffd", "", ""]


def test_what_cannot_be_read_is_the_guests(tmp_path: Path) -> None:
    with pytest.raises(GuestFailure, match=r"cannot be read: .*No such file"), scratch.reading():
        (tmp_path / "none").read_text()
    with pytest.raises(GuestFailure, match="cannot be read: 'key'"), scratch.reading():
        {}["key"]
    with pytest.raises(PermissionError), scratch.reading():  # the host's own affair
        raise PermissionError
