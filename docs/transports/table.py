"""Print what the runs of this study measured, as a table in Markdown: python table.py [DATA]."""

import sys
from pathlib import Path

import pandas as pd

from qdisclab.analysis.lab import open_study

LENGTH_S = 10
QDISCS = ("fifo", "fq_codel", "dualpi2")


def main(data: str | None) -> None:
    """Print a row per transport and rival: Mbit/s of both, and ping's median in ms, by qdisc."""
    study = open_study(Path(__file__).parent)
    cells = {}
    for name in ("alone", "beside"):
        runs = study.runs(name, data=data)
        rows, summary = runs.rows(), runs.summary()
        for (transport, rival, qdisc), run in rows.assign(
            rival=rows.get("rival", "–"), qdisc=rows["run"].str.split("/").str[-3]
        ).groupby(["transport", "rival", "qdisc"], sort=False):
            own = 8e-6 * run.loc[run["program"] == "fetch", "bytes"].sum() / LENGTH_S
            beside = summary[summary["run"].isin(run["run"]) & (summary["program"] == "rival")]
            text = f"{own:.1f}"
            text += "".join(f" : {rate:.1f}" for rate in beside["goodput_mbit_s"])
            rtt_ms = run.loc[run["program"] == "ping", "rtt_ms"].median()
            cells[transport, rival, qdisc] = f"{text}, {rtt_ms:.0f} ms"
    table = pd.Series(cells).unstack()[list(QDISCS)]
    print("| transport | beside | " + " | ".join(QDISCS) + " |")
    print("| --- | --- |" + " --- |" * len(QDISCS))
    for (transport, rival), row in zip(table.index.to_list(), table.to_numpy(), strict=True):
        print(f"| `{transport}` | {rival} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
