"""emulation.checks.verify and `emulate verify`: what is compared how, and what is said."""

import csv
import gzip
import hashlib
import json
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from qdisclab.emulate import cli
from qdisclab.emulate.commands import verify as command
from qdisclab.emulation import datafile, kernel
from qdisclab.emulation.checks import identities, verify
from qdisclab.emulation.checks.verify import Measured, Repetition, Shipped
from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.errors import ConfigError, DamagedData
from qdisclab.emulation.host import seal
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.model.run import Experiment
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.runs.index import RunFile, run_file
from qdisclab.emulation.runs.run import execute
from studies.khademi2013.captures import table as packets_table
from tests.data import provenances

IDENTITY = {
    "guest": "g",
    "job": "j",
    "kernel": {"digest": "k", "release": "6.12.117", "series": "6.12"},
    "boot": {"memory_mib": 192, "seed": 1, "digest": "b"},
    "root": {"digest": "r", "tools": {"flent": "2.1.1-1"}},
}


def write_run(
    where: Path,
    seed: int = 1,
    cell: str = "10-1/codel/cubic",
    rtt: float = 60.0,
    mbit: float = 9.0,
    drops: int = 0,
    **identity: Any,
) -> Shipped:
    """A run whose download flow moved `mbit` Mbit/s."""
    flow = {"BYTES_SENT": 1_250_000, "BYTES_RECVD": mbit * 1_250_000, "ELAPSED_TIME": 10.0}
    content = {
        "metadata": {
            "LENGTH": 10,
            "TOTAL_LENGTH": 20,
            "SERIES_META": {"TCP upload BE": flow, "TCP download BE": flow, "TCP totals": {}},
        },
        "x_values": [0.0, 5.0, 10.0, 15.0],
        "results": {"Ping (ms) ICMP": [50.0, rtt - 1, rtt + 1, None]},
    }
    packed = gzip.compress(json.dumps(content).encode(), mtime=0)
    link, qdisc, cc = cell.split("/")
    file = provenances.made_up(
        where, "gbw2015", "rrul", "modern", link.replace("-", "/"), qdisc, cc, seed, 140.0,
        base_rtts_ms=[50.0],
        identity={**IDENTITY, **identity},
        data_sha256=hashlib.sha256(packed).hexdigest(),
        qdiscs={"r1": {"qdiscs": [{"drops": drops}]}},
    )  # fmt: skip
    file.data.write_bytes(packed)
    return Shipped.at(file)


def measured(run: RunFile) -> Measured:
    """What the claims' measures would say of a run of `write_run`."""
    assert run.root.is_dir()
    content = datafile.read_json(run.data)
    if "Ping (ms) ICMP" not in content["results"]:
        return {}
    pings = [rtt for rtt in content["results"]["Ping (ms) ICMP"][1:3] if rtt is not None]
    flow = content["metadata"]["SERIES_META"]["TCP download BE"]
    return {
        "induced_latency_ms": (sum(pings) / len(pings) - 50, "ms"),
        "goodput_download_mbit_s": (flow["BYTES_RECVD"] * 8e-6 / flow["ELAPSED_TIME"], "Mbit/s"),
    }


def judge(old: Shipped, new: Shipped) -> Repetition:
    return verify.judge(old, new, measured)


def test_a_sample_is_spread_over_the_cells_and_always_the_same(tmp_path: Path) -> None:
    cells = [f"{link}/{qdisc}/cubic" for link in ("1-1", "10-10") for qdisc in ("a", "b", "c")]
    for cell in cells:
        for seed in (1, 2):
            write_run(tmp_path, seed, cell)
    runs = verify.shipped(tmp_path)
    assert len(runs) == 12
    chosen = [one.id for one in verify.sample(runs, 3)]
    assert chosen == [one.id for one in verify.sample(runs, 3)]
    assert len({one.rsplit("/", 1)[0] for one in chosen}) == 3
    assert {one.split("/")[2] for one in chosen} == {"1-1", "10-10"}
    assert {one[-3:] for one in chosen} == {"001", "002"}
    assert sorted(one.id for one in verify.sample(runs, 99)) == sorted(one.id for one in runs)
    assert len({one.file.cell for one in verify.sample(runs, 8)}) == 6


