"""emulation.runs.run without a boot: resume, what counts as data, whole or not at all."""

import gzip
import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from qdisclab.emulation.checks import notes
from qdisclab.emulation.config.catalogue import experiment as find_experiment, select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import EmulationError, GuestFailure, RigMismatch, TrafficFailure
from qdisclab.emulation.kernel import Kernel
from qdisclab.emulation.kinds.probes import probe
from qdisclab.emulation.kinds.traffic.flent import NETPERF, check_flows
from qdisclab.emulation.machine import guestcode, provenance, vm
from qdisclab.emulation.model.run import Experiment, Run
from qdisclab.emulation.runs import run
from tests.data.provenances import GUEST_ROOT as ROOT, KERNEL


@pytest.fixture
def codel(rrul: Experiment) -> Run:
    (one,) = select(rrul, link="10/1", qdisc="codel", cc="reno", seed=3)
    return one


def write_flent(path: Path, results: dict[str, Any], **about: Any) -> Path:
    """A file with these results, and what flent says of its series."""
    with gzip.open(path, "wt") as stream:
        json.dump({"results": results, "metadata": {"SERIES_META": about}}, stream)
    return path


def test_paths_are_the_id(codel: Run) -> None:
    data, record = run.paths(codel, Path("data"))
    assert str(data) == "data/gbw2015/rrul/10-1/codel/reno/seed-003.flent.gz"
    assert str(record) == "data/gbw2015/rrul/10-1/codel/reno/seed-003.json"


def test_a_run_that_is_there_boots_nothing(
    codel: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vm, "run", lambda *_, **__: pytest.fail("booted"))
    for path in run.paths(codel, tmp_path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert run.execute(codel, KERNEL, ROOT, tmp_path).ending is None


def test_a_reduced_run_is_there_with_its_provenance_and_the_tables_of_probes(
    codel: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vm, "run", lambda *_, **__: pytest.fail("booted"))
    probes = (probe.Probe.parse("drops"),)
    _, record = run.paths(codel, tmp_path)
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"measures": {}, "probes": ["drops"]}))
    for end in probe.files(probes, codel).values():
        (tmp_path / f"{codel.id}{end}").touch()
    assert run.execute(codel, KERNEL, ROOT, tmp_path, probes=probes).ending is None


@pytest.mark.parametrize("identity", ["today's", "another's", None])
def test_a_stale_run_is_done_again(
    codel: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, identity: str | None
) -> None:
    monkeypatch.setattr(run, "today", lambda *_: "today's")
    monkeypatch.setattr(vm, "run", lambda *_, **__: (_ for _ in ()).throw(GuestFailure("booted")))
    for path in run.paths(codel, tmp_path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if identity is None else json.dumps({"identity": identity}))
    if identity == "today's":
        assert run.execute(codel, KERNEL, ROOT, tmp_path, stale=True).ending is None
        return
    with pytest.raises(GuestFailure, match="booted"):
        run.execute(codel, KERNEL, ROOT, tmp_path, stale=True)


