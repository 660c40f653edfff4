"""Which traffic each kind of measure (`kinds.KINDS`) can make numbers of."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from emulation.model.run import Experiment, Point

#: `measure:` -> `kind:` of the traffic, and the form of the name of its test.
FITS: Final = {
    "bench": ("flent", ".*"),
    "dynamic": ("mix", ".*"),
    "fairness": ("flent", "rtt_fair.*"),
    "flood": ("flent", "udp_flood.*"),
    "joined": ("programs", ".*"),
    "packets": ("iperf", ".*"),
    "queues": ("mix", ".*"),
    "rrul": ("flent", "(?!udp|ping|http$).*"),
    "shares": ("programs", ".*"),
    "stations": ("iperf", ".*"),
    "voip": ("flent", "voip.*"),
    "web": ("flent", "http.*"),
    "wifi": ("flent", "(?!udp|ping|http$).*"),
    "window": ("window", ".*"),
}


def unfit(experiments: Iterable[Experiment]) -> Iterator[str]:
    """What is wrong with experiments whose measure does not fit the traffic of a point, a line
    each."""
    for one in experiments:
        for kind, test in {(_kind(point), point.traffic.test) for point in one.points}:
            fits = [
                name for name, (of, form) in FITS.items() if kind == of and re.fullmatch(form, test)
            ]
            if one.measure and one.measure not in fits:
                what = f"experiments.{one.name}.measure: '{one.measure}' makes no numbers of {kind}"
                yield f"{what}, test {test}; valid: {', '.join(fits) or 'none'}"


def _kind(point: Point) -> str:
    """`flent`, as the study's file has it."""
    return type(point.traffic).__name__.lower()
