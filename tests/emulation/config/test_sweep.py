"""Sweeps: points of any axis, their ids, what is asked for beside them, and what is refused."""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulation.config.catalogue import all_labels, experiment, labelled, select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.config.points import link
from qdisclab.emulation.config.request import point_of, request, run_of
from qdisclab.emulation.errors import ConfigError, KernelLacks
from qdisclab.emulation.model.axis import Value
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.units import Duration, Packets, Rate, Size
from qdisclab.emulation.runs.run import paths
from tests import studyfile
from tests.studyfile import Read, Refusal

STUDY = studyfile.text(
    rig="{base_rtt: 50 ms, edge_rate: 1 Gbit/s}",
    sweep="SWEEP",
    more="""\
axes:
  rtt: {sets: rig.base_rtt}
  target: {sets: qdisc.target}
  load: {values: {light: {traffic.test: tcp_1up}, heavy: {traffic.test: tcp_nup, memory: 256 MiB}}}
""",
)
LINE = 13  # of the sweep
PLAIN = "{link: [10/1], qdisc: [codel], cc: cubic}"


def swept(sweep: str, more: str = "") -> str:
    text = STUDY.replace("SWEEP", sweep)
    return text.replace("    sweep:", f"    {more}\n    sweep:") if more else text


def ids(runs: tuple[Run, ...]) -> list[str]:
    return [run.id.removeprefix("mine/").removesuffix("/seed-001") for run in runs]


# --- points ---------------------------------------------------------------------------------------


def test_the_points_are_the_product_of_all_lists(first_of: Read) -> None:
    found = first_of(
        swept("{link: [10/1, 50/10], qdisc: [codel, sfq], cc: [cubic, bbr], rtt: [5 ms, 0.1 s]}")
    )
    assert len(found.points) == 2**4
    assert ids(select(found))[:3] == [
        "first,rtt=5ms/10-1/codel/cubic",
        "first,rtt=0.1s/10-1/codel/cubic",
        "first,rtt=5ms/10-1/codel/bbr",
    ]
    assert {point.rig.base_rtts for point in found.points} == {
        (Duration.parse("5 ms"),),
        (Duration.parse("100 ms"),),
    }
    assert found.labels == ("first,rtt=5ms", "first,rtt=0.1s")


@pytest.mark.parametrize(
    ("axis", "get", "expected"),
    [
        (
            "rig.base_rtt: [1 ms, 2 ms]",
            lambda run: run.base_rtts[0],
            [Duration(10**6), Duration(2 * 10**6)],
        ),
        (
            "rig.sysctls.net.ipv4.tcp_ecn: [0, 1]",
            lambda run: job_of(run)["sysctls"]["client"]["net.ipv4.tcp_ecn"],
            ["0", "1"],
        ),
        ("traffic.length: [20 s, 30 s]", lambda run: run.length.seconds, [20, 30]),
        (
            "traffic.options.a-b: [5, x]",
            lambda run: job_of(run)["traffic"]["options"],
            [{"a-b": "5"}, {"a-b": "x"}],
        ),
        (
            "qdisc.limit: [7 packets, 9 packets]",
            lambda run: dict(run.point.up.options)["limit"],
            [Packets(7), Packets(9)],
        ),
        ("memory: [128 MiB, 1 GiB]", lambda run: run.memory_mib, [128, 1024]),
        ("era: [modern, '2014']", lambda run: run.era, ["modern", "2014"]),
        ("load: [light, heavy]", lambda run: (run.traffic.test, run.memory_mib),
         [("tcp_1up", 192), ("tcp_nup", 256)]),
        ("rig.base_rtt: [10 ms, [10 ms, 20 ms]]", lambda run: len(run.base_rtts), [1, 2]),
    ],
)  # fmt: skip
def test_any_parameter_is_an_axis(
    first_of: Read, axis: str, get: Callable[[Run], Any], expected: list[Any]
) -> None:
    runs = select(first_of(swept(f"{{link: 10/1, qdisc: codel, cc: cubic, {axis}}}")))
    assert [get(run) for run in runs] == expected
    assert len({run.id for run in runs}) == 2