def test_data_without_provenance_is_no_run(
    codel: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot = mock.Mock(side_effect=GuestFailure("enough"))
    monkeypatch.setattr(vm, "run", boot)
    data, _ = run.paths(codel, tmp_path)
    data.parent.mkdir(parents=True)
    data.touch()
    with pytest.raises(GuestFailure, match="gbw2015/rrul/10-1/codel/reno/seed-003: enough"):
        run.execute(codel, KERNEL, ROOT, tmp_path)
    boot.assert_called_once()


FAILED = {"step": "failed", "problems": ["a", "b"]}


@pytest.mark.parametrize(
    ("last", "error", "said"),
    [
        ({**FAILED, "cause": "rig"}, RigMismatch, "a; b"),
        ({**FAILED, "cause": "traffic"}, TrafficFailure, "a; b"),
        ({**FAILED, "cause": "guest"}, GuestFailure, "a; b"),
        ({"step": "traffic"}, GuestFailure, "after step 'traffic' of the guest: the guest was sh"),
    ],
)
def test_the_last_step_decides(
    last: dict[str, Any], error: type[EmulationError], said: str
) -> None:
    with pytest.raises(error, match=said):
        vm.Ending(steps=[{"virtual_s": 1.0, **last}]).check()


def test_an_idle_flow_is_named(tmp_path: Path) -> None:
    good = {"TCP upload BE": [None, 1.0], "Ping (ms) ICMP": [50.0]}
    check_flows(write_flent(tmp_path / "good.gz", good))
    for idle in ([None, None], [0, 0.0], []):
        path = write_flent(tmp_path / "bad.gz", {**good, "TCP download BE2": idle})
        with pytest.raises(TrafficFailure, match="no data moved in TCP download BE2"):
            check_flows(path)
    # flent drops every sample of a flow that starved at its start; netperf still counted bytes.
    counted = {"TCP download BE2": {"BYTES_RECVD": 1678232}}
    check_flows(write_flent(tmp_path / "starved.gz", {"TCP download BE2": [None]}, **counted))
    with pytest.raises(TrafficFailure, match="any flow"):
        check_flows(write_flent(tmp_path / "none.gz", {}))


def test_a_netperf_without_its_result_is_named(tmp_path: Path) -> None:
    for ended in ({"ELAPSED_TIME": 140.0}, {}):
        about = {"TCP upload BE": {"RUNNER": NETPERF, **ended}}
        path = write_flent(tmp_path / "run.gz", {"TCP upload BE": [1.0]}, **about)
        refused = pytest.raises(TrafficFailure, match="without its result: TCP upload BE")
        with nullcontext() if ended else refused:
            check_flows(path)


def test_a_file_is_stored_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    source.write_text("new")
    target = tmp_path / "deep/er/target"
    run._store(source, target)
    assert target.read_text() == "new"
    source.write_text("newer")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        run._store(source, target)
    assert target.read_text() == "new"
    assert [path.name for path in target.parent.iterdir()] == ["target"]


def test_provenance_has_what_the_analysis_reads(codel: Run, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(b"x")
    steps = [{"step": "reached", "base_rtts_ms": [50.2], "virtual_s": 1.0}]
    machine = vm.Machine(KERNEL.path, ROOT.path, codel.random)
    identity = provenance.identity(codel, machine, KERNEL, ROOT)
    log = tmp_path / "kernel.log"
    log.write_bytes(b"y")
    told = provenance.record(codel, identity, KERNEL, vm.Ending(steps), {}, data, log)
    assert told["run"] == codel.id
    assert (told["link"], told["qdisc"], told["cc"], told["seed"]) == ("10/1", "codel", "reno", 3)
    assert (told["base_rtts_ms"], told["measured_base_rtts_ms"]) == ([50.0], [50.2])
    assert told["identity"]["kernel"] == {
        "series": "6.12", "release": "6.12.117", "digest": "k" * 16
    }  # fmt: skip
    sha256_of_x = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    assert told["data_sha256"] == sha256_of_x
    assert told["kernel_log_sha256"].startswith("a1fce4363854ff88")  # of "y"
    assert told["identity"]["boot"]["memory_mib"] == 192
    assert told["kernel_build"] == "k" * 16
    assert "notes" not in told
    short = vm.Ending(steps, notes=["short of memory"])
    told = provenance.record(codel, identity, KERNEL, short, {}, data, log)
    assert told["notes"] == ["short of memory"]


def test_a_kernel_log_is_kept_once(tmp_path: Path) -> None:
    log = tmp_path / "kernel.log"
    log.write_text("6,0,0,-;Linux version 6.12\n")
    target = tmp_path / "data" / run.kernel_log("0123456789abcdef" + 48 * "0")
    assert target.name == "0123456789abcdef.log.gz"
    run._keep_log(log, target)
    assert gzip.decompress(target.read_bytes()) == log.read_bytes()
    before = target.read_bytes(), target.stat().st_mtime_ns
    run._keep_log(log, target)
    assert (target.read_bytes(), target.stat().st_mtime_ns) == before


def test_identity_follows_seed_job_and_kernel(rrul: Experiment) -> None:
    def of(seed: int, qdisc: str = "codel", kernel: Kernel = KERNEL) -> dict[str, Any]:
        (one,) = select(rrul, link="10/1", qdisc=qdisc, cc="reno", seed=seed)
        machine = vm.Machine(kernel.path, ROOT.path, seed)
        return provenance.identity(one, machine, kernel, ROOT)

    other = Kernel(KERNEL.path, "o" * 16, KERNEL.release, KERNEL.series, {})
    assert of(1) == of(1)
    assert of(1) != of(2)
    assert of(1)["job"] != of(1, "pie")["job"]
    assert of(1) != of(1, kernel=other)


def test_identity_follows_the_code_that_a_job_needs(
    rrul: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of D-ITG's server is another identity for VoIP, none for RRUL."""
    guest = tmp_path / "guest"
    shutil.copytree(guestcode.FOLDER, guest)
    monkeypatch.setattr(guestcode, "FOLDER", guest)
    chosen = {"link": "10/1", "qdisc": "codel", "cc": "reno", "seed": 1}
    jobs = [
        job_of(select(experiment, **chosen)[0])  # type: ignore[arg-type]
        for experiment in (rrul, find_experiment("gbw2015/voip_1up"))
    ]
    before = [provenance.guest_code_digest(job) for job in jobs]
    with (guest / "ditg.py").open("a") as file:
        file.write("# changed\n")
    rrul_now, voip_now = (provenance.guest_code_digest(job) for job in jobs)
    assert rrul_now == before[0]
    assert voip_now != before[1]
    with (guest / "rig.py").open("a") as file:
        file.write("# changed\n")
    assert provenance.guest_code_digest(jobs[0]) != before[0]


def test_a_run_of_another_kernel_is_told(
    codel: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "seed-001.json"
    old = {"kernel": {"digest": "old", "release": "6.12.1", "series": "6.12"}, "guest": "g"}
    told = {"run": codel.id, "identity": old, "data_sha256": "0" * 64}
    record.write_text(json.dumps(told))
    result = run.Result(tmp_path / "seed-001.flent.gz", record, None)
    monkeypatch.setattr(notes, "today", lambda *about: old)
    notes.of_result(codel, result, KERNEL, ROOT, "--again")
    assert capsys.readouterr().err == ""
    new = {"kernel": {"digest": "new", "release": "6.12.1", "series": "6.12"}, "guest": "g"}
    monkeypatch.setattr(notes, "today", lambda *about: new)
    notes.of_result(codel, result, KERNEL, ROOT, "--again")
    assert "was made with a different kernel (old against new); --again" in capsys.readouterr().err


def test_runs_of_one_process_store_the_same_log_at_once(tmp_path: Path) -> None:
    log, target = tmp_path / "kernel.log", tmp_path / "data/log.gz"
    log.write_bytes(b"booted\n" * 100_000)
    copies = threading.Barrier(4)
    for attempt in range(20):
        place = target.with_name(f"{attempt}.gz")

        def store(place: Path = place) -> None:
            copies.wait()
            run._store(log, place)

        with ThreadPoolExecutor(4) as pool:
            for stored in [pool.submit(store) for _ in range(4)]:
                stored.result()
        assert place.read_bytes() == log.read_bytes()