def test_only_runs_of_this_kernel_and_guest_can_be_repeated(tmp_path: Path) -> None:
    here = rootfs.RootFs(tmp_path, "r1", {})
    where, root = tmp_path / "data", {"digest": "r1"}
    runs = [
        write_run(where, 1, kernel={"series": "6.12", "digest": "k1"}, root=root),
        write_run(where, 2, kernel={"series": "6.12", "digest": "k1"}, root={"digest": "r2"}),
        write_run(where, 3, kernel={"series": "6.12", "digest": "k2"}, root=root),
        write_run(where, 4, kernel={"series": "7.2", "digest": "k1"}, root=root),
    ]
    assert verify.repeatable(runs, {"6.12": "k1"}, here) == runs[:1]
    assert verify.repeatable(runs[1:], {"6.12": "k1"}, here) == runs[1:]


@pytest.mark.parametrize("other", [{}, {"rtt": 60.5}, {"drops": 1}])
def test_other_bytes_or_counters_are_not_reproduced(tmp_path: Path, other: Any) -> None:
    verdict = judge(write_run(tmp_path / "a"), write_run(tmp_path / "b", **other))
    assert (verdict.how, verdict.equal) == ("bytes", not other)
    assert ("NOT REPRODUCED; " in str(verdict)) is bool(other)


@pytest.mark.parametrize(("waits", "how"), [(5, "the same bytes"), (6, "NOT REPRODUCED")])
def test_tables_of_packets_are_compared_by_what_is_in_them(
    tmp_path: Path, waits: int, how: str
) -> None:
    runs = []
    for folder, digest, wait in (("a", "1", 5), ("b", "2", waits)):
        run = write_run(tmp_path / folder)
        packets = pd.DataFrame(
            {
                "arrived_100us": [0, 9], "left_100us": [4, 9 + wait], "flow": 0, "length": 1514,
                "fate": 0, "elsewhere_100us": 1,
            }
        )  # fmt: skip
        packets_table.write(packets, run.data.with_name("seed-001.packets.parquet"))
        runs.append(replace(run, record={**run.record, "packets_sha256": digest}))
    assert str(judge(*runs)).split(": ")[1].startswith(how)
    alone = replace(runs[1], record={**runs[1].record, "packets_sha256": None})
    assert not judge(runs[0], alone).equal


@pytest.mark.parametrize(("printed", "equal"), [(b"6.00", True), (b"6.01", False), (None, False)])
def test_what_programs_printed_is_compared_unpacked(
    tmp_path: Path, printed: bytes | None, equal: bool
) -> None:
    old, new = (write_run(tmp_path / folder) for folder in "ab")
    for run, text, level in ((old, b"6.00", 6), (new, printed, 9)):
        if text is not None:
            path = run.beside(datafile.OUTPUT)
            path.write_bytes(gzip.compress(text, level, mtime=0))
    verdict = judge(old, new)
    assert (verdict.how, verdict.equal) == ("bytes", equal)
    assert verdict.notes == ([] if equal else ["another output of programs"])


def test_runs_are_chosen_by_how_they_begin(tmp_path: Path) -> None:
    for cell in ("1-1/a/cubic", "10-10/a/cubic", "10-10/b/cubic"):
        write_run(tmp_path, 1, cell)
    runs = verify.shipped(tmp_path)
    assert verify.beginning(runs, []) == runs
    found = verify.beginning(runs, ["gbw2015/rrul/1-1/", "gbw2015/rrul/10-10/b"])
    assert [one.record["link"] for one in found] == ["1/1", "10/10"]
    with pytest.raises(ConfigError, match="--only gbw2015/voip"):
        verify.beginning(runs, ["gbw2015/rrul", "gbw2015/voip"])


