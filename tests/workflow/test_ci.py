"""Tests of who runs the tests in continuous integration (.ci/run)."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import captured, write_executable

NEW_ROOT = ("unshare", "--user", "--map-root-user")  # root of a namespace of its own

#: Programs that would make a user and become one; this "user" may not enter folders of root's.
PROGRAMS = {
    "id": "exit 1",
    "useradd": 'echo "useradd $*" >>"$CALLS"; mkdir "$USER_HOME"',
    "getent": 'echo "$2:x:1:1::$USER_HOME:/bin/sh"',
    "setpriv": 'shift 5; case "$*" in *" test -x "*/private) exit 1 ;; esac; exec "$@"',
}
RUN_TESTS = """\
echo "$PWD $HOME $* $PIP_INDEX_URL" >>"$CALLS"
[ "$1" = --packages ] && exit
echo "$PATH" >"$CALLS.path"
ls -A >"$CALLS.files"
cat "$PIP_CONFIG_FILE" "$HOME/.pip/pip.conf" >"$CALLS.pip"
exit 7
"""


@pytest.fixture
def checkout(tmp_path: Path, root: Path) -> Path:
    place = tmp_path / "checkout"
    (place / ".ci").mkdir(parents=True)
    shutil.copy(root / ".ci/run", place / ".ci/run")
    write_executable(place / "run-tests", RUN_TESTS)
    for name in (".venv", "results", "data"):
        (place / name).mkdir()
    return place


def test_root_has_the_tests_run_by_a_user(checkout: Path, tmp_path: Path) -> None:
    if subprocess.run([*NEW_ROOT, "true"], capture_output=True).returncode:
        pytest.skip("this host has no user namespaces")
    programs, private, home = tmp_path / "bin", tmp_path / "private", tmp_path / "home"
    for place in (programs, private, tmp_path / "root/.pip"):
        place.mkdir(parents=True)
    for name, text in PROGRAMS.items():
        write_executable(programs / name, text)
    (tmp_path / "root/.pip/pip.conf").write_text("[global]\n")
    (tmp_path / "named.conf").write_text("[install]\n")
    calls = tmp_path / "calls"
    environment = {
        "PATH": f"{private}:{programs}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "root"),
        "USER_HOME": str(home),
        "CALLS": str(calls),
        "PIP_INDEX_URL": "https://mirror.example/simple",
        "PIP_CONFIG_FILE": str(tmp_path / "named.conf"),
    }
    command = [*NEW_ROOT, checkout / ".ci/run", "-k", "switch"]
    done = captured(command, env=environment)
    assert done.returncode == 7, done.stderr
    made, packages, tests = calls.read_text().splitlines()
    assert made.startswith("useradd --create-home ")
    assert packages.split() == [str(checkout), environment["HOME"], "--packages",
                                environment["PIP_INDEX_URL"]]  # fmt: skip
    folder, *rest = tests.split()
    assert rest == [str(home), "-k", "switch", environment["PIP_INDEX_URL"]]
    assert Path(folder).parent == home and not Path(folder).exists()
    assert Path(f"{calls}.files").read_text().split() == [".ci", "data", "run-tests"]
    path = Path(f"{calls}.path").read_text()
    assert path.startswith(f"{programs}:") and str(private) not in path
    assert Path(f"{calls}.pip").read_text() == "[install]\n[global]\n"
    assert list(home.glob("checkout*")) == []


@pytest.mark.skipif(os.getuid() == 0, reason="for an ordinary user")
def test_an_ordinary_user_runs_the_tests_here(checkout: Path, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    environment = {**os.environ, "CALLS": str(calls)}
    done = subprocess.run([checkout / ".ci/run", "-x"], env=environment, capture_output=True)
    assert done.returncode == 7
    assert calls.read_text().startswith(f"{checkout} {Path.home()} -x")
