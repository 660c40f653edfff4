"""What a run of the RTT fairness test measured."""

from analysis import fairness
from analysis.dataset import RunFile, read_runs
from analysis.flentfile import TCP_KINDS


def measure(run: RunFile) -> dict[str, float]:
    """Jain's index, total goodput and that of each flow."""
    data = read_runs([run], kinds=TCP_KINDS, jobs=1)
    row = fairness.run_fairness(data).iloc[0]
    flows = [fairness.flow_column(rtt) for rtt in fairness.round_trips(data)]
    return {name: float(row[name]) for name in (fairness.JAIN, fairness.TOTAL, *flows)}
