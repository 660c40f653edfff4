"""The table of all cases: what was measured, by control and kernel, and whether it is asked for."""

import ast
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import pandas as pd

from qdisclab.analysis.measures.registry import Metric
from qdisclab.analysis.runs.dataset import RunFile

#: What Linux's BBR, its first version (tcp_bbr.c), has otherwise; by case.
FIRST: Final = {
    2: "only the bandwidth ends STARTUP, no loss",
    3: "DRAIN paces at 1/2.885, and the BDP has three sends of TSO more",
    4: "DRAIN empties the queue within a round, so that no time comes into play",
    5: "1.25 BDP in flight, or a loss, end PROBE_UP",
    8: "PROBE_DOWN paces at 0.75, and the BDP has three sends of TSO more",
    9: "PROBE_DOWN ends after a round trip; there is no bw_probe_wait and no PROBE_REFILL",
    10: "PROBE_RTT comes after 10 s and has a window of 4 packets",
    17: "a policer is looked for from a loss of 20 % on",
    21: "there is no inflight_longterm",
    22: "there is no PROBE_REFILL: six rounds of gain 1 stand for it",
}

Bounds = Mapping[str, tuple[float, float]]


def statements(script: Path) -> dict[int, str]:
    """Return what each case is about, from the script that has them."""
    return {
        int(node.name[1:]): ast.get_docstring(node) or ""
        for node in ast.parse(script.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name[1:].isdigit()
    }


def numbers(runs: Iterable[RunFile], measure: Callable[[RunFile], Mapping[str, float]],
            metrics: Mapping[str, Metric], bounds: Bounds) -> pd.DataFrame:  # fmt: skip
    """Return each number's mean over seeds by control and kernel, and whether each seed's is within
    the bounds."""
    rows = []
    for run in runs:
        kernel = run.era.partition("@linux-")[2] or "6.12"
        for name, value in measure(run).items():
            low, high = bounds[name]
            rows.append((name, run.cc, kernel, value, low <= value <= high))
    table = pd.DataFrame(rows, columns=["name", "cc", "kernel", "value", "within"])
    means = table.groupby(["name", "cc", "kernel"], as_index=False, sort=False).agg(
        value=("value", "mean"), within=("within", "all"), seeds=("value", "size")
    )
    means["case"] = [int(name.partition("_")[0][1:]) for name in means["name"]]
    means["measured"] = [metrics[name].title.partition(": ")[2] for name in means["name"]]
    means["unit"] = [metrics[name].unit for name in means["name"]]
    means["asked"] = [asked(*bounds[name]) for name in means["name"]]
    return means


def asked(low: float, high: float) -> str:
    """Return bounds in words."""
    if low == high:
        return f"{low:g}"
    if high == float("inf"):
        return f"{low:g} and more"
    return f"up to {high:g}" if low in (0, -float("inf")) else f"{low:g} to {high:g}"


def by_case(means: pd.DataFrame, about: Mapping[int, str]) -> pd.DataFrame:
    """Return of each case how many of its numbers are as asked, by control and kernel."""
    counts = means.groupby(["case", "cc", "kernel"], as_index=False)["within"].agg(["sum", "size"])
    wide = {
        f"{cc}, {kernel}": {
            case: "yes" if good == all_of else f"{good} of {all_of}"
            for case, good, all_of in zip(own["case"], own["sum"], own["size"], strict=True)
        }
        for (cc, kernel), own in counts.groupby(["cc", "kernel"])
    }
    table = pd.DataFrame({"case": [f"A.{case}" for case in about], "about": about.values()})
    for name, column in wide.items():
        table[name] = [column.get(case, "–") for case in about]
    table["of BBR's first version"] = [FIRST.get(case, "") for case in about]
    return table


def by_number(means: pd.DataFrame) -> pd.DataFrame:
    """Return a row per number, with a column for each control and kernel."""
    means = means.assign(
        text=[f"{value:.4g}{'' if within else ' (no)'}"
              for value, within in zip(means["value"], means["within"], strict=True)],
        of=means["cc"] + ", " + means["kernel"],
    )  # fmt: skip
    keys = ["case", "measured", "unit", "asked"]
    wide = means.pivot_table(index=keys, columns="of", values="text", aggfunc="first", sort=False)
    wide = wide.fillna("–").reset_index().sort_values("case", kind="stable")
    return wide.assign(case=[f"A.{case}" for case in wide["case"]])
