from pathlib import Path

import pytest

from qdisclab.emulate.selection import settings
from qdisclab.emulation.config.catalogue import experiment, experiments, load, select
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.run import DEFAULT_MEMORY, Experiment
from qdisclab.emulation.model.units import Duration, Rate, Size
from tests.studyfile import Refusal

MS = 10**6


SMALL = """\
format: 1
study: mine
title: A small file
links:
  10/1: {down: 10 Mbit/s, up: 1 Mbit/s}
qdiscs:
  codel:
    kind: codel
    options: {limit: 1000 packets}
    rates:
      1 Mbit/s: {target: 13 ms}
      10 Mbit/s: {target: 5 ms}
rig:
  base_rtt: 50 ms
  edge_rate: 1 Gbit/s
experiments:
  rrul:
    title: RRUL
    section: "5.1"
    traffic: {kind: flent, test: rrul_be, length: 20 s, step: 200 ms, start_jitter: 50 ms}
    sweep:
      link: [10/1]
      qdisc: [codel]
      cc: [cubic]
    repetitions: 2
"""


def changed(old: str, new: str) -> str:
    assert SMALL.count(old) == 1
    return SMALL.replace(old, new)


def used(experiment: Experiment) -> dict[tuple[str, str], Qdisc]:
    """(qdisc, Mbit/s) -> the qdisc that a direction of that rate gets."""
    found: dict[tuple[str, str], Qdisc] = {}
    for cell in experiment.points:
        directions = ((cell.link.up, cell.up), (cell.link.down, cell.down))
        for rate, qdisc in directions:
            key = (cell.qdisc, f"{rate.mbit_per_s:g}")
            assert found.setdefault(key, qdisc) == qdisc
    return found


@pytest.mark.parametrize("rate", ["1", "10", "100"])
def test_the_burst_of_ared_is_one_that_tc_takes(rrul: Experiment, rate: str) -> None:
    # iproute2, tc/tc_red.c, tc_red_eval_ewma(): the smallest Wlog for which
    # burst + 1 - min/avpkt <= (1 - (1 - W)^burst) / W, refused below 1, warned about from 10 on.
    options = dict(used(rrul)["ared", rate].options)
    low, high, packet = (options[name] for name in ("min", "max", "avpkt"))
    burst = options["burst"]
    assert isinstance(low, Size) and isinstance(high, Size) and isinstance(packet, Size)
    assert isinstance(burst, int)
    assert burst == (2 * low.bytes + high.bytes) // (3 * packet.bytes)
    excess = burst + 1 - low.bytes / packet.bytes
    assert excess >= 1
    assert any(excess <= (1 - (1 - 0.5**wlog) ** burst) / 0.5**wlog for wlog in range(1, 10))


