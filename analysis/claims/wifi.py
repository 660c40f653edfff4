"""What a run of the RRUL test over WiFi measured: RRUL's values, and the wait below the qdiscs."""

from analysis.claims import rrul
from analysis.dataset import RunFile
from analysis.wifi_rigs import read_below


def measure(run: RunFile) -> dict[str, float]:
    """Those of `rrul.measure`, and `below_qdiscs_ms`: what a packet to the station and one back
    wait on the mean in drivers, A-MPDUs and on the air. Raises DataError where it cannot."""
    below = read_below(run)
    both = below["access_point_below_ms"] + below["station_below_ms"]
    return {**rrul.measure(run), "below_qdiscs_ms": both}
