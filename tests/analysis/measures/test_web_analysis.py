"""Web: fetch times of runs, what they are divided by, and pages that failed."""

import gzip
import json
import statistics
from pathlib import Path

import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import web
from qdisclab.analysis.runs.dataset import Dataset, find_runs, read_runs
from qdisclab.emulation import datafile
from studies.gbw2015.measures import web as cells
from tests.data import synthetic_traffic as traffic


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web")
    traffic.write_tree(folder, "web_small_1up", "10-10")
    traffic.write_tree(folder, "web_small_idle", "10-10")
    return folder


def read(root: Path, experiment: str) -> Dataset:
    return read_runs(find_runs(root, "gbw2015", experiment, eras="2014"), jobs=1)


def test_the_mean_is_that_of_all_steps_of_the_test(root: Path) -> None:
    content = traffic.content("web_small_1up", "10-10", "pie", 1, 20)
    pages = [one["val"] for one in content["raw_values"]["HTTP latency"]]
    steps = [one for one in content["results"]["HTTP latency"] if one is not None]
    rows = web.run_fetch(read(root, "web_small_1up"))
    row = rows[(rows["qdisc"] == "pie") & (rows["seed"] == 1)].iloc[0]
    assert row["pages"] == len(pages)
    assert row["fetch_s"] == pytest.approx(sum(steps) / len(steps) / 1e3)
    assert row["fetch_s"] != pytest.approx(sum(pages) / len(pages) / 1e3, rel=1e-3)
    assert row["fetch_sd_s"] == pytest.approx(statistics.stdev(pages) / 1e3)


def test_a_page_that_failed_is_counted_apart(root: Path) -> None:
    rows = web.run_fetch(read(root, "web_small_1up")).set_index("qdisc")["pages_failed"]
    assert rows["ared"].tolist() == [1, 1, 1]
    assert rows["codel"].tolist() == [0, 0, 0]


def test_times_are_divided_by_those_without_load(root: Path) -> None:
    idle = web.run_fetch(read(root, "web_small_idle"))
    assert idle["fetch_s"].between(0.4, 0.41).all()
    loaded = web.run_fetch(read(root, "web_small_1up"))
    table = web.normalised(loaded, idle)
    assert table["unloaded_s"].to_numpy() == pytest.approx(idle["fetch_s"].mean())
    ared = table[table["qdisc"] == "ared"]["fetch_normalised"]
    assert ared.between(6.0, 6.1).all()  # two thirds of the steps are under load
    with pytest.raises(DataError, match=r"2014/10/10/cubic: no page fetched without load"):
        web.normalised(loaded, idle.assign(link="10/1"))


def test_overview_has_means_and_deviations_of_runs(root: Path) -> None:
    per_run = web.normalised(
        web.run_fetch(read(root, "web_small_1up")), web.run_fetch(read(root, "web_small_idle"))
    )
    table = cells.overview(per_run, cells.cell_fetch(per_run)).set_index("qdisc")
    values = per_run[per_run["qdisc"] == "codel"]["fetch_normalised"]
    assert table.loc["codel", "normalised"] == pytest.approx(values.mean())
    assert table.loc["codel", "std"] == pytest.approx(values.std())
    assert table.loc["ared", "pages_failed"] == 3


def test_a_run_without_a_page_is_refused(root: Path, tmp_path: Path) -> None:
    path = traffic.write_run(tmp_path, "web_small_1up", "10-10", "codel", 1)
    data = read_runs(find_runs(tmp_path, "gbw2015", "web_small_1up", eras="2014"), jobs=1)
    others = data.samples[data.samples["kind"] != "page"]
    early = data.samples[~(data.samples["time_s"] > 1)]  # pages of a fraction of a second
    for samples in (others, early):
        with pytest.raises(DataError, match="no page was fetched under load"):
            web.run_fetch(Dataset(samples, data.flows, data.runs))
    assert path.exists()


def test_the_spread_of_one_page_is_left_out(tmp_path: Path) -> None:
    for seed in (1, 2):
        traffic.write_run(tmp_path, "web_small_idle", "10-10", "pfifo_fast", seed)
        path = traffic.write_run(tmp_path, "web_small_1up", "10-10", "codel", seed)
    content = datafile.read_json(path)
    page = content["raw_values"]["HTTP latency"][0]
    content["raw_values"]["HTTP latency"] = [{**page, "val": 6000.0}]  # into the load
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    one, other = (
        web.measure(run) for run in find_runs(tmp_path, "gbw2015", "web_small_1up", eras="2014")
    )
    assert one.keys() == {"fetch_time_normalised", "fetch_time_sd_s"}
    assert other.keys() == {"fetch_time_normalised"}