def test_several_blocks_and_fixed_values(first_of: Read) -> None:
    """A fixed value is no part of the id; one of a list is where the sweep has several."""
    found = first_of(swept(
        "\n      - {link: [10/1], qdisc: [codel, sfq], cc: cubic, load: [light]}"
        "\n      - {link: [10/10], qdisc: [codel], cc: cubic, load: [heavy], rtt: 5 ms}"
        "\n      - {link: [10/1], qdisc: [sfq], cc: cubic, load: [light]}"
    ))  # fmt: skip
    assert ids(select(found)) == [
        "first,load=light/10-1/codel/cubic",
        "first,load=light/10-1/sfq/cubic",
        "first,load=heavy/10-10/codel/cubic",
    ]
    assert [point.memory for point in found.points] == [
        *[Size(192 * 2**20)] * 2, Size(256 * 2**20)
    ]  # fmt: skip
    assert [point.rig.base_rtts[0].ms for point in found.points] == [50, 50, 5]


def test_an_axis_of_options_leaves_qdiscs_without_the_option_alone(first_of: Read) -> None:
    text = swept(
        "{link: 10/1, qdisc: [codel, sfq], cc: cubic, target: [5 ms, 20 ms]}",
        'id: "some[_{target}]/{link}/{qdisc}/{cc}"',
    )
    assert ids(select(first_of(text))) == [
        "some_5ms/10-1/codel/cubic",
        "some_20ms/10-1/codel/cubic",
        "some/10-1/sfq/cubic",
    ]


def test_an_optional_part_is_left_out_at_the_default(first_of: Read) -> None:
    text = swept(
        "{link: 10/1, qdisc: codel, cc: cubic, rtt: [50 ms, 5 ms]}",
        'id: "flows[_rtt_{rtt}]/{link}/{qdisc}/{cc}"',
    )
    found = first_of(text)
    assert found.labels == ("flows", "flows_rtt_5ms")
    one = labelled(found, "flows_rtt_5ms")
    assert (one.id, len(one.points)) == ("mine/flows_rtt_5ms", 1)
    assert [*all_labels([found])] == ["mine/first", "mine/flows", "mine/flows_rtt_5ms"]


def test_a_label_of_a_shipped_study_is_an_experiment() -> None:
    whole, part = experiment("khademi2013/flows"), experiment("khademi2013/flows_4")
    assert part.labels == ("flows_4",)
    assert set(part.points) < set(whole.points)
    assert {run.experiment_id for run in select(part, seed=1)} == {"khademi2013/flows_4"}


def test_an_era_of_the_sweep_is_that_of_the_run_unless_another_is_asked_for(first_of: Read) -> None:
    found = first_of(swept("{link: 10/1, qdisc: codel, cc: cubic, era: [modern, '2014']}"))
    assert ids(select(found)) == ["first/10-1/codel/cubic", "first@2014/10-1/codel/cubic"]
    assert ids(select(found, era="2013")) == ["first@2013/10-1/codel/cubic"]
    assert ids(select(found, settings={"era": ["2013"]})) == ["first@2013/10-1/codel/cubic"]


# --- what is asked for ----------------------------------------------------------------------------


def test_a_value_that_the_sweep_has_is_the_same_run(first_of: Read) -> None:
    found = first_of(swept("{link: [10/1], qdisc: [codel], cc: cubic, rtt: [5 ms, 6 ms]}"))
    plain = select(found)
    asked = select(found, link="10/1", qdisc="codel", cc="cubic", settings={"rtt": ["6 ms"]})
    assert [(run.id, run.random, job_of(run)) for run in asked] == [
        (plain[1].id, plain[1].random, job_of(plain[1]))
    ]
    assert asked[0].point.outside == ()


