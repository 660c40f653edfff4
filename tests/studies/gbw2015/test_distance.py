"""How far from computers: of which runs the values are."""

from pathlib import Path

from qdisclab.analysis.runs.dataset import find_runs
from studies.gbw2015.measures import distance
from tests.data import synthetic_traffic as traffic


def test_of_each_link_the_first_era_that_has_runs_counts(tmp_path: Path) -> None:
    for link, era in (("10-10", "2014c"), ("10-10", "2014"), ("10-1", "2014")):
        traffic.write_run(tmp_path, "rtt_fairness", link, "codel", 1, era=era)
    where = {"eras": ["2014c", "2014"], "ccs": ["cubic"], "qdiscs": ["codel"]}
    runs = find_runs(tmp_path, "gbw2015", ["rtt_fairness"], **where)
    assert len(runs) == 3
    found = {(run.link, run.variant) for run in distance.of_first(runs)}
    assert found == {("10/10", "rtt_fairness@2014c"), ("10/1", "rtt_fairness@2014")}
