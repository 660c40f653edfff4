"""Tests of emulation.host.debs and lock: packages made here, from servers of this machine."""

import errno
import hashlib
import http.client
import io
import json
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from qdisclab.emulation.errors import ConfigError, MissingTool, StorageError
from qdisclab.emulation.host import debs, lock
from qdisclab.emulation.host.debs import Deb, Sources
from tests.serving import serving

Server = tuple[str, list[str]]
CLOSED = "http://127.0.0.1:9"  # nobody listens there


def tarball(files: dict[str, bytes], modes: dict[str, int]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.uid = len(content), modes.get(name, 0o644), 4711
            if name.endswith("/"):
                member.type = tarfile.DIRTYPE
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def package(data: bytes, control: bytes = b"") -> bytes:
    parts = {"debian-binary": b"2.0\n", "control.tar.xz": control, "data.tar.xz": data}
    packed = b"!<arch>\n"
    for name, content in parts.items():
        packed += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        packed += content + b"\n" * (len(content) % 2)
    return packed


NOTICE = "./usr/share/doc/tool/copyright"
TOOL = package(
    tarball(
        {"./lib/": b"", "./lib/tool": b"#!", "./doc/a": b"text", NOTICE: b"(c)"},
        {"./lib/tool": 0o4775, "./lib/": 0o755},
    ),
    tarball({"./postinst": b"#!/bin/sh\n"}, {}),
)
DEB = Deb(
    "tool",
    "1:2.0-1+b1",
    hashlib.sha256(TOOL).hexdigest(),
    "pool/main/t/tool/tool_2.0-1+b1_amd64.deb",
)
SHA1 = hashlib.sha1(TOOL).hexdigest()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The folder that the server serves."""
    folder = tmp_path / "served"
    folder.mkdir()
    return folder


@pytest.fixture
def server(tree: Path) -> Iterator[Server]:
    """The address of a server of `tree`, and the paths that it was asked for."""
    with serving(tree) as server:
        yield server


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def put_into_archive(tree: Path, architecture: str = "amd64") -> None:
    about = {
        "result": [
            {"hash": "0" * 40, "architecture": "i386"},
            {"hash": SHA1, "architecture": architecture},
        ]
    }
    put(tree / "mr/binary/tool/1:2.0-1+b1/binfiles", json.dumps(about).encode())
    put(tree / "file" / SHA1, TOOL)


def test_a_mirror_that_has_it_is_all_that_is_asked(
    tmp_path: Path, tree: Path, server: Server
) -> None:
    address, asked = server
    put(tree / "debian" / DEB.path, TOOL)
    sources = Sources((f"{address}/debian", f"{address}/debian-security"), address, place="")
    assert sources.fetch([DEB], tmp_path) == []
    assert (tmp_path / "tool_1%3a2.0-1+b1_amd64.deb").read_bytes() == TOOL
    assert asked == [f"/debian/{DEB.path}"]


def test_what_the_mirror_lacks_comes_from_the_archive_by_version(
    tmp_path: Path, tree: Path, server: Server
) -> None:
    address, asked = server
    put_into_archive(tree)
    assert Sources((address,), address, place="").fetch([DEB], tmp_path) == []
    assert (tmp_path / DEB.file).read_bytes() == TOOL
    assert list(dict.fromkeys(asked)) == [
        f"/{DEB.path}",
        "/mr/binary/tool/1:2.0-1+b1/binfiles",
        f"/file/{SHA1}",
    ]


@pytest.mark.parametrize("name", ["tool_1%3a2.0-1+b1_amd64.deb", "tool_2.0-1+b1_amd64.deb"])
@pytest.mark.parametrize("kind", ["folder", "address"])
def test_then_from_the_users_place(
    tmp_path: Path, tree: Path, server: Server, name: str, kind: str
) -> None:
    put(tree / "mine" / name, TOOL)
    place = str(tree / "mine") if kind == "folder" else f"{server[0]}/mine/"
    assert Sources((CLOSED,), CLOSED, place).fetch([DEB], tmp_path) == []
    assert (tmp_path / DEB.file).read_bytes() == TOOL


def test_another_content_is_not_taken_from_anywhere(
    tmp_path: Path, tree: Path, server: Server
) -> None:
    address, _ = server
    put_into_archive(tree)
    for path in (DEB.path, f"file/{SHA1}", f"mine/{DEB.file}"):
        put(tree / path, TOOL + b"!")
    out = tmp_path / "out"
    out.mkdir()
    assert Sources((address,), address, str(tree / "mine")).fetch([DEB], out) == [DEB]
    assert list(out.iterdir()) == []


def test_an_archive_that_answers_nonsense_is_passed_over(
    tmp_path: Path, tree: Path, server: Server
) -> None:
    put(tree / "mr/binary/tool/1:2.0-1+b1/binfiles", b'{"result": 7}')
    assert Sources((), server[0], place="").fetch([DEB], tmp_path) == [DEB]


def test_an_answer_that_breaks_off_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise http.client.IncompleteRead(b"")

    def answer(address: str, timeout: float) -> Broken:
        asked.append(address)
        return Broken()

    monkeypatch.setattr("urllib.request.urlopen", answer)
    assert Sources(("http://mirror",), "http://archive", place="").fetch([DEB], tmp_path) == [DEB]
    assert len(asked) == 2 and not list(tmp_path.iterdir())


def test_a_full_disk_is_no_answer_of_a_server(
    tmp_path: Path, tree: Path, server: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tree / DEB.path, TOOL)

    def full(source: object, target: Path) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(debs, "_copy", full)
    with pytest.raises(StorageError, match=f"{tmp_path}: no space left"):
        Sources((server[0],), CLOSED, place="").fetch([DEB], tmp_path)


def test_a_silent_server_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def refuse(address: str, timeout: float) -> None:
        asked.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    monkeypatch.setattr(debs, "AT_ONCE", 1)
    many = [Deb(f"tool{number}", "1", "0", "pool/tool_1_all.deb") for number in range(5)]
    assert Sources(("http://mirror",), "http://archive", place="").fetch(many, tmp_path) == many
    assert [address.split("/")[2] for address in asked] == ["mirror", "archive"]


def test_a_server_that_pauses_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def pause(address: str, timeout: float) -> io.BytesIO:
        if "mirror" not in address:
            raise ConnectionRefusedError
        asked.append(address.rpartition("/")[2])
        if len(asked) in (2, 5, 6):
            raise TimeoutError
        return io.BytesIO(TOOL)

    monkeypatch.setattr("urllib.request.urlopen", pause)
    monkeypatch.setattr(debs, "AT_ONCE", 1)
    many = [replace(DEB, package=name, path=f"pool/{name}_amd64.deb") for name in "abcde"]
    assert Sources(("http://mirror",), "", place="").fetch(many, tmp_path) == many[3:]
    assert [name[0] for name in asked] == list("abbcdd")


def test_a_package_is_unpacked_with_its_modes_into_merged_folders(tmp_path: Path) -> None:
    (tmp_path / DEB.file).write_bytes(TOOL)
    root = tmp_path / "root"
    (root / "usr/lib").mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    debs.extract(tmp_path / DEB.file, root, ("./doc/*",))
    about = (root / "usr/lib/tool").stat()
    assert stat.S_IMODE(about.st_mode) & 0o777 == 0o775
    assert about.st_uid == root.stat().st_uid
    assert (root / "lib").is_symlink() and not (root / "doc").exists()
    assert debs.script(tmp_path / DEB.file) == "#!/bin/sh\n"
    assert debs.copyright(tmp_path / DEB.file) == "(c)"
    (tmp_path / "bare.deb").write_bytes(package(tarball({"./lib/tool": b"#!"}, {})))
    assert debs.copyright(tmp_path / "bare.deb") == ""


@pytest.mark.parametrize("name", ["../outside", "/etc/outside", "./a/../../outside"])
def test_no_file_outside_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.deb").write_bytes(package(tarball({name: b"x"}, {})))
    with pytest.raises(MissingTool, match="outside"):
        debs.extract(tmp_path / "a.deb", tmp_path / "root")
    assert not list(tmp_path.rglob("outside"))


@pytest.mark.parametrize(
    "content", [b"", b"<html>", TOOL[:200], b"!<arch>\n", TOOL.replace(b"data", b"datb")]
)
def test_what_is_no_package_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.deb").write_bytes(content)
    with pytest.raises(MissingTool, match=r"a\.deb is not a Debian package"):
        debs.extract(tmp_path / "a.deb", tmp_path / "root")


def test_a_lock_is_read_as_it_was_written(tmp_path: Path) -> None:
    source = Deb("linux-source-6.12", "6.12.1-1", "1" * 64)
    written = lock.Lock((DEB,), (), (DEB,), {"6.12": (source,)}, ("http://m/debian",), "http://a")
    lock.save(written, tmp_path / "LOCK.toml")
    assert lock.load(tmp_path / "LOCK.toml") == written


def test_the_lock_of_the_project_is_as_it_is_written(tmp_path: Path) -> None:
    lock.save(lock.load(), tmp_path / "LOCK.toml")
    assert (tmp_path / "LOCK.toml").read_text() == lock.FILE.read_text()


@pytest.mark.parametrize("text", ["", "a = [", "[guest]\na = 1\n[tools]\n[kernel]\n[sources]\n"])
def test_a_lock_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "LOCK.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"LOCK\.toml: cannot be read"):
        lock.load(tmp_path / "LOCK.toml")