@pytest.mark.parametrize("text", ["6ms", "0.006 s", "6000 us"])
def test_another_spelling_is_the_same_value(first_of: Read, text: str) -> None:
    found = first_of(swept("{link: [10/1], qdisc: [codel], cc: cubic, rtt: [5 ms, 6 ms]}"))
    (asked,) = select(found, link="10.0/1", settings={"rtt": [text]})
    plain = select(found)[1]
    assert (asked.id, asked.random) == (plain.id, plain.random)
    assert dict(asked.point.axes)["rtt"] == "6 ms"
    assert asked.point.outside == ()
    recorded = {**request(asked), "settings": {"rtt": text}}  # as it was asked for
    recorded["axes"] = {**recorded["axes"], "rtt": text}
    assert point_of(found, recorded).label == plain.point.label


def test_a_value_that_one_part_of_the_sweep_has_chooses_that_part(first_of: Read) -> None:
    block = "link: 10/1, qdisc: codel, cc: cubic"
    parts = f"[{{{block}, rtt: [5 ms, 6 ms]}}, {{{block}, rtt: [6 ms, 7 ms], load: [light]}}]"
    found = first_of(swept(parts, 'id: "first_{rtt}[_{load}]/{link}/{qdisc}/{cc}"'))

    def labels(**settings: list[str]) -> list[str]:
        return [run.point.label for run in select(found, settings=settings)]

    assert labels(rtt=["5ms"]) == ["first_5ms"]
    assert labels(rtt=["6 ms"]) == ["first_6ms", "first_6ms_light"]
    assert labels(load=["light"]) == ["first_6ms_light", "first_7ms_light"]
    assert labels(load=["light"], rtt=["7 ms", "8 ms"]) == ["first_7ms_light", "first_8ms_light"]
    assert labels(load=["light"], rtt=["5 ms"]) == ["first_5ms_light"]  # which no part has
    assert labels(rtt=["8 ms"]) == ["first_8ms", "first_8ms_light"]


def test_values_outside_are_told_apart_by_id_and_provenance(first_of: Read) -> None:
    found = first_of(swept("{link: [10/1], qdisc: [codel], cc: cubic, rtt: [5 ms, 6 ms]}"))
    (inside,) = select(found, settings={"rtt": ["5 ms"]})
    asked = {"experiment": "first", "label": "first,rtt=5ms", "settings": {"rtt": "5 ms"}}
    assert {name: request(inside)[name] for name in asked} == asked
    assert "outside_sweep" not in request(inside)
    (run,) = select(
        found, link="50/10", qdisc="sfq", cc="bbr", seed=905, era="2014",
        settings={"rtt": ["7 ms"], "rig.sysctls.net.ipv4.tcp_ecn": [1]},
    )  # fmt: skip
    assert run.id == (
        "mine/first,rtt=7ms,rig.sysctls.net.ipv4.tcp_ecn=1@2014/50-10/sfq/bbr/seed-905"
    )
    assert request(run)["outside_sweep"] == [
        "link", "qdisc", "cc", "rtt", "rig.sysctls.net.ipv4.tcp_ecn", "seed",
    ]  # fmt: skip
    assert request(run)["settings"] == {"rtt": "7 ms", "rig.sysctls.net.ipv4.tcp_ecn": 1}
    assert (run.link.down, run.link.up) == (Rate(50 * 10**6), Rate(10**7))
    assert run.base_rtts == (Duration(7 * 10**6),)
    assert run.sysctls("client")["net.ipv4.tcp_congestion_control"] == "bbr"


def test_settings_have_one_order(first_of: Read) -> None:
    found = first_of(swept(PLAIN))
    asked: dict[str, list[Any]] = {"rtt": ["7 ms"], "qdisc.limit": ["9 packets"]}
    (one,) = select(found, settings=asked)
    (other,) = select(found, settings=dict(reversed(asked.items())))
    assert one.id == other.id == "mine/first,qdisc.limit=9packets,rtt=7ms/10-1/codel/cubic/seed-001"


