"""How a run becomes numbers: the kinds of measure that `measure:` of an experiment names.

Each function imports what it needs when it is called, so that a figure depends only on the code of
the kinds that measure its runs. It takes a `dataset.RunFile`, returns numbers by the names of
`names.METRICS`, and raises DataError for a run that cannot be used.
"""

from collections.abc import Callable, Mapping
from typing import Final

from analysis.runs.dataset import RunFile

Measure = Callable[[RunFile], Mapping[str, float]]


def bench(run: RunFile) -> Mapping[str, float]:
    """Of a campaign on real computers: by windows of flent's time, with series of the queues."""
    from analysis.measures.bench import measure

    return measure(run)


def dynamic(run: RunFile) -> Mapping[str, float]:
    """Of a queue on a link whose rate changes."""
    from analysis.measures.gateways import measure_dynamic

    return measure_dynamic(run)


def fairness(run: RunFile) -> Mapping[str, float]:
    """Of TCP flows that differ in their round-trip times."""
    from analysis.measures.fairness import measure

    return measure(run)


def flood(run: RunFile) -> Mapping[str, float]:
    """Of pings beside a UDP flood."""
    from analysis.measures.battling import measure_flood

    return measure_flood(run)


def joined(run: RunFile) -> Mapping[str, float]:
    """Of pings beside a flow that many others join for a while."""
    from analysis.measures.joined import measure

    return measure(run)


def packets(run: RunFile) -> Mapping[str, float]:
    """Of bulk flows, every packet of which was followed."""
    from analysis.measures.bulk import measure

    return measure(run)


def queues(run: RunFile) -> Mapping[str, float]:
    """Of the queues between two gateways."""
    from analysis.measures.gateways import measure

    return measure(run)


def rrul(run: RunFile) -> Mapping[str, float]:
    """TCP flows in both directions, with probes."""
    from analysis.measures.rrul import measure

    return measure(run)


def shares(run: RunFile) -> Mapping[str, float]:
    """Of two flows, the second of which has a control, a way or a size of its own."""
    from analysis.measures.shares import measure

    return measure(run)


def stations(run: RunFile) -> Mapping[str, float]:
    """Of bulk flows over WiFi, every packet of which was followed."""
    from analysis.measures.bulk import measure_wireless

    return measure_wireless(run)


def voip(run: RunFile) -> Mapping[str, float]:
    """Of a VoIP call."""
    from analysis.measures.voip import measure

    return measure(run)


def web(run: RunFile) -> Mapping[str, float]:
    """Of pages that are fetched; the experiment names the one without load, as `unloaded`."""
    from analysis.measures.web import measure

    return measure(run)


def wifi(run: RunFile) -> Mapping[str, float]:
    """As `rrul`, over WiFi."""
    from analysis.measures.wifi_rigs import measure

    return measure(run)


def window(run: RunFile) -> Mapping[str, float]:
    """Of one connection with a fixed window."""
    from analysis.measures.window import measure

    return measure(run)


KINDS: Final[Mapping[str, Measure]] = {
    one.__name__: one
    for one in (
        bench, dynamic, fairness, flood, joined, packets, queues, rrul, shares, stations, voip,
        web, wifi, window,
    )
}  # fmt: skip
"""`measure:` of an experiment -> the function that measures a run of it."""
