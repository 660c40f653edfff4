"""VoIP: delays, losses and how they compare with printed ones."""

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import voip
from qdisclab.analysis.measures.agreement import PACKET_PERCENT
from qdisclab.analysis.runs.dataset import Dataset, find_runs, read_runs
from qdisclab.analysis.runs.settings import Setting
from studies.gbw2015.measures import loss, voip as calls
from tests import ROOT
from tests.data import synthetic_traffic as traffic

PRINTED = ROOT / "studies/gbw2015/published/voip-loss.csv"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("voip")
    traffic.write_tree(folder, "voip_1up", "10-1")
    traffic.write_tree(folder, "voip_rrul_irtt", "10-1", seeds=1)
    return folder


@pytest.fixture(scope="module")
def data(root: Path) -> Dataset:
    return read_runs(find_runs(root, "gbw2015", "voip_1up", eras="2014"), jobs=1)


def test_loss_is_counted_by_sequence_numbers(root: Path, data: Dataset) -> None:
    run = find_runs(root, "gbw2015", "voip_1up", eras="2014", qdiscs=["ared"])[0]
    packets = traffic.content("voip_1up", "10-1", "ared", run.seed, 20)["raw_values"]["VoIP"]
    seen = [one["seq"] for one in packets]
    row = data.runs[data.runs["run"] == run.run].iloc[0]
    assert row["voip_packets"] == max(seen) - min(seen) + 1
    assert row["voip_packets"] > 2900  # 30 s of 100 a second
    assert row["voip_lost"] == row["voip_packets"] - len(seen) > 100
    losses = voip.run_voip(data).set_index("qdisc")[voip.LOSS]
    assert (losses["sfq"] == 0).all()
    assert losses["ared"].between(4, 8).all()


def test_induced_delay_has_the_base_path_taken_off(data: Dataset) -> None:
    delays = voip.induced_delays(data)
    codel = delays[delays["qdisc"] == "codel"]
    assert codel["time_s"].min() < 5
    assert codel["time_s"].max() > 25
    assert (codel[voip.INDUCED] == codel["delay_ms"] - 25).all()
    assert voip.induced_delays(data, delay="span")[voip.INDUCED].min() == 0


def test_a_step_in_which_nothing_arrived_has_no_delay(tmp_path: Path) -> None:
    path = traffic.write_run(tmp_path, "voip_1up", "10-1", "sfq", 1)
    content = json.loads(gzip.decompress(path.read_bytes()))
    content["results"]["VoIP::delay"][50] = 0.0  # as ITGDec has it
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    data = read_runs(find_runs(tmp_path, "gbw2015", "voip_1up", eras="2014"), jobs=1)
    delays = data.samples[data.samples["kind"] == "voip"]
    assert len(delays) == len(content["x_values"]) - 1
    assert delays["delay_ms"].min() > 25


def test_cumulative_ends_at_one() -> None:
    value, share = calls.cumulative(np.array([3.0, 1.0, 2.0, 2.0]))
    assert value.tolist() == [1, 2, 2, 3]
    assert share.tolist() == [0.25, 0.5, 0.75, 1]


def test_overview_pools_samples_and_averages_runs(data: Dataset) -> None:
    delays, per_run = voip.induced_delays(data), voip.run_voip(data)
    table = calls.overview(delays, per_run).set_index("qdisc")
    samples = delays.loc[delays["qdisc"] == "pie", voip.INDUCED]
    assert table.loc["pie", "samples"] == len(samples) == 3 * 150
    assert table.loc["pie", "p99_ms"] == pytest.approx(samples.quantile(0.99))
    means = per_run.loc[per_run["qdisc"] == "pie", "delay_ms"]
    assert table.loc["pie", "mean_ms"] == pytest.approx(means.mean())
    assert " to " in table.loc["pie", "interval"]


def test_printed_losses_beside_ours(data: Dataset) -> None:
    both = {"RRUL": "wifi_voip_rrul_fitted", "one TCP flow": "wifi_voip_1up_fitted"}
    printed = loss.read_losses(PRINTED, {"RRUL": "voip_rrul", "one TCP flow": "voip_1up"})
    assert len(printed) == 42  # and none of the WiFi's
    assert printed.groupby("link")["reading_error"].first()["100/100"] == 0.0005
    table_3 = loss.read_losses(PRINTED, both, "wifi")
    assert len(table_3) == 14
    alone = loss.read_losses(PRINTED, {"RRUL": "voip_rrul"})
    assert alone.equals(printed[printed["beside"] == "RRUL"].reset_index(drop=True))
    pie = table_3[(table_3["qdisc"] == "pie") & (table_3["beside"] == "RRUL")]
    assert pie["loss_percent"].tolist() == [27.52]
    cells = loss.cell_losses(data, {"one TCP flow": "voip_1up"})
    here = printed[(printed["link"] == "10/1") & (printed["beside"] == "one TCP flow")]
    table = loss.compare_loss(cells, here).set_index("qdisc")
    assert table["published"].to_dict()["ared"] == 7.95
    assert table["agrees"].to_dict()["sfq"]
    more = loss.compare_loss(cells, here.assign(loss_percent=1.0)).set_index("qdisc")
    assert not more["agrees"].to_dict()["sfq"]  # none of three calls lost a packet
    assert more["allowed"].to_dict()["sfq"] == pytest.approx(PACKET_PERCENT)
    assert (table["ratio"] == table["ours"] / table["published"])[table["published"] > 0].all()
    assert table["n_seeds"].tolist() == [3] * 7
    with pytest.raises(DataError, match="not a table of losses"):
        loss.read_losses(PRINTED.with_name("fig2.csv"), both)


def test_another_tool_beside(root: Path, data: Dataset) -> None:
    per_run = voip.run_voip(data)
    setting = Setting("2014", "cubic")
    runs = find_runs(root, "gbw2015", "voip_1up", eras="2014")
    table = calls.other_tool(runs, per_run, "voip_rrul_irtt", setting)
    assert list(table["qdisc"].astype(str)) == sorted(traffic.LEVELS)
    assert list(table)[1::3] == ["D-ITG: Median (ms)", "irtt: Median (ms)"]
    none = calls.other_tool(runs, per_run, "voip_1up_irtt", setting)
    assert none.empty


def test_tables_fit_their_schemas(data: Dataset) -> None:
    voip_rows = data.samples[data.samples["kind"] == "voip"]
    assert voip_rows["delay_ms"].notna().all()
    assert pd.isna(voip_rows["rtt_ms"]).all()
    assert data.runs["pages_failed"].isna().all()