def test_several_values_of_a_setting_are_a_sweep(first_of: Read) -> None:
    found = first_of(swept(PLAIN))
    runs = select(found, qdisc=["codel", "pie"], settings={"qdisc.target": ["5 ms", "9 ms"]})
    assert [str(dict(run.point.up.options)["target"]) for run in runs] == [
        "5 ms", "9 ms", "5 ms", "9 ms",
    ]  # fmt: skip
    assert [run.qdisc for run in runs] == ["codel", "codel", "pie", "pie"]
    (point,) = found.points
    assert found.vary is not None
    assert [one.settings for one in found.vary(point, {"memory": ["1 GiB"]})] == [
        (("memory", "1 GiB"),)
    ]


def test_values_of_the_nearest_rate_are_borrowed_and_told() -> None:
    (run,) = select(experiment("gbw2015/rrul"), link="50/2", qdisc="ared", cc="cubic", seed=1)
    rates = {str(rate): str(taken) for rate, taken in run.point.borrowed}
    assert rates == {"2 Mbit/s": "1 Mbit/s", "50 Mbit/s": "100 Mbit/s"}
    assert dict(run.point.up.options)["max"] == Size(3028)  # Table 1, 1 Mbit/s
    (known,) = select(experiment("gbw2015/rrul"), link="10/1", qdisc="ared", cc="cubic", seed=1)
    assert known.point.borrowed == ()


@pytest.mark.parametrize(
    ("text", "name", "down", "up"),
    [("50/10", "50/10", 50_000_000, 10_000_000), ("0.128/1.50", "0.128/1.5", 128_000, 1_500_000),
     ("010/1.0", "10/1", 10_000_000, 1_000_000)],
)  # fmt: skip
def test_a_link_is_named_by_its_rates(text: str, name: str, down: int, up: int) -> None:
    found = link(text)
    assert (found.name, found.down, found.up) == (name, Rate(down), Rate(up))


# --- ids ------------------------------------------------------------------------------------------

