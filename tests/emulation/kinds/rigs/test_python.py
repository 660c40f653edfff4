"""Rigs that a study builds in Python: what is called, and how a mistake is told."""

from pathlib import Path

import pytest

from qdisclab.emulation.config.catalogue import experiments, load, select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.model.units import Duration
from tests import studyfile
from tests.studyfile import Read, Refusal

STUDY = studyfile.text(
    rig="""
  kind: python
  function: pair
  parameters: {delay: 10 ms}""",
    traffic="""
      {kind: flent, test: x, length: 2 s, step: 1 s, start_jitter: 1 ms, client: a, server: b}""",
)
RIGS = """\
from qdisclab.emulation.model.topology import Delay, Node, Port, Shaper, Topology, Wire
from qdisclab.emulation.model.units import Duration, Packets, Size


def pair(link, queues, delay):
    shaped = Shaper(link.up, Size(1514), Size(10**6), queues[link.up])
    back = Delay(Duration.parse(delay), link.down, Packets(1000))
    ends = Port("a", "a-b", "10.0.1.1/24", shaped), Port("b", "b-a", "10.0.1.2/24", back)
    return Topology("pair", (Node("a", False), Node("b", False)), (Wire(*ends),))
"""
RETURN = "    return Topology"


@pytest.fixture
def rigs(study: Path) -> Path:
    path = study / "rigs.py"
    path.write_text(RIGS)
    return path


def test_the_function_gets_link_queues_and_parameters(rigs: Path, first_of: Read) -> None:
    (run,) = select(first_of(STUDY))
    tbf, codel = job_of(run)["wires"][0][0]["qdiscs"]
    assert (tbf["expect"]["rate_bit_s"], codel["kind"]) == (10**6, "codel")
    assert run.base_rtts == (Duration(10 * 10**6),)


def test_its_parameters_are_axes(rigs: Path, first_of: Read) -> None:
    sweep = "cc: cubic, rig.parameters.delay: [1 ms, 2 ms]}"
    runs = select(first_of(STUDY.replace("cc: cubic}", sweep)))
    assert [run.base_rtts[0].ms for run in runs] == [1, 2]
    assert runs[0].id != runs[1].id


def test_a_rig_without_a_bottleneck_has_no_link(
    rigs: Path, first_of: Read, refusal: Refusal
) -> None:
    text = STUDY.replace("function: pair", "function: pair\n  bottleneck: false")
    (line,) = refusal(text)
    assert line.startswith("14: experiments.first.sweep.link[0]: the rig has no bottleneck")
    plain = RIGS.replace("link.up", "Rate(10**6)").replace("link.down", "Rate(10**6)")
    plain = plain.replace(", queues[Rate(10**6)]", "").replace("import Dur", "import Rate, Dur")
    rigs.write_text(plain)
    (run,) = select(first_of(text.replace("link: [10/1], qdisc: [codel], ", "")))
    assert run.id == "mine/first/-/-/cubic/seed-001"


def test_without_the_file_its_place_is_told(study: Path, refusal: Refusal) -> None:
    assert refusal(STUDY) == [
        f"6: rig.function: the study has no rigs.py; write 'pair' into {study}/rigs.py"
    ]


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("ends = ", "ends = (", 8, "SyntaxError: '(' was never closed"),
        (
            "from qdisclab.emulation.model.units",
            "from qdisclab.emulation.unit",
            2,
            "ModuleNotFoundError: No module named",
        ),
        ("\n\n\ndef", "\n\n1 / 0\ndef", 4, "ZeroDivisionError: division by zero"),
        ("\n\n\ndef", "\n\nraise SystemExit(3)\ndef", 4, "SystemExit: 3"),
    ],
)
def test_a_file_that_cannot_be_executed_is_told_with_its_line(
    rigs: Path, refusal: Refusal, old: str, new: str, line: int, said: str
) -> None:
    rigs.write_text(RIGS.replace(old, new))
    (told,) = refusal(STUDY)
    assert told.startswith(f"6: rig.function: {rigs}:{line}: {said}")
    assert told.endswith("; correct it")


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        (RETURN, "    1 / 0\n    return Topology", 9, "fails: ZeroDivisionError: division by zero"),
        (RETURN, "    raise SystemExit(3)\n    return Topology", 9, "fails: SystemExit: 3"),
        (RETURN, "    return 5\n    return Topology", 5, "returns int; return an emulation.model"),
        (RETURN, "    return\n    return Topology", 5, "returns NoneType; return an emulation.mo"),
        ("queues, delay", "queues", 5, "fails: TypeError: pair() got an unexpected keyword argu"),
        ('"a-b"', '"a-name-that-is-long"', 8, "fails: ValueError: interface name 'a-name-that-is"),
        ("queues[link.up]", "queues[5]", 6, "fails: KeyError: 5"),
    ],
)
def test_a_function_that_fails_is_told_with_its_line(
    rigs: Path, study: Path, old: str, new: str, line: int, said: str
) -> None:
    rigs.write_text(RIGS.replace(old, new))
    (study / "study.yaml").write_text(STUDY)
    with pytest.raises(ConfigError) as caught:
        load(study)
    assert str(caught.value).startswith(f"{rigs}:{line}: pair {said}")


