"""The wheel: what it holds, and that it works installed, without the packages of the extras."""

import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import ROOT, captured

#: What an environment without extras does: packages of theirs cannot be imported.
WITHOUT = """
import sys
sys.path.insert(0, {site!r})
for name in {names!r}:
    sys.modules[name] = None
import qdisclab.emulate.cli as cli
assert cli.__file__.startswith({site!r}), cli.__file__
assert not {{"analysis", "emulate", "emulation"}} & set(sys.modules)
sys.argv[0] = "emulate"
sys.exit(cli.main())
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with the wheel of this checkout in it."""
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(place)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True)
    (wheel,) = place.glob("qdisc_lab-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(place / "site")
    return place / "site"


#: Commands before another, which then has no network, or may not make namespaces.
CUT_OFF = ("unshare", "--map-root-user", "--net")
NO_NAMESPACES = (sys.executable, str(ROOT / "tests/refuse.py"), "unshare", "setns")


def emulate(
    site: Path, *words: str, cwd: Path, before: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = project["optional-dependencies"]["notebooks"]
    names = [line.partition("==")[0] for line in lines]
    code = WITHOUT.format(site=str(site), names=names)
    if NO_NAMESPACES[1] in before:
        before = (*before, "--")
    command = [*before, sys.executable, "-P", "-c", code, *words]
    return captured(command, cwd=cwd)


def test_all_lies_below_one_folder(site: Path) -> None:
    assert {path.name for path in site.iterdir()} == {"qdisclab", "qdisc_lab-0.1.0.dist-info"}
    shipped = {path.name for path in (site / "qdisclab").iterdir()}
    assert shipped >= {"analysis", "emulate", "emulation", "notebooks", "qdisc", "studies"}
    assert not {"data", "tests", "workflow", "results"} & shipped
    assert not (site / "qdisclab/qdisc/own.yaml").exists()


def test_the_core_takes_few_packages(site: Path) -> None:
    metadata = (site / "qdisc_lab-0.1.0.dist-info/METADATA").read_text()
    core = re.findall(r"^Requires-Dist: ([\w-]+)==[\w.]+$", metadata, re.MULTILINE)
    assert sorted(core) == ["capstone", "pydantic", "pyelftools", "pyyaml"]


def test_it_lists_what_the_checkout_lists(site: Path, tmp_path: Path) -> None:
    installed = emulate(site, "list", "gbw2015", cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr
    here = captured([sys.executable, "-m", "qdisclab.emulate.cli", "list", "gbw2015"], cwd=ROOT)
    rows = [
        [line.rpartition("\t")[0] for line in done.stdout.splitlines()]  # not the estimate of time
        for done in (installed, here)
    ]
    assert rows[0] == rows[1]
    assert len(rows[0]) > 20


def test_a_new_study_is_valid(site: Path, tmp_path: Path) -> None:
    assert emulate(site, "new", "mine", cwd=tmp_path).returncode == 0
    checked = emulate(site, "check", "--trust", "mine", cwd=tmp_path)
    assert (checked.returncode, checked.stdout.count("mine/first")) == (0, 1)
    assert re.search(
        r"figures are not checked: .*pip install 'qdisc-lab\[notebooks\]'", checked.stderr
    )


@pytest.mark.parametrize("words", [["score", "cake"], ["claims"]])
def test_a_command_that_takes_an_extra_names_it(
    site: Path, tmp_path: Path, words: list[str]
) -> None:
    done = emulate(site, *words, cwd=tmp_path)
    assert done.returncode == 3
    assert re.fullmatch(
        r"emulate: error: this needs the package \w+; pip install 'qdisc-lab\[notebooks\]'\n",
        done.stderr,
    )


def test_new_runs_of_shipped_studies_go_below_the_current_folder(
    site: Path, tmp_path: Path
) -> None:
    done = emulate(site, "verify", "1", cwd=tmp_path)
    assert (done.returncode, "data: holds no runs" in done.stderr) == (2, True)


@pytest.mark.kernel
@pytest.mark.parametrize("before", [CUT_OFF, NO_NAMESPACES])
def test_a_command_runs_in_a_guest_without_a_network_and_without_namespaces(
    site: Path, tmp_path: Path, before: Sequence[str]
) -> None:
    if before == CUT_OFF and subprocess.run([*before, "true"], capture_output=True).returncode:
        pytest.skip("this machine lets no user cut the network off")
    words = ("exec", "--", "ping", "-c", "3", "127.0.0.1")
    done = emulate(site, *words, cwd=tmp_path, before=before)
    assert done.returncode == 0, done.stderr
    assert "3 packets transmitted, 3 received" in done.stdout


def test_a_host_without_walls_says_what_to_do(site: Path, tmp_path: Path) -> None:
    before = (*NO_NAMESPACES, "landlock_create_ruleset")
    done = emulate(site, "exec", "--", "true", cwd=tmp_path, before=before)
    assert done.returncode != 0
    assert re.search(r"neither Landlock nor user namespaces: .*--unconfined", done.stderr)