HOSTILE = (
    "a b", "ab", "a_b", "a/b", "a-b", "a.b", "..", ".", "../x", "../../etc/passwd", "/", "", " ",
    "a\nb", "a\tb", "ä", "a@b", "a,b", "a=b", "a+b", "x" * 300, "x" * 301, "-", "-rf", "~", "$HOME",
    "1 2", "12", "10/1", "10-1", "1Mbit/s", "1Mbit-s", "{a}", "%2e%2e", "\\",
    "a_b-c8687a08", "None",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_is_one_part_of_a_path(text: str) -> None:
    slug = Value("axis", text, True, True).slug
    assert slug.isascii()
    assert 0 < len(slug) <= 60
    assert slug not in (".", "..")
    assert not set(slug) & set("/\\ \n\t@,~$%{}")


def test_two_values_never_have_one_id() -> None:
    values = [*HOSTILE, ["a", "b"], ["a+b", "c"], ["a", "b+c"], 5, 5.5, True]
    slugs = {str(value): Value("axis", value, True, True).slug for value in values}
    for (one, slug), (other, same) in combinations(slugs.items(), 2):
        assert slug != same, (one, other)


def test_the_data_of_hostile_settings_stay_in_their_folder(first_of: Read, tmp_path: Path) -> None:
    found = first_of(swept(PLAIN))
    runs = select(found, settings={"traffic.options.x": HOSTILE, "traffic.options.y": HOSTILE[:3]})
    assert len({run.id for run in runs}) == 3 * len(HOSTILE)
    root = tmp_path / "data"
    for run in runs:
        for path in paths(run, root):
            assert path.resolve().is_relative_to(root / "mine")
            assert len(path.relative_to(root).parts) == 6
            assert all(len(part) <= 255 for part in path.parts)


def test_a_long_label_is_cut_and_stays_its_own(first_of: Read) -> None:
    found = first_of(swept(PLAIN))
    settings = {f"rig.sysctls.net.ipv4.{'x' * 30}_{n}": ["y" * 30] for n in range(9)}
    (one,) = select(found, settings=settings)
    (other,) = select(found, settings={**settings, [*settings][-1]: ["z" * 30]})
    assert len(one.point.label) < 200
    assert one.id != other.id


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        ("{wibble: [1]}", "sweep.wibble: unknown axis 'wibble'; valid: link, qdisc, cc, era, mem"),
        ("{rt: [1 ms]}", "sweep.rt: unknown axis 'rt'; did you mean 'rtt'?"),
        ("{rig: [1]}", "sweep.rig: unknown axis 'rig'"),
        ("{rig..base_rtt: [1]}", "sweep.rig..base_rtt: unknown axis 'rig..base_rtt'"),
        ("{rtt: [5, 6 ms]}", "sweep.rtt[0]: '5': a bare number has no unit; write e.g. '50 ms'"),
        ("{rig.base_rtt: [5 ms, 6 B]}", "sweep.rig.base_rtt[1]: '6 B': unknown unit 'B'"),
        ("{rig.base_rt: [5 ms]}", "sweep.rig.base_rt[0]: unknown key 'base_rt'; did you mean 'ba"),
        ("{rig.split: [sideways]}", "sweep.rig.split[0]: unknown split 'sideways'; valid: symm"),
        ("{qdisc.limit: [5 packets, 7]}", "sweep.qdisc.limit[1]: '7': a bare number has no unit"),
        ("{qdisc.limt: [5 packets]}", "sweep.qdisc.limt[0]: unknown option of codel 'limt'; did"),
        ("{target: [1 ms, x]}", "sweep.target[1]: 'x': is not a number and a unit"),
        ("{memory: [128 MiB, 32 MiB]}", "sweep.memory[1]: '32 MiB' is not a possible memory of"),
        ("{era: [modern, '2015']}", "sweep.era[1]: unknown era '2015'; valid: modern, 2014, 2013"),
        ("{load: [light, middle]}", "sweep.load[1]: unknown load 'middle'; valid: light, heavy"),
        ("{traffic.test.x: [1]}", "sweep.traffic.test.x[0]: there is nothing at 'traffic.test.x'"),
        ("{traffic.client: [server]}", "traffic.server: 'server' is the client, too; name another"),
        ("{traffic.client: [nobody]}", "sweep.traffic.client[0]: unknown host 'nobody'; valid:"),
        ("{rig.eras.nobody: ['2014']}", "sweep.rig.eras.nobody[0]: unknown node 'nobody'; valid:"),
        ("{cc: [cubic, a/b]}", "sweep.cc[1]: 'a/b' is not a congestion control; write e.g. cubic"),
        ("{cc: [[cubic, reno]]}", "sweep.cc[0]: 'cubic+reno' is not a congestion control"),
        ("{rtt: [5 ms, 6 ms, 5 ms]}", "sweep.rtt[2]: '5 ms' appears twice; remove one of the two"),
        ("{rtt: []}", "sweep.rtt: is empty; add at least one entry"),
        ("{seed: [1, 2]}", "sweep.seed: unknown axis 'seed'"),
        ("{link: [10/1, 10]}", "sweep.link[1]: '10' is not a link; write download/upload"),
        ("{link: [1e1/1]}", "sweep.link[0]: '1e1/1' is not a link"),
        ("{link: [10/0]}", "sweep.link[0]: '10/0' is not possible; write rates above 0 and up to"),
        ("{link: [0.0000001/1]}", "sweep.link[0]: '0.0000001/1' is not a whole number of bit/s"),
        ("{qdisc: [codl]}", "sweep.qdisc[0]: unknown qdisc 'codl'; did you mean 'codel'?"),
        ("{qdisc: [netem]}", "sweep.qdisc[0]: unknown qdisc 'netem'"),
    ],
)
def test_what_a_sweep_cannot_have_is_refused_at_its_line(
    refusal: Refusal, sweep: str, said: str
) -> None:
    axis = sweep[1:].partition(":")[0]
    rest = {"link": "link: 10/1", "qdisc": "qdisc: codel", "cc": "cc: cubic"}
    rest.pop(axis, None)
    (line,) = refusal(swept(f"{{{', '.join(rest.values())}, {sweep[1:]}"))
    number, _, told = line.partition(": experiments.first.")
    assert told.startswith(said)
    assert int(number) == (LINE if said.startswith("sweep") else LINE - 1)
    assert "; " in told


