"""emulation.runs.bisect: on a tree of git in which three commits change codel."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from qdisclab.emulate import cli
from qdisclab.emulate.commands import bisect as command
from qdisclab.emulation.errors import ConfigError, KernelBuildError
from qdisclab.emulation.kernel import tree
from qdisclab.emulation.kernel.builder import Kernel
from qdisclab.emulation.runs import bisect
from qdisclab.emulation.runs.bisect import Condition, Step
from tests import captured

CONDITION = Condition.parse("latency_ms < 60")
INTERVALS = ["100", "100 again", "50", "50 again"]


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=N", "-c", "user.email=n@example.invalid")
    command = ["git", "-C", folder, *who, *words]
    return captured(command, check=True).stdout.strip()


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a commit of each of `INTERVALS`, and with a change that is not committed."""
    folder = tmp_path / "linux"
    folder.mkdir()
    git(folder, "init", "-q")
    for number, interval in enumerate(INTERVALS):
        (folder / "codel.c").write_text(f"{interval}\n")
        git(folder, "add", "codel.c")
        git(folder, "commit", "-qm", f"interval {interval}")
        git(folder, "tag", f"v{number}")
    (folder / "codel.c").write_text("mine\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tree, "build", built)
    return folder


def built(place: Path) -> Kernel:
    """Stands for the kernel of what is checked out; what it says of intervals is in its path."""
    text = (place / "codel.c").read_text().split()[0]
    if text == "broken":
        raise KernelBuildError("the build failed: codel.c:1:1: error: not a number")
    return Kernel(Path(text), "0" * 16, "6.12.7", "6.12", {})


def measured(kernel: Kernel) -> list[Mapping[str, float]]:
    interval = float(kernel.path.name)  # `nan` for a run in which no reply came
    return [{"latency_ms": interval - 1}, {"latency_ms": interval + 1}]


#: What git runs in the worktree: as the command does, but without kernels and guests.
SCRIPT = """\
import sys
from pathlib import Path
from qdisclab.emulation.kernel import tree
from qdisclab.emulation.runs import bisect
from tests.emulation.runs import test_bisect as here
tree.build = here.built
step = bisect.test(Path.cwd(), here.CONDITION, here.measured, Path(sys.argv[1]))
sys.exit({"good": 0, "bad": 1, "skipped": 125}[step.verdict])
"""


def search(source: Path, good: str, bad: str) -> str:
    log = source.with_name("bisect.jsonl")

    def check(place: Path) -> Step:
        return bisect.test(place, CONDITION, measured, log)

    root = Path(__file__).parents[3]
    words = [
        sys.executable,
        "-c",
        f"import sys\nsys.path.insert(0, {str(root)!r})\n{SCRIPT}",
        str(log),
    ]
    return bisect.search(source, good, bad, words, check)


def steps_of(source: Path) -> list[Step]:
    log = source.with_name("bisect.jsonl").read_text()
    return [Step(**json.loads(line)) for line in log.splitlines()]


def test_the_first_bad_commit_is_found_and_the_checkout_left_alone(source: Path) -> None:
    found = search(source, "v0", "v3")
    assert found.split()[0] == git(source, "rev-parse", "v2")
    assert "interval 50\n" in found
    assert (source / "codel.c").read_text() == "mine\n"
    assert git(source, "worktree", "list").count("\n") == 0
    steps = steps_of(source)
    assert [(step.subject, step.value, step.verdict) for step in steps[:2]] == [
        ("interval 50 again", 50, "bad"),
        ("interval 100", 100, "good"),
    ]
    assert {step.subject: step.verdict for step in steps[2:]}["interval 50"] == "bad"
    page = bisect.page(source.with_name("bisect.jsonl"), found, {"runs": "mine/first"})
    assert (
        f"| {git(source, 'rev-parse', '--short', 'v0')} | interval 100 | {'0' * 16} | 100 | good |"
        in page
    )
    assert search(source, "v0", "v3") == found


@pytest.mark.parametrize("rest", ["locked", "locked and empty", "of another clone"])
def test_what_an_interrupted_search_leaves_is_removed(source: Path, rest: str) -> None:
    with bisect.worktree(source, "v0") as place:
        pass
    if rest == "of another clone":
        (place / "net").mkdir(parents=True)
    else:
        git(source, "worktree", "add", "--detach", "--lock", str(place), "v1")
    if rest == "locked and empty":
        (place / ".git").unlink()
    with bisect.worktree(source, "v0") as place:
        assert (place / "codel.c").read_text() == "100\n"
    assert not place.exists()
    assert git(source, "worktree", "list").count("\n") == 0


def test_a_tree_is_searched_once_at_a_time(source: Path) -> None:
    with bisect.worktree(source, "v0") as place:
        with pytest.raises(ConfigError, match="linux: is being searched; wait for its end"):
            search(source, "v0", "v3")
        assert (place / "codel.c").read_text() == "100\n"


def test_a_commit_that_does_not_build_is_skipped_and_told(source: Path) -> None:
    git(source, "checkout", "-qf", "v0")
    for interval in ("broken", "50 mended", "50 more"):
        (source / "codel.c").write_text(f"{interval}\n")
        git(source, "commit", "-qam", f"interval {interval}")
    found = search(source, "v0", "HEAD").splitlines()
    assert found[0] == "one of these, as some could not be tested:"
    assert set(found[1:]) == {git(source, "rev-parse", name) for name in ("HEAD~1", "HEAD~2")}
    steps = steps_of(source)
    assert [(step.value, step.verdict) for step in steps if step.subject == "interval broken"] == [
        (None, "skipped")
    ]
    assert "error: not a number" in next(step.why for step in steps if step.verdict == "skipped")


def test_a_commit_whose_runs_lack_the_number_is_neither_good_nor_bad(source: Path) -> None:
    git(source, "checkout", "-qf", "v0")
    for interval in ("nan", "50 mended"):
        (source / "codel.c").write_text(f"{interval}\n")
        git(source, "commit", "-qam", f"interval {interval}")
    assert search(source, "v0", "HEAD").startswith("one of these, as some could not be tested:")
    (step,) = (step for step in steps_of(source) if step.verdict == "skipped")
    assert (step.subject, step.value) == ("interval nan", None)
    assert "the runs do not measure 'latency_ms'" in step.why


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("v2", "v3", r"--good v2: is bad: 50; choose two commits that differ"),
        ("v0", "v1", r"--bad v1: is good: 100"),
        ("v0", "gone", r"--bad gone: is not a commit"),
        ("v3", "v0", r"--bad v0: is not later than --good v3; name the commit without the change"),
        ("v3", "v3", r"--bad v3: is not later than --good v3"),
    ],
)
def test_ends_that_are_not_as_they_are_called(
    source: Path, good: str, bad: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        search(source, good, bad)


@pytest.mark.parametrize(
    "text", ["", "latency", "latency_ms > ", "latency_ms = 3", "1 < 2 < 3", "x > 1e400"]
)
def test_a_condition_that_is_none(text: str) -> None:
    with pytest.raises(ConfigError, match="does not compare a number with a bound"):
        Condition.parse(text)


def test_a_number_that_no_run_measures_is_named() -> None:
    condition = Condition.parse(" goodput_mbps>=-1.5e-3")
    assert (condition.sign, condition.bound) == (">=", -0.0015)
    with pytest.raises(ConfigError, match="do not measure 'goodput_mbps'; choose from a, b"):
        condition.value([{"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 1.0, "b": 2.0}])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "names no experiment"),
        (["gbw2015/rrul", "--kernel", "6.12"], "the runs: use each commit's kernel"),
        (["gbw2015/rrul", "--link", "10/1"], "there: already exists"),
    ],
)
def test_what_is_refused_before_a_kernel_is_built(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    ends = ["--good", "a", "--bad", "b", "--tree", ".", "--where", "x > 1", "--output", "there"]
    assert cli.main(["bisect", *ends, "--", *words]) == ConfigError.exit_status
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--where": "jain_index > 1"}, "the runs do not measure 'jain_index'; choose from"),
        ({"--tree": "."}, "--tree ."),
        ({"--good": "v9"}, "--good v9"),
        ({"--where": "induced_latency > 6"}, "--where: unknown metric 'induced_latency'; did you"),
    ],
)
def test_what_is_refused_leaves_no_folder(
    changed: dict[str, str],
    message: str,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tree, "build", None)
    monkeypatch.setattr(
        command, "find", lambda series: Kernel(Path("1"), "0" * 16, "6.12.7", "", {})
    )
    monkeypatch.setattr(command, "_measured", lambda output, words: measured)
    given = {"--good": "v0", "--bad": "v3", "--tree": str(source)}
    given |= {"--where": "induced_latency_ms > 1"} | changed
    words = [word for pair in given.items() for word in pair]
    asked = ["bisect", *words, "--", "gbw2015/rrul", "--link", "10/1"]
    assert cli.main(asked) == ConfigError.exit_status
    assert message in capsys.readouterr().err
    assert not Path("bisect").exists()
