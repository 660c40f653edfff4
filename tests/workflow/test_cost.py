"""What a campaign costs: runs and hours add up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emulation.config.catalogue import experiments
from emulation.model.run import Experiment
from workflow.cost import costs, main, measured


def test_hours_add_up(rrul: Experiment) -> None:
    known = {("gbw2015", "rrul", link): seconds for link, seconds in
             (("10/1", 5.0), ("10/10", 6.0), ("100/100", 19.0))}  # fmt: skip
    (cost,) = costs(known, [rrul])
    assert (cost.points, cost.runs, cost.measured) == (42, 1260, 1260)
    assert cost.core_s == pytest.approx(420 * (5 + 6 + 19))
    assert cost.virtual_s == 1260 * 140
    assert cost.row == "| gbw2015 | 42 | 1 260 | 49 h | 3.5 | 10.0 s | 100 % |"
    (guessed,) = costs({}, [rrul])
    assert guessed.measured == 0
    assert guessed.core_s > 0


def test_means_are_by_link(tmp_path: Path) -> None:
    for seed, link, cpu_s in ((1, "10/1", 4.0), (2, "10/1", 6.0), (1, "10/10", 7.0)):
        path = (
            tmp_path / "gbw2015/rrul" / link.replace("/", "-") / f"pie/cubic/seed-{seed:03d}.json"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        told = {"paper": "gbw2015", "experiment": "rrul", "link": link, "cpu_s": cpu_s}
        path.write_text(json.dumps(told))
    assert measured(tmp_path) == {
        ("gbw2015", "rrul", "10/1"): 5.0, ("gbw2015", "rrul", "10/10"): 7.0,
    }  # fmt: skip


def test_runs_of_another_folder_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "has no runs" in capsys.readouterr().err
    path = tmp_path / "gbw2015/rrul/10-10/pie/cubic/seed-001.json"
    path.parent.mkdir(parents=True)
    told = {"paper": "gbw2015", "experiment": "rrul", "link": "10/10", "cpu_s": 36000}
    path.write_text(json.dumps(told))
    assert main([str(tmp_path)]) == 0
    (row,) = (line for line in capsys.readouterr().out.splitlines() if "gbw2015" in line)
    assert float(row.split(" | ")[4]) > 4200  # 14 cells of 30 repetitions, 10 h each


def test_the_page_has_the_counts_of_the_studies(root: Path) -> None:
    page = (root / "docs/campaigns.md").read_text()
    found = costs({}, experiments())
    for cost in found:  # what it costs depends on the runs that are there
        counts = cost.row.split(" | ")[:4]
        assert " | ".join(counts) in page
    assert f" for {sum(one.runs for one in found):,} runs, ".replace(",", " ", 1) in page