@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        ("5", "13: experiments.first.sweep: is not a mapping; write e.g. 'link: [10/10]'"),
        ("[]", "13: experiments.first.sweep: is empty; write e.g. 'link: [10/10]' below it"),
        ("{}", "13: experiments.first.sweep: is empty"),
        ("[5]", "13: experiments.first.sweep[0]: is not a mapping"),
        ("{qdisc: codel}", "13: experiments.first.sweep: has no link; add e.g. 'link: [10/10]'"),
        ("{link: 10/1}", "13: experiments.first.sweep: has no qdisc; add e.g. 'qdisc: [fq_codel]"),
        (
            "[{link: 10/1, qdisc: codel, rtt: 5 ms}, {link: 10/1, qdisc: codel, rtt: 6 ms}]",
            "13: experiments.first.sweep: two different points have the id 'first/10-1/codel/-'",
        ),
        (
            "{link: 10/1, qdisc: [codel, sfq], target: [5 ms, 6 ms]}",
            "10: experiments.first: is the label of some of its points; others have first,target"
            "=5ms; give it an 'id' that begins differently, so that a name means one thing: first_",
        ),
    ],
)
def test_a_sweep_without_points_of_their_own_is_refused(
    refusal: Refusal, sweep: str, said: str
) -> None:
    (line,) = refusal(swept(sweep))
    assert line.startswith(said)


NO_PATH, NO_CELL = "is not four parts of letters", "lacks link, qdisc or cc in its last three parts"


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{experiment}/{link}/{qdisc}", NO_PATH),
        ("../{link}/{qdisc}/{cc}", NO_PATH),
        ("/{link}/{qdisc}/{cc}", NO_PATH),
        ("a@b/{link}/{qdisc}/{cc}", NO_PATH),
        ("a b/{link}/{qdisc}/{cc}", NO_PATH),
        ("[{rtt}]/{link}/{qdisc}/{cc}", NO_PATH),
        ("{experiment[/{link}/{qdisc}/{cc}", NO_PATH),
        ("a//{qdisc}/{cc}", NO_PATH),
        ("{experiment}_{rt}/{link}/{qdisc}/{cc}", "id: unknown axis 'rt'; did you mean 'rtt'?"),
        ("{experiment}_{era}/{link}/{qdisc}/{cc}", "names the axis 'era', which has a place of it"),
        ("{experiment}/{link}_{rtt}/{qdisc}/{cc}", NO_CELL),
        ("{experiment}/{link}/x/{cc}", NO_CELL),
        ("{experiment}/{cc}/{qdisc}/{link}", NO_CELL),
    ],
)
def test_a_template_that_makes_no_ids(refusal: Refusal, template: str, said: str) -> None:
    (line,) = refusal(swept(PLAIN, f'id: "{template}"'))
    assert line.startswith("13: experiments.first.id: ")
    assert (f"'{template}' {said}" if said == NO_PATH else said) in line


def test_what_is_left_out_of_an_id_is_what_the_rig_has_anyway(first_of: Read) -> None:
    found = first_of(swept(
        "{link: 10/1, qdisc: codel, cc: cubic, rtt: [50 ms, 9 ms], target: [5 ms, 9 ms]}",
        'id: "x[_{rtt}_{target}]/{link}/{qdisc}/{cc}"',
    ))  # fmt: skip
    assert [run.point.label for run in select(found)] == [
        "x,target=5ms", "x,target=9ms", "x_9ms_5ms", "x_9ms_9ms",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ("speed: {sets: link}", "axes.speed.sets: unknown parameter 'link'"),
        ("speed: {sets: rigs.base_rtt}", "axes.speed.sets: unknown parameter 'rigs.base_rtt'"),
        ("speed: {sets: qdisc.}", "axes.speed.sets: unknown parameter 'qdisc.'"),
        ("speed: {values: {x: {qdisc: pie}}}", "axes.speed.values.x.qdisc: unknown parameter"),
        ("memory: {sets: memory}", "axes.memory: 'memory' is a reserved name"),
        ("run: {sets: memory}", "axes.run: 'run' is a reserved name"),
    ],
)
def test_an_axis_sets_a_parameter_that_there_is(refusal: Refusal, axes: str, said: str) -> None:
    lines = refusal(swept(PLAIN).replace("axes:\n", f"axes:\n  {axes}\n"))
    assert any(said in line for line in lines), lines


