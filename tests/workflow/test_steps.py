"""Steps that a fork server does, their kernels, and commands that go away."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import nbclient
import nbformat
import pytest

from qdisclab.analysis.site import pages
from qdisclab.emulation.errors import ConfigError
from tests import ROOT, captured
from workflow import kernels, steps


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(ROOT)
    with steps.serving():
        yield os.environ[steps.ADDRESS]
    assert steps.ADDRESS not in os.environ


def step(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "workflow.steps", *words]
    return captured(command, cwd=ROOT)


def test_a_step_answers_with_its_output_and_status(served: str, tmp_path: Path) -> None:
    nothing = ("--results", str(tmp_path), "--data", str(tmp_path))
    for words, status, text in (
        (("figure", "none.yaml", *nothing), ConfigError.exit_status, "none.yaml"),
        (("report", *nothing), 1, "no figure"),
        (("run", "gbw2015/rrull"), ConfigError.exit_status, "did you mean 'gbw2015/rrul'"),
        (("claims", "--help"), 0, "python -m qdisclab.analysis.site.claims"),
    ):
        done = step(*words)
        assert (done.returncode, text in done.stdout + done.stderr) == (status, True), done


def test_without_a_server_the_command_does_the_step() -> None:
    assert steps.ADDRESS not in os.environ
    done = step("figure", "none.yaml")
    assert done.returncode == ConfigError.exit_status
    assert "none.yaml" in done.stderr


#: A command whose step waits for a pipe that nobody writes to.
WAITING = """
import os, sys
from multiprocessing.connection import Client
with Client(sys.argv[1]) as connection:
    connection.send(("figure", [sys.argv[2]], os.getpid(), {}))
    connection.recv()
"""


def test_a_command_that_goes_away_ends_its_step_alone(served: str, tmp_path: Path) -> None:
    """The step reads a figure's file that is a pipe, which nobody writes to."""
    pipe = tmp_path / "figure.yaml"
    os.mkfifo(pipe)
    words = [sys.executable, "-c", WAITING, served, str(pipe)]
    with subprocess.Popen(words) as command, pipe.open("wb") as end:  # it has been opened to read
        command.kill()
        deadline = time.monotonic() + 20
        with suppress(BrokenPipeError):
            while time.monotonic() < deadline:
                os.write(end.fileno(), b"#")
                time.sleep(0.02)
        assert time.monotonic() < deadline, "the step goes on"
    assert step("claims", "--help").returncode == 0


@pytest.mark.parametrize("longer", [0, 1])
def test_kernels_start_however_long_the_temporary_folder(
    longer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the longest that has room for a socket's name a server forks the kernel."""
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        place = Path(short) / ("x" * (steps.LONGEST + longer - len(short) - 1))
        place.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        cell = nbformat.v4.new_code_cell("import sys; print('workflow.preload' in sys.modules)")
        notebook = nbformat.v4.new_notebook(cells=[cell])
        with steps.serving():
            served = steps.ADDRESS in os.environ
            manager = {"kernel_manager_class": kernels.Manager} if served else {}
            nbclient.NotebookClient(notebook, **manager).execute()
        assert notebook.cells[0].outputs[0].text == f"{served}\n"
        assert served is (longer == 0)


def test_a_kernel_ends_with_who_started_it(served: str) -> None:
    kernel = steps.NotebookKernel(["-f", "/nowhere/kernel.json"], str(ROOT), os.environ)
    kernel.send_signal(signal.SIGKILL)
    assert kernel.wait() in (1, -signal.SIGKILL)
    assert kernel.poll() == kernel.exitcode


def test_the_page_that_grows_is_not_made_anew_for_each_figure(tmp_path: Path) -> None:
    page = tmp_path / pages.INDEX
    assert not steps._was_written(page)
    page.touch()
    assert steps._was_written(page)
    before = time.time() - steps.GROWS_S
    os.utime(page, (before, before))
    assert not steps._was_written(page)


PRELOADED = """
import ast, json, sys
from pathlib import Path
from workflow import preload
from qdisclab.emulate import cli
from qdisclab.analysis.site import notebookpage

before = set(sys.modules)
for path in Path("notebooks").glob("*.ipynb"):
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code":
            for node in ast.parse("".join(cell["source"])).body:
                if isinstance(node, ast.Import | ast.ImportFrom):
                    exec(ast.unparse(node))
status = cli.main(["run", "gbw2015/rrul", "--link", "10/10", "--seed", "1", "--dry-run"])
print(json.dumps({
    "status": status,
    "imported": sorted(name for name in sys.modules if name not in before),
    "exporters": notebookpage._exporter.cache_info().currsize,
}))
"""


def test_nothing_is_left_to_import_for_figures_and_runs_and_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("PYDEVD_DISABLE_FILE_VALIDATION", raising=False)
    done = captured([sys.executable, "-c", PRELOADED], check=True, cwd=ROOT)
    last = json.loads(done.stdout.splitlines()[-1])
    assert last == {"status": 0, "imported": [], "exporters": 1}
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []
