"""Reading runs: what the tables hold, and what each broken file is told."""

import gzip
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs import dataset
from qdisclab.analysis.runs.dataset import find_runs, read_runs
from qdisclab.analysis.runs.flentfile import read_flent
from qdisclab.analysis.runs.settings import Setting
from qdisclab.emulation.errors import EmulationError
from qdisclab.emulation.host.pool import FEW
from qdisclab.emulation.model.run import variant_name
from tests import ROOT
from tests.data import provenances, synthetic

LINK, QDISC = "10-10", "codel"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return synthetic.write_run(tmp_path, LINK, QDISC, seed=1)


def read_one(root: Path) -> dataset.Dataset:
    return read_runs(find_runs(root, "gbw2015", "rrul"))


def test_samples_are_those_of_the_file(data: Path, tmp_path: Path) -> None:
    content = synthetic.flent_content(LINK, QDISC, 1)
    samples = read_one(tmp_path).samples
    for name, kind, column in (
        ("Ping (ms) ICMP", "ping_icmp", "rtt_ms"),
        ("TCP upload BE3", "tcp_upload", "goodput_mbit_s"),
    ):
        rows = samples[samples["series"] == name]
        assert set(rows["kind"]) == {kind}
        expected = [
            (round(x, 6), value)
            for x, value in zip(content["x_values"], content["results"][name], strict=True)
            if value is not None
        ]
        assert list(zip(rows["time_s"], rows[column], strict=True)) == expected
    assert set(samples["series"]) == set(synthetic.SERIES)  # not flent's sums and averages


def test_each_row_says_what_its_run_was(data: Path, tmp_path: Path) -> None:
    samples, _, runs = read_one(tmp_path)
    identity = ("gbw2015", "rrul", "modern", "10/10", "codel", "cubic", 1)
    columns = ["paper", "experiment", "era", "link", "qdisc", "cc", "seed"]
    assert samples[columns].drop_duplicates().to_numpy().tolist() == [list(identity)]
    row = runs.iloc[0]
    assert row["run"] == "gbw2015/rrul/10-10/codel/cubic/seed-001"
    assert row["kernel_release"] == synthetic.KERNEL["release"]
    assert (row["length_s"], row["delay_s"], row["base_rtt_ms"]) == (20, 5, 50)


@pytest.mark.parametrize(
    ("series", "value"), [("Ping (ms) ICMP", 0.0), ("TCP upload BE3", -0.5), ("TCP upload", None)]
)
def test_a_value_that_cannot_be_is_refused(
    data: Path, tmp_path: Path, series: str, value: float | None
) -> None:
    content = json.loads(gzip.decompress(data.read_bytes()))
    if value is None:
        content["metadata"]["SERIES_META"]["TCP upload BE"]["BYTES_SENT"] = -1
    else:
        content["results"][series][40] = value
    data.write_bytes(gzip.compress(json.dumps(content).encode()))
    with pytest.raises(DataError, match=f"series '{re.escape(series)}.*' has an impossible"):
        read_one(tmp_path)


def test_flow_goodput_is_bytes_by_duration(data: Path, tmp_path: Path) -> None:
    flows = read_one(tmp_path).flows
    meta = synthetic.flent_content(LINK, QDISC, 1)["metadata"]["SERIES_META"]
    assert len(flows) == 8
    for name, kind, value in flows[["series", "kind", "goodput_mbit_s"]].itertuples(index=False):
        counter = "BYTES_SENT" if kind == "tcp_upload" else "BYTES_RECVD"
        assert value == pytest.approx(meta[name][counter] * 8 / 20 / 1e6)


def test_many_runs_in_parallel_equal_one_at_a_time(tmp_path: Path) -> None:
    synthetic.write_tree(tmp_path, ("10-1",), seeds=2, length_s=10)
    files = find_runs(tmp_path, "gbw2015", "rrul", links="10/1")
    assert len(files) == 14 >= FEW
    together, alone = read_runs(files, jobs=2), read_runs(files, jobs=1)
    for one, other in zip(together, alone, strict=True):
        assert one.equals(other)
    assert [file.run for file in files] == together.runs["run"].tolist()


