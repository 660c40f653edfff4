"""emulation.machine.guestcode: each file is listed, exists, and comes with its imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from emulation.errors import ConfigError
from emulation.machine import guestcode, vm
from emulation.machine.guestcode import FEATURES, FOLDER, SERVERS, START, TOOLS, WORKS

TABLES = (WORKS, TOOLS, SERVERS, FEATURES)
LISTED = {*START, *(name for table in TABLES for names in table.values() for name in names)}
SOURCES = {path.stem: path for path in FOLDER.glob("*.py")}

#: Programs that a module starts, and files that it copies, by their path.
BESIDE = {
    "ditg": "ditg_pickle.py",
    "mix": "mix_peer.py",
    "web": "web_getter.py",
    "window": "window_receiver.py",
}


def run_job(tool: str = "flent", *servers: str, **more: Any) -> dict[str, Any]:
    return {"traffic": {"tool": tool, "servers": list(servers)}, **more}


def names(job: dict[str, Any]) -> set[str]:
    return {path.name for path in guestcode.files(job)}


def every_job() -> Iterator[dict[str, Any]]:
    """A job for each work, tool, server and feature."""
    yield from (run_job(tool) for tool in TOOLS)
    yield from (run_job("flent", server) for server in SERVERS)
    yield from ({"work": work} for work in WORKS if work != "run")
    yield from ({"work": "script", "uses": [feature]} for feature in FEATURES)
    yield run_job(nodes=[{"switches": True}], drivers=["wifi"], modules=[])


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
                assert isinstance(argument, ast.Constant), "a module's name is written out"
                found.add(argument.value)
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


def entries(module: str, table: str) -> dict[str, set[str]]:
    """What is imported for each entry of a table of the guest: of its function, or lambda."""
    tree = ast.parse(SOURCES[module].read_text())
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    (given,) = (
        one.value
        for one in tree.body
        if isinstance(one, ast.Assign)
        and isinstance(one.targets[0], ast.Name)
        and one.targets[0].id == table
    )
    assert isinstance(given, ast.Dict)
    return {
        ast.literal_eval(key): imported(
            functions[value.id] if isinstance(value, ast.Name) else value
        )
        for key, value in zip(given.keys, given.values, strict=True)
        if key is not None
    }


def test_every_file_is_listed_and_there() -> None:
    there = {path.name for path in FOLDER.iterdir() if path.is_file()} - {"__init__.py"}
    assert there == LISTED


def test_what_a_file_imports_comes_with_it() -> None:
    for job in every_job():
        modules = {name.removesuffix(".py") for name in names(job) if name.endswith(".py")}
        assert closure(modules) <= modules, job
        assert {BESIDE[name] for name in modules & BESIDE.keys() if name != "mix"} <= names(job)
    assert BESIDE["mix"] in names(run_job("mix"))


@pytest.mark.parametrize(
    ("module", "table", "listed"),
    [
        ("main", "WORKS", {name: {*files} for name, files in WORKS.items()}),
        ("traffic", "TOOLS", {name: {*WORKS["run"], *files} for name, files in TOOLS.items()}),
        ("traffic", "SERVERS", {name: {*WORKS["run"], *files} for name, files in SERVERS.items()}),
    ],
)
def test_the_tables_of_host_and_guest_are_the_same(
    module: str, table: str, listed: dict[str, set[str]]
) -> None:
    found = entries(module, table)
    assert found.keys() == listed.keys()
    for name, modules in found.items():
        needed = {f"{one}.py" for one in closure(modules)}
        if name == "flent":  # looks at web's log where web is among the servers
            needed -= {*SERVERS["web"]}
        assert needed <= listed[name], name


def test_only_what_a_job_needs_gets_into_its_guest(tmp_path: Path) -> None:
    plain = names(run_job("flent", "netserver", "irtt"))
    assert plain == {*START, *guestcode.RIG}
    assert names(run_job("flent", "ditg")) - plain == {"ditg.py", "ditg_pickle.py"}
    assert names(run_job("flent", capture=True)) == plain
    assert names(run_job("mix", "iperf")) - plain == {*TOOLS["mix"]}
    shell = names(run_job(work="shell", shell={}))
    assert shell - plain == {"shell.py", "commands.py", "switch.py"}
    assert names({"work": "boot"}) == {*START}
    vm.prepare(tmp_path, tmp_path, run_job("flent", "ditg"))
    copied = {path.name for path in (tmp_path / "job/guest").iterdir()}
    assert copied == names(run_job("flent", "ditg"))


def test_a_script_lies_beside_the_job_as_it_is(tmp_path: Path) -> None:
    vm.prepare(tmp_path, tmp_path, {"work": "script"}, script="status('here')\n")
    assert (tmp_path / "job/script.py").read_text() == "status('here')\n"


@pytest.mark.parametrize(
    ("job", "what"),
    [
        ({"work": "play"}, "unknown work 'play'"),
        (run_job("iperf9"), "unknown tool 'iperf9'"),
        (run_job("flent", "sendmail"), "unknown server 'sendmail'"),
        ({"work": "script", "uses": ["magic"]}, "unknown feature 'magic'"),
    ],
)
def test_what_is_not_listed_is_refused(job: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        guestcode.files(job)
