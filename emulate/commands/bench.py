"""`emulate bench`: real-time factor, packets per second, CPU, boot time and memory of guests.

`--json` prints one object: `format` (1), `machine` (cpu_model, cpus, host_kernel, container),
`kernels` (digest, release, path), `length_s`, `scenarios` (an entry a scenario and kernel:
scenario, kernel, guests, repeats, each quantity of `emulation.checks.bench` as {min, median, max}
or null, same_data over the repeats, data_sha256 by guest) and `comparison` (with --compare:
scenario, kernels, ratio of medians first/second by quantity, identical).
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from emulate.commands.arguments import positive
from emulation import kernel
from emulation.checks import bench
from emulation.checks.bench import QUANTITIES
from emulation.host import facts
from emulation.machine import rootfs

if TYPE_CHECKING:
    from argparse import _SubParsersAction

_DIGITS = {"cpu_s_per_virtual_s": 4, "packets_per_s": 0, "memory_mib": 0}


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of `emulate bench`."""
    parser = subparsers.add_parser(
        "bench",
        description="Measure guests on this machine, which should do nothing else. 'factor' is "
        "virtual seconds of a guest's whole life by wall seconds, flent's idle pauses included; "
        "'load_factor' the same while the load runs.",
    )
    parser.add_argument(
        "--scenario", action="append", metavar="NAME", help=", ".join(bench.SCENARIOS)
    )
    parser.add_argument("--repeat", type=positive, default=1, metavar="N", help="(default: 1)")
    parser.add_argument(
        "--length", type=float, default=bench.LENGTH_S, help="of the load in s (default: 60)"
    )
    parser.add_argument(
        "--compare", metavar="KERNEL", help="a second kernel, in turn: a binary, or a digest"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for machines")


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    chosen = bench.scenarios(args.scenario)
    other = [bench.find_kernel(args.compare)] if args.compare else []
    kernels = [kernel.build(), *other]
    root = rootfs.build()
    entries: list[dict[str, Any]] = []
    compared: list[dict[str, Any]] = []
    for scenario in chosen:
        repeats: list[list[dict[str, Any]]] = [[] for _ in kernels]
        for number in range(args.repeat):
            for found, one in zip(repeats, kernels, strict=True):
                found.append(bench.measure(scenario, args.length, one, root))
                turn = f"{scenario.name} {number + 1}/{args.repeat} {one.digest}"
                print(f"{turn}: {found[-1]['wall_s']:.2f} s", file=sys.stderr, flush=True)
        pairs = zip(kernels, repeats, strict=True)
        entries += [bench.report(scenario, one, found) for one, found in pairs]
        if other:
            compared.append(bench.comparison(*entries[-2:]))
    told = {
        "format": bench.FORMAT,
        "machine": facts.about(),
        "kernels": [
            {"digest": one.digest, "release": one.release, "path": str(one.path)} for one in kernels
        ],
        "length_s": args.length,
        "scenarios": entries,
        "comparison": compared,
    }
    print(json.dumps(told, indent=2) if args.json else "\n".join(lines(told)))
    return 0


def lines(told: dict[str, Any]) -> list[str]:
    """The report for people, tab-separated: median (least–greatest)."""
    about = told["machine"]
    found = [f"{about['cpu_model']}, {about['cpus']} CPUs, Linux {about['host_kernel']}"]
    found.append("\t".join(("scenario", "kernel", "guests", *QUANTITIES)))
    for entry in told["scenarios"]:
        shown = [_shown(name, entry[name]) for name in QUANTITIES]
        found.append("\t".join((entry["scenario"], entry["kernel"], str(entry["guests"]), *shown)))
    for entry in told["comparison"]:
        ratios = [f"{ratio:.3f}" if ratio else "-" for ratio in entry["ratio"].values()]
        same = {True: "same data", False: "other data", None: "no data"}[entry["identical"]]
        found.append("\t".join((entry["scenario"], "first/second", same, *ratios)))
    return found


def _shown(name: str, values: dict[str, float] | None) -> str:
    if values is None:
        return "-"
    digits = _DIGITS.get(name, 2)
    low, middle, high = (f"{values[key]:.{digits}f}" for key in ("min", "median", "max"))
    return middle if low == high else f"{middle} ({low}–{high})"
