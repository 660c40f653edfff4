"""flent `rrul_be` data files with known contents, in the format that flent 2.1.1 writes.

Levels are those of gbw2015 Fig. 2, so that figures made from them look like the paper's. A run is
a function of its seed.
"""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

QUEUES = ("router_up r1-delay", "router_down r2-delay")
STEP_S = 0.2
DELAY_S = 5
BASE_RTT_MS = 50.0
KERNEL = {"release": "6.12.0-synthetic", "digest": "sha256:" + "0" * 64}
SERIES = {
    "TCP upload BE": "up", "TCP upload BE2": "up", "TCP upload BE3": "up", "TCP upload BE4": "up",
    "TCP download BE": "down", "TCP download BE2": "down", "TCP download BE3": "down",
    "TCP download BE4": "down", "Ping (ms) ICMP": "ping", "Ping (ms) UDP BE1": "ping",
    "Ping (ms) UDP BE2": "ping", "Ping (ms) UDP BE3": "ping",
}  # fmt: skip

# link -> qdisc -> induced latency in ms, goodput down and up in Mbit/s, start-up spike in ms
LEVELS: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "100-100": {
        "pfifo_fast": (76.5, 89.1, 89.1, 20), "ared": (14, 87.7, 87.7, 0),
        "pie": (15, 87.2, 87.2, 20), "codel": (24, 89.2, 89.2, 80), "sfq": (1, 91.8, 91.8, 0),
        "fq_nocodel": (0.5, 91.35, 91.35, 0), "fq_codel": (0.6, 90.7, 90.7, 0),
    },
    "10-10": {
        "pfifo_fast": (102.5, 9.19, 9.19, 60), "ared": (24.5, 9.05, 9.05, 10),
        "pie": (53, 9.045, 9.045, 250), "codel": (35, 9.04, 9.04, 120), "sfq": (8.5, 9.28, 9.28, 0),
        "fq_nocodel": (1.4, 9.28, 9.28, 0), "fq_codel": (1.7, 9.26, 9.26, 0),
    },
    "10-1": {
        "pfifo_fast": (285, 7.5, 0.74, 300), "ared": (18, 6.75, 0.78, 20),
        "pie": (108, 7.95, 0.74, 900), "codel": (67, 7.85, 0.74, 400), "sfq": (61, 9.45, 0.7, 0),
        "fq_nocodel": (8, 9.45, 0.7, 0), "fq_codel": (8, 9.15, 0.7, 0),
    },
}  # fmt: skip
QDISCS = tuple(LEVELS["10-10"])


def flent_content(link: str, qdisc: str, seed: int, length_s: int = 20) -> dict[str, Any]:
    """One data file before compression."""
    induced, down, up, spike = LEVELS[link][qdisc]
    random = np.random.default_rng([seed, *(link + qdisc).encode()])
    total_s = length_s + 2 * DELAY_S
    x = STEP_S * np.arange(round(total_s / STEP_S))
    loaded = (x >= DELAY_S) & (x <= DELAY_S + length_s)
    shift, latency_factor = random.normal(0, 0.003), random.normal(1, 0.05)
    results: dict[str, list[float | None]] = {}
    raw: dict[str, list[dict[str, float]]] = {}
    meta: dict[str, dict[str, float]] = {}
    t0 = 1_700_000_000.0
    for number, (name, role) in enumerate(SERIES.items()):
        noise = random.normal(0, 0.05, x.size)
        if role == "ping":
            queue = induced * latency_factor * (1 + noise) + spike * np.exp(-(x - DELAY_S) / 3)
            values = BASE_RTT_MS + 0.1 + np.where(loaded, np.abs(queue), 0.0)
            present = np.ones(x.size, dtype=bool)
        else:
            rate = (down if role == "down" else up) / 4
            values = rate * (1 + shift + noise)
            present = loaded
            counter = "BYTES_RECVD" if role == "down" else "BYTES_SENT"
            moved = round(rate * (1 + shift) * length_s * 1e6 / 8)
            meta[name] = {counter: moved, "ELAPSED_TIME": float(length_s)}
        meta.setdefault(name, {"MEAN_VALUE": float(values.mean())})
        results[name] = [float(v) if p else None for v, p in zip(values, present, strict=True)]
        times = t0 + x[present] + 0.001 * number
        raw[name] = [
            {"t": float(t), "val": float(v)} for t, v in zip(times, values[present], strict=True)
        ]
    flows = [n for n in SERIES if n.startswith("TCP download")]
    columns = zip(*(results[n] for n in flows), strict=True)
    results["TCP download sum"] = [None if None in column else sum(column) for column in columns]
    return {
        "metadata": {
            "NAME": "rrul_be", "LENGTH": length_s, "TOTAL_LENGTH": total_s, "STEP_SIZE": STEP_S,
            "FLENT_VERSION": "2.1.1", "T0": "2023-11-14T22:13:20.000000Z", "TITLE": qdisc,
            "SERIES_META": meta,
        },
        "version": 4, "x_values": x.tolist(), "results": results, "raw_values": raw,
    }  # fmt: skip


def write_run(
    root: Path, link: str, qdisc: str, seed: int, length_s: int = 20, experiment: str = "rrul",
    era: str = "modern",
) -> Path:  # fmt: skip
    """Write one run's two files below `root`, and return the data file's path."""
    variant = experiment if era == "modern" else f"{experiment}@{era}"
    run = f"gbw2015/{variant}/{link}/{qdisc}/cubic/seed-{seed:03d}"
    path = root / f"{run}.flent.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", compresslevel=1) as stream:
        json.dump(flent_content(link, qdisc, seed, length_s), stream, sort_keys=True)
    provenance = {
        "run": run, "seed": seed, "link": link.replace("-", "/"), "qdisc": qdisc, "cc": "cubic",
        "experiment": experiment, "paper": "gbw2015", "era": era,
        "identity": {"kernel": KERNEL, "root": {"tools": {"flent": "2.1.1-1"}}, "seed": seed},
        "data_sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "kernel_log": "clean",
        "virtual_s": length_s + 12.5, "wall_s": 3.0, "length_s": length_s,
        "length": "", "kernel": "6.12",
        "base_rtt_ms": BASE_RTT_MS,
        "qdiscs": {queue: {"qdiscs": [{"drops": 1, "packets": 98 + seed}]} for queue in QUEUES},
    }  # fmt: skip
    path.with_name(f"seed-{seed:03d}.json").write_text(json.dumps(provenance))
    return path


def write_own(study: Path, qdiscs: tuple[str, ...], seeds: int) -> None:
    """Write runs at 10/10 of the experiment `load` of the study in a folder, into its data."""
    made = study.with_name(f"{study.name}-made")
    for qdisc in qdiscs:
        for seed in range(1, seeds + 1):
            write_run(made, "10-10", qdisc, seed, experiment="load")
    (study / "data").mkdir()
    (made / "gbw2015").rename(study / "data" / study.name)
    for path in (study / "data").rglob("*.json"):
        path.write_text(path.read_text().replace("gbw2015", study.name))


def write_tree(root: Path, links: tuple[str, ...], seeds: int, length_s: int = 20) -> None:
    """Write every qdisc of `links` with seeds 1 to `seeds`."""
    for link in links:
        for qdisc in QDISCS:
            for seed in range(1, seeds + 1):
                write_run(root, link, qdisc, seed, length_s)