def test_load_a_small_file(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    paper = load(path)
    (found,) = paper.experiments
    assert (paper.name, found.id, found.section) == ("mine", "mine/rrul", "5.1")
    assert [run.id for run in select(found)] == [
        "mine/rrul/10-1/codel/cubic/seed-001",
        "mine/rrul/10-1/codel/cubic/seed-002",
    ]
    assert paper.experiment("rrul") is found


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("base_rtt: 50", "base_rt: 50", "14: rig.base_rt: unknown key 'base_rt'; did you mean"),
        ("step: 200 ms", "step: 200", "20: experiments.rrul.traffic.step: '200': a bare number"),
        ("down: 10 Mbit/s", "down: 0 Mbit/s", "5: links.10/1.down: '0 bit/s' is not a possible"),
        ("edge_rate: 1 ", "edge_rate: 101 ", "15: rig.edge_rate: '101 Gbit/s' is not a possible"),
        ("      1 Mbit/s", "      2 Mbit/s", "23: experiments.rrul.sweep.qdisc[0]: 'codel' has no"),
        ("length: 20 s", "length: 20 ms", "20: experiments.rrul.traffic.step: '200 ms' is longer"),
        ("length: 20 s", "length: 0 s", "20: experiments.rrul.traffic.length: '0 ns' must be"),
        ("1000 packets", "1000 B", "9: qdiscs.codel.options.limit: '1000 B': unknown unit 'B'"),
        ("  10/1:", "  10/2:", "5: links.10/2: is named '10/2', but has the rates 10/1; name it"),
        ("repetitions: 2", "repetitions: two", "25: experiments.rrul.repetitions: is not"),
        ("title: RRUL\n", "\n", "17: experiments.rrul.title: is missing; add it"),
        ("title: RRUL", "title: RRUL\n    title: X", "19: experiments.rrul.title: duplicate key"),
        ("kind: flent", "kind: nttcp", "20: experiments.rrul.traffic.kind: unknown kind 'nttcp'"),
        ("10 Mbit/s: {", "1000 kbit/s: {", "12: qdiscs.codel.rates.1000 kbit/s: 1 Mbit/s appears"),
        ("limit: 1000 packets", "noecn: 1", "9: qdiscs.codel.options.noecn: 1 is not true or"),
        ("[10/1]", "[10/1", "23: is not YAML"),
    ],
)
def test_each_mistake_has_its_line_and_key(refusal: Refusal, old: str, new: str, said: str) -> None:
    text = changed(old, new)
    if old.startswith("  10/1"):
        text = text.replace("link: [10/1]", "link: [10/2]")
    lines = refusal(text)
    assert any(line.startswith(said) for line in lines), lines
    expected = 2 if "base_rt:" in new else 1
    assert len(lines) == expected, lines


#: What follows the start jitter on its line, and what stands before the sweep.
BEHIND, BEFORE = "start_jitter: 50 ms}", "    sweep:\n"


@pytest.mark.parametrize(
    ("line", "new", "said"),
    [
        (20, "servers: [netserv]", "traffic.servers[0]: unknown server 'netserv'; did you mean"),
        (20, "servers: [web, ditg, web]", "traffic.servers: 'web' appears twice; remove one of"),
        (20, "servers: netserver", "traffic.servers: is not a list; write [value, value]"),
        (20, "servers: []", "traffic.servers: is empty; add at least one entry"),
        (20, "options: {ipv4: true}", "traffic.options.ipv4: True is not a setting; write a whole"),
        (20, "options: {a b: 1}", "traffic.options.a b: 'a b' is not the name of an option"),
        (20, "options: [a]", "traffic.options: is not a mapping; write keys with values below it"),
        (21, "memory: 32 MiB", "memory: '32 MiB' is not a possible memory of a guest; write"),
        (21, "memory: 200 MB", "memory: '200 MB' is not a possible memory of a guest; write"),
        (21, "memory: 192", "memory: '192': a bare number has no unit; write e.g. "),
        (21, "rig: {base_rtt: [1 ms, 0 ms]}", "rig.base_rtt[1]: '0 ns' must be above zero; write"),
        (21, "rig: {base_rtt: [1 ms, 5]}", "rig.base_rtt[1]: '5': a bare number has no unit"),
        (21, "rig: {base_rtt: []}", "rig.base_rtt: has 0 entries; write 1 to 16 of them"),
        (21, "rig: {edge_rate: 0 bit/s}", "rig.edge_rate: '0 bit/s' is not a possible rate; write"),
        (21, "rig: {edge_rat: 1 Gbit/s}", "rig.edge_rat: unknown key 'edge_rat'; did you mean"),
        (21, "rig: {sysctls: {a: 1.5}}", "rig.sysctls.a: 1.5 is not a setting; write a whole"),
        (21, "rig: {wifi: [w]}", "rig.wifi: unknown WiFi link '['w']'; valid: none"),
        (21, "rig: {wifi: {w: 1}}", "rig.wifi: unknown WiFi link '{'w': 1}'; valid: none"),
        (21, "rig: 5", "rig: is not a mapping; write keys with values below it"),
    ],
)
def test_what_an_experiment_has_of_its_own_is_checked(
    refusal: Refusal, line: int, new: str, said: str
) -> None:
    if line == 20:
        text = changed(BEHIND, f"{BEHIND.removesuffix('}')}, {new}}}")
    else:
        text = changed(BEFORE, f"    {new}\n{BEFORE}")
    (found,) = refusal(text)
    assert found.startswith(f"{line}: experiments.rrul.{said}")