def test_the_options_of_a_qdisc_are_by_axes_that_there_are(refusal: Refusal) -> None:
    own = "qdiscs: {q: {kind: codel, by: {targett: {5 ms: {target: 5 ms}}}}}\n"
    (line,) = refusal(swept(PLAIN).replace("axes:\n", f"{own}axes:\n"))
    assert "qdiscs.q.by.targett: unknown axis 'targett'; did you mean 'target'" in line


def test_two_axes_do_not_set_one_parameter(first_of: Read, refusal: Refusal) -> None:
    both = "{link: 10/1, qdisc: codel, cc: cubic, rtt: [5 ms, 9 ms], rig.base_rtt: 20 ms}"
    lines = refusal(swept(both))
    assert "sets rig.base_rtt, as the axis 'rtt' does; remove one of the two" in lines[0]
    found = first_of(swept("{link: 10/1, qdisc: codel, cc: cubic, rtt: [5 ms, 9 ms]}"))
    with pytest.raises(ConfigError, match=r"sets rig\.base_rtt, as the axis 'rtt' does"):
        select(found, settings={"rig.base_rtt": ["20 ms"]})


def test_an_era_is_asked_for_once(first_of: Read) -> None:
    with pytest.raises(ConfigError, match="--era and --set era: is given twice"):
        select(first_of(swept(PLAIN)), era="2014", settings={"era": ["2013"]})
    text = swept("{link: 10/1, qdisc: codel, cc: cubic, old: [yes]}")
    text = text.replace("axes:\n", "axes:\n  old: {values: {yes: {era: '2014'}}}\n")
    assert [run.era for run in select(first_of(text))] == ["2014"]
    with pytest.raises(ConfigError, match="the sweep's axes set the era"):
        select(first_of(text), era="modern")


def test_experiments_have_no_id_in_common(refusal: Refusal) -> None:
    text = swept(PLAIN, 'id: "x/{link}/{qdisc}/{cc}"')
    first = text[text.index("  first:") :]
    (line,) = refusal(text + first.replace("  first:", "  other:").replace("20 s", "30 s"))
    assert "experiments.other: shares ids with 'first'" in line
    named = first.replace("  first:", "  x:").replace('id: "x/', 'id: "y/')
    lines = refusal(text + named)
    assert any("shares ids with 'x'" in line for line in lines)


def test_the_rig_of_the_file_holds_where_its_kind_is_written_out(first_of: Read) -> None:
    text = swept(PLAIN, "rig: {kind: daisy_chain, edge_rate: 2 Gbit/s}")
    assert first_of(text).rig.base_rtts == (Duration.parse("50 ms"),)


def test_a_run_of_a_sweep_is_found_by_its_provenance(first_of: Read) -> None:
    found = first_of(swept("{link: 10/1, qdisc: [codel, sfq], cc: cubic, rtt: [5 ms, 9 ms]}"))
    run = select(found, qdisc="codel", settings={"target": ["7 ms"]}, seed=1)[1]
    told = request(run)
    assert run_of(told, {"mine/first": found}) == run
    with pytest.raises(ConfigError, match="no experiment has this run any more"):
        run_of({**told, "run": "mine/other"}, {"mine/first": found})


