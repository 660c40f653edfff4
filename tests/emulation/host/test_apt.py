"""Tests of emulation.host.apt on pasted package sources."""

from pathlib import Path
from subprocess import CompletedProcess

import pytest

from qdisclab.emulation.errors import MissingTool
from qdisclab.emulation.host.apt import PrivateApt, deb822, one_line

SOURCES = """\
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

# somebody else's
Types: deb
URIs: https://example.org/node
Suites: nodistro
Components: main
"""


def test_deb822_gets_components_and_suites() -> None:
    first, second = deb822(SOURCES, ("main", "non-free"), ("bookworm-backports",)).split("\n\n")
    assert "Components: main non-free" in first
    assert "Suites: bookworm bookworm-updates bookworm-backports" in first
    assert "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg" in first
    assert "Suites: bookworm-security\n" in second
    assert "Components: main non-free" in second


def test_a_suite_of_security_is_looked_for_where_security_is() -> None:
    """What the other archives do not have would be an error of apt's, for all of them."""
    wanted = ("main",), ("bookworm-security",)
    first, second = deb822(SOURCES.replace("s: bookworm-sec", "s: trixie-sec"), *wanted).split(
        "\n\n"
    )
    assert "Suites: bookworm bookworm-updates\n" in first
    assert "Suites: trixie-security bookworm-security\n" in second
    text = "deb http://mirror.example/debian bookworm main\n"
    assert one_line(text, *wanted) == text


def test_deb822_without_debian_is_empty() -> None:
    assert deb822(SOURCES.split("\n\n")[2], ("main",), ()) == ""


def test_one_line_gets_components_and_suites() -> None:
    text = (
        "# a comment\n"
        "deb [signed-by=/k.gpg arch=amd64] http://mirror.example/debian bookworm main\n"
        "deb-src http://mirror.example/debian bookworm main\n"
        "deb http://mirror.example/debian-security bookworm-security main contrib\n"
        "deb http://example.org/apt stable main\n"
    )
    assert one_line(text, ("main", "non-free"), ("bookworm-backports",)).splitlines() == [
        "deb [signed-by=/k.gpg arch=amd64] http://mirror.example/debian bookworm main non-free",
        "deb [signed-by=/k.gpg arch=amd64] http://mirror.example/debian bookworm-backports"
        " main non-free",
        "deb http://mirror.example/debian-security bookworm-security main contrib non-free",
    ]


def test_no_source_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(MissingTool, match="no Debian package source"):
        PrivateApt(tmp_path / "apt", etc=tmp_path)


def test_its_state_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "sources.list").write_text("deb http://mirror.example/debian bookworm main\n")
    private = PrivateApt(tmp_path / "apt", ("main", "non-free"), etc=tmp_path)
    text = (private.folder / "parts/sources.list").read_text()
    assert text == "deb http://mirror.example/debian bookworm main non-free\n"
    assert f'Dir::State "{private.folder}"' in (private.folder / "apt.conf").read_text()


def test_a_proxy_of_the_environment_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    etc = tmp_path / "etc"
    etc.mkdir()
    (etc / "sources.list").write_text("deb http://mirror.example/debian bookworm main\n")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # nobody listens there
    with pytest.raises(MissingTool, match=r"127\.0\.0\.1"):
        PrivateApt(tmp_path / "apt", etc=etc).download(("hello",))


def test_names_are_no_options_and_each_has_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sources.list").write_text("deb http://mirror.example/debian bookworm main\n")
    private = PrivateApt(tmp_path / "apt", etc=tmp_path)
    said: list[tuple[str, ...]] = []
    monkeypatch.setattr(private, "_run", lambda *words: said.append(words))
    for name in ("jq_1.6-2.1_amd64.deb", "libjq1_1.6-2.1_amd64.deb"):  # as apt would leave them
        (private.folder / "cache/archives" / name).touch()
    assert len(private.download(("jq",))) == 2
    assert said[-1][-2:] == ("--", "jq")
    with pytest.raises(MissingTool, match=r"has no package lib\.q1; look"):
        private.download(("jq", "lib.q1"))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("E: Package 'python2' has no installation candidate\n", "has no package python2; look"),
        (
            "E: Unable to locate package one\nE: Unable to locate package two\n",
            "has no package one, two; look for its name",
        ),
        ("E: Failed to fetch http://mirror.example/x\n", "check that this machine reaches its"),
    ],
)
def test_a_package_that_debian_lacks_is_not_the_mirrors_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, expected: str
) -> None:
    (tmp_path / "sources.list").write_text("deb http://mirror.example/debian bookworm main\n")
    private = PrivateApt(tmp_path / "apt", etc=tmp_path)
    failed = CompletedProcess([], 100, stdout="", stderr=said)
    monkeypatch.setattr(private, "_call", lambda *words, folder=None: failed)
    monkeypatch.setattr(private, "update", lambda: None)
    with pytest.raises(MissingTool, match=expected):
        private.download(("one",))
