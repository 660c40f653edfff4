"""One run of the user's choice: a qdisc, a link, a round trip, a load of TCP flows both ways.

It is a run of an experiment with a test of flent's; its values need not be those of a point of the
study.
"""

from dataclasses import dataclass
from typing import Any

from qdisclab.emulation.config import catalogue
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.kinds.traffic.flent import Flent
from qdisclab.emulation.model.run import MOST_SEED, Point, Run
from qdisclab.emulation.model.topology import Link
from qdisclab.emulation.model.units import Duration, Rate

FLOWS, FLOWS_TEST = 4, "rrul_be"  # each way; the test whose number of flows can be chosen
BASE_RTT = Duration(50_000_000)
MOST_FLOWS = 32  # each way; each takes two processes of the guest
RATES = (Rate(500_000), Rate(1_000_000_000))  # least and most
LONGEST = Duration(600 * 10**9)
RTTS = (Duration(1_000_000), Duration(2 * 10**9))  # least and most


@dataclass(frozen=True)
class Choice:
    """The values that the user chooses."""

    experiment: str  # whose rig and load are used; as for `emulate run`: `my-study/first`
    qdisc: str = "fq_codel"  # the study's name, or a kind
    down: Rate = Rate(10_000_000)  # noqa: RUF009 - a frozen value
    up: Rate = Rate(10_000_000)  # noqa: RUF009
    base_rtt: Duration = BASE_RTT  # where the rig does not state all of its delays
    flows: int = FLOWS  # each way
    cc: str = "cubic"
    era: str = "2014"
    length: Duration = Duration(60 * 10**9)  # noqa: RUF009 - of the load
    seed: int = 1

    @property
    def link(self) -> Link:
        """Return the bottleneck, named as in the study files."""
        return Link(f"{self.down.mbit_per_s:g}/{self.up.mbit_per_s:g}", self.down, self.up)

    def run(self) -> Run:
        """Return the run; raise `ConfigError` where a value cannot be chosen.

        The base RTT of a rig that is written out is the sum of its delays.
        """
        self._check()
        source = catalogue.experiment(self.experiment)
        settings: dict[str, list[str]] = {}
        if source.rig.base_rtts and (self.base_rtt,) != source.rig.base_rtts:
            settings["rig.base_rtt"] = [str(self.base_rtt)]
        if self.flows != FLOWS:
            streams = f"upload_streams={self.flows} download_streams={self.flows}"
            settings["traffic.test"] = ["rrul_be_nflows"]
            settings["traffic.options.test-parameter"] = [streams]
        own = {name: getattr(self, name) for name in ("qdisc", "cc", "seed", "length", "era")}
        (run,) = catalogue.select(source, link=self.link.name, settings=settings, **own)
        return run

    def published(self) -> Point | None:
        """Return the point of the study that this is a run of, if any, whatever its length."""
        point = self.run().point
        return None if point.outside or point.settings else point

    def _check(self) -> None:
        source = catalogue.experiment(self.experiment)
        if not isinstance(source.traffic, Flent):
            what = f"'{self.experiment}' has no test of flent's to watch"
            raise ConfigError(what, "explore", "choose another experiment, or use analysis.lab")
        spans: dict[str, tuple[Any, Any, Any]] = {
            "a download rate": (self.down, *RATES),
            "an upload rate": (self.up, *RATES),
            "a base RTT": (self.base_rtt, *RTTS),
            "a length": (self.length, source.traffic.step, LONGEST),
            "a number of flows": (self.flows, 1, MOST_FLOWS),
            "a seed": (self.seed, 1, MOST_SEED),
        }
        for noun, (value, least, most) in spans.items():
            if not least <= value <= most:
                todo = f"choose from {least} to {most}"
                raise ConfigError(f"{noun} of {value} is not possible", "explore", todo)
        if not source.rig.base_rtts and self.base_rtt != BASE_RTT:
            what = f"the delays of '{self.experiment}' are fixed, so no base RTT can be chosen"
            raise ConfigError(what, "explore", f"leave it at {BASE_RTT}, or change the study")
        if self.flows != FLOWS and source.traffic.test != FLOWS_TEST:
            what = f"the number of flows of '{source.traffic.test}' cannot be chosen"
            raise ConfigError(what, "explore", f"leave it at {FLOWS}")


def qdiscs(experiment: str) -> list[str]:
    """Return the names of qdiscs to choose from: the experiment's, with the user's own."""
    return list(dict.fromkeys(point.qdisc for point in catalogue.experiment(experiment).points))
