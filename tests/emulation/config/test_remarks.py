"""emulation.config.remarks: what is said of settings that do not do what they seem to."""

from typing import Any

import pytest

from qdisclab.emulation.config import remarks
from qdisclab.emulation.config.catalogue import experiment, select


def of_ecn(**asked: Any) -> list[str]:
    chosen = {"link": "10/10", "cc": "cubic", "seed": 1, **asked}
    (run,) = select(experiment("gbw2015/rrul"), **chosen)
    return list(remarks.of_ecn(run))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"qdisc": "dualpi2", "kernel": "7.2"}, "dualpi2 without ECN is PI2"),
        ({"qdisc": "dualpi2", "kernel": "7.2", "cc": "dctcp"}, "takes only ECT(1)"),
        ({"qdisc": "codel", "cc": "dctcp"}, "dctcp sends ECN-capable packets, but codel marks"),
        ({"qdisc": "pie", "settings": {"rig.sysctls.net.ipv4.tcp_ecn": [1]}}, "tcp_ecn = 1 sends"),
    ],
)
def test_ecn_that_comes_to_nothing_is_noted(asked: dict[str, Any], said: str) -> None:
    (note,) = of_ecn(**asked)
    assert said in note


@pytest.mark.parametrize(
    "asked",
    [
        {"qdisc": "codel"},
        {"qdisc": "codel", "cc": "bbr"},
        {
            "qdisc": "codel",
            "cc": "dctcp",
            "settings": {"qdisc.ecn": [True], "qdisc.noecn": [False]},
        },
        {"qdisc": "cake", "cc": "dctcp"},
        {"qdisc": "fq_codel", "settings": {"rig.sysctls.net.ipv4.tcp_ecn": [2]}},
        {"qdisc": "dualpi2", "kernel": "7.2", "cc": "dctcp", "settings": {"qdisc.any_ect": [True]}},
    ],
)
def test_what_works_is_not_noted(asked: dict[str, Any]) -> None:
    assert of_ecn(**asked) == []


@pytest.mark.parametrize(("edge_rate", "notes"), [("5Mbit/s", 1), ("10Mbit/s", 0)])
def test_a_bottleneck_elsewhere_is_noted(edge_rate: str, notes: int) -> None:
    asked = {"link": "10/10", "qdisc": "codel", "cc": "cubic", "seed": 1}
    settings = {"rig.edge_rate": [edge_rate]}
    (run,) = select(experiment("gbw2015/rrul"), **asked, settings=settings)
    found = [note for note in remarks.of_run(run) if "is not at the bottleneck" in note]
    assert len(found) == notes


def test_what_a_program_says_that_it_could_not_do_is_told() -> None:
    rows = [
        {"program": "python3", "case": "netem_slot", "error": "Unknown qdisc \033[1m"},
        {"program": "sh", "case": 1, "error": 0.9},
        {"program": "sh", "error": "no"},
    ]
    assert list(remarks.of_rows(rows)) == ["netem_slot: Unknown qdisc \\x1b[1m", "sh: no"]
