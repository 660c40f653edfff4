"""A VoIP flow's delay and loss, as in Sec. 5.2 of

T. Høiland-Jørgensen, P. Hurtig, A. Brunstrom, "The Good, the Bad and the WiFi: Modern
AQMs in a residential setting", Computer Networks 89 (2015), doi:10.1016/j.comnet.2015.07.014.
"""

from typing import Final, Literal, get_args

import pandas as pd

from qdisclab.analysis.errors import require_one
from qdisclab.analysis.measures.metrics import RUN
from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.measures.rrul import goodputs
from qdisclab.analysis.runs.dataset import Dataset, RunFile, read_runs
from qdisclab.analysis.runs.flentfile import TCP_KINDS

Delay = Literal["minus_base", "span"]

INDUCED: Final = "induced_delay_ms"
LOSS: Final = "loss_percent"
METRICS: Final = {
    "voip_delay_ms": Metric("mean induced one-way delay", "ms"),
    "voip_delay_median_ms": Metric("median induced one-way delay", "ms"),
    "voip_delay_p99_ms": Metric("99th percentile of the induced one-way delay", "ms"),
    "voip_loss_percent": Metric("VoIP loss", "%"),
}


def induced_delays(data: Dataset, *, delay: Delay = "minus_base") -> pd.DataFrame:
    """Return the VoIP flow's samples, each with induced_delay_ms (Sec. 5.2.1).

    All samples of the test count, those of the seconds without load at both ends, too, as in
    flent's `cdf_combine` of 2014 (docs/metrics.md). A sample is the mean one-way delay of the
    packets of 200 ms (Sec. 5.2.1). `minus_base` takes half the base path's round trip off, which is
    exact where all nodes share a clock; `span` the run's smallest sample, as flent's combined plots
    do (flent, `combiners.py`). With `minus_base` the time that the packet itself takes on the
    bottleneck counts: 1.1 ms at 1 Mbit/s.
    """
    require_one("delay", delay, get_args(Delay))
    samples, _, runs = data
    chosen = samples[samples["kind"] == "voip"]
    if delay == "span":
        floor = chosen.groupby("run", observed=True)["delay_ms"].transform("min")
    else:
        base = runs.set_index("run")["base_rtt_ms"] / 2
        floor = chosen["run"].astype(str).map(base.rename(str)).astype(float)
    return chosen.assign(**{INDUCED: chosen["delay_ms"] - floor})


def run_voip(data: Dataset, *, delay: Delay = "minus_base") -> pd.DataFrame:
    """Return one row per run: RUN, then mean, median and 99th percentile of the induced one-way
    delay in ms, and loss_percent: packets that did not arrive, of those sent (Table 2)."""
    grouped = induced_delays(data, delay=delay).groupby("run", observed=True)[INDUCED]
    runs = data.runs
    lost, packets = (runs[name].astype(float) for name in ("voip_lost", "voip_packets"))
    return runs[list(RUN)].assign(
        delay_ms=runs["run"].map(grouped.mean()).astype(float),
        delay_median_ms=runs["run"].map(grouped.median()).astype(float),
        delay_p99_ms=runs["run"].map(grouped.quantile(0.99)).astype(float),
        **{LOSS: 100 * lost / packets},
    )


def measure(run: RunFile) -> dict[str, float]:
    """Return one-way delay, loss and the goodput of the flows beside; raise DataError where it
    cannot."""
    data = read_runs([run], kinds=(*TCP_KINDS, "voip"), jobs=1)
    row = run_voip(data).iloc[0]
    return {name: float(row[name.removeprefix("voip_")]) for name in METRICS} | goodputs(data)


MEASURES: Final = {"voip": Measure(measure, traffic="flent", test="voip.*")}
