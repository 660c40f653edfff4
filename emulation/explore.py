"""One run of somebody's choice: a qdisc, a link, a round trip, a load of TCP flows both ways.

What a paper has is run as in the paper's experiment; for the rest the rig and the load are those of
gbw2015 (Sec. 3 and 5.1) with other numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from emulation import config
from emulation.errors import ConfigError
from emulation.model import DEFAULT_ERA, Cell, Experiment, Link, Run
from emulation.qdisc import Qdisc
from emulation.schema import unknown
from emulation.units import Duration, Rate

SOURCE = "gbw2015/rrul"  # whose rig and load it is
PAPER = "explore"  # the first part of the id of a run that no paper has
MOST_FLOWS = 32  # each way; each takes two processes of the guest
RATES = (Rate(500_000), Rate(1_000_000_000))  # least and most
LONGEST = Duration(600 * 10**9)
RTTS = (Duration(1_000_000), Duration(2 * 10**9))  # least and most


@dataclass(frozen=True)
class Choice:
    """What somebody wants to see; the default is a cell of gbw2015, shorter."""

    qdisc: str = "fq_codel"  # the paper's name
    down: Rate = Rate(10_000_000)  # noqa: RUF009 - a frozen value
    up: Rate = Rate(10_000_000)  # noqa: RUF009
    base_rtt: Duration = Duration(50_000_000)  # noqa: RUF009
    flows: int = 4  # each way
    cc: str = "cubic"
    era: str = "2014"
    length: Duration = Duration(60 * 10**9)  # noqa: RUF009 - of the load
    seed: int = 1

    @property
    def link(self) -> Link:
        """The bottleneck, named as in the experiment files."""
        name = f"{self.down.mbit_per_s:g}/{self.up.mbit_per_s:g}"
        return Link(name, self.down, self.up)

    def run(self) -> Run:
        """The run; `ConfigError` where something cannot be chosen so."""
        self._check()
        source = config.experiment(SOURCE)
        if cell := self.published():
            return Run(source, cell, self.seed, self.length, self.era)
        qdiscs = {cell.qdisc: cell for cell in source.cells}
        if self.qdisc not in qdiscs:
            what, todo = unknown("qdisc", self.qdisc, qdiscs)
            raise ConfigError(what, "explore", todo)
        up, down = (self._qdisc(source, rate) for rate in (self.up, self.down))
        cell = Cell(self.link, self.qdisc, self.cc, up, down)
        rig = replace(source.rig, base_rtts=(self.base_rtt,))
        traffic = source.traffic
        if self.flows != 4:
            streams = f"upload_streams={self.flows} download_streams={self.flows}"
            options = (("test-parameter", streams),)
            traffic = replace(traffic, test="rrul_be_nflows", options=options)
        name = f"rrul_{self.flows}_flows_{self.base_rtt.ms:g}ms".replace(".", "_")
        about = replace(source, paper=PAPER, name=name, rig=rig, traffic=traffic, cells=(cell,))
        return Run(about, cell, self.seed, self.length, self.era)

    def published(self) -> Cell | None:
        """The cell of the paper that this is, whatever its length, seed and era; None for none."""
        source = config.experiment(SOURCE)
        if self.base_rtt != source.rig.base_rtt or self.flows != 4:
            return None
        wanted = (self.down, self.up, self.qdisc, self.cc)
        for cell in source.cells:
            if (cell.link.down, cell.link.up, cell.qdisc, cell.cc) == wanted:
                return cell
        return None

    def borrowed(self) -> dict[str, Rate]:
        """Direction -> the rate whose values of the qdisc are taken, where the paper has none for
        the direction's own."""
        known = _by_rate(config.experiment(SOURCE), self.qdisc)
        return {
            direction: nearest(known, rate)
            for direction, rate in (("download", self.down), ("upload", self.up))
            if rate not in known
        }

    def _qdisc(self, source: Experiment, rate: Rate) -> Qdisc:
        known = _by_rate(source, self.qdisc)
        return known[nearest(known, rate)]

    def _check(self) -> None:
        spans = {"download": (self.down, *RATES), "upload": (self.up, *RATES),
                 "base RTT": (self.base_rtt, *RTTS)}  # fmt: skip
        for noun, (value, least, most) in spans.items():
            if not least.base <= value.base <= most.base:
                todo = f"choose from {least} to {most}"
                raise ConfigError(f"a {noun} of {value} is not possible", "explore", todo)
        source = config.experiment(SOURCE)
        if not source.traffic.step <= self.length <= LONGEST:
            todo = f"choose from {source.traffic.step} to {LONGEST}"
            raise ConfigError(f"a length of {self.length} is not possible", "explore", todo)
        if not 1 <= self.flows <= MOST_FLOWS:
            what = f"{self.flows} flows each way are not possible"
            raise ConfigError(what, "explore", f"choose from 1 to {MOST_FLOWS}")
        if self.seed < 1:
            raise ConfigError(f"a seed of {self.seed} is not possible", "explore", "choose from 1")


def qdiscs() -> list[str]:
    """What can be chosen: those of the paper, and the user's own."""
    return list(dict.fromkeys(cell.qdisc for cell in config.experiment(SOURCE).cells))


def eras() -> list[str]:
    """Linux of the paper, and today's."""
    return ["2014", DEFAULT_ERA]


def nearest(known: dict[Rate, Qdisc], rate: Rate) -> Rate:
    """Of the rates that the paper has values for, the one that is least times more or less."""
    return min(known, key=lambda one: abs(math.log(one.base / rate.base)))


def _by_rate(source: Experiment, qdisc: str) -> dict[Rate, Qdisc]:
    found: dict[Rate, Qdisc] = {}
    for cell in source.cells:
        if cell.qdisc == qdisc:
            found |= {cell.link.down: cell.down, cell.link.up: cell.up}
    return found
