"""docs/upstream: patches apply to what is installed, and do what they say."""

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import flent.runners
import pytest

from qdisclab.emulation.host.cache import cache_dir
from qdisclab.emulation.kernel import recipe as recipes, source as sources
from tests import ROOT, captured

PATCH = ROOT / "docs/upstream/flent-tc-statistics.patch"
MAILS = sorted((ROOT / "docs/upstream/linux").glob("*.patch"))

#: What `tc -s qdisc show` prints in a guest (iproute2 6.1; Linux 6.12, of dualpi2 7.2), and what is
#: the qdisc's own of it; the numbers of sfb and fq are those that its JSON had after RRUL.
PRINTED: dict[str, tuple[str, dict[str, float]]] = {
    "pie": (
        """\
qdisc pie 10: parent 1:1 limit 1000p target 15ms tupdate 15ms alpha 2 beta 20
 Sent 865870 bytes 609 pkt (dropped 3, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
  prob 0.0347281 delay 0us
  pkts_in 609 overlimit 0 dropped 3 maxq 5 ecn_mark 0
""",
        {"prob": 0.0347281, "delay": 0, "pkts_in": 609, "dropped_pie": 3, "maxq": 5},
    ),
    "dualpi2": (
        """\
qdisc dualpi2 10: parent 1:1 limit 10000p memlimit 30280000b target 15000us tupdate 16000us any_ect
 Sent 865284 bytes 602 pkt (dropped 1, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
  prob 0.655003 delay_c 0us delay_l 0us pkts_in_c 3 pkts_in_l 600 maxq 4 ecn_mark 598 step_mark 598
""",
        {"delay_l": 0, "pkts_in_c": 3, "pkts_in_l": 600, "maxq": 4, "step_mark": 598},
    ),
    "sfb": (
        """\
qdisc sfb 10: parent 1:1 rehash 600s db 60s limit 1000p max 25p target 20p
 Sent 5249297 bytes 6236 pkt (dropped 47, overlimits 15 requeues 0)
 backlog 0b 0p requeues 0
  earlydrop 32 penaltydrop 0 bucketdrop 15 queuedrop 0 childdrop 0 marked 0
  maxqlen 0 maxprob 0.156283 avgprob 0.00646983
""",
        {"early": 32, "bucketdrop": 15, "maxprob": 0.156283, "prob": 0.00646983},
    ),
    "choke": (
        """\
qdisc choke 10: parent 1:1 limit 100p min 8p max 25p
 Sent 865242 bytes 601 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
  marked 0 early 0 pdrop 0 other 0 matched 0
""",
        {"ecn_mark": 0, "early": 0, "pdrop": 0, "other": 0, "matched": 0},
    ),
    "fq": (
        """\
qdisc fq 10: parent 1:1 limit 10000p flow_limit 100p buckets 1024
 Sent 7609495 bytes 8125 pkt (dropped 6, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
  flows 23 (inactive 23 throttled 0)
  gc 0 highprio 0 throttled 0
""",
        {"flows": 23, "inactive": 23, "throttled_flows": 0},
    ),
}


def parsed(runners: ModuleType, text: str) -> dict[str, Any]:
    class Bare(runners.TcRunner):  # type: ignore[name-defined,misc]
        """It starts no process, and has none to end."""

        def __init__(self) -> None:
            pass

        def __del__(self) -> None:
            pass

    runner = Bare()
    _, (values,), _ = runner.parse(f"{text}Time: 1.0\n---\n", "")
    return dict(values)


@pytest.fixture(scope="module")
def patched(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """flent.runners with the patch."""
    folder = tmp_path_factory.mktemp("patched")
    (folder / "flent").mkdir()
    path = folder / "flent/runners.py"
    shutil.copyfile(Path(flent.runners.__file__), path)
    command = ["patch", "-p1", "--fuzz=0", "--input", str(PATCH)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    spec = importlib.util.spec_from_file_location("flent.patched", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch")
@pytest.mark.parametrize("kind", PRINTED)
def test_flent_parses_what_it_lost(patched: ModuleType, kind: str) -> None:
    text, own = PRINTED[kind]
    assert own.items() <= parsed(patched, text).items()
    assert not own.items() <= parsed(flent.runners, text).items()


@pytest.mark.kernel
def test_the_newest_kernel_takes_the_mails_and_finds_no_fault_in_them(tmp_path: Path) -> None:
    """They apply in their order without fuzz or offset, and its own checkpatch.pl has no remark."""
    origin = recipes.load(recipes.all_series()[-1]).origin
    assert origin is not None
    source = sources.fetch(origin, cache_dir("kernel") / "sources")
    tree = sources.unpack(source, tmp_path, ["arch/um/*", "fs/hostfs/*", "scripts/*"])
    assert MAILS
    check = ["perl", "scripts/checkpatch.pl", "--strict", "--no-tree", *map(str, MAILS)]
    checked = captured(check, cwd=tree)
    assert checked.returncode == 0, checked.stdout
    for mail in MAILS:
        command = ["patch", "-p1", "--fuzz=0", "--input", str(mail)]
        applied = captured(command, cwd=tree)
        assert (applied.returncode, "Hunk" in applied.stdout) == (0, False), applied.stdout
