"""What the testbed had that eras lack, one thing at a time: runs with kernel modules, as a table.

    python -m workflow.testbed --output data/ablation/gbw2015-testbed.csv
    python -m workflow.testbed --paper khademi2013 --output data/ablation/khademi2013-testbed.csv

- `quickack`, `no_sack_compression`, `fack`, `no_rack`: switches of `emulation.era`.
- `ticks_4ms` and shorter: the latency inducer's packets leave at ticks of a clock, as dummynet's
  (`qdisc/src/ticks`), with the same delay on average. It ran on Debian's stock kernel 3.2, whose
  timer has 250 Hz; a network card that moderates its interrupts at 20 000 a second makes 50 µs.
- `send_buffer`: 4 MB of it hold 963 segments. Linux 3.14 took 4352 bytes for a segment where
  scatter-gather was off, like all offloads; today's takes 2763, as measured by what gets in flight.
- `connections_2`, `connections_8`: the http-getter fetches a page over so many, not over four.
- `queues_65536`: fair queueing has so many, not 1024, so that hardly two flows meet in one. That is
  not what the testbed had, but how much is chance.

A row is a metric of a run of the era `2014+<variation>`; the table grows, and has the columns of
`analysis.claims.measure.MEASURED`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.claims.measure import MEASURED, measure_study
from analysis.study import open_study
from emulation import kernel, rootfs
from emulation.config import experiment, select
from emulation.kernel import module
from emulation.model import Run
from emulation.qdisc import ModuleSource
from emulation.run import execute

AQMS = ("codel", "ared", "pie")
SCHEDULERS = ("sfq", "fq_nocodel")
REST = ("pfifo_fast", "fq_codel", *SCHEDULERS)


@dataclass(frozen=True)
class Plan:
    """What is run of a paper, in which era and with which congestion control."""

    era: str
    cc: str
    rows: tuple[tuple[str, str, tuple[str, ...]], ...]  # experiment, link, qdiscs


PLANS = {
    "gbw2015": Plan(
        "2014",
        "cubic",
        (
            ("voip_1up", "10/1", AQMS),
            ("rrul", "10/10", AQMS),
            ("rrul", "10/1", AQMS),
            ("voip_rrul", "10/1", (*AQMS, *REST)),
            ("rrul", "100/100", AQMS),
            ("rrul", "10/10", REST),
            ("rrul", "10/1", REST),
            ("voip_1up", "10/1", REST),
            ("voip_rrul", "10/10", ("pfifo_fast",)),
            ("voip_1up", "100/100", ("pfifo_fast",)),
            ("web_small_1up", "100/100", ("pfifo_fast",)),
            ("web_large_1up", "100/100", ("pfifo_fast",)),
            ("voip_1up_irtt", "10/1", AQMS),
            ("voip_rrul_irtt", "10/1", AQMS),
            ("rtt_fairness", "10/1", ("fq_codel", "fq_nocodel", "sfq", "ared")),
            ("rtt_fairness", "100/100", SCHEDULERS),
            ("web_large_rrul", "10/10", (*AQMS, *REST)),
            ("web_small_rrul", "10/1", (*AQMS, *REST)),
        ),
    ),
    "khademi2013": Plan(
        "2013", "reno", (("flows_4", "10/10", ("codel_5ms", "pie_5ms", "ared_5ms")),)
    ),
}
RTT_SLACK_MS = 10.0  # how much longer an idle path may take, as ticks can make it
PARAMETERS = "/sys/module/sch_ticks/parameters"
#: What `tc` calls the number of queues.
QUEUES = {"sfq": "divisor", "fq_codel": "flows"}
#: How losses were found and reported before Linux 4.18.
RECOVERY = "fack+no_rack+quickack+no_sack_compression"
#: Clocks as coarse as that of Debian's kernel, as fine as a network card's interrupts, and finer.
TICKS = {"20us": 20, "50us": 50, "100us": 100, "250us": 250, "1ms": 1000, "4ms": 4000}
SEND_BUFFER = (("net.ipv4.tcp_wmem", f"4096 16384 {963 * 2763}"),)


@dataclass(frozen=True)
class Variation:
    """What is different from the era."""

    name: str
    switches: str = ""  # further ones of emulation.era
    tick_us: int = 0  # of the delay's clock; 0: netem, which has none
    sysctls: tuple[tuple[str, str], ...] = ()  # of client and server
    options: tuple[tuple[str, str], ...] = ()  # of flent
    queues: int = 0  # of fair queueing; 0: the experiment's

    @property
    def modules(self) -> tuple[ModuleSource, ...]:
        """The modules that make it so, beside those of its era."""
        return (module.source(module.SOURCES / "ticks"),) if self.tick_us else ()


VARIATIONS = {
    one.name: one
    for one in (
        Variation("quickack", "+quickack"),
        Variation("send_buffer", sysctls=SEND_BUFFER),
        Variation("fack+no_rack", "+fack+no_rack"),
        Variation(RECOVERY, f"+{RECOVERY}"),
        *(
            Variation(f"{RECOVERY}+ticks_{name}", f"+{RECOVERY}", tick_us=tick_us)
            for name, tick_us in TICKS.items()
        ),
        Variation("connections_2", options=(("http-getter-workers", "2"),)),
        Variation("connections_8", options=(("http-getter-workers", "8"),)),
        Variation("queues_65536", queues=65536),
        Variation("ticks_1ms", tick_us=1000),
        Variation("ticks_4ms", tick_us=4000),
        Variation("quickack+no_sack_compression", "+quickack+no_sack_compression"),
        Variation(
            "quickack+no_sack_compression+ticks_4ms",
            "+quickack+no_sack_compression",
            tick_us=4000,
        ),
        Variation(
            "quickack+no_sack_compression+send_buffer",
            "+quickack+no_sack_compression",
            sysctls=SEND_BUFFER,
        ),
    )
}


@dataclass(frozen=True)
class Varied(Run):
    """A run with a variation."""

    variation: Variation = Variation("none")

    @property
    def modules(self) -> tuple[ModuleSource, ...]:
        """The variation's beside those of the qdiscs."""
        return (*super().modules, *self.variation.modules)

    def job(self) -> dict[str, Any]:
        """The run's; with a clock, `ticks` where it has netem and the same delay on average."""
        job = super().job()
        for settings in job["sysctls"].values():
            settings |= dict(self.variation.sysctls)
        if self.variation.options:
            options = {**job["traffic"]["options"], **dict(self.variation.options)}
            job["traffic"] = {**job["traffic"], "options": options}
        qdiscs = [one for wire in job["wires"] for port in wire for one in port["qdiscs"]]
        queues = self.variation.queues
        for qdisc in qdiscs if queues else ():
            if name := QUEUES.get(qdisc["kind"]):
                qdisc["arguments"] = [*qdisc["arguments"], name, str(queues)]
                qdisc["expect"] = {**qdisc["expect"], name: queues}
        tick_us = self.variation.tick_us
        if not tick_us:
            return job
        job["modules"] = [{"name": one.name, "digest": one.digest} for one in self.modules]
        for qdisc in qdiscs:
            if qdisc["kind"] == "netem":
                qdisc |= {"kind": "ticks", "arguments": [], "expect": {"kind": "ticks"}}
        hold_us = round(500 * self.rig.base_rtts[0].ms) - tick_us // 2
        values = {"hold_us": hold_us, "tick_us": tick_us}
        written = {f"{PARAMETERS}/{name}": str(value) for name, value in values.items()}
        job["parameters"] = {**job["parameters"], **written}
        traffic = job["traffic"]  # the least that a ping may take
        traffic["rtt_slack_ms"] = RTT_SLACK_MS
        for told in traffic.get("hosts", [traffic]):
            told["base_rtt_ms"] -= tick_us / 1000
        return job


