"""Tests of emulation.model.era: the grammar of eras, and what a switch sets."""

import pytest

from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.kernel import module
from qdisclab.emulation.kinds.qdiscs import KINDS
from qdisclab.emulation.model import era
from qdisclab.emulation.model.era import SWITCHES, Switch
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.run import Experiment
from qdisclab.emulation.model.units import Packets

ALL = tuple(switch.name for switch in SWITCHES)

ONE = Switch(
    "one",
    "restores this",
    "4.0, a reason",
    parameters=(("sch_x.first", "1"), ("tcp_y.second", "Y")),
    sysctls=(("net.a", "0"),),
    options=(("codel", "limit", 7), ("codel", "ecn", True), ("pie", "limit", 8)),
)
OTHER = Switch("other", "restores that", "5.0", sysctls=(("net.b", "3"),))


def names(text: str) -> tuple[str, ...]:
    return tuple(switch.name for switch in era.switches(text))


def test_an_era_is_a_set_of_switches() -> None:
    assert names("modern") == ()
    assert names("2014") == tuple(era.ERAS["2014"])
    assert set(era.ERAS["2014"]) <= set(ALL)


def test_switches_are_added_and_taken_away_in_the_order_of_the_table() -> None:
    first, second, *_ = ALL
    assert names(f"modern+{second}+{first}") == (first, second)
    whole = names("2014")
    assert names(f"2014-{whole[0]}") == whole[1:]
    assert names(f"2014-{whole[1]}-{whole[0]}") == whole[2:]
    assert names(f"2014-{whole[0]}+{whole[0]}") == whole


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1999", "unknown era '1999'; valid: modern, 2014"),
        ("", "unknown era ''; valid: modern, 2014"),
        ("+single_drop", "unknown era ''; valid"),
        ("modern+warp", "unknown switch 'warp' of era 'modern+warp'; valid: "),
        ("modern+", "unknown switch '' of era 'modern+'; valid: "),
        ("modern-single_drop", "era 'modern-single_drop': 'single_drop' is already off"),
        ("2014+single_drop", "era '2014+single_drop': 'single_drop' is already on"),
        ("modern+no_rack+no_rack", "'no_rack' is already on"),
        ("2014c-quickack", "'quickack' is part of 'quickack_ce' as well; leave out that, too"),
        ("2014c-no_rack-early_retransmit", "'no_rack' is part of 'fack_reordering' as well"),
        ("2014c-no_rack", "'fack_reordering' and 'early_retransmit' as well; leave out these, too"),
    ],
)
def test_what_is_no_era_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match="era") as caught:
        era.switches(text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["2014c-quickack-quickack_ce", "2014c-quickack_ce", "2014c-small_queues", "2014c-prr_grow"],
)
def test_what_is_taken_out_makes_a_difference(text: str) -> None:
    whole, less = era.switches("2014c"), era.switches(text)
    for of in (era.parameters, era.sysctls, era.modules):
        if of(whole) != of(less):
            return
    raise AssertionError(text)


def test_every_switch_says_what_it_does_and_does_something() -> None:
    assert len(set(ALL)) == len(ALL)
    for switch in SWITCHES:
        assert switch.restores and switch.changed
        assert switch.parameters or switch.sysctls or switch.options or switch.module
        assert not switch.module or module.source(module.SOURCES / switch.module).name
        assert not set(switch.name) - set("abcdefghijklmnopqrstuvwxyz0123456789_")
        for kind, option, _ in switch.options:
            assert option in KINDS[kind].options
        for path, value in switch.parameters:
            assert path.count(".") == 1
            assert isinstance(value, str)


def test_no_two_switches_set_the_same_thing() -> None:
    on = era.switches("2014")
    for of in ("parameters", "sysctls"):
        keys = [name for switch in on for name, _ in getattr(switch, of)]
        assert len(keys) == len(set(keys))
    options = [(kind, option) for switch in on for kind, option, _ in switch.options]
    assert len(options) == len(set(options))


def test_parameters_are_files_of_their_modules() -> None:
    assert era.parameters((ONE, OTHER)) == {
        "/sys/module/sch_x/parameters/first": "1",
        "/sys/module/tcp_y/parameters/second": "Y",
    }
    assert era.sysctls((ONE, OTHER)) == {"net.a": "0", "net.b": "3"}
    assert era.parameters(()) == era.sysctls(()) == {}


def test_restored_options_go_behind_the_experiments_own() -> None:
    mine = Qdisc("q", "codel", (("limit", Packets(1000)),))
    assert era.restored(mine, (ONE, OTHER)).options == (("limit", Packets(1000)), ("ecn", True))
    bare = Qdisc("q", "pie", ())
    assert era.restored(bare, (ONE,)).options == (("limit", 8),)
    assert era.restored(bare, ()) == bare
    fifo = Qdisc("q", "pfifo_fast", ())
    assert era.restored(fifo, (ONE, OTHER)) == fifo


def test_2013_is_2014_with_windows_that_grow_by_bytes() -> None:
    assert set(names("2014")) - set(names("2013")) == {"count_acks"}
    assert set(names("2013")) < set(names("2014"))


def test_a_switch_can_be_a_module_of_the_kernel(rrul: Experiment) -> None:
    (run,) = select(rrul, link="10/10", qdisc="codel", cc="cubic", seed=1, era="2014+quickack")
    assert [one["name"] for one in job_of(run)["modules"]] == ["quickack"]
    (plain,) = select(rrul, link="10/10", qdisc="codel", cc="cubic", seed=1, era="2014")
    assert "modules" not in job_of(plain)
