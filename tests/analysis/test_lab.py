"""Runs from Python: what is chosen, and what cannot be."""

from __future__ import annotations

import pytest

from analysis.lab import open_study
from emulation.errors import ConfigError


def test_chosen_runs_say_how_many_there_are() -> None:
    found = open_study("gbw2015").runs("rrul", link="10/10", qdisc="codel", cc="cubic", era="2014c")
    there = len(found) - len(found.missing)
    assert 0 < there < len(found)
    said = f"<{len(found)} runs of gbw2015/rrul in {found.data}, {there} there>"
    assert repr(found) == said


def test_an_axis_is_no_option() -> None:
    with pytest.raises(ConfigError, match=r"unknown option 'flows'.*settings=\{'flows'"):
        open_study("gbw2015").runs("rrul", flows=1)
