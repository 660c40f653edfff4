"""emulation.kinds.qdiscs: what `tc` is told of each kind, and how the guest reads it back."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulate import cli
from qdisclab.emulation import kernel
from qdisclab.emulation.config import job
from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.kernel import features, module
from qdisclab.emulation.kinds.qdiscs import KINDS, cake
from qdisclab.emulation.machine import rootfs, vm
from qdisclab.emulation.model.egress import BURST, SHAPER_LIMIT, Shaper
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.run import Experiment
from qdisclab.emulation.model.topology import Node, Port, Topology, Wire
from qdisclab.emulation.model.units import Rate
from qdisclab.emulation.study.schema import Flaws, read_options
from tests.emulation.kinds.qdiscs.guest import readback
from tests.kernels import TODAY, needs_today

#: Options as a study file has them, the words that follow the kind, and what tc 6.1 then shows.
CASES: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "cake as it is": (
        "cake",
        {"nat": False},
        "",
        """{"bandwidth":"unlimited","diffserv":"diffserv3","flowmode":"triple-isolate","nat":false,
        "wash":false,"ingress":false,"ack-filter":"disabled","split_gso":true,"rtt":100000,
        "raw":true,"overhead":0,"fwmark":"0"}""",
    ),
    "cake": (
        "cake",
        {
            "bandwidth": "10 Mbit/s", "rtt": "20 ms", "besteffort": True, "flows": True,
            "nat": True, "wash": True, "no-split-gso": True, "ack-filter": True,
            "memlimit": "4000000 B", "overhead": 18, "mpu": 64, "atm": True, "ingress": True,
            "fwmark": 255,
        },
        "bandwidth 10000000bit rtt 20000us besteffort flows nat wash no-split-gso ack-filter"
        " memlimit 4000000b overhead 18 mpu 64 atm ingress fwmark 255",
        """{"bandwidth":1250000,"diffserv":"besteffort","flowmode":"flows","nat":true,"wash":true,
        "ingress":true,"ack-filter":"enabled","split_gso":false,"rtt":20000,"raw":false,
        "atm":"atm","overhead":18,"mpu":64,"memlimit":4000000,"fwmark":"0xff"}""",
    ),
    "cake without a rate": (
        "cake",
        {
            "unlimited": True, "rtt": "1.3 ms", "precedence": True, "flowblind": True,
            "ack-filter-aggressive": True, "ptm": True, "overhead": 0, "nonat": True,
            "nowash": True, "egress": True, "split-gso": True,
        },
        "unlimited rtt 1300us precedence flowblind ack-filter-aggressive ptm overhead 0 nonat"
        " nowash egress split-gso",
        """{"bandwidth":"unlimited","diffserv":"precedence","flowmode":"flowblind","nat":false,
        "wash":false,"ingress":false,"ack-filter":"aggressive","split_gso":true,"rtt":1300,
        "raw":false,"atm":"ptm","overhead":0,"fwmark":"0"}""",
    ),
    "cake for a cable modem in town": (
        "cake",
        {"bandwidth": "20 Mbit/s", "docsis": True, "metro": True},
        "bandwidth 20000000bit docsis metro",
        """{"bandwidth":2500000,"diffserv":"diffserv3","flowmode":"triple-isolate","nat":false,
        "wash":false,"ingress":false,"ack-filter":"disabled","split_gso":true,"rtt":10000,
        "raw":false,"atm":"noatm","overhead":18,"mpu":64,"fwmark":"0"}""",
    ),
    "fq": (
        "fq",
        {
            "limit": "500 packets", "flow_limit": "20 packets", "quantum": "1500 B",
            "initial_quantum": "3000 B", "maxrate": "5 Mbit/s", "buckets": 512, "nopacing": True,
            "refill_delay": "30 ms", "low_rate_threshold": "100 kbit/s", "orphan_mask": 1023,
            "timer_slack": "20 us", "horizon": "2 s", "ce_threshold": "3 ms",
            "horizon_drop": True,
        },
        "limit 500 flow_limit 20 quantum 1500 initial_quantum 3000 maxrate 5000000bit buckets 512"
        " nopacing refill_delay 30000us low_rate_threshold 100000bit orphan_mask 1023"
        " timer_slack 20us horizon 2000000us ce_threshold 3000us horizon_drop",
        """{"limit":500,"flow_limit":20,"buckets":512,"orphan_mask":1023,"pacing":false,
        "quantum":1500,"initial_quantum":3000,"maxrate":625000,"low_rate_threshold":12500,
        "refill_delay":30000,"ce_threshold":3000,"timer_slack":20000,"horizon":2000000,
        "horizon_drop":null}""",
    ),
    "fq that paces": (
        "fq",
        {"pacing": True, "horizon_cap": True, "timer_slack": "1500 ns"},
        "pacing horizon_cap timer_slack 1500ns",
        """{"limit":10000,"flow_limit":100,"buckets":1024,"orphan_mask":1023,"quantum":131100,
        "initial_quantum":655500,"low_rate_threshold":68750,"refill_delay":40000,
        "timer_slack":1500,"horizon":10000000,"horizon_cap":null}""",
    ),
    "fq_pie": (
        "fq_pie",
        {
            "limit": "500 packets", "flows": 64, "target": "20 ms", "tupdate": "10 ms",
            "alpha": 3, "beta": 30, "quantum": "1500 B", "memory_limit": "1000000 B",
            "ecn_prob": 20, "ecn": True, "bytemode": True, "dq_rate_estimator": True,
        },
        "limit 500 flows 64 target 20000us tupdate 10000us alpha 3 beta 30 quantum 1500b"
        " memory_limit 1000000b ecn_prob 20 ecn bytemode dq_rate_estimator",
        """{"limit":500,"flows":64,"target":20000,"tupdate":10000,"alpha":3,"beta":30,
        "quantum":1500,"memory_limit":1000000,"ecn_prob":20,"ecn":true,"bytemode":true,
        "dq_rate_estimator":true}""",
    ),
    "fq_pie without ECN": (
        "fq_pie",
        {"noecn": True, "bytemode": False, "dq_rate_estimator": False},
        "noecn",
        """{"limit":10240,"flows":1024,"target":15000,"tupdate":15000,"alpha":2,"beta":20,
        "quantum":65550,"memory_limit":33554432,"ecn_prob":10}""",
    ),
    "sfb": (
        "sfb",
        {
            "rehash": "300 ms", "db": "30 ms", "limit": "500 packets", "max": "20 packets",
            "target": "15 packets", "increment": 0.001, "decrement": 0.0001, "penalty_rate": 20,
            "penalty_burst": "30 packets",
        },
        "rehash 300 db 30 limit 500 max 20 target 15 increment 0.001 decrement 0.0001"
        " penalty_rate 20 penalty_burst 30",
        """{"rehash":300000,"db":30000,"limit":500,"max":20,"target":15,"increment":0.0010071,
        "decrement":0.000106813,"penalty_rate":20,"penalty_burst":30}""",
    ),
    "choke": (
        "choke",
        {
            "limit": "500 packets", "bandwidth": "10 Mbit/s", "min": "50 packets",
            "max": "150 packets", "burst": 80, "avpkt": "1000 B", "probability": 0.05,
            "ecn": True,
        },
        "limit 500 bandwidth 10000000bit min 50 max 150 burst 80 avpkt 1000b probability 0.05 ecn",
        """{"limit":500,"min":50,"max":150,"ecn":true,"harddrop":false,"adaptive":false,
        "nodrop":false,"ewma":6,"probability":0.05,"Scell_log":16}""",
    ),
    "dualpi2": (
        "dualpi2",
        {
            "limit": "500 packets", "memlimit": "1000000 B", "target": "20 ms", "tupdate": "10 ms",
            "alpha": 0.25, "beta": 3.5, "step_thresh": "2 ms", "min_qlen_step": "3 packets",
            "coupling_factor": 4, "classic_protection": 20, "overflow": True,
            "drop_enqueue": True, "any_ect": True, "no_split_gso": True,
        },
        "limit 500 memlimit 1000000b target 20000us tupdate 10000us alpha 0.25 beta 3.5"
        " step_thresh 2000us min_qlen_step 3 coupling_factor 4 classic_protection 20 overflow"
        " drop_enqueue any_ect no_split_gso",
        """{"limit":500,"memlimit":1000000,"target_us":20000,"tupdate_us":10000,"alpha":0.25,
        "beta":3.5,"step_thresh_us":2000,"min_qlen_step":3,"coupling_factor":4,
        "classic_protection":20,"drop_on_overload":false,"overflow":true,"drop_enqueue":true,
        "drop_dequeue":false,"l4s_ect":false,"any_ect":true,"split_gso":false,
        "no_split_gso":true}""",
    ),
    "dualpi2 as it is": (
        "dualpi2",
        {"step_packets": "5 packets", "drop_on_overload": True, "drop_dequeue": True,
         "l4s_ect": True, "split_gso": True},
        "step_packets 5 drop_on_overload drop_dequeue l4s_ect split_gso",
        """{"limit":10000,"memlimit":30280000,"target_us":15000,"tupdate_us":16000,
        "alpha":0.16015625,"beta":3.19921875,"step_packets":5,"min_qlen_step":0,
        "coupling_factor":2,"classic_protection":10,"drop_on_overload":true,"overflow":false,
        "drop_enqueue":false,"drop_dequeue":true,"l4s_ect":true,"any_ect":false,"split_gso":true,
        "no_split_gso":false}""",
    ),
    "hhf": (
        "hhf",
        {
            "limit": "500 packets", "quantum": "1500 B", "hh_limit": 100,
            "reset_timeout": "30 ms", "admit_bytes": "2000 B", "evict_timeout": "2 s",
            "non_hh_weight": 3,
        },
        "limit 500 quantum 1500 hh_limit 100 reset_timeout 30000us admit_bytes 2000"
        " evict_timeout 2000000us non_hh_weight 3",
        """{"limit":500,"quantum":1500,"hh_limit":100,"reset_timeout":30000,"admit_bytes":2000,
        "evict_timeout":2000000,"non_hh_weight":3}""",
    ),
    "skbprio": ("skbprio", {"limit": "100 packets"}, "limit 100", """{"limit":100}"""),
    "pfifo_head_drop": (
        "pfifo_head_drop",
        {"limit": "55 packets"},
        "limit 55",
        """{"limit":55}""",
    ),
    "fq_codel": (
        "fq_codel",
        {"quantum": "1514 B", "flows": 1024, "drop_batch": "64 packets"},
        "quantum 1514 flows 1024 drop_batch 64",
        """{"limit":10240,"flows":1024,"quantum":1514,"target":4999,"interval":99999,
        "memory_limit":33554432,"ecn":true,"drop_batch":64}""",
    ),
}  # fmt: skip

#: What a kind shows of another option, by the option: the key of tc and a value that differs.
KEYS: dict[str, dict[str, tuple[str, Any]]] = {
    "cake": {
        "flows": ("flowmode", "hosts"), "flowblind": ("flowmode", "flows"),
        "besteffort": ("diffserv", "diffserv4"), "precedence": ("diffserv", "diffserv8"),
        "no-split-gso": ("split_gso", True), "split-gso": ("split_gso", False),
        "ack-filter-aggressive": ("ack-filter", "enabled"),
        "ack-filter": ("ack-filter", "aggressive"), "atm": ("atm", "ptm"), "ptm": ("atm", "atm"),
        "unlimited": ("bandwidth", 1_250_000), "nonat": ("nat", True), "nowash": ("wash", True),
        "egress": ("ingress", True), "fwmark": ("fwmark", "0xfe"),
        "docsis": ("overhead", 0), "metro": ("rtt", 100000),
    },
    "fq": {
        "nopacing": ("pacing", True), "pacing": ("pacing", False),
        "horizon_drop": ("horizon_drop", None), "horizon_cap": ("horizon_cap", None),
    },
    "fq_pie": {"noecn": ("ecn", True)},
    "dualpi2": {name: (f"{name}_us", 1) for name in ("target", "tupdate", "step_thresh")},
}  # fmt: skip


def made(case: str) -> tuple[Qdisc, dict[str, Any]]:
    kind, options, _, shown = CASES[case]
    qdisc = Qdisc(kind, kind, tuple(read_options(kind, options).items()))
    return qdisc, {"kind": kind, "root": True, "options": json.loads(shown)}


def compared(qdisc: Qdisc, seen: dict[str, Any]) -> list[str]:
    asked = {"kind": qdisc.kind, "parent": "root", "expect": qdisc.expect()}
    found: list[str] = readback.compare_qdisc("r", json.loads(json.dumps(asked)), seen)
    return found


@pytest.mark.parametrize("case", CASES)
def test_what_tc_is_told_and_shows(case: str) -> None:
    qdisc, seen = made(case)
    assert " ".join(qdisc.tc_arguments()) == " ".join((qdisc.kind, CASES[case][2])).strip()
    assert compared(qdisc, seen) == []


@pytest.mark.parametrize(
    ("case", "option"), [(case, option) for case in CASES for option in CASES[case][1]]
)
def test_each_option_that_differs_is_found(case: str, option: str) -> None:
    qdisc, seen = made(case)
    if not KINDS[qdisc.kind].options[option].is_read_back:
        return
    key, value = KEYS.get(qdisc.kind, {}).get(option, (option, None))
    old = seen["options"].pop(key, None)
    if value is None and key not in ("horizon_drop", "horizon_cap"):
        value = not old if isinstance(old, bool) or old is None else old * 1.5 + 1
    if value is not None:
        seen["options"][key] = value
    (said, *_) = compared(qdisc, seen)
    assert said.startswith(f"r: {qdisc.kind} has ")


def test_every_option_of_the_new_kinds_has_a_case() -> None:
    for kind in ("fq", "fq_pie", "sfb", "choke", "dualpi2", "hhf", "skbprio", "pfifo_head_drop"):
        said = {option for of, options, *_ in CASES.values() if of == kind for option in options}
        assert said == set(KINDS[kind].options)
    of_cake = {option for of, options, *_ in CASES.values() if of == "cake" for option in options}
    choices = {flag for choice in cake.CHOICES for flag in choice}
    assert set(KINDS["cake"].options) - choices <= of_cake


@pytest.mark.parametrize(
    "flag", sorted({flag for choice in cake.CHOICES for flag in choice} - {"bandwidth", "rtt"})
)
def test_every_flag_of_cake_is_read_back(flag: str) -> None:
    """Beside what tc shows of a CAKE as it is, one group of flags after the other changes."""
    shown: dict[str, Any] = json.loads(CASES["cake as it is"][3])
    values, _ = readback.in_si({"kind": "cake", "options": shown})
    options = {flag: 40 if flag in ("overhead", "mpu") else True}
    expected = Qdisc("cake", "cake", tuple(options.items())).expect()
    default = {"triple-isolate", "diffserv3", "nonat", "nowash", "split-gso", "egress"}
    default |= {"no-ack-filter", "unlimited", "noatm", "internet"}
    is_as_asked = all(values.get(name) == value for name, value in expected.items())
    assert is_as_asked is (flag in default)


@pytest.mark.parametrize(
    ("kind", "options", "option", "what"),
    [
        ("cake", {"flows": True, "hosts": True}, "flows", "excludes 'hosts'"),
        ("cake", {"besteffort": True, "diffserv4": True}, "diffserv4", "excludes 'besteffort'"),
        ("cake", {"bandwidth": "5 Mbit/s", "unlimited": True}, "unlimited", "excludes 'bandwidth'"),
        ("cake", {"overhead": 300}, "overhead", "300 is out of range"),
        ("cake", {"rtt": "10 ms", "lan": True}, "lan", "excludes 'rtt'"),
        ("dualpi2", {"l4s_ect": True, "any_ect": True}, "any_ect", "excludes 'l4s_ect'"),
        ("dualpi2", {"alpha": 0.16}, "alpha", "0.16 is not a whole number of 1/256 Hz"),
        ("dualpi2", {"classic_protection": 101}, "classic_protection", "101 is out of range"),
        ("codel", {"ecn": True, "noecn": True}, "noecn", "excludes 'ecn'"),
        ("fq_pie", {"ecn": True, "noecn": True}, "noecn", "excludes 'ecn'"),
        ("fq", {"buckets": 500}, "buckets", "500 is not a power of two"),
        ("sfb", {"rehash": "1.5 ms"}, "rehash", "is not a whole number of milliseconds"),
        (
            "netem",
            {"delay": "9 ms", "rate": "9 Mbit/s", "jitter": "3 ms"},
            "jitter",
            "does not follow 'delay'",
        ),
        ("cake", {"rtt": "1500 ns"}, "rtt", "is not a whole number of microseconds"),
    ],
)
def test_what_tc_would_refuse_or_round_is_refused(
    kind: str, options: dict[str, Any], option: str, what: str
) -> None:
    with pytest.raises(Flaws, match=what) as caught:
        read_options(kind, options)
    ((path, _, todo),) = caught.value.flaws
    assert path == (option,)
    assert todo


def test_a_flag_that_is_false_chooses_nothing() -> None:
    chosen = {"flows": True, "hosts": False, "srchost": None}
    assert list(KINDS["cake"].flaws(chosen)) == []


def test_what_tc_needs() -> None:
    choke = KINDS["choke"]
    assert [name for name, *_ in choke.missing({})] == ["limit", "bandwidth"]
    assert list(KINDS["cake"].missing({})) == []
    assert list(choke.missing(read_options("choke", CASES["choke"][1]))) == []


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--qdisc", "choke"], "'limit' is missing, which choke needs"),
        (["--qdisc", "cake", "--set", "qdisc.flows=true", "--set", "qdisc.hosts=true"], "excludes"),
    ],
)
def test_a_sweep_refuses_options_that_are_wrong_together(
    arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["run", "gbw2015/rrul", "--link", "10/10", "--cc", "cubic", "--seed", "1", "--dry-run"]
    assert cli.main([*run, *arguments]) != 0
    assert what in capsys.readouterr().err


#: Builds the rig of the job, compares it, then changes each queue and compares it again.
WORK = """
from readback import compare, read
from rig import Rig
rig = Rig(job)
status('compared', problems=compare(rig.ports, read(rig)))
for node, words in job['changes']:
    rig.run(node, 'tc', 'qdisc', 'change', 'dev', f'{node}-sink', 'parent', '1:1', *words.split())