def wanted(
    names: list[str], seeds: list[int], only: Sequence[str] = (), paper: str = "gbw2015"
) -> Iterator[tuple[str, Varied]]:
    """The runs of the plan of `paper`, each with the name of its era in the table; `only` has
    experiments, links and qdiscs, of which some are wanted only."""
    plan = PLANS[paper]
    for name, link, qdiscs in plan.rows:
        chosen = [one for one in qdiscs if _chosen(only, (name, link, one), plan)]
        if not chosen:
            continue
        about = experiment(f"{paper}/{name}")
        for variation in (VARIATIONS[one] for one in names):
            era = plan.era + variation.switches
            for run in select(about, link=link, qdisc=chosen, cc=plan.cc, seed=seeds, era=era):
                yield f"{plan.era}+{variation.name}", _varied(run, variation)


def _varied(run: Run, variation: Variation) -> Varied:
    given = (run.experiment, run.point, run.seed, run.length, run.era, run.kernel)
    return Varied(*given, variation=variation)


def _chosen(only: Sequence[str], cell: tuple[str, ...], plan: Plan) -> bool:
    """Whether of each kind that `only` names anything of, it names that of `cell`."""
    kinds = [
        {row[0] for row in plan.rows},
        {row[1] for row in plan.rows},
        {q for row in plan.rows for q in row[2]},
    ]
    return all(
        one in only or not known.intersection(only) for one, known in zip(cell, kinds, strict=True)
    )


