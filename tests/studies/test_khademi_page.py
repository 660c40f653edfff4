"""What the README of khademi2013 says of Figs. 9 and 10 (Sec. 5), against the data."""

from functools import cache

import pytest

from tests import ROOT
from tests.studies.measured import measured

QDISCS = ("codel_5ms", "pie_5ms", "ared_5ms")
LOADS = {"light": 4, "moderate": 16, "heavy": 64}
ROWS = {
    "downlink, goodput, Mbit/s": ("down", "goodput_median_mbit_s", ".1f"),
    "downlink, round trip, ms": ("down", "rtt_median_ms", ".0f"),
    "mixed, round trip of uploads, ms": ("mixed", "up_rtt_median_ms", ".0f"),
    "of which acknowledgments wait at the AQM": ("mixed", "ack_wait_median_ms", ".0f"),
}


def span(experiment: str, qdisc: str, measure: str, form: str) -> str:
    """The least and the most of the runs."""
    table = measured("khademi2013", experiment, ("2013c",), ("reno",))
    values = table[table["qdisc"] == qdisc][measure]
    least, most = f"{values.min():{form}}", f"{values.max():{form}}"
    return least if least == most else f"{least} to {most}"


def cells(row: str, load: str, slots: str) -> list[str]:
    way, measure, form = ROWS[row]
    return [span(f"wifi_{way}_{LOADS[load]}{slots}", qdisc, measure, form) for qdisc in QDISCS]


@cache
def page() -> str:
    return (ROOT / "studies/khademi2013/README.md").read_text()


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize(
    ("slots", "row"), [*(("", row) for row in ROWS), *(("_long_slots", row) for row in [*ROWS][:3])]
)
def test_over_wifi(slots: str, row: str, load: str) -> None:
    _, *tables = page().split("| | printed | CoDel | PIE | ARED |")
    table = tables[bool(slots)].partition("\n\n")[0].splitlines()
    first = next(at for at, line in enumerate(table) if line.startswith(f"| {row}"))
    line = table[first + list(LOADS).index(load)].strip("| ").split(" | ")
    assert load in line[0]
    assert line[2:] == cells(row, load, slots)


@pytest.mark.parametrize("load", LOADS)
def test_a_fifo_in_place_of_an_aqm(load: str) -> None:
    took = span(f"wifi_mixed_{LOADS[load]}", "pfifo_fast", "up_rtt_median_ms", ".0f")
    unit = " ms" if load == "light" else ""
    assert f"{took}{unit} ({load})" in " ".join(page().split())
