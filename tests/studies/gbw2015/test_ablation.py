"""Ablation: which eras are compared, and effects as differences of pairs."""

import pandas as pd
import pytest

from qdisclab.analysis.runs import settings
from qdisclab.emulation.kinds.qdiscs import KINDS
from qdisclab.emulation.model.era import SWITCHES, switches as switches_of
from studies.gbw2015.measures import ablation


def test_every_era_is_one_switch_from_a_whole_one() -> None:
    for qdisc in ("pie", "codel", "fq_nocodel"):
        whole = {era: {one.name for one in switches_of(era)} for era in ("modern", "2014")}
        eras = settings.eras_of(qdisc)
        assert eras[:2] == ["modern", "2014"]
        assert len(eras) == len(set(eras))
        for era in eras[2:]:
            base = era.split("+")[0].split("-")[0]
            assert len({one.name for one in switches_of(era)} ^ whole[base]) == 1


def test_a_switch_of_another_qdisc_is_not_tried() -> None:
    by_name = {switch.name: switch for switch in SWITCHES}
    assert settings.matters(by_name["single_drop"], "fq_nocodel")
    assert settings.matters(by_name["single_drop"], "fq_codel")
    assert not settings.matters(by_name["single_drop"], "codel")
    assert settings.matters(by_name["pie_rate"], "pie")
    assert not settings.matters(by_name["pie_rate"], "codel")
    assert settings.matters(by_name["no_rack"], "codel")
    assert set(settings.KINDS.values()) <= set(KINDS)


def per_run(values: dict[str, list[float]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"era": era, "link": "10/10", "qdisc": "codel", "cc": "cubic", "seed": seed,
             "induced_latency_ms": value, "goodput_download_mbit_s": 9.0,
             "goodput_upload_mbit_s": 1.0}
            for era, of_era in values.items()
            for seed, value in enumerate(of_era, start=1)
        ]
    )  # fmt: skip


def test_effects_are_differences_of_runs_of_one_seed() -> None:
    table = per_run(
        {
            "modern": [10, 20, 30],
            "modern+no_gso": [13, 22, 34],
            "2014": [5, 5],
            "2014-no_gso": [4],
            "2014+no_rack": [7, 8],
        }
    )
    found = ablation.effects(table)
    latency = found[found["quantity"] == "induced_latency_ms"].set_index(["switch", "base"])
    added = latency.loc[("no_gso", "modern")]
    assert added["effect"] == pytest.approx(3)
    assert added["n_seeds"] == 3
    assert added["ci_low"] == pytest.approx(3 - 4.302653 / 3**0.5, rel=1e-4)
    within = latency.loc[("no_gso", "2014")]
    assert (within["effect"], within["n_seeds"]) == (1, 1)
    assert pd.isna(within["ci_low"])
    assert latency.loc[("all", "modern"), "effect"] == pytest.approx((-5 - 15) / 2)
    assert latency.loc[("no_rack", "2014"), "effect"] == pytest.approx(2.5)
    shown = ablation.overview(found)
    assert shown[shown["switch"] == "no_rack"]["restores"].str.contains("RACK").all()
