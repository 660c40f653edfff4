"""Which packets the upload's queue drops: runs with captures before and behind it, as a table.

`python -m workflow.drops --output data/captures/gbw2015.csv` does the runs of `PLAN` that the table
lacks; `emulation.captures.drops` makes the rows. The runs are of their own, since a capture at the
client is part of their job; they are the paper's experiments in all else.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from emulation import kernel, rootfs, vm
from emulation.captures import drops
from emulation.captures.drops import Row, Rtts, Sent
from emulation.config import experiment, select
from emulation.errors import EmulationError
from emulation.model import Run
from emulation.traffic import Flent

#: experiment, link
PLAN = (
    ("rrul", "10/1"),
    ("rtt_fairness", "10/1"),
    ("web_small_1up", "10/1"),
    ("web_small_rrul", "10/1"),
    ("voip_1up", "10/1"),
    ("voip_rrul", "10/1"),
)
ERA, CC = "2014", "cubic"
#: Columns that all tables of captures begin with: which run a row is of.
OF_RUN = ("experiment", "era", "link", "qdisc", "cc", "seed")

BEFORE, BEHIND = ("client", "client-r1"), ("router_up", "r1-delay")


def base_rtts(run: Run) -> Rtts:
    """The round trip of the empty path to each of the server's addresses."""
    assert isinstance(run.traffic, Flent)
    addresses = run.topology.port(run.traffic.server).ips
    return dict(zip(addresses, run.rig.base_rtts, strict=True))


def followed(run: Run, out: Path) -> Sent:
    """What the client sent in `run`, from what the guest left in `out`."""
    assert isinstance(run.traffic, Flent)
    address = run.topology.port(run.traffic.client).ips[0]
    return drops.read(out, BEFORE, BEHIND, address, base_rtts(run))


def follow(run: Run, built: kernel.Kernel, root: rootfs.RootFs) -> Sent:
    """Do `run` with captures; raises an `EmulationError` where the guest fails."""
    machine = vm.Machine(built.path, root.path, run.random, run.memory_mib)
    job = run.job()
    node, interface = BEFORE
    job["queues"] = [*job["queues"], {"node": node, "interface": interface}]
    job["capture"] = True
    with vm.scratch() as folder:
        vm.prepare(folder, root.path, job)
        try:
            vm.run(machine, folder).check()
            return followed(run, folder / "job" / "out")
        except EmulationError as error:
            error.where = f"{run.id}: {error.where}"
            raise


def rows(run: Run, sent: Sent) -> Iterator[dict[str, Any]]:
    """One row per kind of packets."""
    for row in drops.rows(sent, base_rtts(run)):
        yield {**of_run(run), "length_s": run.length.seconds, **asdict(row)}


def wanted(seeds: list[int]) -> Iterator[Run]:
    """The runs of PLAN."""
    for name, link in PLAN:
        yield from select(experiment(f"gbw2015/{name}"), link=link, cc=CC, seed=seeds, era=ERA)


def of_run(run: Run) -> dict[str, str | int]:
    """What `OF_RUN` names."""
    values = (run.experiment.name, run.era, run.link.name, run.qdisc, run.cc, run.seed)
    return dict(zip(OF_RUN, values, strict=True))


def grow(
    module: str,
    about: str | None,
    columns: Iterable[str],
    wanted: Callable[[list[int]], Iterable[Run]],
    rows: Callable[[Run, Sent], Iterable[dict[str, Any]]],
    arguments: list[str] | None,
) -> int:
    """The command line of `module`, which does the runs that a table lacks; the exit status.

    `columns` are the table's behind `OF_RUN`; `rows` makes its rows of what a run's packets came
    to.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", type=Path, required=True, help="the table; it grows")
    parser.add_argument("--seed", type=int, action="append", help="a repetition (default: 1)")
    given = parser.parse_args(arguments)
    built, root = kernel.build(), rootfs.build()
    given.output.parent.mkdir(parents=True, exist_ok=True)
    names = [*OF_RUN, *columns]
    done = set()
    if given.output.exists():
        with given.output.open(newline="", encoding="utf-8") as file:
            done = {tuple(row[name] for name in OF_RUN) for row in csv.DictReader(file)}
    else:
        given.output.write_text(",".join(names) + "\n", encoding="utf-8")
    for run in wanted(given.seed or [1]):
        if tuple(map(str, of_run(run).values())) in done:
            continue
        found = list(rows(run, follow(run, built, root)))
        with given.output.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writerows(found)
        print(run.id, file=sys.stderr, flush=True)
    return 0


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    columns = ["length_s", *(field.name for field in fields(Row))]
    return grow("workflow.drops", __doc__, columns, wanted, rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
