"""What a run of the VoIP, web and RTT fairness tests measured."""

import pandas as pd

from analysis import fairness, voip, web
from analysis.claims.rrul import goodputs
from analysis.dataset import Dataset, RunFile, find_runs, read_runs
from analysis.figurefile import UNLOADED_QDISC
from analysis.flentfile import TCP_KINDS


def measure_voip(run: RunFile) -> dict[str, float]:
    """One-way delay, loss and the goodput of the flows beside; raises DataError where it cannot."""
    data = read_runs([run], kinds=(*TCP_KINDS, "voip"), jobs=1)
    row = voip.run_voip(data).iloc[0]
    return {
        "voip_delay_ms": float(row["delay_ms"]),
        "voip_delay_median_ms": float(row["delay_median_ms"]),
        "voip_delay_p99_ms": float(row["delay_p99_ms"]),
        "voip_loss_percent": float(row[voip.LOSS]),
        **goodputs(data),
    }


def measure_web(run: RunFile) -> dict[str, float]:
    """Fetch time, normalised to that without load, and its spread over pages.

    The unloaded runs lie beside: `web_small_idle` for `web_small_1up`. Raises DataError where there
    are none.
    """
    loaded = web.run_fetch(read_runs([run], kinds=["page"], jobs=1))
    row = web.normalised(loaded, _unloaded(run)).iloc[0]
    return {
        "fetch_time_normalised": float(row[web.NORMALISED]),
        "fetch_time_sd_s": float(row["fetch_sd_s"]),
    }


def _unloaded(run: RunFile) -> pd.DataFrame:
    site = run.experiment.rpartition("_")[0]
    variant = run.variant.replace(run.experiment, f"{site}_idle", 1)
    root = run.provenance.parents[5]
    found = find_runs(root, run.paper, variant, link=run.link, qdiscs=[UNLOADED_QDISC], cc=run.cc)
    return web.run_fetch(read_runs(found, kinds=["page"], jobs=1))


def measure_fairness(run: RunFile) -> dict[str, float]:
    """Jain's index, total goodput and that of each flow."""
    data: Dataset = read_runs([run], kinds=TCP_KINDS, jobs=1)
    row = fairness.run_fairness(data).iloc[0]
    flows = [fairness.flow_column(rtt) for rtt in fairness.round_trips(data)]
    return {name: float(row[name]) for name in (fairness.JAIN, fairness.TOTAL, *flows)}
