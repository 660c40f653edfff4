"""What is done once, before figures and kernels are forked."""

import json
import subprocess
import sys

REHEARSED = """
import ast, json, sys
from pathlib import Path
from workflow import rehearsal

rehearsal.rehearse()
from analysis.measures import registry, store
from analysis.runs import study
from analysis.site import notebookpage

known = set(sys.modules)
for path in Path("notebooks").glob("*.ipynb"):
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code":
            for node in ast.parse("".join(cell["source"])).body:
                if isinstance(node, ast.Import | ast.ImportFrom):
                    exec(ast.unparse(node))
kept = store._digest.cache_info().currsize
for folder in study.known():
    for measure in registry.registry_of(folder).measures.values():
        store.code(folder, measure)
print(json.dumps({
    "imported": sorted(name for name in sys.modules if name not in known),
    "digests made anew": store._digest.cache_info().currsize - kept,
    "exporters": notebookpage._exporter.cache_info().currsize,
}))
"""


def test_nothing_is_left_to_import_for_a_notebook_and_nothing_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("PYDEVD_DISABLE_FILE_VALIDATION", raising=False)
    done = subprocess.run(
        [sys.executable, "-c", REHEARSED], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {"imported": [], "digests made anew": 0, "exporters": 1}
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


REHEARSED_RUNS = """
import sys
from workflow import rehearsal

rehearsal.rehearse_runs()
known = set(sys.modules)
from emulate import cli

status = cli.main(["run", "gbw2015/rrul", "--link", "10/10", "--seed", "1", "--dry-run"])
ours = ("emulate.cli", "emulation", "emulate.commands", "analysis", "pydantic", "yaml")
print([status, *(name for name in sys.modules if name not in known and name.startswith(ours))])
"""


def test_nothing_is_left_to_import_for_a_run():
    done = subprocess.run(
        [sys.executable, "-c", REHEARSED_RUNS], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[0, 'emulate.cli']"
