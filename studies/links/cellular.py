"""Run `cellular` over the traces in this folder, and write what a packet waits to cellular.csv.

    python studies/links/cellular.py DATA [--era ERA] [--way down] [--seed 1] [NETWORK …]

A network's traces are `NAME.down` and `NAME.up`, those of mahimahi (github.com/ravinet/mahimahi,
`traces`), which are of others and do not ship. Runs go to the folder DATA. What is measured is what
the paper's program counts: from 60 s on, at each millisecond, how long ago the newest packet that
has come was sent; of that the 95th percentile, less that of packets sent 20 ms before each line.
"""

import argparse
import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from qdisclab.analysis.lab import open_study
from qdisclab.analysis.measures import packets
from qdisclab.emulation.runs.run import paths

HERE = Path(__file__).parent
TABLE = HERE / "cellular.csv"
NETWORKS = {
    "Verizon LTE": "Verizon-LTE-short",  # another recording, of 140 s: the paper's has 1364
    "Verizon EV-DO": "Verizon-EVDO-driving",
    "AT&T LTE": "ATT-LTE-driving",
    "T-Mobile UMTS": "TMobile-UMTS-driving",
}
SETTINGS: dict[str, tuple[str, str, dict[str, str]]] = {
    "cubic": ("trace", "cubic", {}),
    "cubic_codel": ("trace_codel", "cubic", {}),
    "vegas": ("trace", "vegas", {}),
    "cubic_window": ("trace", "cubic", {"net.ipv4.tcp_rmem": "4096 131072 4600000"}),
    "cubic_buffer": ("trace", "cubic", {"net.ipv4.tcp_wmem": "4096 16384 2640000"}),
}
PORTS = {"down": "box.box-client", "up": "box.box-server"}
SKIPPED_MS, PROPAGATION_MS, LINE_BYTES = 60_000, 20.0, 1500
KEY = ["link", "way", "setting", "flows", "era", "seed"]


def delay_ms(sent_ms: NDArray[np.float64], came_ms: NDArray[np.float64], end_ms: float) -> float:
    """Return the 95th percentile of the time since the newest packet that has come was sent."""
    order = np.argsort(came_ms, kind="stable")
    newest = np.maximum.accumulate(sent_ms[order])
    at = np.arange(SKIPPED_MS, min(end_ms, came_ms.max()))
    last = np.searchsorted(came_ms[order], at, side="right") - 1
    return float(np.quantile(at - newest[last], 0.95))


def measured(table: pd.DataFrame, lines_ms: NDArray[np.float64], end_ms: float) -> dict[str, float]:
    """Return what went through a queue (`packets`) by a trace's `lines_ms`, until `end_ms`."""
    began = table.in_ns[table.protocol == 6].min()  # TCP
    sent = table[table.fate.isin(["sent", "marked"]) & (table.protocol == 6)]
    into, out = (((sent[one] - began) / 1e6).to_numpy(float) for one in ("in_ns", "out_ns"))
    lines = lines_ms[lines_ms < end_ms]
    seconds = (end_ms - SKIPPED_MS) / 1e3
    used = 8e-3 * sent.length[(out >= SKIPPED_MS) & (out < end_ms)].sum() / seconds
    available = 8e-3 * LINE_BYTES * (lines >= SKIPPED_MS).sum() / seconds
    ours = delay_ms(into - PROPAGATION_MS, out, end_ms)
    best = delay_ms(lines - PROPAGATION_MS, lines, end_ms)
    return {
        "throughput_kbit_s": round(used, 1),
        "available_kbit_s": round(available, 1),
        "delay_p95_ms": round(ours, 1),
        "omniscient_ms": round(best, 1),
        "self_inflicted_ms": round(ours - best, 1),
    }


def rows(link: str, setting: str, options: argparse.Namespace) -> pd.DataFrame:
    """Return the rows of both ways of a link, after its run."""
    qdisc, cc, sysctls = SETTINGS[setting]
    files = {way: HERE / f"{NETWORKS[link]}.{way}" for way in PORTS}
    if missing := [str(path) for path in files.values() if not path.is_file()]:
        raise SystemExit(f"{', '.join(missing)}: no such trace; copy it from mahimahi")
    lines = {way: np.loadtxt(path) for way, path in files.items()}
    end_ms = float(min(one[-1] for one in lines.values()))
    settings = {f"traffic.words.{way}": path.name for way, path in files.items()}
    settings |= {
        "traffic.files": [["flow.py", *settings.values()]],
        "traffic.words.way": options.way,
    }
    if sysctls:
        settings["rig.sysctls"] = [sysctls]
    chosen = {"qdisc": qdisc, "cc": cc, "era": options.era, "seed": options.seed}
    runs = open_study("links").runs(
        "cellular", length=end_ms / 1e3, data=options.data, settings=settings, **chosen
    )
    (run,) = runs.do(jobs=1)
    record = paths(run, options.data)[1]
    found = []
    for way, port in PORTS.items():
        if options.way in ("both", way):
            table = packets.read(f"{record.with_suffix('')}.{port}.packets.parquet")
            digest = hashlib.sha256(files[way].read_bytes()).hexdigest()
            key = (link, way, setting, options.way, options.era, options.seed)
            about = dict(zip(KEY, key, strict=True), linux=run.kernel, trace=files[way].name)
            found.append(about | measured(table, lines[way], end_ms) | {"trace_sha256": digest})
    return pd.DataFrame(found)


def main() -> None:
    """Add the rows that are not there yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("links", nargs="*", default=list(NETWORKS), metavar="NETWORK")
    parser.add_argument("--era", default="modern")
    parser.add_argument("--way", default="both", help="of the flows: both, down or up")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--setting", choices=SETTINGS, action="append", help="this one alone")
    options = parser.parse_intermixed_args()
    for link in options.links:
        for setting in options.setting or SETTINGS:
            new = rows(link, setting, options)
            old = [pd.read_csv(TABLE)] if TABLE.exists() else []
            table = pd.concat([*old, new]).drop_duplicates(KEY, keep="last")
            table.sort_values(["seed", "era", "flows", "setting", "link", "way"]).to_csv(
                TABLE, index=False, lineterminator="\n"
            )


if __name__ == "__main__":
    main()
