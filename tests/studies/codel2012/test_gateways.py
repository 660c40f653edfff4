"""codel2012's network, and what its programs are told."""

from functools import cache
from typing import Any

import pytest

from qdisclab.emulation.config import catalogue
from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.kinds.traffic.programs import Programs
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.topology import Link
from qdisclab.emulation.model.units import Duration, Packets, Rate
from studies.codel2012.kinds.gateways import LEFT, RIGHT, Gateways, base_rtts, burst
from studies.codel2012.programs import loads

MS = MBIT = 10**6
LINK = Link("10/3", Rate(10 * MBIT), Rate(3 * MBIT))
CODEL = Qdisc("codel", "codel", (("limit", Packets(200)),))
RED = Qdisc("red", "red", (("probability", 0.1),))
RIG = Gateways(kind="gateways", edge_rate=Rate(1000 * MBIT), base_rtt=Duration(100 * MS)).topology(
    LINK, {LINK.up: CODEL, LINK.down: RED}
)

experiment = cache(catalogue.experiment)  # reading the files takes a while


def run_of(name: str, seed: int = 1, **values: Any) -> Run:
    return select(experiment(f"codel2012/{name}"), seed=seed, cc="cubic", **values)[0]


def test_bulk_pairs_are_two_percent_apart_and_the_others_have_the_base_rtt() -> None:
    assert [rtt.ms for rtt in base_rtts(Duration(100 * MS))] == [102, 104, 106, 108, 100]


def test_red_is_told_when_it_is_idle() -> None:
    (reverse,) = [port.egress for port in RIG.queues() if port.interface == "right-left"]
    attached = reverse.attached()
    assert [(one.parent, one.handle, one.qdisc.kind) for one in attached] == [
        ("root", "1:", "htb"),
        ("1:1", "5:", "idle"),
        ("5:1", "10:", "red"),
    ]


@pytest.mark.parametrize(
    ("kbit_s", "size"),
    [(128, 64), (256, 64), (512, 64), (1500, 66), (3000, 66), (45_000, 90), (100_000, 100)],
)
def test_a_bucket_is_whole_in_the_units_of_kernel_and_tc(kbit_s: int, size: int) -> None:
    assert burst(Rate(1000 * kbit_s)).bytes == size
    assert size * 8_000_000 % (1000 * kbit_s * 8) == 0  # of 8 us


def test_repetitions_take_the_loads_in_turn() -> None:
    traffic = run_of("static_rtt_10ms", link="3/3", qdisc="codel").traffic
    assert isinstance(traffic, Programs)
    assert traffic.loads_in_turn == 6
    names = [traffic.turn(seed)["load"] for seed in (1, 6, 7)]
    assert names == ["bulk_1", "bulk_10_web_20_cbr_2", "bulk_1"]


def test_a_load_is_what_its_name_says() -> None:
    none = dict.fromkeys(loads.KINDS, 0)
    assert loads.counts("bulk_10_web_20_cbr_2") == {**none, "bulk": 10, "web": 20, "cbr": 2}
    down = {**none, "bulk": 1, "web": 2, "cbr": 1}
    assert loads.counts("edge_down") == down
    assert loads.counts("edge") == {**down, "back": 1, "uploads": 1}


def test_the_provenance_counts_the_queues_under_test() -> None:
    run = run_of("edge", link="1.5/1.5", qdisc="codel")
    ports = [(port.node, port.interface) for port in run.rig.counted(run.topology)]
    assert ports == [LEFT, RIGHT]
