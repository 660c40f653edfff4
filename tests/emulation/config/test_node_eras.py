"""Eras of single nodes: what they change there, and what a guest has only once."""

import pytest

from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import ConfigError
from tests import studyfile
from tests.studyfile import Read, Refusal

DUMBBELL = studyfile.text(
    rig="{kind: dumbbell, base_rtt: 50 ms, edge_rate: 1 Gbit/s, eras: ERAS}",
    traffic="{kind: programs, length: 2 s, programs: [{kind: ping, from: sender1, to: receiver1}]}",
)


def of_eras(eras: str) -> str:
    return DUMBBELL.replace("ERAS", eras)


def test_a_node_may_have_another_era_where_the_guest_as_a_whole_has_the_same(
    first_of: Read,
) -> None:
    found = first_of(of_eras('{sender1: "2014"}'))
    name = "net.ipv4.tcp_count_acks"  # the one thing that 2013 does not have
    for era, there in (("2013", {"sender1"}), ("2014", {"sender1", "sender2"}), ("modern", set())):
        (run,) = select(found, era=era)
        sysctls = job_of(run)["sysctls"]
        assert {host for host in ("sender1", "sender2") if name in sysctls[host]} == there


def test_a_node_cannot_differ_in_what_the_guest_has_once(first_of: Read) -> None:
    found = first_of(of_eras('{aqm: "2014"}'))
    with pytest.raises(ConfigError) as caught:
        select(found, era="2014-hystart_early")
    assert str(caught.value) == (
        "mine/first: 'aqm' has the era '2014', other nodes '2014-hystart_early'; choose eras that "
        "agree in switches of the whole guest: hystart_early"
    )


@pytest.mark.parametrize(
    ("eras", "said"),
    [
        ('{aqm: "2015"}', "4: rig.eras.aqm: unknown era '2015'; valid: modern, 2014, 2013"),
        ('{aqm: "2014-x"}', "4: rig.eras.aqm: unknown switch 'x' of era '2014-x'; valid: pie_tu"),
        ('{amq: "2014"}', "4: rig.eras.amq: unknown node 'amq'; did you mean 'aqm'?"),
        ("[aqm]", "4: rig.eras: is not a mapping; write keys with values below it"),
    ],
)
def test_eras_of_nodes_are_checked(refusal: Refusal, eras: str, said: str) -> None:
    (line,) = refusal(of_eras(eras))
    assert line.startswith(said)


def test_an_era_does_not_undo_what_the_kernel_does_not_do_yet(first_of: Read) -> None:
    """SYNs are first repeated at even intervals since 6.5: 6.1 has no such setting."""
    found = first_of(of_eras("{}"))
    for series, there in (("6.1", False), ("6.12", True)):
        (run,) = select(found, era="2014", kernel=series)
        sysctls = job_of(run)["sysctls"]["sender1"]
        assert ("net.ipv4.tcp_syn_linear_timeouts" in sysctls) == there
        assert sysctls["net.ipv4.tcp_count_acks"] == "1"
