"""The results page: everything that it links exists, and what it says is what was found."""

import json
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analysis import figures, metrics, outputs, report
from analysis.dataset import find_runs, read_runs
from analysis.errors import DataError
from analysis.published import read_published

sys.path.insert(0, str(Path(__file__).parent / "data"))
import synthetic

FIGURE_2 = Path(__file__).parents[1] / "data" / "published" / "gbw2015-fig2.csv"


class Page(HTMLParser):
    """Addresses, alternative texts, identifiers and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.alts: list[str] = []
        self.ids: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "srcset") and value:
                self.links.append(value)
            if name == "alt" and value:
                self.alts.append(value)
            if name == "id" and value:
                self.ids.add(value)

    def handle_data(self, data: str) -> None:
        self.text += data


def make_figure(results: Path, data_root: Path, figure: str, link: str) -> Path:
    data = read_runs(find_runs(data_root, "gbw2015", "rrul", link=link))
    values = read_published(FIGURE_2, figure)
    per_run = metrics.run_metrics(data)
    folder = results / "gbw2015" / f"fig{figure}"
    outputs.write_outputs(
        folder,
        lambda palette: figures.latency_goodput(per_run, values, palette),
        metrics.compare(metrics.cell_metrics(per_run), values),
        data,
        figure=figure,
        title="Title <of> a figure",
        caption="Caption.",
        alt=figures.describe_latency_goodput(per_run, link),
    )
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data, results = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("results")
    for seed in (1, 2):
        synthetic.write_run(data, "10-10", "codel", seed)
    synthetic.write_run(data, "10-10", "pie", 1)
    synthetic.write_run(data, "10-1", "pie", 4)
    make_figure(results, data, "2b", "10/10")
    folder = make_figure(results, data, "2c", "10/1")
    (folder / "notebook.html").write_text("<html></html>")
    report.write_report(results)
    return results


def test_every_link_leads_somewhere(results: Path) -> None:
    page = Page((results / "index.html").read_text())
    local = [link for link in page.links if not link.startswith("https://")]
    assert len(local) > 10
    for link in local:
        if link.startswith("#"):
            assert link[1:] in page.ids
        else:
            assert (results / link).is_file(), link


def test_figures_have_alternative_texts_and_dark_images(results: Path) -> None:
    page = Page((results / "index.html").read_text())
    assert len(page.alts) == 2
    assert all("mean induced latency" in alt for alt in page.alts)
    assert "gbw2015/fig2b/figure-dark.svg" in page.links
    assert "gbw2015/fig2c/notebook.html" in page.links
    assert "gbw2015/fig2b/notebook.html" not in page.links  # was never rendered


def test_page_says_what_ran(results: Path) -> None:
    page = Page((results / "index.html").read_text())
    assert synthetic.KERNEL["digest"] in page.text
    assert synthetic.KERNEL["release"] in page.text
    assert (
        "rrul, today's Linux, CUBIC, 10/10 Mbit/s: seeds 1–2 of codel; seeds 1 of pie" in page.text
    )
    assert "rrul, today's Linux, CUBIC, 10/1 Mbit/s: seeds 4 of pie" in page.text
    assert "Title <of> a figure" in page.text  # escaped, not swallowed


def test_runs_shared_by_figures_count_once(results: Path, tmp_path: Path) -> None:
    totals = report._totals(report.collect(results))
    assert totals["runs"] == 4
    both = [*report.collect(results), *report.collect(results)]
    assert report._totals(both)["runs"] == 4
    assert totals["compared"] == 2 * 2 + 3


def test_table_shows_published_and_ours(results: Path) -> None:
    shown = next(one for one in report.collect(results) if one.summary.figure == "2b")
    codel = next(row for row in shown.rows if row[0] == "codel")
    cells = dict(zip(shown.headers, codel, strict=True))
    assert cells["Published"] == "35 ± 1"
    assert cells["Seeds"] == "2"
    assert " to " in cells["95 % interval"]
    pie = next(row for row in shown.rows if row[0] == "pie")
    assert dict(zip(shown.headers, pie, strict=True))["95 % interval"] == "–"
    sfq = next(row for row in shown.rows if row[0] == "sfq")
    assert dict(zip(shown.headers, sfq, strict=True))["Ours"] == "–"


def test_empty_results_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main(["--results", str(tmp_path)]) == 1
    assert "no figure in it" in capsys.readouterr().err


def test_damaged_summary_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "gbw2015" / "fig2a"
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps({"figure": "2a"}))
    with pytest.raises(DataError, match=r"fig2a/summary\.json: not a summary"):
        report.collect(tmp_path)


@pytest.mark.parametrize(("seconds", "text"), [(48, "48 s"), (720, "12 min"), (12240, "3.4 h")])
def test_durations_as_people_say_them(seconds: float, text: str) -> None:
    assert report.duration(seconds) == text


def test_seed_ranges() -> None:
    assert outputs.ranges([1, 2, 3, 7]) == "1–3, 7"
    assert outputs.ranges([]) == "–"
