"""Sections of a study file, those that a sweep does not touch."""

from pathlib import Path

import pytest

from qdisclab.emulation.config.catalogue import load, select
from qdisclab.emulation.config.studyfile import FORMAT, options_of
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.kinds import qdiscs
from qdisclab.emulation.kinds.qdiscs import KINDS
from qdisclab.emulation.model.units import Duration, Packets, Rate, Size
from tests.studyfile import Read, Refusal

STUDY = """\
format: 1
study: mine
title: A study
axes:
  rtt: {sets: rig.base_rtt}
qdiscs:
  mine:
    kind: codel
    options: {limit: 100 packets}
    by: {rtt: {5 ms: {target: 1 ms}, 50 ms: {target: 5 ms, limit: null, ecn: true}}}
    color: '#123456'
    marker: p
rig: {base_rtt: 50 ms, edge_rate: 1 Gbit/s}
experiments:
  first:
    title: First
    traffic: {kind: flent, test: rrul_be, length: 20 s, step: 200 ms, start_jitter: 50 ms}
    sweep: {link: [10/1], qdisc: [mine], cc: cubic, rtt: [5 ms, 50 ms]}
    repetitions: 2
"""


def changed(old: str, new: str) -> str:
    assert STUDY.count(old) == 1, old
    return STUDY.replace(old, new)


def test_options_of_a_qdisc_by_the_value_of_an_axis(first_of: Read) -> None:
    found = first_of(STUDY)
    small, large = ({**dict(point.up.options)} for point in found.points)
    assert small == {"limit": Packets(100), "target": Duration(10**6)}
    assert large == {"target": Duration(5 * 10**6), "ecn": True}
    assert found.seeds == (1, 2)
    with pytest.raises(
        ConfigError, match=r"'mine' has no options for rtt 6 ms; add it to qdiscs.m"
    ):
        select(found, settings={"rtt": ["6 ms"]})


def test_probes_of_an_experiment(first_of: Read) -> None:
    text = changed("    repetitions: 2", "    probes: [packets, 'qdisc:1ms']\n    repetitions: 2")
    assert list(map(str, first_of(text).probes)) == ["packets", "qdisc:1ms"]


@pytest.mark.parametrize(
    ("probes", "said"),
    [
        ("[packet]", "19: experiments.first.probes[0]: unknown kind 'packet', did you mean 'packe"),
        ("[qdisc, 5]", "19: experiments.first.probes[1]: 5 is not a probe; write e.g. 'packets'"),
        ("['packets:x']", "19: experiments.first.probes[0]: no node 'x'; nodes: client, router_up"),
        ("['packets:client']", "19: experiments.first.probes[0]: no queue under test at 'client'"),
    ],
)
def test_a_probe_that_a_file_cannot_have(refusal: Refusal, probes: str, said: str) -> None:
    text = changed("    repetitions: 2", f"    probes: {probes}\n    repetitions: 2")
    (only,) = refusal(text)
    assert said in only


def test_what_a_file_need_not_say(study: Path) -> None:
    begin, end = STUDY.index("axes:"), STUDY.index("rig:")
    text = STUDY[:begin] + STUDY[end:]
    text = text.replace("[mine]", "[codel]").replace(", rtt: [5 ms, 50 ms]", "")
    (study / "study.yaml").write_text(text.replace("    repetitions: 2\n", ""))
    found = load(study)
    assert (found.name, found.doi, found.experiments[0].seeds) == ("mine", "", (1,))
    assert load(study / "study.yaml") is found


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "format: 1",
            f"format: {FORMAT + 1}",
            "1: format: '2' is not a format that this version reads; use a newer version of this",
        ),
        ("format: 1", "format: 0", "1: format: '0' is not a format that this version reads; write"),
        ("format: 1", "format: true", "1: format: 'True' is not a format that this version reads"),
        ("format: 1\n", "", "1: format: is missing; add it"),
        ("study: mine", "paper: mine", "2: paper: unknown key 'paper'; valid: format, study, "),
        ("study: mine", "study: ../x", "2: study: '../x' is not a name; write lower-case letters"),
        ("kind: codel", "kind: htb", "8: qdiscs.mine.kind: unknown kind 'htb'; valid: bfifo, cake"),
        ("kind: codel", "kind: codl", "8: qdiscs.mine.kind: unknown kind 'codl'; name the folder"),
        ("100 packets", "100", "9: qdiscs.mine.options.limit: '100': a bare number has no unit"),
        ("limit: 100", "limt: 100", "9: qdiscs.mine.options.limt: unknown option of codel 'limt'"),
        ("target: 1 ms", "target: 1", "10: qdiscs.mine.by.rtt.5 ms.target: '1': a bare number has"),
        ("'#123456'", "red", "11: qdiscs.mine.color: 'red' is not a colour; write e.g. '#882255'"),
        ("marker: p", "marker: x", "12: qdiscs.mine.marker: unknown marker 'x'; valid: p, d"),
        ("{sets: rig.base_rtt}", "{}", "5: axes.rtt: needs either 'sets' or 'values'; e.g. 'sets:"),
        ("  first:", "  First:", "15: experiments.First: 'First' is not a name; write lower-case"),
        ("repetitions: 2", "repetitions: 0", "19: experiments.first.repetitions: "),
        ("repetitions: 2", "repetitions: 1000", "19: experiments.first.repetitions: "),
        (
            "    repetitions: 2",
            "    restores: [pie_tun]",
            "19: experiments.first.restores[0]: unknown switch 'pie_tun'; did you mean 'pie_tune'",
        ),
        (
            "cc: cubic,",
            "cc: cubic, repetitions: 3,",
            "18: experiments.first.sweep.repetitions: unknown axis 'repetitions'; valid: link, qdi",
        ),
        (
            "    repetitions: 2\n",
            "fixed:\n  on: '2026-11-22'\n  repetitions: {first: 2}\n  eras: [2015d]\n",
            "22: fixed.eras[0]: unknown era '2015d'; valid: modern, 2014",
        ),
        (
            "    repetitions: 2\n",
            "fixed:\n  on: '2026-11-22'\n  repetitions: {first: 2}\n  eras: ['2014', '2014']\n",
            "22: fixed.eras: an era appears twice; leave one of them out",
        ),
    ],
)
def test_each_mistake_has_its_line_and_key(refusal: Refusal, old: str, new: str, said: str) -> None:
    lines = refusal(changed(old, new))
    assert any(line.startswith(said) for line in lines), lines
    assert all("; " in line for line in lines)


