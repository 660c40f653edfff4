"""What a run was asked to be, written and read again; and that nothing reads a run's id."""

import re
from pathlib import Path

import pytest

from qdisclab.emulate import cli
from qdisclab.emulation.config import request
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.model.units import Duration
from tests import ROOT

#: How ids were taken apart: by their separators, their length and the names of their files.
PARSERS = (
    r'partition\("@"?\)', r'split\("@"\)', r"\.parts\[", r"\.parents\[[345]\]", r"seed-\*",
    r'"seed-', r"\(run(_id)?\)?\.split\(", r'\.id\.(r?partition|split)\("/"\)',
)  # fmt: skip

#: `parts` of other paths, and examples in text.
OTHERS = (
    "emulation/host/scratch.py",
    "emulation/study/trust.py",
    "emulation/programs/guest_root.py",
)


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    rrul = experiment("gbw2015/rrul")
    settings = {"rig.base_rtt": ["20ms"]}
    runs = [
        *select(rrul, link="10/1", qdisc="codel", cc="cubic", seed=(1, 2), era="2014"),
        *select(rrul, link="50/10", qdisc="cake", cc="bbr", seed=905, settings=settings),
        *select(rrul, link="10/10", qdisc="pie", seed=1, length=Duration.parse("20 s")),
    ]
    path = tmp_path / "runs.json"
    path.write_text(request.write(runs))
    asked = request.runs_of(request.read(path))
    assert [(run.id, job_of(run)) for run in asked] == [(run.id, job_of(run)) for run in runs]


def test_the_command_takes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = select(experiment("gbw2015/rrul"), link="10/1", qdisc="codel", cc="cubic", seed=(1, 2))
    path = tmp_path / "runs.json"
    path.write_text(request.write(runs))
    assert cli.main(["run", "--run-file", str(path), "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines() == [run.id for run in runs]
    assert cli.main(["run", "--run-file", str(path), "--seed", "3"]) == ConfigError.exit_status
    assert "leave out other options that select runs" in capsys.readouterr().err
    path.write_text('{"runs": [{"run": "a"}]}')
    assert cli.main(["run", "--run-file", str(path)]) == ConfigError.exit_status
    assert "is not the provenance of a run (KeyError" in capsys.readouterr().err
    path.write_text("{}")
    with pytest.raises(ConfigError, match="asks for no runs"):
        request.read(path)


def test_no_module_takes_an_id_apart() -> None:
    packages = (ROOT / name for name in ("analysis", "emulate", "emulation", "workflow"))
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for package in packages
        for path in sorted(package.rglob("*.py"))
        if str(path.relative_to(ROOT)) not in OTHERS
        for line in path.read_text().splitlines()
        if any(re.search(pattern, line) for pattern in PARSERS) and '"""' not in line
    ]
    assert found == []