def test_a_jitter_is_no_longer_than_the_guest_can_wait(refusal: Refusal) -> None:
    (found,) = refusal(changed("start_jitter: 50 ms", "start_jitter: 2 s"))
    assert "rrul.traffic.start_jitter: is more than 1 s, of which flent's flows start" in found


def test_flent_loads_for_whole_seconds(refusal: Refusal) -> None:
    (found,) = refusal(changed("length: 20 s", "length: 2.5 s"))
    assert (
        "rrul.traffic.length: '2500 ms' is not a whole number of seconds; write e.g. '20 s'"
        in found
    )
    with pytest.raises(ConfigError, match="'2500 ms' is not a whole number of seconds"):
        select(experiment("gbw2015/rrul"), length=Duration(2500 * MS))


@pytest.mark.parametrize("deep", ["[" * 3000, "[" * 3000 + "]" * 3000, "{a: " * 3000 + "}" * 3000])
def test_what_is_nested_too_deeply_is_refused(refusal: Refusal, deep: str) -> None:
    assert refusal(deep) == ["1: is nested too deeply; write it flat"]
    with pytest.raises(ConfigError, match=r"--set: the value of 'a' is nested too deeply"):
        settings([f"a={deep}"])


def test_null_takes_an_option_away(rrul: Experiment) -> None:
    found = settings(["qdisc.limit=null", "qdisc.target=10 ms"])
    assert found == {"qdisc.limit": [None], "qdisc.target": ["10 ms"]}
    (run,) = select(rrul, link="10/1", qdisc="codel", cc="cubic", seed=1, settings=found)
    options = dict(run.point.up.options)
    assert (options["target"], "limit" in options) == (Duration(10 * MS), False)
    for wrong in ("qdisc.limit=", "qdisc.limit", "=5", "qdisc.limit=# 5"):
        with pytest.raises(ConfigError, match="is not AXIS=VALUE"):
            settings([wrong])


def test_a_server_has_no_more_addresses_than_there_are_bands(refusal: Refusal) -> None:
    many = ", ".join(["1 ms"] * 17)
    (found,) = refusal(changed("base_rtt: 50 ms", f"base_rtt: [{many}]"))
    assert found == "14: rig.base_rtt: has 17 entries; write 1 to 16 of them"


def test_an_experiment_has_what_is_its_own_and_the_files_rig(tmp_path: Path) -> None:
    text = changed(BEHIND, "start_jitter: 50 ms, servers: [web], options: {urllist: list}}")
    own = "    rig: {base_rtt: [10 ms, 50 ms], sysctls: {net.ipv4.b: 7, net.ipv4.c: x}}\n"
    own += "    memory: 256 MiB\n"
    text = text.replace(BEFORE, own + BEFORE)
    text = text.replace(
        "edge_rate: 1 Gbit/s", "edge_rate: 1 Gbit/s\n  sysctls: {net.ipv4.a: 1, net.ipv4.b: 2}"
    )
    path = tmp_path / "small.yaml"
    path.write_text(text)
    (found,) = load(path).experiments
    assert found.rig.base_rtts == (Duration(10 * MS), Duration(50 * MS))
    assert found.rig.edge_rate == Rate(10**9)
    assert dict(found.rig.sysctls) == {"net.ipv4.a": "1", "net.ipv4.b": "7", "net.ipv4.c": "x"}
    assert found.points[0].memory == Size(256 * 2**20)
    assert (found.traffic.servers, found.traffic.options) == (("web",), (("urllist", "list"),))
    path.write_text(SMALL)
    (plain,) = load(path).experiments
    assert plain.rig.base_rtts == (Duration(50 * MS),)
    assert plain.traffic.servers == ("netserver", "irtt")
    assert (plain.traffic.options, plain.points[0].memory) == ((), DEFAULT_MEMORY)


