"""What studies of others execute: nothing before somebody has agreed, who sees what it is."""

import io
import os
import py_compile
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from qdisclab.analysis.claims import plugin
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs.study import StudyFolder
from qdisclab.analysis.site.figurefile import read_figure
from qdisclab.emulate.cli import main
from qdisclab.emulation.config.catalogue import load, select
from qdisclab.emulation.errors import ConfigError, EmulationError
from qdisclab.emulation.runs import run as running
from qdisclab.emulation.study import code as code_of, studies, template, trust
from tests import studyfile

RIG = """\
from pathlib import Path
Path({mark!r}).touch()
def rig(link, queues):
    raise RuntimeError("is built")
"""
COMMAND = """
      kind: programs
      length: 10 s
      programs:
        - {kind: command, node: client, command: [sh, -c, "echo \\"a  b\\""]}"""
Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(trust.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def write(study: Path, tmp_path: Path) -> Write:
    def made(rig: str = studyfile.DAISY, traffic: str = studyfile.RRUL, code: bool = False) -> Path:
        (study / "study.yaml").write_text(studyfile.text(rig, traffic))
        if code:
            (study / "rigs.py").write_text(RIG.format(mark=str(tmp_path / "ran")))
        return study

    return made


def test_a_study_of_numbers_needs_nobody_to_agree(write: Write) -> None:
    assert trust.executes(write()) == []
    assert trust.trusted(write())


def test_shipped_studies_are_trusted_and_others_by_folder(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(map(trust.trusted, studies.shipped().values()))
    folder = write(code=True)
    assert not trust.trusted(folder)
    monkeypatch.setenv(trust.VARIABLE, str(folder.parent))
    assert trust.trusted(folder)


def test_what_a_new_study_becomes_is_its_users(tmp_path: Path) -> None:
    folder = tmp_path / "my-study"
    template.make(folder)
    (folder / "rigs.py").write_text("x = 1\n")
    assert trust.trusted(folder)
    folder.rename(tmp_path / "away")
    folder.mkdir()
    for path in (tmp_path / "away").glob("*.*"):
        (folder / path.name).write_bytes(path.read_bytes())
    assert not trust.trusted(folder)  # another one in its place


def test_a_folder_made_after_an_own_one_is_another(tmp_path: Path) -> None:
    """File systems give the number of a removed folder to the next one."""
    folder = tmp_path / "my-study"
    template.make(folder)
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "rigs.py").write_text("x = 1\n")
    assert not trust.trusted(folder)


@pytest.mark.parametrize("command", ["check", "list"])
def test_rigs_are_not_executed_before_somebody_agrees(
    command: str, write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(rig="{kind: python, function: rig}", code=True)
    assert main([command, str(folder)]) == ConfigError.exit_status
    said = capsys.readouterr().err
    assert "executes with your rights: rigs.py (Python, when the study is read), not yet" in said
    assert f"emulate check --trust {folder}" in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "ran").exists()
    main([command, "--trust", str(folder)])
    assert "is built" in capsys.readouterr().err
    assert (tmp_path / "ran").exists()
    (tmp_path / "ran").unlink()
    (folder / "rigs.py").write_text((folder / "rigs.py").read_text() + "# another\n")
    main([command, str(folder)])
    assert "not yet trusted" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()


class Terminal(io.StringIO):
    """An input with somebody in front of it."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "agreed"), [("y\n", True), ("\n", False), ("", False)])
def test_at_a_terminal_it_is_shown_and_asked(
    answer: str, agreed: bool, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(traffic=COMMAND, code=True)
    out = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", out)
    trust.ask(folder / "first", False)
    assert "with your rights: rigs.py (Python, when the study is read)" in out.getvalue()
    assert """on the guest: sh -c 'echo "a  b"'""" in out.getvalue()
    assert trust.trusted(folder) == agreed


def test_the_answer_is_about_what_was_shown(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(code=True)

    def answer() -> str:
        (folder / "rigs.py").write_text("x = 1\n")
        return "y\n"

    stdin = Terminal()
    stdin.readline = answer  # type: ignore[assignment, method-assign]
    monkeypatch.setattr("sys.stdin", stdin)
    monkeypatch.setattr("sys.stderr", Terminal())
    trust.ask(folder, False)
    assert not trust.trusted(folder)


def test_names_of_files_add_no_lines_to_the_list(write: Write) -> None:
    folder = write()
    (folder / "a.py (\n  nothing).py").write_text("")
    (folder / f"{'a' * 200}.py").write_text("")
    lines = trust.executes(folder)
    assert [len(line.splitlines()) for line in lines] == [1, 1]
    assert any(line.endswith(" …") and len(line) == trust.LONGEST_LINE for line in lines)


def test_names_of_files_may_be_any_bytes(write: Write) -> None:
    folder = write(code=True)
    Path(os.fsdecode(bytes(folder) + b"/\xff.py")).write_text("")
    trust.remember(folder)
    assert trust.trusted(folder)


def test_programs_are_not_run_before_somebody_agrees(write: Write) -> None:
    folder = write(traffic=COMMAND)
    (experiment,) = load(folder).experiments  # which executes nothing
    (run,) = select(experiment)
    with pytest.raises(trust.Untrusted, match="on the guest"):
        running.machine_of(run, None, None)  # type: ignore[arg-type]
    trust.ask(folder, True)
    assert trust.trusted(folder)
    assert experiment.name == "first"
    (folder / "study.yaml").write_text((folder / "study.yaml").read_text().replace("a  b", "c"))
    assert not trust.trusted(folder)


def test_claims_and_their_stale_bytecode(write: Write) -> None:
    folder = write()
    (folder / "claims.py").write_text("RULES = {}\n")
    with pytest.raises(EmulationError, match=r"claims\.py \(.*\), not yet trusted"):
        plugin.rules_of(StudyFolder(folder))
    trust.remember(folder)
    assert plugin.rules_of(StudyFolder(folder)).rules == {}
    assert not (folder / "__pycache__").exists()  # nor is it read from there


def test_code_in_a_folder_of_a_tool_is_refused(write: Write) -> None:
    """Nobody would be asked about it: `executes` does not look there."""
    folder = write()
    (folder / "measures/__pycache__").mkdir(parents=True)
    (folder / "measures/__pycache__/__init__.py").write_text("raise RuntimeError")
    assert trust.trusted(folder)
    with pytest.raises(ConfigError, match="is in a folder of runs or of a tool"):
        code_of.modules(folder, "measures")


def test_bytecode_of_a_study_is_not_that_beside_it(write: Write) -> None:
    """Also where a function imports it, after the module has been executed."""
    folder = write()
    (folder / "claims.py").write_text("def late():\n    from .helper import x\n    return x\n")
    helper = folder / "helper.py"
    for text in ("x = 2\n", "x = 1\n"):
        helper.write_text(text)
        os.utime(helper, (1, 1))
        if text == "x = 2\n":
            py_compile.compile(str(helper))
    trust.remember(folder)
    assert code_of.module(folder, "claims").late() == 1


def test_a_change_of_any_file_asks_again_but_runs_do_not(write: Write) -> None:
    folder = write(traffic=COMMAND)
    (folder / "send").write_text("1")
    trust.remember(folder)
    for name in ("data/run.json", "__pycache__/rigs.pyc", ".git/HEAD"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    assert trust.trusted(folder)
    (folder / "send").write_text("2")
    assert not trust.trusted(folder)


@pytest.mark.parametrize("name", ["data/send", ".git/send", "a/__pycache__/send"])
def test_a_program_among_runs_is_refused(name: str, write: Write) -> None:
    folder = write(traffic=COMMAND.replace("length:", f"files: [{name}]\n      length:"))
    with pytest.raises(ConfigError, match="is in a folder of runs or of a tool"):
        trust.require(folder)


def test_a_module_is_built_here(write: Write) -> None:
    folder = write()
    (folder / "mine").mkdir()
    (folder / "mine" / "Kbuild").write_text("obj-m := sch_mine.o\n")
    text = (folder / "study.yaml").read_text()
    (folder / "study.yaml").write_text(
        text.replace("experiments:", "qdiscs: {mine: {kind: mine, module: mine}}\nexperiments:")
    )
    (line,) = trust.executes(folder)
    assert line.startswith("behind a wall: make, with mine/Kbuild; ")


@pytest.mark.parametrize("name", ["../out", "/etc", "link", "a/../../out"])
def test_modules_lie_in_the_study(name: str, write: Write, tmp_path: Path) -> None:
    folder = write()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "Kbuild").write_text("obj-m := sch_mine.o\n")
    (folder / "link").symlink_to(tmp_path / "out")
    text = (folder / "study.yaml").read_text()
    line = f"qdiscs: {{mine: {{kind: mine, module: {name}}}}}\n"
    (folder / "study.yaml").write_text(text.replace("experiments:", f"{line}experiments:"))
    with pytest.raises(ConfigError, match="leads out of the study's folder"):
        load(folder)


def test_code_data_and_notebooks_lie_in_the_study(write: Write, tmp_path: Path) -> None:
    folder = write()
    (tmp_path / "out").mkdir()
    (folder / "data").symlink_to(tmp_path / "out")
    with pytest.raises(ConfigError, match="leads out"):
        studies.data_folder(folder)
    (folder / "data").unlink()
    (folder / "data").mkdir()
    (folder / "data/again").symlink_to("../figures")
    assert trust.executes(folder) == []
    (folder / "data/mine").symlink_to(tmp_path / "out")
    with pytest.raises(ConfigError, match="'data/mine' leads out"):
        trust.require(folder)
    (folder / "data/mine").unlink()
    (tmp_path / "out.py").write_text("")
    (folder / "rigs.py").symlink_to(tmp_path / "out.py")
    with pytest.raises(ConfigError, match="leads out"):
        trust.executes(folder)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("notebook", "../../../evil", "notebook: .* is not its name alone"),
        ("notebook", ".hidden/evil", "notebook: .* is not its name alone"),
        ("notebook", f"'{'9' * 400}'", "notebook: .* is not its name alone"),
        ("notebook", "__pycache__/evil", "notebook: .* is not its name alone"),
        ("table", "/etc/passwd", "table: .* leads out"),
        ("published_values", "../../out.csv", "published_values: .* leads out"),
        ("x=1;import os", "1", "is not the name of a parameter"),
        ("import", "1", "is not the name of a parameter"),
    ],
)
def test_figures_name_what_is_of_the_study(key: str, value: str, said: str, study: Path) -> None:
    template.make(study.parent / "own")
    path = study.parent / "own/figures/latency.yaml"
    text = path.read_text()
    if key == "notebook":
        text = text.replace("notebook: rrul", f"notebook: {value}")
    else:
        text = text.replace('  published_values: ""', "").rstrip() + f'\n  "{key}": "{value}"\n'
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        read_figure(path)


@pytest.mark.parametrize("name", ["a$(touch x)", "..", "a b", "a{b}", "ä", "x" * 101])
def test_the_name_of_a_figure_is_a_name(name: str, study: Path) -> None:
    template.make(study.parent / "own")
    path = study.parent / "own/figures/latency.yaml"
    path = path.rename(path.with_name(f"{name}.yaml"))
    with pytest.raises(DataError, match="is not a name for a figure"):
        read_figure(path)


def test_notebooks_beside_a_folder_of_studies_are_not_its_own(tmp_path: Path) -> None:
    """Nobody would be asked whether to trust them."""
    folder = tmp_path / "studies/own"
    folder.parent.mkdir()
    template.make(folder)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks/evil.ipynb").write_text("{}")
    path = folder / "figures/latency.yaml"
    path.write_text(path.read_text().replace("notebook: rrul", "notebook: evil"))
    with pytest.raises(ConfigError, match=r"yaml:\d+: notebook: there is no evil\.ipynb"):
        read_figure(path)


@pytest.mark.parametrize("name", ["claims", "notebooks"])
def test_code_behind_a_linked_folder_is_refused(name: str, write: Write) -> None:
    folder = write()
    (folder / "data/hidden").mkdir(parents=True)
    (folder / "data/hidden/__init__.py").write_text("")
    (folder / name).symlink_to("data/hidden")
    with pytest.raises(ConfigError, match=f"'{name}' is a link to a folder"):
        trust.require(folder)


def test_answers_of_somebody_else_do_not_count(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(code=True)
    trust.remember(folder)
    monkeypatch.setattr("os.getuid", lambda: 12345)
    with pytest.raises(ConfigError, match="belongs to another user"):
        trust.trusted(folder)