def test_runs_are_chosen_by_cell(tmp_path: Path) -> None:
    synthetic.write_tree(tmp_path, ("10-1", "10-10"), seeds=1, length_s=5)
    chosen = find_runs(
        tmp_path, "gbw2015", "rrul", links="10/1", qdiscs=["pie", "sfq"], ccs="cubic"
    )
    assert [(file.link, file.qdisc) for file in chosen] == [("10/1", "pie"), ("10/1", "sfq")]
    with pytest.raises(DataError, match=r"cubic 100/100; there is link '10/1', '10/10'\. "):
        find_runs(tmp_path, "gbw2015", "rrul", links="100/100", ccs="cubic")


def test_a_data_file_without_provenance_is_no_run(data: Path, tmp_path: Path) -> None:
    synthetic.write_run(tmp_path, LINK, QDISC, seed=2)
    data.with_name("seed-001.json").unlink()
    assert [file.seed for file in find_runs(tmp_path, "gbw2015", "rrul")] == [2]


def rewrite(path: Path, **changes: object) -> None:
    content = json.loads(gzip.decompress(path.read_bytes()))
    content.update(changes)
    path.write_bytes(gzip.compress(json.dumps(content).encode()))


def refusal(root: Path) -> str:
    with pytest.raises(EmulationError) as refused:
        read_one(root)
    return str(refused.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(b'{"measurements": []}')[:-9], "truncated or damaged gzip data; delete"),
        (b"flent", "not gzip data"),
        (gzip.compress(b'{"measurements": []}'), "not a flent data file (KeyError: 'metadata')"),
        (gzip.compress(b"[1, 2]"), "JSON, but not an object"),
    ],
)
def test_another_file(data: Path, tmp_path: Path, content: bytes, said: str) -> None:
    data.write_bytes(content)
    assert refusal(tmp_path).startswith(f"{data}: {said}")


