"""Files of the VoIP, web and RTT fairness tests with known contents, as the guest keeps them."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from qdisclab.emulation.config import catalogue
from qdisclab.emulation.config.request import request
from tests.data import synthetic

T0 = 1420070400.0  # 1 January 2015
ROUND_TRIPS_MS = (10.0, 50.0, 200.0, 500.0)
PACKETS_A_S = 100

#: experiment -> flent's test, seconds before and after the load
TESTS = {
    "voip_1up": ("voip-1up", 5),
    "voip_rrul": ("voip-rrul", 5),
    "voip_rrul_irtt": ("voip-rrul", 5),
    "web_small_idle": ("http", 0),
    "web_small_1up": ("http-1up", 5),
    "web_small_rrul": ("http-rrul", 5),
    "rtt_fairness": ("rtt_fair_up", 5),
}
#: qdisc -> induced one-way delay in ms, share of packets lost, fetch time in s, share of goodput of
#: each round trip
LEVELS = {
    "pfifo_fast": (95.0, 0.02, 2.0, (0.3, 0.3, 0.2, 0.2)),
    "ared": (10.0, 0.08, 3.0, (0.6, 0.2, 0.1, 0.1)),
    "pie": (20.0, 0.03, 0.8, (0.5, 0.3, 0.1, 0.1)),
    "codel": (8.0, 0.06, 0.6, (0.6, 0.2, 0.1, 0.1)),
    "sfq": (1.0, 0.0, 0.45, (0.25, 0.25, 0.25, 0.25)),
    "fq_nocodel": (0.9, 0.0, 0.42, (0.25, 0.25, 0.25, 0.25)),
    "fq_codel": (0.8, 0.0, 0.4, (0.28, 0.26, 0.24, 0.22)),
}
UNLOADED_S = 0.4


def content(experiment: str, link: str, qdisc: str, seed: int, length_s: int) -> dict[str, Any]:
    """One data file before compression."""
    test, delay_s = TESTS[experiment]
    random = np.random.default_rng([seed, *f"{experiment}{link}{qdisc}".encode()])
    total_s = length_s + 2 * delay_s
    steps = np.round(synthetic.STEP_S * np.arange(round(total_s / synthetic.STEP_S)), 6)
    loaded = (steps >= delay_s) & (steps <= delay_s + length_s)
    delay_ms, lost, fetch_s, shares = LEVELS[qdisc]
    rate = float(link.split("-")[1]) * 0.95
    results: dict[str, list[float | None]] = {}
    raw: dict[str, list[dict[str, Any]]] = {}
    meta: dict[str, dict[str, float]] = {}

    def series(name: str, values: Any, present: Any) -> None:
        pairs = zip(values, present, strict=True)
        results[name] = [round(float(v), 3) if there else None for v, there in pairs]
        raw[name] = []
        meta.setdefault(name, {})

    def flow(name: str, mbit_s: float) -> None:
        moved, began = round(mbit_s * length_s * 1e6 / 8), T0 + delay_s + 0.01 * len(meta)
        meta[name] = {"BYTES_SENT": moved, "BYTES_RECVD": moved, "ELAPSED_TIME": float(length_s),
                      "STARTED": began}  # fmt: skip
        series(name, np.full(steps.size, mbit_s), loaded)

    if test in ("voip-1up", "http-1up"):
        flow("TCP upload", rate)
    if test in ("voip-rrul", "http-rrul"):
        for way in ("upload", "download"):
            for number in ("", "2", "3", "4"):
                flow(f"TCP {way} BE{number}", rate / 4)
        series("Ping (ms) ICMP", 50 + np.where(loaded, 2 * delay_ms, 0.1), steps >= 0)
    if test == "rtt_fair_up":
        for number, (rtt, share) in enumerate(zip(ROUND_TRIPS_MS, shares, strict=True), start=1):
            flow(f"TCP upload BE{number} 10.0.4.{number + 1}", rate * share)
            series(f"Ping (ms) ICMP{number} 10.0.4.{number + 1}", steps * 0 + rtt, steps >= 0)
    if test.startswith("voip"):
        noise = np.abs(random.normal(0, 0.2, steps.size))
        delays = 25 + np.where(loaded, delay_ms * (1 + noise), 0.01)
        series("VoIP::delay", delays, steps >= 0)
        sent = np.arange(PACKETS_A_S * total_s)
        time_s = sent / PACKETS_A_S
        under_load = (time_s > delay_s + 1) & (time_s < delay_s + length_s - 1)
        arrived = ~(under_load & (random.random(sent.size) < lost))
        raw["VoIP"] = [
            {"seq": int(number), "t": round(T0 + float(t), 3), "val": 25.0}
            for number, t in zip(sent[arrived], time_s[arrived], strict=True)
        ]
        meta["VoIP"] = {}
    if test.startswith("http"):
        raw["HTTP latency"], t = [], 0.0
        while t < total_s:
            took = fetch_s if delay_s <= t and test != "http" else UNLOADED_S
            took *= 1 + 0.02 * random.random()
            raw["HTTP latency"].append({"t": round(T0 + t + took, 6), "val": round(1e3 * took, 3)})
            t += max(took, 0.2)
        ends = [one["t"] - T0 for one in raw["HTTP latency"]]
        between = np.interp(steps, ends, [one["val"] for one in raw["HTTP latency"]])
        results["HTTP latency"] = [None, *np.round(between[1:], 3).tolist()]
        meta["HTTP latency"] = {}
    return {
        "metadata": {
            "NAME": test, "LENGTH": length_s, "TOTAL_LENGTH": total_s, "FLENT_VERSION": "2.1.1",
            "STEP_SIZE": synthetic.STEP_S, "T0": "2015-01-01T00:00:00.000000Z", "TITLE": qdisc,
            "SERIES_META": meta,
        },
        "version": 4, "x_values": steps.tolist(), "results": results, "raw_values": raw,
    }  # fmt: skip


def write_run(
    root: Path, experiment: str, link: str, qdisc: str, seed: int, length_s: int = 20,
    era: str = "2014", cc: str = "cubic",
) -> Path:  # fmt: skip
    """Write one run's two files below `root`, and return the data file's path."""
    of = catalogue.experiment(f"gbw2015/{experiment}")
    (run,) = catalogue.select(
        of, link=link.replace("-", "/"), qdisc=qdisc, cc=cc, seed=seed, era=era
    )
    path = root / f"{run.id}.flent.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", compresslevel=1) as stream:
        json.dump(content(experiment, link, qdisc, seed, length_s), stream, sort_keys=True)
    rtts = list(ROUND_TRIPS_MS) if experiment == "rtt_fairness" else [synthetic.BASE_RTT_MS]
    provenance = {
        **request(run), "length": "",
        "identity": {"kernel": synthetic.KERNEL}, "virtual_s": length_s + 12.5, "wall_s": 3.0,
        "length_s": length_s,
        "base_rtt_ms": rtts[0], "base_rtts_ms": rtts, "qdiscs": {},
        **({"page_failures": ["[1.0] 2 requests, page failed:", "  timeout"]}
           if experiment.startswith("web") and qdisc == "ared" else
           {"page_failures": []} if experiment.startswith("web") else {}),
    }  # fmt: skip
    path.with_name(f"seed-{seed:03d}.json").write_text(json.dumps(provenance))
    return path


def write_tree(root: Path, experiment: str, link: str, seeds: int = 3, **more: Any) -> None:
    """Write every qdisc with seeds 1 to `seeds`."""
    qdiscs = ["pfifo_fast"] if experiment.endswith("_idle") else list(LEVELS)
    for qdisc in qdiscs:
        for seed in range(1, seeds + 1):
            write_run(root, experiment, link, qdisc, seed, **more)
