"""`emulate bench`: real-time factor, packets per second, CPU, boot time and memory of guests.

Measure guests on this machine, which should do nothing else. 'factor' is a guest's virtual seconds
divided by wall seconds, from boot to end, flent's idle pauses included; 'load_factor' is the same
while the load runs.

`--json` prints one object: `format` (1), `machine` (cpu_model, cpus, host_kernel, container),
`kernels` (digest, release, path), `length_s`, `scenarios` (an entry a scenario or cell and kernel:
scenario, kernel, experiment, of a cell axes and length_s, guests, repeats, each quantity of
`emulation.checks.bench` as {min, median, max} or null, same_data over the repeats, data_sha256 by
guest), `comparison` (with --compare: scenario, kernels, ratio of medians first/second by quantity,
identical) and `against` (with --against: scenario, simulator, repeats, its quantities as above, and
by how much it is faster here).
"""

import argparse
import json
import sys
from typing import Any

from qdisclab.emulate.arguments import kernel_name, positive, seconds
from qdisclab.emulate.kernels import named
from qdisclab.emulation.checks import bench, ns3
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.host import facts
from qdisclab.emulation.kernel import Kernel
from qdisclab.emulation.machine import rootfs

_DIGITS = {"cpu_s_per_virtual_s": 4, "packets_per_s": 0, "hops_per_s": 0, "memory_mib": 0}

#: What is set against a simulator, unless --scenario says otherwise.
_AGAINST = ["rrul-10", "rrul-100"]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate bench`."""
    parser.add_argument(
        "--scenario",
        action="append",
        metavar="NAME",
        help=f"what to measure: {', '.join(bench.SCENARIOS)} (default: all, with --against "
        f"{', '.join(_AGAINST)}); can be given more than once",
    )
    parser.add_argument(
        "--experiment",
        action="append",
        metavar="STUDY/NAME",
        help="measure each cell of this experiment with its own length, instead of scenarios; can "
        "be given more than once",
    )
    parser.add_argument(
        "--repeat",
        type=positive,
        default=1,
        metavar="N",
        help="repetitions of each scenario (default: 1)",
    )
    parser.add_argument(
        "--length",
        type=seconds,
        help=f"length of the load: 20 (seconds) or '20 s' (default: {bench.LENGTH_S:g}, or that "
        "of the experiment)",
    )
    parser.add_argument(
        "--kernel", type=kernel_name, help="series or digest of the kernel (default: 6.12)"
    )
    parser.add_argument(
        "--compare",
        metavar="KERNEL",
        help="alternate with a second kernel: a binary, or a digest; or the folder of another "
        "checkout of this project, whose own code then boots its own kernel",
    )
    parser.add_argument(
        "--against",
        choices=["ns3"],
        help="alternate with the same rig in ns-3, which is installed from PyPI into the cache "
        "folder",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for machines")


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    length_s = args.length or bench.LENGTH_S
    chosen = [cell for name in args.experiment or () for cell in bench.cells(name, args.length)]
    if args.scenario or not chosen:
        chosen += bench.scenarios(args.scenario or (_AGAINST if args.against else None))
    for scenario in chosen if args.against else ():
        ns3.parameters(scenario.run(1, length_s))  # refused before anything is booted
    python = ns3.install() if args.against else None
    other = [bench.second(args.compare)] if args.compare else []
    if args.experiment and other and isinstance(other[0], bench.Checkout):
        what = "another checkout measures scenarios only"
        raise ConfigError(what, "--compare", "leave out --experiment, or name a kernel")
    kernels: list[Kernel | bench.Checkout] = [named(args.kernel), *other]
    root = rootfs.build()
    entries: list[dict[str, Any]] = []
    compared: list[dict[str, Any]] = []
    against: list[dict[str, Any]] = []
    for scenario in chosen:
        repeats: list[list[dict[str, Any]]] = [[] for _ in kernels]
        simulated: list[dict[str, float]] = []
        for number in range(args.repeat):
            for measurements, built in zip(repeats, kernels, strict=True):
                if isinstance(built, bench.Checkout):
                    measurements.append(built.measure(scenario, length_s))
                else:
                    measurements.append(bench.measure(scenario, length_s, built, root))
                turn = f"{scenario.name} {number + 1}/{args.repeat} {built.digest}"
                print(f"{turn}: {measurements[-1]['wall_s']:.2f} s", file=sys.stderr, flush=True)
            if python is not None:
                simulated.append(bench.simulator(scenario, length_s, python))
                turn = f"{scenario.name} {number + 1}/{args.repeat} {ns3.REQUIREMENT}"
                print(f"{turn}: {simulated[-1]['wall_s']:.2f} s", file=sys.stderr, flush=True)
        pairs = zip(kernels, repeats, strict=True)
        entries += [bench.report(scenario, *pair) for pair in pairs]
        if other:
            compared.append(bench.comparison(*entries[-2:]))
        if simulated:
            against.append(bench.against(entries[-len(kernels)], simulated))
    report = {
        "format": bench.FORMAT,
        "machine": facts.about(),
        "kernels": [
            {"digest": of.digest, "release": of.release, "path": str(of.path)} for of in kernels
        ],
        "length_s": length_s,
        "scenarios": entries,
        "comparison": compared,
        "against": against,
    }
    print(json.dumps(report, indent=2) if args.json else "\n".join(lines(report)))
    return 0


def lines(report: dict[str, Any]) -> list[str]:
    """Return the report for people, tab-separated: median (least–greatest)."""
    about = report["machine"]
    texts = [f"{about['cpu_model']}, {about['cpus']} CPUs, Linux {about['host_kernel']}"]
    texts.append("\t".join(("scenario", "kernel", "guests", *bench.QUANTITIES)))
    for entry in report["scenarios"]:
        shown = [_shown(name, entry[name]) for name in bench.QUANTITIES]
        texts.append("\t".join((entry["scenario"], entry["kernel"], str(entry["guests"]), *shown)))
    for entry in report["comparison"]:
        ratios = [f"{ratio:.3f}" if ratio else "-" for ratio in entry["ratio"].values()]
        same = {True: "same data", False: "other data", None: "no data"}[entry["identical"]]
        texts.append("\t".join((entry["scenario"], "first/second", same, *ratios)))
    for entry in report["against"]:
        shown = [_shown(name, entry.get(name)) for name in bench.QUANTITIES]
        texts.append("\t".join((entry["scenario"], entry["simulator"], "-", *shown)))
        goodput = _shown("goodput", entry["goodput_mbit_s"])
        faster = entry["faster"]
        texts.append(
            f"{entry['scenario']}: the load runs {faster['load_factor']:.2f} times as fast as in "
            f"{entry['simulator']}, {faster['hops_per_s']:.2f} times by packet-hops, all of a run "
            f"{faster['wall_s']:.2f} times; goodput there is {goodput} Mbit/s of both directions"
        )
    return texts


def _shown(name: str, values: dict[str, float] | None) -> str:
    if values is None:
        return "-"
    digits = _DIGITS.get(name, 2)
    low, middle, high = (f"{values[key]:.{digits}f}" for key in ("min", "median", "max"))
    return middle if low == high else f"{middle} ({low}–{high})"
