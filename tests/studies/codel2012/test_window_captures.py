"""Tests of studies.codel2012.captures.window on captures of two segments, made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emulation.captures import frames, places
from emulation.captures.flent import About
from emulation.errors import GuestFailure
from emulation.model.units import Duration
from studies.codel2012.captures import window
from tests.emulation.captures.made import RECEIVER, SENDER, ring, segment

MS = 10**6
PLACES = (("sender", "eth0"), ("left", "in"), ("left", "out"), ("receiver", "eth0"))
AT_MS = (0, 10, 30, 40)  # when a packet is where, after it was sent
TEST = About("window", "codel2012/w", Duration.parse("60 ms"), Duration.parse("10 ms"))


def written(out: Path, lost: int | None = None) -> Path:
    """Two segments, 10 ms apart, and an acknowledgment of both that takes 5 ms; the place `lost`
    does not see the second one."""
    data = [segment(seq=number, payload=100, id=number) for number in (100, 200)]
    ack = segment(RECEIVER, SENDER, ack=300)
    for number, place in enumerate(PLACES):
        seen = [(0, segment(seq=99, flags=frames.SYN))]
        seen += [(MS * AT_MS[number], data[0]), (MS * (10 + AT_MS[number]), data[1])]
        seen = seen[: 2 if lost == number else 3]
        seen += [(MS * at, ack) for at in {0: [56], 3: [51]}.get(number, [])]
        ring(places.frames(out, place), seen)
    (out / "window.json").write_text(json.dumps({"began_ns": 0}))
    return out


def test_each_packet_has_its_moments(tmp_path: Path) -> None:
    content = window.reduce(written(tmp_path), PLACES, TEST, 2)
    first, second = content["raw_values"]["packets"]
    assert first == {"sent": 0, "queued": 10, "left": 30, "received": 40, "bytes": 166}
    assert second["received"] == 50
    (ack,) = content["raw_values"]["acknowledgments"]
    assert ack == {"sent": 50, "received": 56, "packets": 2}  # sent as the second one arrives
    assert content["results"]["Packets that wait"] == [0, 1, 2, 1, 0, 0]
    assert content["metadata"]["TEST_PARAMETERS"] == {"window": 2}


def test_a_packet_that_gets_lost_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(GuestFailure, match="lost where none can"):
        window.reduce(written(tmp_path, lost=3), PLACES, TEST, 2)