def test_equal_bytes_in_spite_of_another_kernel_are_equal_bytes(tmp_path: Path) -> None:
    newer = {"digest": "o", "release": "6.12.120", "series": "6.12"}
    verdict = judge(write_run(tmp_path / "a"), write_run(tmp_path / "b", kernel=newer))
    assert (verdict.how, verdict.equal) == ("bytes", True)
    assert str(verdict).endswith(
        "the same bytes; in spite of a different kernel (6.12.117 against 6.12.120)"
    )


def test_another_kernel_is_compared_statistically(tmp_path: Path) -> None:
    newer = {"digest": "o", "release": "6.12.120", "series": "6.12"}
    for seed, rtt in ((1, 60.0), (2, 61.0), (3, 59.0)):
        write_run(tmp_path / "a", seed, rtt=rtt)
    old = verify.shipped(tmp_path / "a")[0]
    near = judge(old, write_run(tmp_path / "b", rtt=62.0, kernel=newer))
    text = "different kernel (6.12.117 against 6.12.120): comparing statistically"
    assert near.equal
    assert near.notes[0] == text
    assert "3 seeds, 99.9% prediction interval" in near.notes
    far = judge(old, write_run(tmp_path / "c", rtt=150.0, kernel=newer))
    assert not far.equal
    assert any(
        "induced_latency_ms 100.000 ms OUTSIDE of 10.000 ± 36." in note for note in far.notes
    )


def test_few_seeds_have_stated_tolerances(tmp_path: Path) -> None:
    old = write_run(tmp_path / "a")
    near = judge(old, write_run(tmp_path / "b", mbit=9.4, guest="n"))
    far = judge(old, write_run(tmp_path / "c", mbit=8.0, guest="n"))
    assert "1 seed, within stated tolerances" in near.notes
    assert (near.equal, far.equal) == (True, False)


@pytest.mark.parametrize(
    ("part", "changes", "said"),
    [
        ("kernel", {"digest": "o"}, "kernel (k against o)"),
        (
            "kernel",
            {"digest": "o", "release": "7.3.4", "series": "7.3"},
            "kernel (6.12.117 against 7.3.4)",
        ),
        ("boot", {"memory_mib": 256, "digest": "c"}, "memory in MiB (192 against 256)"),
        ("boot", {"seed": 2, "digest": "c"}, "seed of the random numbers (1 against 2)"),
        ("boot", {"digest": "c"}, "command line of the kernel (b against c)"),
        ("root", {"digest": "s"}, "root file system (r against s)"),
        ("root", {"digest": "s", "tools": {"flent": "3"}}, "tools flent (2.1.1-1 against 3)"),
        (
            "root",
            {"digest": "s", "tools": {"flent": "2.1.1-1", "irtt": "0.9"}},
            "tools irtt ((absent) against 0.9)",
        ),
    ],
)
def test_each_difference_has_its_words(part: str, changes: dict[str, Any], said: str) -> None:
    other = {**IDENTITY, part: {**IDENTITY[part], **changes}}
    assert verify.other_identity(IDENTITY, IDENTITY) == []
    assert verify.other_identity(IDENTITY, other) == [said]
    more = verify.other_identity(IDENTITY, {**other, "guest": "h", "job": "i"})
    assert sorted(more) == sorted(["code in the guest (g against h)", "job (j against i)", said])


def test_numbers_are_those_that_claims_are_about(root: Path, tmp_path: Path) -> None:
    data, cell = root / "data", "10-10/codel/cubic/seed-001"
    (rrul,) = [one for one in verify.shipped(data) if one.id == f"gbw2015/rrul/{cell}"]
    assert command.measured(rrul.file)["induced_latency_ms"][1] == "ms"
    # A page done again is divided by the shipped pages without load.
    label = "web_small_rrul"
    page = run_file(data, data / "gbw2015" / label / f"{cell}.json")
    again = tmp_path / "gbw2015" / label / cell
    again.parent.mkdir(parents=True)
    for path in page.data.parent.glob("seed-001.*"):
        shutil.copy(path, again.parent)
    new = replace(run_file(tmp_path, again.with_name("seed-001.json")), root=data)
    assert command.measured(new) == command.measured(page)
    assert "fetch_time_normalised" in command.measured(new)


