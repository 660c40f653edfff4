"""emulation.machine.guestcode: each file has a use, exists, and comes with its imports."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulation.config import kinds
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.kinds import traffic
from qdisclab.emulation.kinds.traffic.flent import SERVER_FILES
from qdisclab.emulation.machine import guestcode, vm
from qdisclab.emulation.machine.guestcode import FEATURES, FOLDER, START, WORKS
from qdisclab.emulation.study import studies

for folder in studies.shipped().values():
    kinds.add(folder)
TOOLS = {tool: files for kind in traffic.KINDS.values() for tool, files in kind.tools.items()}
#: The guest's files, those of the studies that ship among them.
PLACES = [FOLDER, *(folder / "kinds/guest" for folder in studies.shipped().values())]
SOURCES = {path.stem: path for place in PLACES for path in place.glob("*.py")}

#: A program that is taken along by `emulation.runs.suite`, as files of the user's are.
SUITE = "suite.py"

#: Programs that a module starts, and files that it copies, by their path.
BESIDE = {"ditg": "ditg_pickle.py", "web": "web_getter.py"}


def run_job(tool: str = "flent", *servers: str, **more: Any) -> dict[str, Any]:
    return {"traffic": {"tool": tool, "servers": list(servers)}, **more}


def names(job: dict[str, Any]) -> set[str]:
    return set(guestcode.files(job))


def every_job() -> Iterator[dict[str, Any]]:
    """A job for each work, tool, server and feature."""
    yield from (run_job(tool) for tool in TOOLS)
    yield from (run_job("flent", server) for server in SERVER_FILES)
    yield from ({"work": work} for work in (*WORKS, "saturation", "programs") if work != "run")
    yield from ({"work": "script", "uses": [feature]} for feature in (*FEATURES, "saturation"))
    yield run_job(nodes=[{"switches": True}], drivers=["wifi"], modules=[], own_qdiscs=["x"])


def imported(tree: ast.AST) -> set[str]:
    """The guest's modules that `tree` imports, also by `importlib.import_module`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=given):
                found |= {one.name for one in given}
            case ast.ImportFrom(module=str(name)):
                found.add(name)
            case ast.Call(func=ast.Attribute(attr="import_module"), args=[argument]):
                found.add(argument.value if isinstance(argument, ast.Constant) else "")
    return found & SOURCES.keys()


def at_start(module: str) -> set[str]:
    """What a module imports whenever it is imported, directly."""
    tree = ast.parse(SOURCES[module].read_text())
    kept = [one for one in tree.body if isinstance(one, (ast.Import, ast.ImportFrom))]
    return imported(ast.Module(kept, []))


def closure(modules: set[str]) -> set[str]:
    """`modules` and all that is imported with them."""
    found = set(modules)
    while more := {name for module in found for name in at_start(module)} - found:
        found |= more
    return found


def test_every_file_has_a_use() -> None:
    paths = (path for place in PLACES if place.is_dir() for path in place.iterdir())
    there = {path.name for path in paths if path.is_file()} - {"__init__.py", SUITE}
    assert there == {name for job in every_job() for name in names(job)}


def test_what_a_file_imports_comes_with_it() -> None:
    for job in every_job():
        modules = {name.removesuffix(".py") for name in names(job) if name.endswith(".py")}
        assert closure(modules) <= modules, job
        assert {BESIDE[name] for name in modules & BESIDE.keys()} <= names(job)


def test_each_tool_and_server_is_a_module_of_that_name() -> None:
    for name in [*TOOLS, *SERVER_FILES]:
        tool, function = ("traffic", "run_flent") if name == "flent" else (name, "run")
        tree = ast.parse(SOURCES[tool].read_text())
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert defined & {function, "start"}, name


def test_only_what_a_job_needs_gets_into_its_guest(tmp_path: Path) -> None:
    plain = names(run_job("flent", "netserver", "irtt"))
    assert plain == {*START, *guestcode.RIG}
    assert names(run_job("flent", "ditg")) - plain == {"ditg.py", "ditg_pickle.py"}
    assert names(run_job("flent", capture=True)) == plain
    assert names(run_job("programs")) - plain == {*TOOLS["programs"]}
    shell = names(run_job(work="shell", shell={}))
    assert shell - plain == {
        *("shell.py", "commands.py", "surroundings.py", "switch.py", "python2.py")
    }
    assert names({"work": "boot"}) == {*START}
    vm.prepare(tmp_path, vm.Machine(tmp_path, tmp_path, 1), run_job("flent", "ditg"))
    copied = {path.name for path in (tmp_path / "job/guest").iterdir()}
    assert copied == names(run_job("flent", "ditg"))


def test_a_script_lies_beside_the_job_as_it_is(tmp_path: Path) -> None:
    machine = vm.Machine(tmp_path, tmp_path, 1)
    vm.prepare(tmp_path, machine, {"work": "script"}, script="status('here')\n")
    assert (tmp_path / "job/script.py").read_text() == "status('here')\n"


@pytest.mark.parametrize(
    ("job", "what"),
    [
        ({"work": "play"}, "unknown work 'play'"),
        (run_job("iperf9"), "unknown tool 'iperf9'"),
        ({"work": "script", "uses": ["magic"]}, "unknown feature 'magic'"),
    ],
)
def test_what_is_not_listed_is_refused(job: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        guestcode.files(job)
