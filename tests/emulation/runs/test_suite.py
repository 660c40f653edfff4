"""emulation.runs.suite: tests that others wrote, and what is made of what they print."""

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from qdisclab.emulate import cli
from qdisclab.emulation.errors import ConfigError, GuestHung
from qdisclab.emulation.runs import suite
from qdisclab.emulation.runs.execution import Execution
from qdisclab.emulation.runs.suite import VARIANTS, SuiteCase, SuiteRow, cases, includes, rows
from tests import write_executable, write_files

NAMES = (
    "tcp/a.pkt",
    "tcp/a-v4.pkt",
    "tcp/b/a-v6.pkt",
    "tdc/tdc.py",
    "tdc/t/qdiscs/x.json",
    "run.sh",
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_files(tmp_path, dict.fromkeys(NAMES, ""))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_test_is_started_as_its_name_ends(here: Path) -> None:
    found = list(cases(["tcp", "tdc/t/qdiscs/x.json", "run.sh"], "bin/pd", ("ipv4", "ipv6")))
    assert [test.name for test in found[:4]] == [
        *("tcp/a-v4.pkt ipv4", "tcp/a.pkt ipv4", "tcp/a.pkt ipv6", "tcp/b/a-v6.pkt ipv6"),
    ]
    assert found[3].folder == "tcp/b"
    assert found[3].command[:2] == ("../../bin/pd", "--send_omit_free")
    assert (found[3].command[-1], "--ip_version=ipv6" in found[3].command) == ("a-v6.pkt", True)
    assert found[4:] == [
        SuiteCase("tdc/t/qdiscs/x.json", ("python3", "tdc.py", "-f", "t/qdiscs/x.json"), "tdc"),
        SuiteCase("run.sh", ("./run.sh",), "."),
    ]


def test_a_test_of_this_folder_and_of_one_version(here: Path) -> None:
    for name, text in (("a.pkt", "0 `true`\n"), ("b.pkt", "// why\n--ip_version=ipv4\n0 `true`\n")):
        Path(name).write_text(text)
    Path("Makefile").write_text("TEST_INCLUDES := run.sh\n")
    Path("c-v6.pkt").touch()
    found = list(cases(["a.pkt", "b.pkt", "c-v6.pkt"], "packetdrill", tuple(VARIANTS)))
    names = [f"a.pkt {variant}" for variant in ("ipv4", "ipv6", "ipv4-mapped-ipv6")]
    assert [test.name for test in found] == [*names, "b.pkt ipv4", "c-v6.pkt ipv6"]
    assert {test.command[0] for test in found} == {"./packetdrill"}
    assert includes(found) == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("gone.pkt", "gone.pkt: there is no such file"),
        ("tdc", "tdc: there is no test; name a test, or a folder with files .pkt"),
        ("x.json", "x.json: there is no tdc.py above it"),
    ],
)
def test_what_is_no_test_is_refused(here: Path, path: str, message: str) -> None:
    (here / "x.json").touch()
    with pytest.raises(ConfigError, match=message):
        list(cases([path], "pd", ("ipv4",)))


def test_selftests_take_along_what_their_makefile_names(here: Path) -> None:
    write_files(here / "net", dict.fromkeys(("lib.sh", "lib/sh/a.sh", "lib/sh/b.py"), ""))
    (here / "net/mptcp").mkdir()
    test = SuiteCase("net/mptcp/x.sh", ("./x.sh",), "net/mptcp")
    assert includes([test]) == []
    text = "TEST_PROGS := x.sh\nTEST_INCLUDES := ../lib.sh \\\n\t$(wildcard ../lib/sh/*.sh) gone\n"
    (here / "net/mptcp/Makefile").write_text(text)
    assert includes([test]) == ["net/lib.sh", "net/lib/sh/a.sh"]


def ending(status: int | None, output: str = "", errors: str = "") -> dict[str, Any]:
    return {"status": status, "seconds": 1.5, "output": output, "errors": errors}