def measure(run: Varied, era: str, built: kernel.Kernel, root: rootfs.RootFs) -> pd.DataFrame:
    """Do `run`; its rows of MEASURED. Raises an `EmulationError` where it fails.

    Fetch times are multiples of those without load, which are measured beside it.
    """
    with tempfile.TemporaryDirectory() as folder:
        paper, unloaded = run.experiment.paper, run.experiment.unloaded
        if unloaded is not None:
            idle = experiment(f"{paper}/{unloaded}")
            link, cc = run.link.name, run.cc
            for one in select(idle, link=link, cc=cc, seed=[run.seed], era=run.era):
                execute(_varied(one, run.variation), built, root, Path(folder))
        execute(run, built, root, Path(folder))
        return measure_study(open_study(paper), Path(folder), jobs=1).assign(era=era)


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m workflow.testbed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", type=Path, required=True, help="the table; it grows")
    parser.add_argument("--paper", choices=PLANS, default="gbw2015", help="default: gbw2015")
    parser.add_argument("--seed", type=int, action="append", help="a repetition (default: 1)")
    parser.add_argument("--variation", action="append", choices=VARIATIONS, help="default: all")
    parser.add_argument(
        "--only", action="append", default=[],
        choices=sorted(
            {one for plan in PLANS.values() for row in plan.rows for one in (*row[:2], *row[2])}
        ),
        help="an experiment, link or qdisc; of each kind that none is given of, all",
    )  # fmt: skip
    given = parser.parse_args(arguments)
    built, root = kernel.build(), rootfs.build()
    given.output.parent.mkdir(parents=True, exist_ok=True)
    key = ["era", "experiment", "link", "qdisc", "cc", "seed"]
    table = pd.DataFrame(columns=list(MEASURED.columns))
    if given.output.exists():
        table = pd.read_csv(given.output, dtype={"era": str})
    variations = given.variation or list(VARIATIONS)
    for era, run in wanted(variations, given.seed or [1], given.only, given.paper):
        cell = run.point
        about = (era, run.experiment.name, cell.link.name, cell.qdisc, cell.cc, run.seed)
        if about in set(table[key].itertuples(index=False, name=None)):
            continue
        rows = measure(run, era, built, root).round({"value": 6})
        rows.to_csv(
            given.output, mode="a", header=not given.output.exists(), index=False,
            lineterminator="\n",
        )  # fmt: skip
        print(era, run.id, file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
