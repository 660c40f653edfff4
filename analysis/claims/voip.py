"""What a run of the VoIP tests measured."""

from analysis import voip
from analysis.claims.rrul import goodputs
from analysis.dataset import RunFile, read_runs
from analysis.flentfile import TCP_KINDS


def measure(run: RunFile) -> dict[str, float]:
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