def test_a_run_is_found_whose_qdisc_is_called_by_the_values_of_two_axes(first_of: Read) -> None:
    block = "link: 10/1, qdisc: codel, cc: cubic"
    identity = 'id: "first/{link}/{qdisc}[_{target}]/{cc}"'
    found = first_of(swept(f"[{{{block}}}, {{{block}, target: 7 ms}}]", identity))
    runs = select(found, seed=1)
    assert [run.qdisc for run in runs] == ["codel", "codel_7ms"]
    for run in runs:
        told = request(run)
        assert run_of(told, {"mine/first": found}) == run


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"settings": {"wibble": [1]}}, "--set wibble=1: unknown axis 'wibble'; valid: link, "),
        ({"settings": {"rtt": ["5"]}}, "--set rtt=5: '5': a bare number has no unit; write"),
        ({"settings": {"traffic.flows": [5]}}, "--set traffic.flows=5: unknown key 'flows'; valid"),
        ({"settings": {"qdisc.x": [5]}}, "--set qdisc.x=5: unknown option of codel 'x'; valid"),
        ({"settings": {"memory": ["1 MiB"]}}, "--set memory=1 MiB: '1 MiB' is not a possible"),
        ({"settings": {"era": ["2015"]}}, "mine/first: unknown era '2015'; valid: modern, 2014"),
        ({"qdisc": "codl"}, "--qdisc codl: unknown qdisc 'codl'; did you mean 'codel'?"),
        ({"cc": "cubik"}, "mine/first: Linux 6.12 here has no cubik; choose from "),
        ({"cc": "../x"}, "--cc ../x: '../x' is not a congestion control; write e.g. cubic or reno"),
        ({"link": "10/1/1"}, "--link: '10/1/1' is not a link; write download/upload in Mbit/s"),
        ({"seed": 10**6}, "mine/first: a seed of 1000000 is not possible; give whole numbers"),
    ],
)
def test_what_cannot_be_asked_for_names_the_option(
    first_of: Read, asked: dict[str, Any], said: str
) -> None:
    found = first_of(swept(PLAIN))
    with pytest.raises(ConfigError) as caught:
        select(found, **asked)
    assert str(caught.value).startswith(said)
    assert "; " in str(caught.value)


def test_what_a_kernel_lacks_is_refused_with_those_that_have_it(first_of: Read) -> None:
    found = first_of(swept("{link: 10/1, qdisc: dualpi2, cc: cubic}"))
    with pytest.raises(ConfigError) as caught:
        select(found)
    assert str(caught.value) == (
        "mine/first: Linux 6.12 here has no dualpi2; choose the kernel 7.2 or 7.3"
    )
    (run,) = select(found, kernel="7.3")
    assert run.id == "mine/first@linux-7.3/10-1/dualpi2/cubic/seed-001"


def test_what_a_kernel_lacks_is_left_out_where_the_rest_is_to_go_on(first_of: Read) -> None:
    found = first_of(swept("{link: 10/1, qdisc: [dualpi2, codel], cc: cubic}"))
    lacking: dict[str, KernelLacks] = {}
    assert [run.point.qdisc for run in select(found, lacking=lacking)] == ["codel"]
    assert {cell: error.what for cell, error in lacking.items()} == {
        "mine/first/10-1/dualpi2/cubic": "Linux 6.12 here has no dualpi2"
    }


def test_a_queue_of_the_rigs_own_is_one_that_the_kernel_has(first_of: Read) -> None:
    begin = STUDY.index("rig:")
    text = STUDY[:begin].replace("  rtt: {sets: rig.base_rtt}\n", "") + WRITTEN_OUT
    found = first_of(text + STUDY[STUDY.index("experiments:") :].replace("SWEEP", "{cc: cubic}"))
    with pytest.raises(ConfigError, match=r"Linux 6\.12 here has no dualpi2; choose the kernel 7"):
        select(found)
    assert len(select(found, kernel="7.2")) == 1


WRITTEN_OUT = """\
rig:
  kind: nodes
  nodes: {client: {}, server: {}}
  links: [{from: client, to: server, there: {rate: 1 Mbit/s, queue: {kind: dualpi2}}}]
"""
