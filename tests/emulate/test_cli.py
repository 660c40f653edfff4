import argparse
import io
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from qdisclab.emulate import cli
from qdisclab.emulate.commands import check
from qdisclab.emulate.table import print_table
from qdisclab.emulation import errors
from qdisclab.emulation.errors import ConfigError, EmulationError, KernelBuildError
from qdisclab.emulation.study import studies
from tests import ROOT, captured


def test_list_prints_a_line_an_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list"]) == 0
    titles, *rows = capsys.readouterr().out.splitlines()
    assert titles.split("\t")[:2] == ["experiment", "section"]
    (row,) = [row.split("\t") for row in rows if row.startswith("gbw2015/rrul\t")]
    assert row[1:7] == ["5.1", "Real-time response under load", "42", "30", "1260", "49 h 00 min"]


def test_list_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "--json"]) == 0
    rows = {row["experiment"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["gbw2015/rrul"]["runs"] == 1260
    assert rows["gbw2015/rrul"]["virtual_s"] == 1260 * 140
    assert rows["gbw2015/rrul"]["wall_s"] > 0


def test_list_cells_of_which_some_lack_an_axis(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "khademi2013/wifi"]) == 0
    titles, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert {len(row) for row in rows} == {len(titles)}
    targets = {row[titles.index("target")] for row in rows}
    assert {"", "5 ms"} <= targets


def test_a_cell_of_a_table_is_one_line_without_a_word_to_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(["a", "b"], [["one\ntwo\tthree", "\x1b[31mred\x07"]])
    assert capsys.readouterr().out == "a\tb\none two three\t\\x1b[31mred\\x07\n"


def test_a_terminal_has_columns_that_fit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    rows = [["c064", "a statement of some length", "1"], ["c1", "", "10"]]
    print_table(
        ["claim", "statement", "n"],
        rows,
        numbers=["n"],
        styles=["dim", None],
        notes=[("so", "bold")],
    )
    assert capsys.readouterr().out.splitlines() == [
        "\x1b[1mclaim  statement           n\x1b[0m",
        "\x1b[2mc064   a statement of      1\x1b[0m",
        "\x1b[2m       some length\x1b[0m",
        "c1                        10",
        "\x1b[1mso\x1b[0m",
    ]


def test_list_the_cells_of_an_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "gbw2015/rrul", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 42
    (row,) = [
        row
        for row in rows
        if (row["link"], row["qdisc"], row["cc"]) == ("10/1", "pfifo_fast", "reno")
    ]
    assert row["up"] == "pfifo_fast (txqueuelen 127)"


def test_an_unknown_experiment_is_an_error_without_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["list", "gbw2015/rul"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("emulate: error: unknown experiment 'gbw2015/rul'; did you mean")
    assert captured.err.count("\n") == 1


def test_check_accepts_the_shipped_file(gbw2015: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", str(gbw2015)]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == f"{gbw2015}: gbw2015/rrul: 42 points, 1260 runs"


def test_check_reports_every_file(
    gbw2015: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(gbw2015.read_text().replace("base_rtt: 50 ms", "base_rtt: 50"))
    assert cli.main(["check", str(wrong), str(gbw2015)]) == 2
    captured = capsys.readouterr()
    assert "42 points" in captured.out
    assert f"emulate: error: {wrong}:" in captured.err
    assert "rig.base_rtt: '50': a bare number has no unit; write e.g. '50 ms'" in captured.err


def test_check_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("study: x\nstudy: y\n")
    missing = tmp_path / "missing.yaml"
    assert cli.main(["check", "--json", str(wrong), str(missing)]) == 2
    first, second = json.loads(capsys.readouterr().out)
    assert not first["valid"]
    problem = {"line": 2, "key": "study", "what": "duplicate key, first on line 1"}
    assert {**problem, "todo": "remove one of the two"} in first["problems"]
    assert second["problems"][0]["what"] == "cannot be read: No such file or directory"


def test_no_command_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    assert "commands:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "without"),
    [
        (["--help"], {"pydantic", "qdisclab.emulation.model.run"}),
        (["run", "--help"], {"numpy", "pandas"}),
        (["list", "--json"], {"numpy", "pandas"}),  # of all studies, with their kinds
    ],
)
def test_imports_of_a_command(words: list[str], without: set[str]) -> None:
    script = (
        "import sys\nfrom qdisclab.emulate import cli\n"
        f"try:\n    cli.main({words})\nexcept SystemExit:\n    pass\n"
        f"print({without} & set(sys.modules))\n"
    )
    done = captured([sys.executable, "-c", script], check=True)
    assert len(done.stdout) > 100
    assert done.stdout.splitlines()[-1] == "set()"


def test_interrupted_is_130(monkeypatch: pytest.MonkeyPatch, gbw2015: Path) -> None:
    def interrupt(args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "run", interrupt)
    assert cli.main(["check", str(gbw2015)]) == 130


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_standard_stream_may_be_closed(closed: str, tmp_path: Path) -> None:
    script = tmp_path / "script"  # a file gets none of what is printed
    script.write_text(
        "import os, sys\nfrom qdisclab.emulate import cli\n"
        "status = cli.main(['list'])\n"
        "with open('file', 'w') as file:\n    os.write(1, b'text')\n    print('text')\n"
        "sys.stdin.isatty()\nsys.stdout.flush()\nsys.stderr.flush()\n"
        "os._exit(status)\n"
    )
    command = ["sh", "-c", f'"$0" script {closed}', sys.executable]
    paths = os.environ | {"PYTHONPATH": str(ROOT)}
    done = captured(command, cwd=tmp_path, env=paths)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "file").read_bytes() == b""


def test_commands_for_a_shell_have_no_null_byte(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"echo a\0b")))
    assert cli.main(["shell", "gbw2015/rrul"]) == 2
    assert "standard input: has a null byte" in capsys.readouterr().err


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python's handler of SIGINT: a shell has what it runs in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("first", "status"), [(signal.SIGINT, errors.INTERRUPTED), (signal.SIGTERM, errors.TERMINATED)]
)
def test_what_ends_a_command_lets_it_clear_away(
    first: signal.Signals, status: int, gbw2015: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where SIGTERM follows, as timeout(1) and who has started it send it."""
    cleared = []

    def run(_: argparse.Namespace) -> int:
        try:
            os.kill(os.getpid(), first)
            signal.sigtimedwait([], 10)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            cleared.append(True)
        return 0

    monkeypatch.setattr(check, "run", run)
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert cli.main(["check", str(gbw2015)]) == status
    assert cleared
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]


def test_each_cause_has_its_exit_status() -> None:
    statuses = {
        cause.__name__: cause.exit_status
        for cause in EmulationError.__subclasses__()
        if cause.__module__ == errors.__name__
    }
    assert statuses == {
        "ConfigError": 2,
        "MissingTool": 3,
        "KernelBuildError": 4,
        "GuestFailure": 5,
        "RigMismatch": 6,
        "TrafficFailure": 7,
        "GuestHung": 8,
        "NotReproduced": 9,
        "DamagedData": 10,
        "NotCompatible": 11,
        "StorageError": 12,
        "DamagedCache": 13,
        "Interrupted": 130,
    }


def test_an_error_says_where_what_and_what_to_do() -> None:
    assert str(errors.MissingTool("no tc", "guest", "install iproute2")) == (
        "guest: no tc; install iproute2"
    )
    assert str(errors.GuestHung("no progress")) == "no progress"


def refused_exec(*words: str) -> str:
    """Why `emulate exec` refuses these words before it looks for a kernel."""
    parser = cli.build_parser("exec")
    command = () if "--" in words else ("--", "true")
    with pytest.raises(ConfigError) as caught:
        cli.command_module("exec").requested(parser.parse_args(["exec", *words, *command]))
    return str(caught.value)


@pytest.mark.parametrize(
    ("entries", "refused"),
    [
        ((), False),
        (("exec.json", "stdout", "stderr", "kernel.log", "qdiscs.json", "files"), False),
        (("stdout",), True),
        (("exec.json", "thesis.tex"), True),
    ],
)
def test_exec_leaves_folders_alone_that_are_not_its_own(
    tmp_path: Path, entries: tuple[str, ...], refused: bool
) -> None:
    place, link = tmp_path / "place", tmp_path / "link"
    place.mkdir()
    link.symlink_to(place)
    for name in entries:
        (place / name).touch()
    if not refused:
        args = cli.build_parser("exec").parse_args(["exec", "--output", str(place), "--", "true"])
        cli.command_module("exec").requested(args)
    for one in [link, *([place] if refused else [])]:
        said = refused_exec("--output", str(one))
        assert said.startswith(f"--output {one}: already exists, and was not left by an execution")
    place.rename(tmp_path / "away")
    assert "already exists" in refused_exec("--output", str(link))  # it leads nowhere now


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rig", "gbw2015/rrul --seed 3"), "--rig gbw2015/rrul --seed 3: its --seed 3 has"),
        (("--rig", "gbw2015/rrul 'x"), "--rig gbw2015/rrul 'x: cannot be read: No closing quotati"),
        (("--", ""), "emulate exec: no command is given; write it after '--'"),
        (("--rig", "gbw2015/rrul", "--", "on", "client"), "on client: no command is given; "),
        (("--rig", "gbw2015/rrul", "--", "on", "us", "true"), "on us: there is no such node"),
        (("--", "on", "client", "true"), "on client: there is no such node; name a rig with --rig"),
        (("--memory", "256"), "--memory: '256': a bare number has no unit; write e.g. '256 MiB'"),
        (("--timeout", "5"), "--timeout: '5': a bare number has no unit; write e.g. '10 min'"),
        (("--timeout", "0 s"), "--timeout: a timeout of 0 leaves no time; give more than 0"),
        (("--memory", "1 MiB"), "--memory: '1 MiB' is not a possible memory of a guest; give '64"),
    ],
)
def test_what_exec_cannot_do_is_refused(words: tuple[str, ...], said: str) -> None:
    assert refused_exec(*words).startswith(said)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("9.9", "no source is known for 9.9; choose from 6.1, "),
        ("5.10", "and 57 more; choose from 6.1, "),  # older than all patches
        ("6.12.5", "'6.12.5' is not a kernel series; name one without an update, of those here: 6"),
        ("", "'' is not a kernel series; "),
        ("0123", "or as `emulate kernel list` does"),
        ("0123456789abcdef", "no kernel '0123456789abcdef' is in the cache; "),
    ],
)
@pytest.mark.parametrize(
    "words",
    [
        ("run", "gbw2015/rrul", "--dry-run"),
        ("shell", "gbw2015/rrul", "--command", "true"),
        ("exec", "--rig", "gbw2015/rrul", "--", "true"),
        ("exec", "--", "true"),
    ],
)
def test_a_kernel_that_nobody_can_build_is_refused(
    words: tuple[str, ...], kernel: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([words[0], "--kernel", kernel, *words[1:]]) == KernelBuildError.exit_status
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert said in captured.err


def test_a_folder_of_linux_is_no_built_kernel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "linux"
    tree.mkdir()
    assert cli.main(["exec", "--kernel", str(tree), "--", "true"]) == KernelBuildError.exit_status
    assert f"'{tree}' is not a kernel series" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["~nosuchuser/x", "x" * 300, f"{'x' * 300}/y", f"a/{'x' * 300}"])
@pytest.mark.parametrize("command", ["list", "check", "run"])
def test_what_is_no_study_is_an_error_of_two_lines_at_most(
    command: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([command, name]) == 2
    said = capsys.readouterr().err
    assert said.startswith("emulate: error: ")
    assert said.count("\n") <= 2


def test_a_study_with_the_name_of_another_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "gbw2015"
    folder.mkdir()
    shutil.copy(studies.SHIPPED / "gbw2015/study.yaml", folder)
    named = [str(folder), f"{folder}/study.yaml", f"{folder}/rrul"]
    for words in (["list", named[0]], *(["check", name] for name in named)):
        assert cli.main(words) == 2
        assert "has the name of the study in " in capsys.readouterr().err
    monkeypatch.setenv(studies.VARIABLE, str(folder))
    for words in (["list"], ["list", "gbw2015"], ["run", "gbw2015/rrul"]):
        assert cli.main(words) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"emulate: error: {studies.VARIABLE}: {folder}: has the name of th")
    monkeypatch.setenv(studies.VARIABLE, str(studies.SHIPPED / "gbw2015"))  # it is the same one
    assert cli.main(["list", "gbw2015"]) == 0


def test_a_study_of_one_experiment_stands_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "bugs", "--kernel", "7.2", "--seed", "4", "--dry-run"]) == 0
    assert capsys.readouterr().out == "bugs/cases@linux-7.2/-/-/-/seed-004\n"


@pytest.mark.parametrize("name", ["null", "true", "my-study"])
def test_a_new_study_is_right_whatever_its_name(tmp_path: Path, name: str) -> None:
    assert cli.main(["new", str(tmp_path / name)]) == 0
    assert cli.main(["check", str(tmp_path / name)]) == 0
    figure = yaml.safe_load((tmp_path / name / "figures/latency.yaml").read_text())
    assert figure["parameters"]["paper"] == name


RRUL = ("run", "gbw2015/rrul", "--dry-run")
UPLOADS = ("run", "bbr2016/uploads", "--link", "5/20", "--qdisc", "bfifo_64k", "--dry-run")
LEFT_OUT = "uploads: its sweep has no qdisc 'bfifo_64k' with the other values; leave it out"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "gbw2015/"], "is a study, not an experiment; write gbw2015/rrul; "),
        (
            ["list", "gbw2015/rrul@2014/10-10/codel/cubic/seed-001"],
            "is a run, not an experiment; write gbw2015/rrul and choose by --link, --qdisc, ",
        ),
        (["list", "--kernel"], "unrecognized arguments: --kernel; see 'emulate list --help'"),
        ([*RRUL, "--era", "2014", "--era", "2013"], "argument --era: is given twice; leave one of"),
        ([*RRUL, "--kernel", "7.2", "--kernel", "7.3"], "argument --kernel: is given twice; leave"),
        ([*RRUL, "--length", "20", "--length", "30"], "argument --length: is given twice; leave"),
        ([*RRUL, "--seed", "1.5"], "argument --seed: '1.5' is not a whole number"),
        (
            UPLOADS,
            "bbr2016/uploads: its sweep has none of these values together; see",
        ),
        ([*UPLOADS, "--qdisc", "bfifo_1024k_256k"], LEFT_OUT),  # of the sweep at this link
        ([*UPLOADS, "--qdisc", "bfifo"], LEFT_OUT),  # of no sweep
        (["run", "udp_flood"], "unknown experiment 'udp_flood'; write battling2013/udp_flood\n"),
    ],
)
def test_what_cannot_be_asked_for_is_told(
    words: Sequence[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        assert cli.main([*words]) == ConfigError.exit_status
    except SystemExit as ended:
        assert ended.code == ConfigError.exit_status
    assert said in capsys.readouterr().err