def test_a_flood_of_udp_has_its_ping(data: Path, tmp_path: Path) -> None:
    """flent's udp_flood_var_up names its series by host; a run without the ping is refused."""
    content = synthetic.flent_content(LINK, QDISC, 1)
    ping, named = "Ping (ms) ICMP", "Ping (ms) ICMP 10.0.4.2"
    metadata = content["metadata"] | {"NAME": "udp_flood_var_up"}
    metadata["SERIES_META"] = {named: {}}
    results = {named: content["results"][ping], "UDP upload 10.0.4.2": content["results"][ping]}
    raw = {named: content["raw_values"].get(ping, [])}
    rewrite(data, metadata=metadata, results=results, raw_values=raw)
    samples = read_one(tmp_path).samples
    assert set(samples["series"]) == {named}
    assert set(samples["kind"]) == {"ping_icmp"}
    del results[named]
    rewrite(data, results=results)
    assert "ping_icmp" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"run": "gbw2015/rrul/10-10/pie/cubic/seed-001"},
            "describes the run 'gbw2015/rrul/10-10/pie/",
        ),
        ({"length_s": 140}, "140 s of load here, 20 s in seed-001.flent.gz"),
        ({"identity": {}}, "provenance without a usable entry (KeyError: 'kernel')"),
    ],
)
def test_another_provenance(
    data: Path, tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    provenance = data.with_name("seed-001.json")
    provenance.write_text(json.dumps(json.loads(provenance.read_text()) | changes))
    assert refusal(tmp_path).startswith(f"{provenance}: {said}")


def test_golden_file_of_a_real_run() -> None:
    golden = ROOT / "tests" / "data" / "golden"
    (file,) = find_runs(golden, "gbw2015", "rrul")
    (release,) = read_runs([file]).runs["kernel_release"]
    assert release.startswith("6.")
    flent = read_flent(file.data)
    assert flent.flent_version == "2.1.1"
    assert (flent.delay_s, flent.step_s) == (5, 0.2)
    icmp = next(one for one in flent.series if one.kind == "ping_icmp")
    idle = icmp.value[icmp.time_s < flent.delay_s]
    assert np.allclose(idle, 50, atol=0.5)
    assert math.isnan(icmp.transferred_mbit_s)
    for kind in ("tcp_download", "tcp_upload"):
        moved = [one.transferred_mbit_s for one in flent.series if one.kind == kind]
        assert len(moved) == 4
        assert 0 < sum(moved) < 10


def test_another_kernel_is_part_of_the_era(tmp_path: Path) -> None:
    assert variant_name("rrul", "modern", "7.3") == "rrul@linux-7.3"
    assert variant_name("rrul", "2014", "7.3", "20s") == "rrul@2014@linux-7.3@20s"
    for era in ("modern", "2014", "modern@linux-7.3", "2014-no_gso@linux-0123456789abcdef"):
        assert provenances.made_up(tmp_path, "gbw2015", "rrul", era).era == era
    assert Setting("2014@linux-7.3", "cubic").title == "Linux of 2014, 7.3, CUBIC"
    assert Setting("2014+fack-no_gso", "reno").title == "Linux of 2014+fack-no_gso, New Reno"
    many = "2013c-host_noise+ticks_1ms+ring_8139+pie_mark_all"
    assert Setting(many, "reno").title == "Linux of 2013c, 4 changes, New Reno"


@pytest.mark.parametrize("number", [0, 3])
def test_a_flow_to_an_address_that_the_rig_does_not_have(number: int) -> None:
    assert dataset._base_rtt_ms("TCP upload BE2 10.0.4.3", 50.0, [10.0, 20.0]) == 20.0
    with pytest.raises(DataError, match="its rig has 2 addresses"):
        dataset._base_rtt_ms(f"TCP upload BE{number} 10.0.4.3", 50.0, [10.0, 20.0])


def test_what_there_is_instead_is_told() -> None:
    data = ROOT / "data"
    with pytest.raises(DataError, match="no run of rul; there is rrul"):
        find_runs(data, "gbw2015", "rul")
    with pytest.raises(DataError, match=r"10/10 coddel; there is qdisc .*'codel'"):
        find_runs(data, "gbw2015", "rrul", links="10/10", qdiscs=["coddel"])
    # each of the values has runs, but they have none together
    with pytest.raises(DataError, match=r"pie modern; there is era '2014'\. "):
        find_runs(
            data, "gbw2015", "rrul", length="60s", links="10/10", qdiscs=["pie"], eras="modern"
        )
    with pytest.raises(DataError, match=r"1day; there is length '', '60s'\. "):
        find_runs(data, "gbw2015", "rrul", length="1day")


def test_the_command_that_makes_the_runs_is_told() -> None:
    cell = {"links": "10/10", "qdiscs": ["bfifo"], "eras": ["2014@linux-7.2", "modern"]}
    with pytest.raises(DataError) as caught:
        find_runs(ROOT / "data", "gbw2015", "rrul", **cell, ccs=["cubic", "reno"])
    words = "--link 10/10 --qdisc bfifo --cc cubic --cc reno --era 2014 --kernel 7.2"
    assert f"needs: `emulate run gbw2015/rrul {words}`." in str(caught.value)
    with pytest.raises(DataError, match=r"figure needs\.$"):  # which would be refused
        find_runs(ROOT / "data", "gbw2015", "rrul", qdiscs=["coddel"])


@pytest.mark.parametrize(
    ("misspelt", "message"),
    [
        ({"experiments": ["rrul", "rrlu"]}, "unknown experiment 'rrlu'. did you mean 'rrul'"),
        ({"length": {"rrlu": "60s"}}, "unknown experiment 'rrlu'. did you mean 'rrul'"),
        (
            {"links": ["10/10", "10/1o"]},
            "unknown link '10/1o'. did you mean '10/1'? valid: 100/100",
        ),
        ({"qdiscs": ["pie", "codle"]}, "unknown qdisc 'codle'. did you mean 'codel'"),
        ({"eras": ["2014", "2104"]}, "unknown era '2104'. valid: modern, 2014"),
        ({"ccs": ["cubic", "cubix"]}, "Linux 6.12 here has no cubix. choose from bbr, bic"),
    ],
)
def test_of_several_values_none_is_misspelt(misspelt: dict[str, Any], message: str) -> None:
    chosen = {"experiments": ["rrul"], "links": "10/10", "qdiscs": ["pie"], "eras": ["2014"]}
    with pytest.raises(DataError, match=re.escape(f"data/gbw2015: {message}")):
        find_runs(ROOT / "data", "gbw2015", **{**chosen, "ccs": "cubic", **misspelt})


def test_a_length_that_no_run_can_have_is_refused() -> None:
    cells: dict[str, Any] = {"links": "10/10", "qdiscs": ["pie"], "eras": "modern"}
    names = ["rrul", "rtt_fairness"]
    shipped = find_runs(ROOT / "data", "gbw2015", names, **cells, length={"rrul": "61s"})
    assert {run.experiment for run in shipped} == {"rtt_fairness"}  # which nobody has run
    for wrong, message in (("60 s", "Write '60s'"), ("6Os", "unknown unit 'Os'")):
        with pytest.raises(DataError, match=message):
            find_runs(ROOT / "data", "gbw2015", names, **cells, length={"rrul": wrong})
