"""How far off estimates of the queuing delay are: the qdisc's own and ping's, beside the packets.

What a packet waited is known exactly, since observing takes no virtual time. Nobody outside of an
emulation has that: a qdisc believes what it computes, and a user what ping prints.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.metrics import over_seeds
from qdisclab.analysis.runs.axes import axes
from qdisclab.analysis.runs.dataset import RunFile, twins
from qdisclab.analysis.runs.flentfile import RERUN, read_series
from qdisclab.analysis.words import intervals
from qdisclab.emulation.datafile import read_json

from ..packets import read_packets, run_row

OWN: Final = {"codel": "CoDel's last sojourn time", "pie": "PIE's delay"}
"""AQM -> what its statistics call a delay; others have none."""
OWN_DELAY: Final = "AQM delay (ms)"
OWN_LENGTH: Final = "AQM queue (packets)"
PING: Final = "Ping (ms) ICMP"
EVERY_PING: Final = "ping"
COLUMNS: Final = (
    "era", "cc", "qdisc", "aqm", "flows", "seed", "estimate", "time_s", "estimated_ms", "true_ms",
)  # fmt: skip


def estimates(files: Sequence[RunFile]) -> pd.DataFrame:
    """Return one row per estimate of a run: COLUMNS.

    What a qdisc says at a time is compared with the sojourn time of the packet that had left last,
    what ping prints, less the base RTT, with that of the last packet of a flow that had come to the
    queue before the ping did; `twin` is the earlier seed that came out the same, if any. Raises
    DataError for a run without pings.
    """
    same = twins(files)
    parts = [_of_run(file).assign(twin=same.get(file.run, np.nan)) for file in files]
    return pd.concat(parts, ignore_index=True)


def _of_run(file: RunFile) -> pd.DataFrame:
    about = run_row(file)
    packets = read_packets(file)
    series = read_series(file.data)
    if PING not in series:
        raise DataError.of(file.data, "has no pings", RERUN)
    parts = [_pings(file, packets, int(about["flows"]))]
    aqm = axes(file)["algorithm"]
    if aqm in OWN and OWN_DELAY in series:
        own = pd.DataFrame({"time_s": series["time_s"], "estimated_ms": series[OWN_DELAY]})
        parts.append(_own(own.dropna(), packets).assign(estimate=OWN[aqm]))
    table = pd.concat(parts, ignore_index=True)
    keys = {name: getattr(file, name) for name in ("era", "cc", "qdisc", "seed")}
    return table.assign(**keys, aqm=aqm, flows=about["flows"])[list(COLUMNS)]


def _own(estimates: pd.DataFrame, packets: pd.DataFrame) -> pd.DataFrame:
    """Return what a qdisc said, beside the sojourn time of the packet that had left last."""
    left = packets.dropna(subset="sojourn_ms").rename(columns={"sojourn_ms": "true_ms"})
    left["left_s"] = (left["arrived_ms"] + left["true_ms"]) / 1000
    left = left[["left_s", "true_ms"]].sort_values("left_s", kind="stable")
    beside = pd.merge_asof(estimates, left, left_on="time_s", right_on="left_s")
    return beside.dropna()[["time_s", "estimated_ms", "true_ms"]]


def _pings(file: RunFile, packets: pd.DataFrame, flows: int) -> pd.DataFrame:
    """Return what ping printed, beside the sojourn time of the packet that came before it."""
    content = read_json(file.data)
    answers = {int(answer["seq"]): float(answer["val"]) for answer in content["raw_values"][PING]}
    pings = packets[packets["flow"] == flows].reset_index(drop=True)
    base_ms = float((packets["rtt_ms"] - packets["queuing_ms"]).median())
    pings = pd.DataFrame(
        {
            "arrived_ms": pings["arrived_ms"],
            "estimated_ms": [answers.get(seq, np.nan) - base_ms for seq in pings.index + 1],
        }
    ).dropna()
    data = packets[(packets["flow"] < flows) & packets["sojourn_ms"].notna()]
    data = data[["arrived_ms", "sojourn_ms"]].rename(columns={"sojourn_ms": "true_ms"})
    beside = pd.merge_asof(pings, data, on="arrived_ms").dropna()
    beside = beside.assign(time_s=beside["arrived_ms"] / 1000, estimate=EVERY_PING)
    return beside[["time_s", "estimated_ms", "true_ms", "estimate"]]


def lengths(files: Sequence[RunFile]) -> pd.DataFrame:
    """Return one row per second of a run: how many packets the qdisc said that it held, and how
    many had come and not left: qdisc, flows, seed, time_s, said, held."""
    parts = []
    for file in files:
        series, packets = read_series(file.data), read_packets(file)
        if OWN_LENGTH not in series:
            continue
        stated = pd.Series(series[OWN_LENGTH], index=series["time_s"]).dropna()
        sent = packets.dropna(subset="sojourn_ms")
        came = np.sort(sent["arrived_ms"].to_numpy())
        left = np.sort((sent["arrived_ms"] + sent["sojourn_ms"]).to_numpy())
        at = stated.index.to_numpy() * 1000
        held = np.searchsorted(came, at) - np.searchsorted(left, at)
        about = {"qdisc": file.qdisc, "flows": run_row(file)["flows"], "seed": file.seed}
        parts.append(
            stated.rename("said").rename_axis("time_s").reset_index().assign(held=held, **about)
        )
    return pd.concat(parts, ignore_index=True)


def errors(table: pd.DataFrame) -> pd.DataFrame:
    """Return how far off each estimate is; one row per era, qdisc, load and estimate.

    `table` is from estimates. Of each run the medians and 90th percentiles of what was true and of
    what was estimated, the mean error and the root of the mean square error (ms), and Pearson's
    correlation; of these the means over seeds, and Student's t interval of the mean error, unless
    seeds came out the same.
    """
    keys = ["era", "cc", "qdisc", "flows", "estimate"]
    rows = []
    for key, cell in table.groupby(keys, sort=False):
        runs = pd.DataFrame([_errors(run) for _, run in cell.groupby("seed")])
        twin = cell.groupby("seed")["twin"].first().to_numpy()
        bias = over_seeds(runs.assign(twin=twin), "mean error")
        (interval,) = intervals([bias.low], [bias.high])
        about = dict(zip(keys, key, strict=True))
        rows.append({**about, **runs.mean(), "n_seeds": bias.n, "interval": interval})
    return pd.DataFrame(rows)


def _errors(run: pd.DataFrame) -> dict[str, float]:
    true, estimated = run["true_ms"], run["estimated_ms"]
    varies = true.std() > 0 and estimated.std() > 0
    return {
        "true median": float(true.median()),
        "estimated median": float(estimated.median()),
        "true p90": float(true.quantile(0.9)),
        "estimated p90": float(estimated.quantile(0.9)),
        "mean error": float((estimated - true).mean()),
        "rms error": float(np.sqrt(((estimated - true) ** 2).mean())),
        "correlation": float(np.corrcoef(true, estimated)[0, 1]) if varies else float("nan"),
    }
