"""Tests of the guest's module programs, which here starts programs of the host."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., dict[str, Any]]


def program(name: str, *command: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "node": None,
        "command": list(command),
        "environment": {},
        "start_s": 0.0,
        "after": None,
        "after_node": None,
        "until": "end",
        "statuses": [0],
        "deadline_s": 20.0,
        "keeps": [],
        **more,
    }


@pytest.fixture
def run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs programs; returns what `programs.json` would say."""
    monkeypatch.syspath_prepend(str(root / "emulation" / "guest"))
    import commands
    import programs

    monkeypatch.setattr(programs, "WORK", str(tmp_path / "work"))
    monkeypatch.setattr(programs, "OUT", str(tmp_path / "out"))
    monkeypatch.setattr(programs, "FILES", str(tmp_path / "files"))
    monkeypatch.setattr(programs, "GRACE_S", 0.3)
    monkeypatch.setattr(commands, "FOLDER", str(tmp_path / "commands"))
    (tmp_path / "files").mkdir()
    beats: list[str] = []

    def do(
        *wanted: dict[str, Any], length_s: float = 20.0, files: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        for name in files:
            (tmp_path / "files" / name).write_text(name)
        traffic = {
            "length_s": length_s,
            "programs": list(wanted),
            "files": [{"path": name, "mode": 0o644} for name in files],
        }
        programs.lay_out(traffic["files"])
        load = programs.Load(None, traffic, beats.append)
        try:
            load.run()
        finally:
            for one in load.programs:
                one.kill()
                one.keep()
        return {one.name: one.record() for one in load.programs}

    return do


def sh(name: str, text: str, **more: Any) -> dict[str, Any]:
    return program(name, "sh", "-c", text, **more)


def test_programs_start_when_they_are_due_and_after_each_other(run: Run) -> None:
    told = run(
        sh("late", "true", start_s=0.4),
        sh("second", "true", after={"program": "first"}),
        sh("first", "sleep 0.2"),
    )
    assert 0.4 <= told["late"]["start_s"] < 1
    assert told["second"]["start_s"] >= told["first"]["end_s"] >= 0.2
    assert {one["status"] for one in told.values()} == {0}
    json.dumps(told)


def test_a_program_waits_for_a_socket(run: Run, tmp_path: Path) -> None:
    code = (
        "import socket, time\n"
        "with socket.socket() as early:\n"
        "    early.bind(('127.0.0.1', 0))\n"  # not yet listening
        "    open('port', 'w').write(str(early.getsockname()[1]))\n"
        "    time.sleep(0.5); early.listen(); time.sleep(60)\n"
    )
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    code = code.replace("('127.0.0.1', 0)", f"('127.0.0.1', {port})")
    told = run(
        program("server", sys.executable, "-c", code, until="load"),
        sh("client", "true", after={"tcp": port}),
    )
    assert told["client"]["start_s"] >= 0.5
    assert told["server"]["signal"] == "SIGTERM"  # the load was over


def test_what_minds_no_sigterm_is_killed(run: Run) -> None:
    told = run(
        sh("stubborn", "trap '' TERM; while :; do sleep 0.05; done", until="load"),
        sh("one", "sleep 0.2"),
    )
    assert told["stubborn"]["signal"] == "SIGKILL"


def test_a_server_outlives_the_load_until_its_clients_have_ended(run: Run) -> None:
    told = run(
        sh("server", "sleep 60", until="clients"),
        sh("load", "sleep 60", until="load"),
        sh("client", "sleep 1.5"),
        length_s=0.5,
    )
    assert 0.5 <= told["load"]["end_s"] < 1.5 <= told["client"]["end_s"]
    assert told["server"]["end_s"] >= told["client"]["end_s"]


def test_a_load_without_programs_that_must_end_has_its_length(run: Run) -> None:
    told = run(sh("server", "sleep 60", until="load"), length_s=0.5)
    assert 0.5 <= told["server"]["end_s"] < 5


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (sh("bad", "echo so not >&2; exit 3"), "bad: ended with status 3: so not"),
        (sh("shot", "kill -SEGV $$"), "shot: ended with SIGSEGV, without a word"),
        (sh("slow", "sleep 60", deadline_s=0.3), "slow: has not ended by 0.3 s"),
        (program("gone", "/no/such"), "gone: /no/such cannot start: No such file"),
        (
            sh("alone", "true", after={"udp": 1}, deadline_s=0.3),
            "alone: 0.3 s were over before anybody listened on udp port 1 of the guest itself",
        ),
    ],
)
def test_a_program_that_fails_names_itself(run: Run, wanted: dict[str, Any], said: str) -> None:
    with pytest.raises(Exception, match="^" + said.replace("/", "/")) as failure:
        run(wanted, sh("other", "sleep 5"))
    assert failure.value.cause == "traffic"  # type: ignore[attr-defined]


def test_another_status_can_be_right(run: Run) -> None:
    assert run(sh("three", "exit 3", statuses=[3]))["three"]["status"] == 3


def test_files_are_kept_but_for_those_that_came(run: Run, tmp_path: Path) -> None:
    text = "echo new > made.csv; echo other > changed.csv; echo no > made.txt"
    run(sh("one", text, keeps=["*.csv"]), files=("same.csv", "changed.csv"))
    kept = sorted(path.name for path in (tmp_path / "out/one/files").iterdir())
    assert kept == ["changed.csv", "made.csv"]
    assert (tmp_path / "work/same.csv").read_text() == "same.csv"


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ("**", [".hidden", "a.csv", "deep/b.csv", "deep/er/c.csv"]),
        ("**/*.csv", ["a.csv", "deep/b.csv", "deep/er/c.csv"]),
        ("*.csv", ["a.csv"]),
        ("deep/*", ["deep/b.csv"]),
        ("./deep/**", ["deep/b.csv", "deep/er/c.csv"]),
        ("deep", []),
    ],
)
def test_links_are_not_kept_and_not_followed(
    pattern: str, kept: list[str], run: Run, tmp_path: Path
) -> None:
    text = (
        "mkdir -p deep/er; touch a.csv deep/b.csv deep/er/c.csv .hidden; mkfifo pipe.csv; "
        "ln -s / all; ln -s deep other; ln -s a.csv link.csv; ln -s . deep/loop"
    )
    run(sh("one", text, keeps=[pattern]))
    found = tmp_path / "out/one/files"
    names = sorted(str(path.relative_to(found)) for path in found.rglob("*") if path.is_file())
    assert names == kept