def test_nothing_to_compare_is_no_agreement(tmp_path: Path) -> None:
    runs = []
    for name, guest in (("a", "g"), ("b", "h")):
        one = write_run(tmp_path / name, guest=guest, rtt=60.0 + (name == "b"))
        content = {**datafile.read_json(one.data), "results": {"Other": [1 + (name == "b")] * 4}}
        one.data.write_bytes(gzip.compress(json.dumps(content).encode()))
        one.record["data_sha256"] = hashlib.sha256(one.data.read_bytes()).hexdigest()
        one.data.with_name("seed-001.json").write_text(json.dumps(one.record))
        runs.append(one)
    verdict = judge(*runs)
    assert (verdict.how, verdict.equal) == ("statistics", False)


def test_a_shipped_run_is_found_in_the_experiments(tmp_path: Path) -> None:
    one = write_run(tmp_path, 2)
    assert one.run().id == one.id


def test_a_folder_without_runs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no runs"):
        verify.shipped(tmp_path)


def test_evidence_is_a_line_a_kernel_and_way(tmp_path: Path) -> None:
    file = tmp_path / "verified.csv"
    verdicts = [
        Repetition("a", "bytes", True, [], "k", "r"),
        Repetition("b", "bytes", False, [], "k", "r"),
        Repetition("c", "statistics", True, [], "k", "r"),
        Repetition("d", "damaged", False),
    ]
    verify.add_evidence(file, verdicts)
    verify.add_evidence(file, verdicts[:1])
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [(row["how"], row["runs_equal"], row["runs_compared"]) for row in rows] == [
        ("bytes", "1", "2"),
        ("statistics", "1", "1"),
        ("bytes", "1", "1"),
    ]
    assert rows[0]["kernel_digest"] == "k"
    assert rows[0]["container"] in ("yes", "no")


