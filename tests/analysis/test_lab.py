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


def test_a_study_is_described_in_five_lines() -> None:
    lines = repr(open_study("gbw2015")).splitlines()
    assert len(lines) == 5
    assert (
        lines[0] == "gbw2015: The Good, the Bad and the WiFi: Modern AQMs in a residential setting"
    )
    assert all(len(line) < 100 for line in lines[2:])


def test_a_probe_that_cannot_be_is_refused_before_anything_boots() -> None:
    runs = open_study("gbw2015").runs("rrul", link="10/10", qdisc="codel", seed=[1, 2])
    with pytest.raises(ConfigError, match="no queue under test at 'client'"):
        runs.do(probes=["packets:client"])
