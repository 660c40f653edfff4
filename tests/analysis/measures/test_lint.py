"""`emulate lint`: a file of the rig that its name says, and one for each way to be none."""

import copy
import gzip
import json
from collections.abc import Callable
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.lint import NOTE, UNKNOWN, WRONG, Label, label_of, lint
from qdisclab.analysis.runs.rigrecord import rate_mbit_s, read_rig
from qdisclab.emulate.cli import main

STEPS, DELAY_S, LENGTH_S = 70, 5, 60
OFF = {"tcp-segmentation-offload": False, "generic-receive-offload": False}


def interface(name: str, *qdiscs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"iface": name, "qdiscs": list(qdiscs), "classes": None, "offloads": OFF, **more}


def qdisc(name: str, major: str = "1:", parent: str = "root", **params: str) -> dict[str, Any]:
    return {"name": name, "id": major, "parent": parent, "params": params}


def content() -> dict[str, Any]:
    """An RRUL test through a router that shapes by htb to 20/10 Mbit/s, above CoDel."""
    codel = qdisc("codel", "110:", "1:10", limit="1000p", target="5.0ms")
    cls = {"id": "1:10", "name": "htb", "parent": "root", "params": {"leaf": "110:"}}
    router = {
        direction: interface(
            name,
            qdisc("htb", r2q="10", default="10"),
            codel,
            classes=[{**cls, "params": {**cls["params"], "rate": rate}}],
        )
        for direction, name, rate in (
            ("EGRESS_INFO", "wan", "10Mbit"), ("INGRESS_INFO", "lan", "20Mbit"),
        )
    }  # fmt: skip
    loaded = [DELAY_S <= second < DELAY_S + LENGTH_S for second in range(STEPS)]
    return {
        "version": 4,
        "x_values": list(range(STEPS)),
        "results": {
            "Ping (ms) ICMP": [70.0 if load else 50.5 for load in loaded],
            "Ping (ms) UDP BE1": [71.0 if load else None for load in loaded],
            "TCP download BE": [9.0 if load else None for load in loaded],
            "TCP download BE2": [9.5 if load else None for load in loaded],
            "TCP download sum": [18.5 if load else None for load in loaded],
            "TCP upload::1": [9.2 if load else None for load in loaded],
            "TCP upload::1::tcp_rtt": [70.0 if load else None for load in loaded],
        },
        "metadata": {
            "NAME": "rrul_be",
            "TITLE": "qdisc:codel rtt:50ms rate:20Mbit/10Mbit cc:cubic ecn:noecn",
            "DATA_FILENAME": "batch-rrul.flent.gz",
            "LENGTH": LENGTH_S,
            "TOTAL_LENGTH": LENGTH_S + 2 * DELAY_S,
            "FAILED_RUNNERS": 0,
            "SYSCTLS": {"net.ipv4.tcp_congestion_control": "cubic", "net.ipv4.tcp_ecn": 0},
            "TEST_PARAMETERS": {},
            "EGRESS_INFO": interface("eth0", qdisc("tbf", rate="1Gbit")),
            "REMOTE_METADATA": {"router": {"SYSCTLS": {}, **router}},
        },
    }


def write(path: Path, told: dict[str, Any]) -> Path:
    path.write_bytes(gzip.compress(json.dumps(told).encode()))
    return path


def router(told: dict[str, Any]) -> dict[str, Any]:
    lan: dict[str, Any] = told["metadata"]["REMOTE_METADATA"]["router"]["INGRESS_INFO"]
    return lan


def test_a_file_of_its_rig_has_no_finding(tmp_path: Path) -> None:
    record = read_rig(write(tmp_path / "x.flent.gz", content()))
    assert lint(record) == []
    assert sorted(record.flows("download")) == ["TCP download BE", "TCP download BE2"]
    assert list(record.flows("upload")) == ["TCP upload::1"]
    assert [(one.host, one.rate_mbit_s) for one in record.interfaces] == [
        ("", 1000.0), ("router", 10.0), ("router", 20.0),
    ]  # fmt: skip


Change = Callable[[dict[str, Any]], None]


def put(value: object, *keys: Any) -> Change:
    def change(told: dict[str, Any]) -> None:
        reduce(getitem, keys[:-1], told)[keys[-1]] = value

    return change


def title(old: str, new: str) -> Change:
    def change(told: dict[str, Any]) -> None:
        told["metadata"]["TITLE"] = told["metadata"]["TITLE"].replace(old, new)

    return change


NO_REMOTE = put({}, "metadata", "REMOTE_METADATA")
SHORTCUT = put(20.0, "results", "Ping (ms) ICMP", 30)
AROUND = put([90.0] * 20, "results", "TCP download BE", slice(20, 40))
DEAD_PROBE = put([None] * STEPS, "results", "Ping (ms) UDP BE1")
#: Without load the median is 56.8 ms, the least 50.5: under load 51 is no other path.
ONE_SLOW_PING_BEFORE = put(
    [50.5, *[56.8] * 4, 51.0, *[70.0] * (STEPS - 6)], "results", "Ping (ms) ICMP"
)


def another_qdisc(told: dict[str, Any]) -> None:
    router(told)["qdiscs"][1] = qdisc("cake", "110:", "1:10")


def superpackets(told: dict[str, Any]) -> None:
    router(told)["offloads"] = {**OFF, "generic-receive-offload": True}


def cake_splits(told: dict[str, Any]) -> None:
    superpackets(told)
    another_qdisc(told)
    title("qdisc:codel", "qdisc:cake")(told)
    told["metadata"]["REMOTE_METADATA"]["router"]["EGRESS_INFO"]["qdiscs"][1]["name"] = "cake"