@pytest.mark.parametrize(
    ("old", "new", "example"),
    [
        ("study: mine", "study: mine\nmemory: 256", "256 MiB"),
        ("length: 20 s", "length: 20", "60 s"),
        ("length: 20 s", "length: null", "60 s"),
        ("step: 200 ms", "step: 200", "50 ms"),
        ("limit: 100 packets", "limit: 100", "127 packets"),
    ],
)
def test_an_example_is_of_the_kind_of_the_value(
    refusal: Refusal, old: str, new: str, example: str
) -> None:
    (line,) = refusal(changed(old, new))
    assert line.endswith(f"; write e.g. '{example}'")


def test_no_experiment_is_no_study(refusal: Refusal) -> None:
    text = f"{STUDY[: STUDY.index('experiments:')]}experiments: {{}}\n"
    assert refusal(text) == ["14: experiments: is empty; add at least one entry"]


@pytest.mark.parametrize("kind", [name for name in qdiscs.tested() if not KINDS[name].required])
def test_every_kind_that_tc_is_known_to_take_needs_no_section(first_of: Read, kind: str) -> None:
    text = STUDY.replace("[mine]", f"[{kind}]").replace(", rtt: [5 ms, 50 ms]", "")
    kernel = "7.2" if kind == "dualpi2" else "6.12"
    (run,) = select(first_of(text), seed=1, kernel=kernel)
    assert (run.point.up.kind, run.point.up.options) == (kind, ())
    assert run.id.endswith(f"/10-1/{kind}/cubic/seed-001")


@pytest.mark.parametrize("kind", [name for name in qdiscs.tested() if KINDS[name].required])
def test_a_kind_that_tc_takes_with_options_alone_says_which(refusal: Refusal, kind: str) -> None:
    lines = refusal(STUDY.replace("[mine]", f"[{kind}]").replace(", rtt: [5 ms, 50 ms]", ""))
    wanted = [f"'{name}' is missing, which {kind} needs" for name in KINDS[kind].required]
    assert all(any(one in line for line in lines) for one in wanted)


def test_options_of_a_kind_of_ones_own_are_what_they_look_like() -> None:
    given = {"a": "5 ms", "b": "7 packets", "c": "3 kB", "d": "2 Mbit/s", "e": 5, "f": 0.5,
             "g": True, "h": None}  # fmt: skip
    assert options_of("kind_of_mine", given) == {
        "a": Duration(5 * 10**6), "b": Packets(7), "c": Size(3000), "d": Rate(2 * 10**6), "e": 5,
        "f": 0.5, "g": True, "h": None,
    }  # fmt: skip


def test_a_study_and_an_experiment_name_their_series(first_of: Read, refusal: Refusal) -> None:
    text = STUDY.replace("[mine]", "[codel]").replace("rtt: [5 ms, 50 ms]", "rtt: 5 ms")
    of_file = text.replace("experiments:\n", "kernel: '7.2'\nexperiments:\n")
    (run,) = select(first_of(of_file), seed=1)
    assert (run.kernel, run.id.split("/")[1].split("@")[1]) == ("7.2", "linux-7.2")
    assert select(first_of(of_file), seed=1, kernel="6.12")[0].kernel == "6.12"
    own = of_file.replace("    repetitions: 2", "    kernel: '7.3'\n    repetitions: 2")
    assert select(first_of(own), seed=1)[0].kernel == "7.3"
    (line,) = refusal(of_file.replace("'7.2'", "7.2"))
    assert "kernel: 7.2 is a number; write '7.2', with quotes" in line
    (line,) = refusal(of_file.replace("'7.2'", "'5.4'"))
    assert "unknown series of kernels '5.4'; valid: 6.1, 6.12, 7.2, 7.3" in line
