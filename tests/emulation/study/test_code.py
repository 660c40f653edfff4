"""A study's own modules: found by name, executed once agreed to, and blamed with file and line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.study import code, trust
from tests import write_files

Write = Callable[[str, str], Path]


@pytest.fixture
def write(study: Path) -> Write:
    """What writes a file of the study."""

    def write(name: str, text: str) -> Path:
        return write_files(study, {name: text}) / name

    return write


def test_modules_import_each_other_with_a_dot(study: Path, write: Write) -> None:
    write("measures/__init__.py", "")
    write("measures/delay.py", "BASE = 40\n")
    write("claims/__init__.py", "from ..measures.delay import BASE\n")
    write("plots.py", "from .measures import delay\n")
    assert code.module(study, "claims").BASE == 40
    assert code.module(study, "plots").delay is code.module(study, "measures.delay")


def test_two_studies_may_have_the_same_names(study: Path, write: Write) -> None:
    write("plots.py", "WHOSE = 1\n")
    other = study.with_name("other")
    other.mkdir()
    (other / "plots.py").write_text("WHOSE = 2\n")
    assert [code.module(one, "plots").WHOSE for one in (study, other)] == [1, 2]


def test_all_modules_of_a_folder(study: Path, write: Write) -> None:
    assert code.modules(study, "kinds") == []
    write("kinds/b.py", "")
    write("kinds/a.py", "")
    assert [module.__name__.partition(".")[2] for module in code.modules(study, "kinds")] == [
        "kinds.a", "kinds.b",
    ]  # fmt: skip


def test_what_has_changed_is_executed_anew(study: Path, write: Write) -> None:
    write("measures.py", "BASE = 40\n")
    write("plots.py", "from .measures import BASE\n")
    assert code.module(study, "plots") is code.module(study, "plots")
    write("measures.py", "BASE = 400\n")
    assert code.module(study, "plots").BASE == 400


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("\n1 / 0\n", 2, "ZeroDivisionError: division by zero"),
        ("def f(:\n", 1, "SyntaxError: invalid syntax"),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
        ("from .nothing import x\n", 1, "ModuleNotFoundError: No module named 'study_"),
        ("import numpy\nnumpy.ones(2) @ numpy.ones(3)\n", 2, "ValueError: matmul"),
    ],
)
def test_a_module_that_fails_is_blamed_with_its_line(
    study: Path, write: Write, text: str, line: int, what: str
) -> None:
    path = write("measures.py", text)
    for _ in range(2):  # what failed is not taken for executed
        with pytest.raises(ConfigError) as caught:
            code.module(study, "measures")
        assert caught.value.where == f"{path}:{line}"
        assert caught.value.what.startswith(what)


def test_what_a_module_calls_is_blamed_on_it(study: Path, write: Write) -> None:
    path = write("measures.py", "def of(run):\n    return [][run]\n")
    of = code.module(study, "measures").of
    what = rf"{path}:2: delay fails: IndexError: list index"
    with pytest.raises(ConfigError, match=what), code.blamed(study, "delay fails: "):
        of(1)
    what = rf"{path}: TypeError: of\(\) missing 1"
    with pytest.raises(ConfigError, match=what), code.blamed(study, otherwise=path):
        of()


def test_what_is_not_there_or_there_twice(study: Path, write: Write) -> None:
    with pytest.raises(ConfigError, match=r"mine: the study has no plots/edge\.py; write it"):
        code.module(study, "plots.edge")
    write("plots.py", "")
    write("plots/__init__.py", "")
    with pytest.raises(ConfigError, match=r"there are plots\.py and plots/; move"):
        code.module(study, "plots")


def test_nothing_is_executed_unasked(
    study: Path, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(trust.VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write("study.yaml", "format: 1\n")
    path = write("measures.py", "BASE = 40\n")
    with pytest.raises(trust.Untrusted, match=r"measures\.py .*not yet trusted"):
        code.module(study, "measures")
    trust.remember(study)
    assert code.module(study, "measures").BASE == 40
    path.write_text("BASE = 401\n")
    with pytest.raises(trust.Untrusted):
        code.module(study, "measures")
    outside = tmp_path / "outside.py"
    outside.write_text("")
    (study / "plots.py").symlink_to(outside)
    with pytest.raises(ConfigError, match="leads out of the study's folder"):
        code.module(study, "plots")
