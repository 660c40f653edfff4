"""What boots the real kernel: short runs through the public interface, and how they can fail."""

import contextlib
import gzip
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from qdisclab.analysis.runs.dataset import find_runs, read_runs
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import GuestFailure, GuestHung, RigMismatch
from qdisclab.emulation.kernel import Kernel
from qdisclab.emulation.machine import guestcode, vm
from qdisclab.emulation.machine.rootfs import RootFs
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.run import Experiment, Run
from qdisclab.emulation.model.units import Duration, Size
from qdisclab.emulation.runs import speed
from qdisclab.emulation.runs.execution import Execution
from qdisclab.emulation.runs.run import execute, guest_packages, kernel_log
from tests.waiting import wait_for
from workflow import steps

pytestmark = pytest.mark.kernel

SHORT = Duration.parse("5 s")
NOBODY = 65534
SPIN = "while True: pass"  # with time-travel=inf-cpu the clock stands still
READ_ALL = """
import os
for place, _, names in os.walk('/usr'):
    for path in (os.path.join(place, name) for name in names):
        if os.path.isfile(path):
            open(path, 'rb').read()
"""  # more than the guest has room for


@pytest.fixture(scope="module")
def short(rrul: Experiment) -> Run:
    """Five seconds of load through codel at 10/10."""
    (run,) = select(rrul, link="10/10", qdisc="codel", cc="cubic", seed=1, length=SHORT)
    return run