def hardly_shorter(told: dict[str, Any]) -> None:
    """A local path, of which a ping under load is 40 us faster: two minima of one RTT."""
    title("rtt:50ms ", "")(told)
    ping = [0.367 if second % 2 else 0.36 for second in range(STEPS)]
    told["results"]["Ping (ms) ICMP"] = [*ping[:30], 0.32, *ping[31:]]


def idle_flows(told: dict[str, Any]) -> None:
    for name in ("TCP download BE", "TCP download BE2"):
        told["results"][name] = [value and 1.0 for value in told["results"][name]]


def no_offload_said(told: dict[str, Any]) -> None:
    superpackets(told)
    told["metadata"]["DATA_FILENAME"] = "codel_nooffload.flent.gz"


@pytest.mark.parametrize(
    ("change", "level", "about", "said"),
    [
        (another_qdisc, WRONG, "qdisc", "the name says codel; lan of router has htb, cake"),
        (title("qdisc:codel", "qdisc:ared"), WRONG, "qdisc", "says ared; lan of router has htb"),
        (NO_REMOTE, UNKNOWN, "qdisc", "recorded: tbf; a router's were not recorded"),
        (superpackets, NOTE, "offloads", "lan of router, whose qdisc sees superpackets: generic"),
        (no_offload_said, WRONG, "offloads", "the name says none; on at lan of router"),
        (title("20Mbit", "50Mbit"), WRONG, "rate", "says 50 Mbit/s of download; lan of router"),
        (AROUND, WRONG, "goodput", "downloads move 45.5 Mbit/s, more than the 20 of lan"),
        (idle_flows, NOTE, "goodput", "downloads move 2 Mbit/s of 20"),
        (title("50ms", "20ms"), WRONG, "RTT", "says 20 ms; without load 'Ping (ms) ICMP' is 50.5"),
        (SHORTCUT, WRONG, "RTT", "takes 50.5 ms or more without load, 20 with"),
        (title("cc:cubic", "cc:bbr"), WRONG, "congestion control", "says bbr; the client's is"),
        (title("noecn", "ecn"), WRONG, "ECN", "says on; the client's tcp_ecn is 0"),
        (DEAD_PROBE, WRONG, "series", "no value at all in 1 series: Ping (ms) UDP BE1"),
        (lambda told: told["results"].clear(), NOTE, "series", "none in the file"),
        (put(2, "metadata", "FAILED_RUNNERS"), WRONG, "tools", "2 of its tools failed"),
    ],
)
def test_each_way_to_be_another_rig_is_found(
    tmp_path: Path, change: Change, level: str, about: str, said: str
) -> None:
    told = content()
    change(told)
    findings = lint(read_rig(write(tmp_path / "x.flent.gz", told)))
    assert [(one.level, one.about) for one in findings if said in one.text] == [(level, about)]


@pytest.mark.parametrize(
    "change",
    [
        title("20Mbit/10Mbit", "10Mbit/20Mbit"),  # up/down
        cake_splits,
        hardly_shorter,
        ONE_SLOW_PING_BEFORE,
        title("rtt:50ms", "rtt:multi"),
        title("qdisc:codel rtt:50ms rate:20Mbit/10Mbit cc:cubic ecn:noecn", ""),
    ],
)
def test_what_may_be_is_no_finding(tmp_path: Path, change: Change) -> None:
    told = content()
    change(told)
    assert lint(read_rig(write(tmp_path / "x.flent.gz", told))) == []


def test_a_page_without_flows_has_its_bottleneck(tmp_path: Path) -> None:
    told = content()
    told["results"] = {"HTTP latency": [100.0] * STEPS}
    another_qdisc(told)
    (finding,) = lint(read_rig(write(tmp_path / "x.flent.gz", told)))
    assert (finding.level, finding.about) == (WRONG, "qdisc")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("rrul-fq_codel-48ms", Label(qdisc="fq_codel")),
        ("rrul codel_nooffload ecn", Label(ecn=True, offloads=False)),
        ("pfifo_fast, noecn", Label(qdisc="pfifo_fast", ecn=False)),
        ("rate:100Mbit cc:reno", Label(rates_mbit_s=(100.0, 100.0), cc="reno")),
        ("a piece of cake", Label(qdisc="cake")),
        ("recodel", Label()),
    ],
)
def test_labels(tmp_path: Path, name: str, label: Label) -> None:
    told = content()
    told["metadata"] |= {"TITLE": name, "DATA_FILENAME": "x.flent.gz"}
    assert label_of(read_rig(write(tmp_path / "x.flent.gz", told))) == label


def test_rates_of_tc() -> None:
    assert [rate_mbit_s(text) for text in ("110Mbit", "64Kbit", "1Gbit", "1.5Mbit", "x", "")] == [
        110, 0.064, 1000, 1.5, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize("key", ["metadata", "x_values", "results"])
def test_what_is_no_file_of_flent_is_refused(tmp_path: Path, key: str) -> None:
    told = copy.deepcopy(content())
    told[key] = 5
    with pytest.raises(DataError, match=r"not a flent data file .*Name a data file of flent"):
        read_rig(write(tmp_path / "x.flent.gz", told))


def test_the_command_goes_on_behind_a_file_that_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, wrong = write(tmp_path / "a", content()), content()
    another_qdisc(wrong)
    bad = write(tmp_path / "b", wrong)
    assert main(["lint", str(good)]) == 0
    assert "a: as its name says, as far as it is recorded" in capsys.readouterr().out
    assert main(["lint", "--json", str(tmp_path / "none"), str(bad), str(good)]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0]["error"].endswith("none: no such file; name a data file of flent")
    assert [len(line.get("findings", [])) for line in lines] == [0, 1, 0]
