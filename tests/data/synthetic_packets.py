"""Runs whose packets were followed, made up: of the form of real ones, with delays chosen here."""

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd

from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.request import request
from qdisclab.emulation.model.run import Run
from studies.khademi2013.captures import table as packets

STEP_S = 1


def write_run(data: Path, run: Run, sojourn_ms: float, *, packets_s: int = 50) -> None:
    """Sojourn times are log-normal around `sojourn_ms`; each 40th packet is dropped or marked.

    Of a run over WiFi acknowledgments of uploads wait three times as long.
    """
    rng = np.random.default_rng(run.random % 2**32)
    traffic = run.traffic
    ways = 2 if traffic.both_ways else 1
    flows, length_s = run.traffic.flows or 1, int(run.length.seconds)
    count = packets_s * length_s
    lost = np.arange(count) % 40 == 7
    ecn = run.qdisc.endswith("_ecn")
    arrived = np.arange(count) * 10_000 // packets_s
    if run.topology.media:
        arrived += 5  # half of a ms: the table has whole ones
    sojourn = 10 * sojourn_ms * rng.lognormal(0, 0.4, count)
    flow = np.arange(count) % (ways * flows)
    sojourn[flow >= flows] *= 3
    table = pd.DataFrame(
        {
            "arrived_100us": arrived,
            "left_100us": np.where(lost & (not ecn), np.nan, arrived + sojourn.round()),
            "flow": flow,
            "length": 1514,
            "fate": np.where(lost, 1 if ecn else 2, 0),
            "elsewhere_100us": np.where(np.arange(count) % 2, np.nan, 2.0),
        }
    )
    path = data / f"{run.id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    downloads = flows if run.topology.media else None
    packets.write(table, path.with_name(f"{path.stem}.packets.parquet"), downloads)
    rate = 9.0 - 0.01 * sojourn_ms + rng.normal(0, 0.05, length_s)
    name = "TCP download sum" if run.topology.media else "TCP upload sum"
    results = {name: [None, *rate.tolist()]}
    if ways == 2:
        results["TCP upload sum"] = [None, *(2 * rate).tolist()]
    content = {
        "version": 4,
        "metadata": {"NAME": traffic.test, "LENGTH": length_s, "STEP_SIZE": STEP_S},
        "x_values": list(range(length_s + 1)),
        "results": results,
    }
    with gzip.open(path.with_name(f"{path.stem}.flent.gz"), "wt") as file:
        json.dump(content, file)
    told = {
        **request(run),
        "base_rtt_ms": run.rig.base_rtt.ms,
        "identity": {"kernel": {"release": "6.12.0", "digest": "0" * 16}},
        "virtual_s": 90.0,
        "wall_s": 3.0,
        "flows": flows,
        "packets": {
            "sent": int((~lost).sum()),
            "marked": int(lost.sum()) * ecn,
            "dropped": int(lost.sum()) * (not ecn),
            "flight_bytes": {"p10": 10_000, "p50": 20_000, "p90": 30_000},
        },
    }
    if ways == 2:
        told["both_ways"] = True
    if run.topology.media:
        for way, chosen in (("down", flow < flows), ("up", flow >= flows)):
            counted = {"sent": int((~lost & chosen).sum()), "dropped": int((lost & chosen).sum())}
            told["packets"] |= {way: counted} if chosen.any() else {}
    path.write_text(json.dumps(told))


def write_experiment(
    data: Path, name: str, sojourn_ms: dict[str, float], *, seeds: int = 2, era: str = "2013"
) -> None:
    """Runs of an experiment of khademi2013, with a delay for each of some qdiscs."""
    found = experiment(f"khademi2013/{name}")
    for qdisc, delay in sojourn_ms.items():
        for run in select(found, qdisc=qdisc, seed=range(1, seeds + 1), era=era):
            write_run(data, run, delay)