@pytest.fixture(scope="module")
def data(
    short: Run, built: Kernel, guest_root: RootFs, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A data folder with that run."""
    folder = tmp_path_factory.mktemp("data")
    result = execute(short, built, guest_root, folder)
    assert result.ending is not None
    return folder


@pytest.fixture
def laid_out(
    tmp_path: Path, short: Run, built: Kernel, guest_root: RootFs
) -> Iterator[tuple[vm.Machine, Path]]:
    """A machine and the scratch folder of its job, ready to boot."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    machine = vm.Machine(built.path, guest_root.path, seed=1)
    vm.prepare(folder, machine, job_of(short))
    yield machine, folder


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def guests(kernel_path: Path) -> set[int]:
    """The processes that run the kernel."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if words[0] == os.fsencode(kernel_path):
                    found.add(int(entry.name))
    return found


def test_a_run_is_data_that_the_analysis_reads(short: Run, data: Path) -> None:
    told = json.loads((data / f"{short.id}.json").read_text())
    log = data / kernel_log(told["kernel_log_sha256"])
    packages = data / guest_packages(told["identity"]["root"]["digest"])
    assert json.loads(packages.read_text())["iproute2"] == "6.1.0-3"
    names = sorted(path.name for path in files(data))
    assert names == sorted(["seed-001.flent.gz", "seed-001.json", log.name, packages.name])
    assert told["kernel_log"] == "clean"
    assert "Linux version 6.12" in gzip.decompress(log.read_bytes()).decode()
    assert told["measured_base_rtts_ms"] == [pytest.approx(50, abs=0.5)]
    assert told["virtual_s"] > 5
    bottleneck = told["qdiscs"]["router_up r1-delay"]["qdiscs"]
    assert {qdisc["kind"] for qdisc in bottleneck} == {"tbf", "codel"}
    assert all(qdisc["bytes"] > 1_000_000 for qdisc in bottleneck)

    runs = find_runs(
        data,
        "gbw2015",
        short.point.label,
        links=["10/10"],
        ccs=["cubic"],
        length=short.other_length,
    )
    read = read_runs(runs)
    assert list(read.runs["run"]) == [short.id]
    assert float(read.runs["length_s"].iloc[0]) == 5
    assert read.samples["rtt_ms"].min() >= 49.9
    for kind in ("tcp_download", "tcp_upload"):
        total = read.flows[read.flows["kind"] == kind]["goodput_mbit_s"].sum()
        assert 5 < total < 10, f"{kind}: {total}"


def test_a_run_that_is_there_is_not_done_again(
    short: Run, built: Kernel, guest_root: RootFs, data: Path
) -> None:
    before = {path: path.stat().st_mtime_ns for path in files(data)}
    assert execute(short, built, guest_root, data).ending is None
    assert {path: path.stat().st_mtime_ns for path in files(data)} == before


def test_a_qdisc_that_cannot_be_installed_stops_the_run(
    short: Run, built: Kernel, guest_root: RootFs, tmp_path: Path
) -> None:
    options = (
        ("limit", Size(1_514_000)),
        ("min", Size(12_500)),
        ("max", Size(37_500)),
        ("avpkt", Size(1514)),
        ("burst", 1),  # tc refuses less than min / avpkt
    )
    red = Qdisc("ared", "red", options)
    wrong = replace(short, point=replace(short.point, queues=((short.link.up, red),)))
    with pytest.raises(RigMismatch) as caught:
        execute(wrong, built, guest_root, tmp_path / "data")
    assert "r1-delay" in str(caught.value)
    assert "red" in str(caught.value)
    assert not files(tmp_path)


def test_a_killed_run_leaves_no_guest_and_no_data(built: Kernel, tmp_path: Path) -> None:
    killed = kill_in_traffic("qdisclab.emulate.cli", built, tmp_path)
    wait_for_end(*killed)
    assert not (tmp_path / "data").exists()


def test_a_run_ends_and_clears_away_where_who_asked_a_server_for_it_is_killed(
    built: Kernel, tmp_path: Path
) -> None:
    with steps.serving():
        processes, folder = kill_in_traffic("workflow.steps", built, tmp_path)
        wait_for_end(processes, folder)
        wait_for(lambda: not folder.exists(), seconds=20)
    assert not (tmp_path / "data").exists()


def kill_in_traffic(module: str, built: Kernel, tmp_path: Path) -> tuple[set[int], Path]:
    """Kill a run that `module` was asked for as it has traffic; return its processes and folder."""
    before = guests(built.path)
    command = [sys.executable, "-m", module, "run", "gbw2015/rrul"]
    command += ["--link", "10/10", "--qdisc", "codel", "--cc", "cubic", "--seed", "1"]
    command += ["--length", "60", "--output", str(tmp_path / "data")]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        status = partial(tmp_path.glob, "guest-*/job/status")
        wait_for(lambda: any("traffic" in path.read_text() for path in status()), process)
        folder = next(status()).parents[1]
        mine = {pid for pid in guests(built.path) - before if runs_in(pid, folder)}
        assert mine
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return mine, folder


def wait_for_end(processes: set[int], folder: Path) -> None:
    """A moment after they were killed none of `processes` is in `folder` any more."""
    wait_for(lambda: not any(runs_in(pid, folder) for pid in processes), seconds=20)


def runs_in(pid: int, folder: Path) -> bool:
    """Whether a living process has `folder` as its own."""
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == folder
    except OSError:
        return False


def test_a_guest_that_spins_is_reported(laid_out: tuple[vm.Machine, Path]) -> None:
    machine, folder = laid_out
    (folder / "job/script.py").write_text(f"status('booted')\n{SPIN}")
    (folder / "job/job.json").write_text(json.dumps({"work": "script"}))
    with pytest.raises(GuestHung, match=r"still at 0\.\d+ s for 2 s; python3 runs"):
        vm.run(machine, folder, hang_s=2)
    wait_for_end(guests(machine.kernel), folder)


@pytest.mark.parametrize("then", ["", SPIN])
def test_a_guest_that_is_short_of_memory_says_so(
    laid_out: tuple[vm.Machine, Path], then: str
) -> None:
    machine, folder = laid_out
    (folder / "job/script.py").write_text(f"status('booted')\n{READ_ALL}{then}")
    (folder / "job/job.json").write_text(json.dumps({"work": "script"}))
    if then == SPIN:
        with pytest.raises(GuestHung, match="short of memory: give it more"):
            vm.run(machine, folder, hang_s=2)
    else:
        assert any("short of memory" in note for note in vm.run(machine, folder).notes)


def test_a_guest_with_memory_enough_says_nothing(laid_out: tuple[vm.Machine, Path]) -> None:
    machine, folder = laid_out
    (folder / "job/script.py").write_text("status('booted')")
    (folder / "job/job.json").write_text(json.dumps({"work": "script"}))
    assert not vm.run(machine, folder).notes


def test_a_guest_that_never_reports_is_reported(laid_out: tuple[vm.Machine, Path]) -> None:
    machine, folder = laid_out
    (folder / "job/guest/main.py").write_text(SPIN)
    with pytest.raises(GuestHung, match="step 'boot'"):
        vm.run(machine, folder, hang_s=2)


def test_a_first_process_that_dies_is_reported(laid_out: tuple[vm.Machine, Path]) -> None:
    machine, folder = laid_out
    (folder / "job/guest/main.py").write_text("raise SystemExit(3)")
    with pytest.raises(GuestFailure, match="Kernel panic"):
        vm.run(machine, folder)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_without_a_home(
    short: Run, built: Kernel, guest_root: RootFs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As nobody, with HOME=/nonexistent and a cache of its own."""
    with tempfile.TemporaryDirectory(prefix="nobody-") as name:
        place = Path(name)
        (place / "data").mkdir()
        binary = Path(shutil.copy(built.path, place / "linux"))
        guest = shutil.copytree(guestcode.FOLDER, place / "guest")
        subprocess.run(["cp", "-a", str(guest_root.path), str(place / "root")], check=True)
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", name], check=True)
        monkeypatch.setattr(guestcode, "FOLDER", guest)
        monkeypatch.setattr(speed, "_path", lambda: place / "runs.json")
        monkeypatch.setenv("HOME", "/nonexistent")
        monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        arguments = (
            short,
            replace(built, path=binary),
            replace(guest_root, path=place / "root"),
            place / "data",
        )
        child = multiprocessing.get_context("fork").Process(target=as_nobody, args=arguments)
        child.start()
        child.join(120)
        assert child.exitcode == 0
        record = place / "data" / f"{short.id}.json"
        assert record.stat().st_uid == NOBODY
        assert json.loads(record.read_text())["virtual_s"] > 5


def as_nobody(run: Run, built: Kernel, guest_root: RootFs, data: Path) -> None:
    """`execute` without any right of root's."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    os.chdir("/")
    tempfile.tempdir = str(data.parent)
    execute(run, built, guest_root, data)


def test_open_vswitch_forwards_without_loss(
    built: Kernel, guest_root: RootFs, tmp_path: Path
) -> None:
    (run,) = select(experiment("testbed/open_vswitch"), seed=1)
    result = execute(run, built, guest_root, tmp_path)
    left = result.data.with_name("seed-001.rows.jsonl.gz")
    (row,) = map(json.loads, gzip.decompress(left.read_bytes()).splitlines())
    assert row["handlers"] > 0
    assert row["loss_percent"] == 0
    # In the kernel's datapath, not in a Linux bridge.
    with tarfile.open(result.data.with_name("seed-001.output.tar.gz")) as archive:
        flows = archive.extractfile("python3/files/flows.txt")
        assert flows is not None
        assert len(flows.read().splitlines()) > 0
    assert result.ending is not None
    assert result.ending.wall_s < 60


def test_each_address_of_the_server_has_a_round_trip_of_its_own(
    built: Kernel, guest_root: RootFs, tmp_path: Path
) -> None:
    (run,) = select(
        experiment("gbw2015/rtt_fairness"),
        link="10/10", qdisc="fq_codel", cc="cubic", seed=1, length=Duration.parse("3 s"),
    )  # fmt: skip
    result = execute(run, built, guest_root, tmp_path)
    told = json.loads(result.provenance.read_text())
    assert told["base_rtts_ms"] == [10, 50, 200, 500]
    assert told["measured_base_rtts_ms"] == pytest.approx([10, 50, 200, 500], abs=0.5)
    installed = {
        one["handle"]: one
        for one in told["qdiscs"]["delay delay-r2"]["qdiscs"]
        if "root" not in one
    }
    assert installed.keys() == {"10:", "20:", "30:", "40:"}
    sent = [installed[f"{band}0:"]["packets"] for band in (1, 2, 3, 4)]
    assert min(sent) > 50  # every band has a flow's packets
    with gzip.open(result.data) as stream:
        results = json.load(stream)["results"]
    least = {name: min(v for v in values if v) for name, values in results.items()}
    for address, rtt_ms in ((2, 10), (3, 50), (4, 200), (5, 500)):
        name = f"Ping (ms) ICMP{address - 1} 10.0.4.{address}"
        assert least[name] == pytest.approx(rtt_ms, abs=0.5)


def test_an_era_that_the_kernel_cannot_have_stops_the_run(
    laid_out: tuple[vm.Machine, Path], short: Run
) -> None:
    machine, folder = laid_out
    path = "/sys/module/tcp_cubic/parameters/hystart_of_1970"
    job = {**job_of(short), "parameters": {path: "1"}}
    (folder / "job/job.json").write_text(json.dumps(job))
    last = vm.run(machine, folder).steps[-1]
    assert (last["step"], last["cause"]) == ("failed", "rig")
    assert last["problems"][0].startswith(f"{path} cannot be set to 1: No such file")


def test_a_parameter_of_an_era_is_set(laid_out: tuple[vm.Machine, Path], short: Run) -> None:
    machine, folder = laid_out
    path = "/sys/module/tcp_cubic/parameters/hystart"
    asked = Execution(("cat", path), rig=short)
    job = {**asked.job(), "parameters": {path: "0"}}
    shutil.rmtree(folder / "job")
    shutil.rmtree(folder / "uml")
    (folder / "root").unlink()
    vm.prepare(folder, machine, job)
    assert vm.run(machine, folder).steps[-1]["step"] == "done"
    said = (folder / "job/out/programs/command/stdout").read_text()
    assert said == "0\n"  # it is 1 by itself