@pytest.fixture
def no_guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is built for a guest that does not boot."""
    monkeypatch.setattr(kernel, "build", lambda series: None)
    monkeypatch.setattr(rootfs, "build", lambda: rootfs.RootFs(tmp_path, "", {}))


@pytest.mark.usefixtures("no_guest")
@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        ([Repetition("a", "bytes", True)], 0),
        ([Repetition("a", "bytes", True), Repetition("b", "bytes", False)], 9),
        ([Repetition("a", "damaged", False), Repetition("b", "bytes", False)], 10),
        ([Repetition("a", "statistics", True)], 0),
        ([Repetition("a", "statistics", False)], 11),
    ],
)
def test_a_status_a_cause(
    verdicts: list[Repetition],
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for number, _ in enumerate(verdicts, start=1):
        write_run(tmp_path, number)
    queue = list(verdicts)
    monkeypatch.setattr(command.checks, "verify", lambda *_, **__: queue.pop(0))
    assert cli.main(["verify", "--all", "--data", str(tmp_path), "--record"]) == status
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == len(verdicts)
    assert (status == 0) == ("error" not in shown.err)
    assert (tmp_path / "verified.csv").exists()


@pytest.mark.usefixtures("no_guest")
def test_what_was_compared_before_an_interrupt_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def first_only(one: Shipped, *_: object, **__: object) -> Repetition:
        if one.data.name != "seed-001.flent.gz":
            raise KeyboardInterrupt
        return Repetition("a", "bytes", True)

    for number in (1, 2):
        write_run(tmp_path, number)
    monkeypatch.setattr(command.checks, "verify", first_only)
    with suppress(KeyboardInterrupt):  # the command line may turn it into a status
        cli.main(["verify", "--all", "--data", str(tmp_path), "--record"])
    (line,) = (tmp_path / "verified.csv").read_text().splitlines()[1:]
    assert line.endswith(",1,1,bytes")


@pytest.mark.usefixtures("no_guest")
def test_a_run_that_studies_no_longer_have_is_told_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(seal, "check", lambda *_, **__: None)
    for seed, qdisc in ((1, "codel"), (2, "codel"), (3, "tail_drop")):
        record = write_run(tmp_path, seed).file.provenance
        axes = {"link": "10/1", "qdisc": qdisc, "cc": "cubic"}
        changed = json.loads(record.read_text()) | {"axes": axes, "length_s": 20.0}
        record.write_text(json.dumps(changed))
    arguments = ["verify", "--all", "--record", "--data", str(tmp_path)]
    assert cli.main(arguments) == ConfigError.exit_status
    out, err = capsys.readouterr()
    first, second, third = out.splitlines()
    assert first.endswith(
        "cubic/seed-001: NOT RUN; its experiment lasts 140 s today, and lasted 20 s; restore "
        "the length, or do the run again"
    )
    assert second == first.replace("001", "002")
    assert "NOT RUN; no experiment has this run any more" in third
    assert err.startswith("3 not run\nemulate: error: gbw2015/rrul/10-1/codel/cubic/seed-001, ")
    assert len((tmp_path / "verified.csv").read_text().splitlines()) == 1


@pytest.mark.kernel
def test_a_run_is_reproduced_and_damage_is_found(
    rrul: Experiment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    length = Duration.parse("3 s")
    (run,) = select(rrul, link="10/10", qdisc="codel", cc="cubic", seed=2, length=length)
    result = execute(run, kernel.build(), rootfs.build(), tmp_path)
    again = replace(run, seed=3)
    execute(again, kernel.build(), rootfs.build(), tmp_path)
    record = result.provenance.with_name("seed-003.json")
    told = json.loads(record.read_text())
    told["identity"]["guest"] = "a comment was another one"
    record.write_text(json.dumps(told))
    assert cli.main(["verify", "--all", "--jobs", "2", "--record", "--data", str(tmp_path)]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"{run.id}: the same bytes"
    assert second.startswith(f"{again.id}: the same bytes; in spite of a different code in the")
    (row,) = csv.DictReader((tmp_path / "verified.csv").read_text().splitlines())
    assert (row["how"], row["runs_equal"], row["runs_compared"]) == ("bytes", "2", "2")

    assert identities.read(tmp_path) == frozenset()
    assert cli.main(["verify", "--code", "--data", str(tmp_path)]) == 0
    (line,) = capsys.readouterr().out.splitlines()  # of the one that was made of something else
    assert line.startswith(f"{again.id}: the same bytes")
    today = json.loads(result.provenance.read_text())["identity"]["guest"]
    assert identities.read(tmp_path) == {("a comment was another one", today)}
    assert json.loads(record.read_text()) == told  # data stay as they are
    assert cli.main(["verify", "--code", "--data", str(tmp_path)]) != 0
    assert "nothing to repeat" in capsys.readouterr().err

    copied = tmp_path / "copy" / result.data.parent.relative_to(tmp_path)
    shutil.copytree(result.data.parent, copied)
    with (copied / result.data.name).open("ab") as file:
        file.write(b"x")
    assert cli.main(["verify", "1", "--data", str(tmp_path / "copy")]) == 10
    assert "DAMAGED DATA" in capsys.readouterr().out


def repeated(old: str, today: str, equal: bool, how: str = "bytes") -> Repetition:
    return Repetition("a run", how, equal, guest=(old, today))


def test_digests_of_code_are_as_good_as_one_where_all_runs_were_equal(tmp_path: Path) -> None:
    enough = [repeated("a", "b", equal=True)] * 3
    differing = [*[repeated("c", "d", equal=True)] * 3, repeated("c", "d", equal=False)]
    too_few = [repeated("e", "f", equal=True)] * 2
    all_there_are = [repeated("g", "h", equal=True)]
    statistics = [repeated("i", "j", equal=True, how="statistics")] * 3
    other = [Repetition("a run", "bytes", True)]  # of the same code
    everything = [*enough, *differing, *too_few, *all_there_are, *statistics, *other]
    assert identities.add(tmp_path, everything, least=3, of={("g", "h"): 1, ("e", "f"): 9}) == 2
    assert identities.read(tmp_path) == {("a", "b"), ("g", "h")}
    identities.add(tmp_path, too_few * 2, least=3, of={})
    lines = (tmp_path / identities.FILE).read_text().splitlines()
    assert lines[0] == ",".join(identities.COLUMNS)
    assert [line.rpartition(",")[0] for line in lines[1:]] == [
        "guest,a,b,3,3", "guest,g,h,1,1", "guest,e,f,4,4"
    ]  # fmt: skip


def test_a_table_of_identities_that_is_none_is_damaged(tmp_path: Path) -> None:
    (tmp_path / identities.FILE).write_text("part,recorded\nguest,a\n")
    with pytest.raises(DamagedData, match="is not a table of part, recorded"):
        identities.read(tmp_path)


def without_data(run: Shipped, **measures: float) -> Shipped:
    """The run as it is when only its measures are kept."""
    numbers = {name: value for name, (value, _) in measured(run.file).items()}
    record = {**run.record, "measures": numbers | measures}
    run.file.provenance.write_text(json.dumps(record))
    run.data.unlink()
    return Shipped.at(run_file(run.file.root, run.file.provenance))


def numbers_of(run: RunFile) -> Measured:
    if not run.is_reduced:
        return measured(run)
    units = {"induced_latency_ms": "ms", "goodput_download_mbit_s": "Mbit/s"}
    numbers = datafile.read_json(run.provenance)["measures"]
    return {name: (value, units[name]) for name, value in numbers.items()}


def test_a_run_without_data_is_compared_by_digest_counters_and_measures(tmp_path: Path) -> None:
    old = without_data(write_run(tmp_path / "a"))
    assert old.file.is_reduced
    assert not old.damaged
    same = verify.judge(old, write_run(tmp_path / "b"), numbers_of)
    assert str(same).endswith("the same bytes; by the SHA-256 of its data")
    moved = verify.judge(
        old, write_run(tmp_path / "c", kernel={**IDENTITY["kernel"], "digest": "l"}), numbers_of
    )  # type: ignore[dict-item]
    assert moved.equal
    assert "in spite of a different kernel (k against l)" in str(moved)
    for number, other in enumerate(({"rtt": 60.5}, {"drops": 1})):
        new = write_run(tmp_path / f"d{number}", **other)
        verdict = verify.judge(old, new, numbers_of)
        assert (verdict.how, verdict.equal) == ("bytes", False)


def test_measures_that_are_not_those_of_the_data_are_named(tmp_path: Path) -> None:
    old = without_data(write_run(tmp_path / "a"), induced_latency_ms=9.0)
    verdict = verify.judge(old, write_run(tmp_path / "b"), numbers_of)
    assert not verdict.equal
    assert "induced_latency_ms measured as 10.0, recorded as 9.0" in str(verdict)


def test_a_run_without_data_is_compared_with_its_cell_where_bytes_say_nothing(
    tmp_path: Path,
) -> None:
    for seed, rtt in ((1, 60.0), (2, 61.0), (3, 62.0)):
        write_run(tmp_path / "a", seed, rtt=rtt)
    old = without_data(write_run(tmp_path / "a", 4, rtt=61.0))
    newer = {**IDENTITY["kernel"], "digest": "l"}  # type: ignore[dict-item]
    near = verify.judge(old, write_run(tmp_path / "b", 4, rtt=61.5, kernel=newer), numbers_of)
    assert (near.how, near.equal) == ("statistics", True)
    far = verify.judge(old, write_run(tmp_path / "c", 4, rtt=91.5, kernel=newer), numbers_of)
    assert (far.how, far.equal) == ("statistics", False)
