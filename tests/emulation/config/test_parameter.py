"""Tests of emulation.config.parameter: what a path of a parameter finds and sets."""

from typing import Any

import pytest

from qdisclab.emulation.config import parameter
from qdisclab.emulation.study.schema import Flaws


def test_a_path_leads_through_mappings_and_lists() -> None:
    document: dict[str, Any] = {"traffic": {"servers": ["web", "irtt"]}}
    parameter.put(document, "traffic.servers.1", "flood")
    parameter.put(document, "rig.sysctls.net.ipv4.tcp_ecn", 1)
    assert document["traffic"]["servers"] == ["web", "flood"]
    assert document["rig"]["sysctls"] == {"net.ipv4.tcp_ecn": 1}
    assert parameter.get(document, "traffic.servers.0") == "web"


@pytest.mark.parametrize("place", ["2", "-1", "²", "x"])
def test_a_place_that_a_list_has_not_is_refused(place: str) -> None:
    with pytest.raises(Flaws):
        parameter.put({"a": [1, 2]}, f"a.{place}", 3)


def test_nothing_is_put_below_a_value() -> None:
    with pytest.raises(Flaws):
        parameter.put({"rig": {"base_rtt": "5 ms"}}, "rig.base_rtt.x", 3)