def test_all_mistakes_of_sections_at_once_in_the_order_of_their_lines(refusal: Refusal) -> None:
    text = SMALL.replace("up: 1 Mbit/s", "up: 1").replace("repetitions: 2", "repetitions: 0")
    text = text.replace("13 ms", "13").replace("target: 5 ms}", "target: 5}")
    text += "surprise: 1\n"
    keys = [line.split(": ")[:2] for line in refusal(text)]
    assert keys == [
        ["5", "links.10/1.up"],
        ["11", "qdiscs.codel.rates.1 Mbit/s.target"],
        ["12", "qdiscs.codel.rates.10 Mbit/s.target"],
        ["25", "experiments.rrul.repetitions"],
        ["26", "surprise"],
    ]


def test_all_mistakes_of_sweeps_at_once_in_the_order_of_their_lines(refusal: Refusal) -> None:
    text = SMALL.replace("base_rtt: 50 ms", "base_rtt: -50 ms").replace("step: 200 ms", "step: 0 s")
    text = text.replace("[10/1]", "[10/1, 10/x]").replace("[codel]", "[codel, pi]")
    other = text[text.index("  rrul:") :].replace("  rrul:", "  other:")
    keys = [line.split(": ")[:2] for line in refusal(text + other)]
    assert keys == [
        ["14", "rig.base_rtt"],
        ["20", "experiments.rrul.traffic.step"],
        ["22", "experiments.rrul.sweep.link[1]"],
        ["23", "experiments.rrul.sweep.qdisc[1]"],
        ["29", "experiments.other.traffic.step"],
        ["31", "experiments.other.sweep.link[1]"],
        ["32", "experiments.other.sweep.qdisc[1]"],
    ]


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "a: &a {b: *a}\n", "\x00", "? [a]\n: b\n"])
def test_what_is_no_experiment_file_is_refused(refusal: Refusal, text: str) -> None:
    assert refusal(text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load(tmp_path / "none.yaml")


def test_select_takes_all_or_what_is_given(rrul: Experiment) -> None:
    assert len(select(rrul)) == 42 * 30
    runs = select(rrul, link=["10/1", "10/10"], qdisc="codel", cc="reno", seed=[2, 1])
    assert [(run.link.name, run.seed) for run in runs] == [
        ("10/10", 1),
        ("10/10", 2),
        ("10/1", 1),
        ("10/1", 2),
    ]
    assert {run.length for run in runs} == {rrul.traffic.length}


def test_select_takes_what_the_sweep_does_not_have(rrul: Experiment) -> None:
    (run,) = select(rrul, link="50/10", qdisc="cake", cc="bbr", seed=905)
    assert run.id == "gbw2015/rrul/50-10/cake/bbr/seed-905"
    assert (run.point.outside, run.point.borrowed) == (("link", "qdisc", "cc"), ())
    assert (run.point.up.kind, run.link.up) == ("cake", Rate(10**7))


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"qdisc": ["codel", "sfqq"]}, "--qdisc sfqq: unknown qdisc 'sfqq'; did you mean 'sfq'"),
        ({"qdisc": "tbf"}, "--qdisc tbf: unknown qdisc 'tbf'; "),
        ({"seed": 0}, "gbw2015/rrul: a seed of 0 is not possible; give whole numbers from 1 to"),
        ({"era": "2014-rack"}, "gbw2015/rrul: unknown switch 'rack' of era '2014-rack'; valid: "),
        ({"length": Duration(100 * MS)}, "gbw2015/rrul: length '100 ms' is shorter than the"),
    ],
)
def test_select_refuses_what_cannot_be(
    rrul: Experiment, chosen: dict[str, object], said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        select(rrul, **chosen)  # type: ignore[arg-type]
    assert str(caught.value).startswith(said)


def test_experiments_by_name() -> None:
    assert "gbw2015/rrul" in [found.id for found in experiments()]
    with pytest.raises(ConfigError, match="did you mean 'gbw2015/rrul'"):
        experiment("gbw2015/rul")
