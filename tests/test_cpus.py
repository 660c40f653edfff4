"""Tests of the claims on CPUs."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from emulation.cpus import claim


@pytest.fixture(autouse=True)
def two_cpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5})


def test_guests_get_cpus_of_their_own() -> None:
    with claim() as first, claim() as second:
        assert {first, second} == {3, 5}
        with claim() as third:
            assert third in (3, 5)
    with claim() as again:
        assert again == 3


def test_machines_that_share_the_cache_do_not_share_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    with claim() as here:
        monkeypatch.setattr(platform, "node", lambda: "another")
        with claim() as there:
            assert here == there == 3
