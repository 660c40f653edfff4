"""No rig: what needs none, and what is refused without one."""

import pytest

from qdisclab.emulation.config import kinds
from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.study import studies
from tests import studyfile
from tests.studyfile import Read, Refusal

for name in ("khademi2013", "testbed"):  # whose traffic is used here
    kinds.add(studies.shipped()[name])


SATURATION = "{kind: saturation, set: single, length: 5 s}"


def study(
    rig: str = "{kind: none}", traffic: str = SATURATION, sweep: str = "{memory: 192 MiB}"
) -> str:
    return studyfile.text(rig, traffic, sweep)


def test_traffic_that_builds_its_own_is_all_of_the_job(first_of: Read) -> None:
    (run,) = select(first_of(study()))
    assert run.id == "mine/first/-/-/-/seed-001"
    assert job_of(run) == run.traffic.job(run, run.topology)
    assert run.base_rtts == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (study(rig="{kind: none, edge_rate: 1 Gbit/s}"), "rig.edge_rate: unknown key 'edge_rate'"),
        (study(rig="{kind: none, sysctls: {}}"), "rig.sysctls: is for a rig with nodes"),
        (study(sweep="{link: 10/1}"), "the rig has no bottleneck to apply it to"),
        (
            study(traffic="{kind: iperf, test: tcp_nup, flows: 4, length: 5 s, step: 1 s,"
                  " start_jitter: 1 s}"),
            "'iperf' follows packets of pairs, 'none' names none",
        ),
        (
            study(rig="{kind: nodes, nodes: {a: {}, b: {}}, links: [{from: a, to: b}]}"),
            "'saturation' builds cells of its own, not the rig 'nodes'",
        ),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(refusal: Refusal, text: str, said: str) -> None:
    (line,) = refusal(text)
    assert said in line