status('changed', problems=compare(rig.ports, read(rig)))
"""
CHANGES = {
    "cake": "cake hosts",
    "fq": "fq quantum 1501",
    "fq_pie": "fq_pie target 21ms",
    "sfb": "sfb max 21 target 15 limit 500",
    "dualpi2": "dualpi2 target 21ms",
    "hhf": "hhf limit 501",
    "skbprio": "skbprio limit 101",
    "choke": "choke limit 500 bandwidth 10Mbit min 51 max 150",
    "pfifo_head_drop": "pfifo_head_drop limit 56",
}


@pytest.mark.kernel
@pytest.mark.parametrize("series", ["6.12", pytest.param(TODAY, marks=needs_today)])
def test_each_kind_is_installed_and_read_back_in_a_guest(
    rrul: Experiment, tmp_path: Path, series: str
) -> None:
    cases = [case for case in CASES if not features.lacking(series, [CASES[case][0]], [])]
    built_kernel = kernel.named(series)
    rate = Rate(10_000_000)
    edge = Shaper(rate, BURST, SHAPER_LIMIT)
    wires = []
    for number, case in enumerate(cases, 1):
        queue = replace(edge, qdisc=made(case)[0])
        near = Port(f"n{number}", f"n{number}-sink", f"10.0.{number}.1/24", queue)
        wires.append(Wire(near, Port("sink", f"sink-n{number}", f"10.0.{number}.2/24", edge)))
    nodes = (*(Node(wire.a.node, False) for wire in wires), Node("sink", True))
    (run,) = select(rrul, link="10/10", qdisc="codel", cc="cubic", seed=1, kernel=series)
    topology = Topology("queues", nodes, tuple(wires))
    changes = [
        [f"n{cases.index(case) + 1}", words] for case, words in CHANGES.items() if case in cases
    ]
    built = job.rig(run, topology) | {"sysctls": {}}
    modules = module.needed(built_kernel, built, job.modules_of(run, topology))
    work = {"work": "script", "uses": ["rig"], "changes": changes}
    root = rootfs.build()
    machine = vm.Machine(built_kernel.path, root.path, seed=1, modules=modules)
    vm.prepare(tmp_path, machine, built | work, script=WORK)
    ending = vm.run(machine, tmp_path)
    assert ending.steps[-1]["step"] == "done", ending.steps[-1]
    assert ending.step("compared")["problems"] == []
    said = ending.step("changed")["problems"]
    for kind in (kind for kind in CHANGES if kind in cases):
        number = cases.index(kind) + 1
        assert any(one.startswith(f"n{number} n{number}-sink 10:: {kind} has") for one in said)
