"""What a run of the web tests measured."""

from analysis import web
from analysis.claims.unloaded import unloaded
from analysis.dataset import RunFile, read_runs


def measure(run: RunFile) -> dict[str, float]:
    """Fetch time, normalised to that without load, and its spread over pages.

    Raises DataError where there are no runs without load.
    """
    loaded = web.run_fetch(read_runs([run], kinds=["page"], jobs=1))
    idle = web.run_fetch(read_runs(unloaded(run), kinds=["page"], jobs=1))
    row = web.normalised(loaded, idle).iloc[0]
    return {
        "fetch_time_normalised": float(row[web.NORMALISED]),
        "fetch_time_sd_s": float(row["fetch_sd_s"]),
    }