TAP = "TAP version 13\n1..3\nok 1 - ping\n  not ok 2 tcp # 11960 ms\nok 3 - udp # SKIP no nc\n"


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (ending(0), [("", "ok", "")]),
        (ending(1, "", "cannot stat x\na.pkt:3: a\n b\n"), [("", "not ok", "a.pkt:3: a | b")]),
        (ending(4, "SKIP: no nc\n"), [("", "skipped", "SKIP: no nc")]),
        (ending(None), [("", "late", "it did not end in time")]),
        (
            ending(1, TAP),
            [("ping", "ok", ""), ("tcp", "not ok", "11960 ms"), ("udp", "skipped", "SKIP no nc")],
        ),
        (ending(1, "not ok 1 a # 9 ms\n", "no x"), [("a", "not ok", "9 ms | no x")]),
        (
            ending(0, "1..3\nok 1 a\n"),
            [("a", "ok", ""), ("", "not ok", "1 of the 3 that it plans have an outcome")],
        ),
        (ending(0, "1..0 # SKIP no nc\n"), [("", "ok", "")]),
        (ending(2, "ok 1 a\n", "died"), [("a", "ok", ""), ("", "not ok", "died")]),
        (ending(None, "ok 1 a\n"), [("a", "ok", ""), ("", "late", "it did not end in time")]),
    ],
)  # fmt: skip
def test_what_comes_out(end: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    found = list(rows(SuiteCase("t", (), ""), end))
    assert [(row.part, row.outcome, row.note) for row in found] == expected
    assert {row.seconds for row in found} == {1.5}


def guests(folder: Path, *hangs: str) -> tuple[Callable[[Execution, Path], Any], list[list[str]]]:
    """What executes suites, where the tests that `hangs` names hang; and the tests of each."""
    seen: list[list[str]] = []

    def execute(wanted: Execution, place: Path) -> Any:
        plan = {file.path: file.source for file in wanted.files}["suite.json"]
        names = [test["command"][0] for test in json.loads(plan.read_text())["tests"]]
        seen.append(names)
        lines = []
        for number, name in enumerate(names):
            lines.append(json.dumps({"begins": number}))
            if name in hangs:
                kept = folder / "keep/job/out/programs/command"
                kept.mkdir(parents=True, exist_ok=True)
                (kept / "stdout").write_text("\n".join(lines) + '\n{"ends": 7, "cut')
                raise GuestHung("virtual time stands still")
            lines.append(json.dumps({"ends": number, **ending(0)}))
        place.mkdir()
        (place / "stdout").write_text("\n".join(lines) + "\n")
        return SimpleNamespace(folder=place)

    return execute, seen


def test_where_one_hangs_the_others_go_on(tmp_path: Path) -> None:
    execute, seen = guests(tmp_path, "b", "c")
    all_tests = [SuiteCase(name, (name,), "") for name in "abcd"]
    found = suite.run(all_tests, Execution(()), 60, tmp_path, execute, tmp_path / "keep")
    assert [(row.test, row.outcome) for row in found] == [
        *(("a", "ok"), ("b", "hung"), ("c", "hung"), ("d", "ok")),
    ]
    assert seen == [["a", "b", "c", "d"], ["c", "d"], ["d"]]


def test_a_guest_that_never_began_is_no_tests_fault(tmp_path: Path) -> None:
    def execute(wanted: Execution, place: Path) -> Any:
        raise GuestHung("virtual time stands still")

    with pytest.raises(GuestHung):
        list(
            suite.run([SuiteCase("a", ("a",), "")], Execution(()), 60, tmp_path, execute, tmp_path)
        )


def test_tables(tmp_path: Path) -> None:
    table = [SuiteRow("t", "a # b", "ok", 1.5, ""), SuiteRow("u", "", "hung", None, "still")]
    suite.write([*table, SuiteRow("v", "", "skipped", 2, "no nc")], tmp_path)
    with (tmp_path / "results.csv").open() as file:
        assert list(csv.reader(file))[1:3] == [
            ["t", "a # b", "ok", "1.500000", ""],
            ["u", "", "hung", "", "still"],
        ]
    assert (tmp_path / "results.tap").read_text().splitlines() == [
        *("TAP version 13", "1..3", "ok 1 - t: a  b", "not ok 2 - u", "# hung: still"),
        "ok 3 - v # SKIP",
    ]


def test_a_test_that_never_ends_is_ended_with_what_it_started(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(root / "emulation/guest"))
    import suite as inside

    monkeypatch.setattr(inside, "NAMESPACE", [])
    script = "sleep 987.25 & echo started; echo wrong >&2; wait"
    end = inside.run({"command": ["sh", "-c", script], "folder": str(tmp_path)}, 0.5)
    assert (end["status"], end["output"], end["errors"]) == (None, "started\n", "wrong\n")
    assert subprocess.run(["pgrep", "-f", "sleep 987.25"], capture_output=True).returncode == 1
    end = inside.run({"command": ["sh", "-c", "sleep 987.25 & exit 3"], "folder": "/"}, 20)
    assert (end["status"], end["seconds"] < 10) == (3, True)
    assert subprocess.run(["pgrep", "-f", "sleep 987.25"], capture_output=True).returncode == 1


def test_what_a_suite_cannot_do_is_refused_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("packetdrill").mkdir()
    Path("a.pkt").touch()
    assert cli.main(["suite", "a.pkt"]) == ConfigError.exit_status
    assert (
        "--packetdrill packetdrill: is not a file; name your build of packetdrill"
        in capsys.readouterr().err
    )
    for seed in (-1, 2**64):
        with pytest.raises(SystemExit):
            cli.main(["suite", "a.pkt", "--seed", str(seed)])
        assert f"argument --seed: {seed} is no number from 0 to 2^64" in capsys.readouterr().err


@pytest.mark.kernel
def test_a_suite_in_a_guest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A test that waits by looking for its own end, and one that spins."""
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("tap.sh", "ip -br link; echo ok 1 - one; echo not ok 2 - two"),
        ("spin.py", "import os\nend = os.times()[4] + 0.1\nwhile os.times()[4] < end: pass"),
        ("hang.sh", "while :; do :; done"),
        ("last.sh", "date +%S.%N | cut -c 3-6; exit 4"),
    ):  # fmt: skip
        interpreter = "python3" if name.endswith("py") else "bash"
        write_executable(Path(name), f"#!/usr/bin/env {interpreter}\n{text}\n")
    words = ["suite", "tap.sh", "spin.py", "hang.sh", "last.sh", "--patience", "5"]
    assert cli.main([*words, "--output", "out"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["ok       tap.sh: one", "not ok   tap.sh: two"]
    assert [line.split("  virtual time has stood still at 3.00")[0] for line in said[2:]] == [
        *("ok       spin.py", "hung     hang.sh", "skipped  last.sh  .000"),
    ]
    assert "ok 3 - spin.py" in Path("out/results.tap").read_text()