@pytest.mark.parametrize(
    ("name", "said"),
    [("pear", "unknown function 'pear'; did you mean 'pair'? valid: pair"),
     ("Topology", "unknown function 'Topology'; valid: pair"),
     ("_own", "unknown function '_own'; valid: pair")],
)  # fmt: skip
def test_functions_are_those_of_the_file(
    rigs: Path, refusal: Refusal, name: str, said: str
) -> None:
    rigs.write_text(f"{RIGS}\n\ndef _own():\n    pass\n")
    assert refusal(STUDY.replace("pair", name)) == [f"6: rig.function: {said}"]


def test_a_study_says_no_folder(rigs: Path, refusal: Refusal) -> None:
    (line,) = refusal(STUDY.replace("function: pair", "function: pair\n  folder: /tmp"))
    assert line.startswith("7: rig.folder: is not a key; remove it: files are found next to")


def test_two_hosts_that_nothing_joins_are_refused(rigs: Path, refusal: Refusal) -> None:
    rigs.write_text(RIGS.replace('Node("b", False))', 'Node("b", False), Node("c", False))'))
    (line,) = refusal(STUDY.replace("server: b", "server: c"))
    assert line == (
        "12: experiments.first.traffic.server: there is no path from a to c; add a wire to the rig"
    )


def test_traffic_is_between_nodes_of_the_rig(rigs: Path, refusal: Refusal) -> None:
    (line,) = refusal(STUDY.replace("server: b", "server: c"))
    assert line.startswith("12: experiments.first.traffic.server: unknown host 'c'; valid: a, b")


A, B = '"10.0.1.1/24", shaped', 'Node("b", False)'


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("(Wire(*ends),)", "None", "the field 'wires' of a Topology is NoneType, not tuple"),
        ("(Wire(*ends),)", "ends", "Port(node='a', interface='a-b', address='10.0.1.1/24', "),
        ("Wire(*ends)", "Wire(ends[0], 5)", "the field 'b' of a Wire is int, not Port"),
        (A, "None, shaped", "the field 'address' of a Port is NoneType, not str"),
        (B, '"b"', "'b' is not a Node"),
        (B, "Node(7, False)", "the field 'name' of a Node is int, not str"),
        (B, 'Node("b", "no")', "the field 'forwards' of a Node is str, not bool"),
        (B, f'{B}, Node("ser ver;rm", False)', "'ser ver;rm' is not the name of a node: write up"),
        (B, f'{B}, Node("s", False, True)', "the switch 's' has no digit in its name"),
        (B, f"{B}, {B}", "two nodes are called 'b'"),
        (B, 'Node("c", False)', "a port belongs to 'b', which is not a node"),
        ('"10.0.1.1/24"', '"banana/24"', "a a-b: 'banana/24' is not an address: "),
        ('"10.0.1.1/24"', '"10.0.1.1/99"', "a a-b: '10.0.1.1/99' is not an address: "),
        ('"10.0.1.1/24"', '"10.0.1.1"', "a a-b: the address '10.0.1.1' has no prefix, e.g. /24"),
        ('"10.0.1.1/24"', '""', "a a-b: a port has an address unless it is a switch's"),
        (A, f"{A}, ('::1/8',)", "a a-b: '::1/8' is not an address: "),
        ('"a-b"', '"a b"', "'a b' is not the name of a port"),
        ("(Wire(*ends),)", "(Wire(*ends),) * 2", "'a' has 2 ports and forwards nothing"),
        ("(Wire(*ends),)", "(Wire(*ends),), (('a', 'c'),)", "('a', 'c') is not a pair of hosts"),
        ("(Wire(*ends),)", "(Wire(*ends),), (5,)", "5 is not a pair of hosts"),
        ("(Wire(*ends),)", "(Wire(*ends),), (), (('a', 'b'),)", "('a', 'b') is to be observed"),
        ("Size(1514)", "1514", "the field 'burst' of a Shaper is int, not Size"),
    ],
)
def test_a_function_returns_what_can_be_built(
    rigs: Path, study: Path, old: str, new: str, said: str
) -> None:
    rigs.write_text(RIGS.replace(old, new))
    (study / "study.yaml").write_text(STUDY)
    with pytest.raises(ConfigError) as caught:
        load(study)
    assert str(caught.value).startswith(f"{rigs}:5: pair returns an invalid rig: {said}")


def test_shipped_rigs_are_what_their_types_say() -> None:
    for one in experiments():
        one.points[0].topology().check()


def test_lists_will_do(rigs: Path, first_of: Read) -> None:
    rigs.write_text(RIGS.replace("(Wire(*ends),)", "[Wire(*ends)]"))
    assert len(select(first_of(STUDY))) == 1


def test_each_address_of_the_server_has_its_base_rtt(rigs: Path, refusal: Refusal) -> None:
    rigs.write_text(RIGS.replace('"10.0.1.2/24", back', '"10.0.1.2/24", back, ("10.0.1.3/24",)'))
    (line,) = refusal(STUDY)
    what = "'b' has 2 addresses and the rig 1 base RTTs; give it one address"
    assert line.startswith(f"12: experiments.first.traffic.server: {what}")


def test_the_rate_of_edges_is_the_functions(rigs: Path, first_of: Read) -> None:
    with pytest.raises(ConfigError, match="unknown key 'edge_rate'"):
        select(first_of(STUDY), settings={"rig.edge_rate": ["1 Mbit/s"]})
