"""The pages of the results: everything that they link exists, and they say what was found."""

import hashlib
import json
import re
import shutil
from base64 import b64encode
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import nbformat
import pandas as pd
import pytest
from IPython.display import SVG
from matplotlib.figure import Figure

from qdisclab.analysis import words
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.plots import style
from qdisclab.analysis.runs import study
from qdisclab.analysis.site import (
    gallery,
    inventory,
    notebookpage,
    outputs,
    report,
    tables,
    verdicts,
)
from qdisclab.emulation.config import remarks
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.model.run import Study
from tests.data import synthetic
from tests.data.synthetic_results import write_data, write_notebook, write_results


class Page(HTMLParser):
    """Addresses, alternative texts, identifiers, claims, what is hidden, and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.alts: list[str] = []
        self.ids: list[str] = []
        self.claims: list[dict[str, str | None]] = []
        self.hidden: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "srcset") and value:
                self.links.append(value)
            if name == "alt" and value:
                self.alts.append(value)
            if name == "id" and value:
                self.ids.append(value)
            if name == "hidden":
                self.hidden.append(tag)
            if (name, value) == ("class", "claim"):
                self.claims.append(dict(attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    return write_results(tmp_path_factory.mktemp("results"), data)


@pytest.fixture
def copy(results: Path, tmp_path: Path) -> Path:
    """The results, to be changed."""
    return shutil.copytree(results, tmp_path / "results")


def test_every_link_leads_somewhere(results: Path) -> None:
    pages = {path: Page(path.read_text()) for path in results.rglob("*.html")}
    assert {str(path.relative_to(results)) for path in pages} == {
        "index.html", "runs.html", "claims.html", "gbw2015/index.html",
        "gbw2015/fig2b/index.html", "gbw2015/fig2c/index.html", "gbw2015/fig2c/notebook.html",
        "runs/gbw2015/rrul.html", "search.html",
    }  # fmt: skip
    local = 0
    for path, page in pages.items():
        assert len(page.ids) == len({*page.ids}), path
        for link in page.links:
            if link.startswith(("https://", "data:")):
                continue
            local += 1
            target, _, anchor = unquote(link).partition("#")
            other = (path.parent / target.partition("?")[0]).resolve() if target else path
            assert other.is_file(), f"{path}: {link}"
            if anchor:
                assert anchor in pages[other].ids, f"{path}: {link}"
    assert local > 40


def test_figures_have_alternative_texts_and_dark_images(results: Path) -> None:
    grid = Page((results / "gbw2015/index.html").read_text())
    assert {"fig2b/index.html", "fig2b/figure-dark.svg", "fig2c/index.html"} <= set(grid.links)
    for name in ("fig2b", "fig2c"):
        page = Page((results / f"gbw2015/{name}/index.html").read_text())
        (alt,) = page.alts
        assert alt.startswith("Mean induced latency: ")
        assert "figure-dark.svg" in page.links
        assert ("notebook.html" in page.links) == (name == "fig2c")  # the other was not rendered


def test_pages_need_nothing_from_elsewhere(results: Path) -> None:
    for path in results.rglob("*.html"):
        text = path.read_text()
        scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
        drawn = 2 * path.parent.name.startswith("fig") if path.name == "index.html" else 0
        assert len(scripts) == (drawn or path.name in ("claims.html", "search.html"))
        allowed = [
            f"'sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
            for script in scripts
        ]
        only = " ".join(allowed) or "'none'"
        assert f'content="script-src {only};' in unescape(text)
        assert text.count("<link") == text.count('<link rel="icon" href="data:') == 1
        assert "@import" not in text
        assert "prefers-color-scheme: dark" in text
        assert all(not link.startswith("http") or "doi.org" in link for link in Page(text).links)


def test_a_figure_says_what_ran_and_leads_to_it(results: Path) -> None:
    page = Page((results / "gbw2015/fig2b/index.html").read_text())
    assert synthetic.KERNEL["digest"] in page.text
    assert synthetic.KERNEL["release"] in page.text
    assert (
        "rrul, today's Linux, CUBIC, 10/10 Mbit/s: seeds 1–2 of codel; seeds 1 of pie" in page.text
    )
    assert "Title <of> a figure" in page.text  # escaped, not swallowed
    other = Page((results / "gbw2015/fig2c/index.html").read_text())
    assert "rrul, today's Linux, CUBIC, 10/1 Mbit/s: seeds 4 of pie" in other.text
    assert "../../runs/gbw2015/rrul.html#10-1" in other.links


def test_a_figure_says_how_to_make_it_and_its_runs(results: Path) -> None:
    page = Page((results / "gbw2015/fig2b/index.html").read_text())
    assert "./reproduce-all --figure gbw2015/fig2b\n" in page.text
    command = next(line for line in page.text.splitlines() if "emulate run" in line)
    _, *words = command.split()
    given = dict(zip(words[2::2], words[3::2], strict=True))
    cell = given["--link"], given["--qdisc"], given["--cc"], int(given["--seed"])
    (run,) = select(
        experiment(words[1]), link=cell[0], qdisc=cell[1], cc=cell[2], seed=cell[3],
        era=given["--era"],
    )  # fmt: skip
    assert run.id == "gbw2015/rrul/10-10/codel/cubic/seed-001"


def test_paper_shows_the_claims_that_a_notebook_ends_with(results: Path) -> None:
    page = Page((results / "gbw2015/fig2c/index.html").read_text())
    assert page.links.count("../../claims.html#g038") == 1
    assert "statements: ■ 1 agree, " in page.text
    statement = next(of["statement"] for of in verdicts.read(results) if of["id"] == "g038")
    assert page.text.count(statement) == 1
    index = Page((results / "index.html").read_text())
    assert "statements: ■ 1 agree, " in index.text
    assert "■ 1 disagree" in index.text
    assert "claims.html?paper=gbw2015" in index.links


def test_printed_values_that_are_not_judged_are_not_denied(copy: Path, data: Path) -> None:
    folder = copy / "gbw2015/fig2b"
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps(summary | {"compared": 0, "agreeing": 0}))
    (folder / "table.csv").write_text("qdisc,published,ours\ncodel,1,2\n")
    assert report.main(["--results", str(copy), "--data", str(data)]) == 0
    text = (copy / "gbw2015/fig2b/index.html").read_text()
    assert "No printed value is counted as agreeing or not." in text
    assert "no column of printed" not in text


def test_a_figure_says_what_of_its_settings_has_no_run(copy: Path, data: Path) -> None:
    path = copy / "gbw2015/fig2b/summary.json"
    summary = outputs.read_summary(path)
    cell = {"experiment": "rrul", "era": "modern", "link": "10/10", "cc": "cubic"}
    lacking = [cell | {"qdisc": qdisc} for qdisc in ("pie", "ared")]
    outputs.write_summary(path, replace(summary, lacking=lacking))
    assert report.main(["--results", str(copy), "--data", str(data)]) == 0
    told = Page((copy / "gbw2015/fig2b/index.html").read_text()).text
    assert "; 2 cells without a run" in told
    assert "rrul, today's Linux, CUBIC, 10/10 Mbit/s: ared, pie" in told
    assert "without a run" not in Page((copy / "gbw2015/fig2c/index.html").read_text()).text


def test_pages_say_which_runs_failed(copy: Path, data: Path) -> None:
    arguments = ["--results", str(copy), "--data", str(data), "--failed"]
    mine = [f"gbw2015/rrul/10-1/pie/cubic/seed-{seed:03}" for seed in range(12)]
    assert report.main([*arguments, *mine, "other/x/10-1/pie/cubic/seed-001"]) == 0
    told = Page((copy / "gbw2015/index.html").read_text()).text
    assert "Drawn without 12 runs that failed: gbw2015/rrul/10-1/pie/cubic/seed-000, " in told
    assert "seed-009 and 2 more" in told
    assert "Drawn without 13 runs" in Page((copy / "index.html").read_text()).text
    assert report.main(arguments) == 0
    for name in ("index.html", "gbw2015/index.html"):
        assert "that failed" not in Page((copy / name).read_text()).text


def test_pages_say_that_claims_are_of_an_earlier_call(copy: Path, data: Path) -> None:
    arguments = ["--results", str(copy), "--data", str(data), "--earlier-claims"]
    assert report.main(arguments) == 0
    written = (copy / "index.html", copy / "gbw2015/index.html")
    for path in written:
        assert "as an earlier call settled them" in Page(path.read_text()).text
    (copy / "verdicts.json").unlink()
    (copy / "claims.html").unlink()
    assert report.main(arguments) == 0
    for path in written:
        page = Page(path.read_text())
        assert "not settled yet: that comes after all figures, and not with --figure" in page.text
        assert "earlier call" not in page.text
        assert not [link for link in page.links if "claims.html" in link]


def test_runs_shared_by_figures_count_once(results: Path) -> None:
    totals = report.totals(gallery.collect(results))
    assert totals["runs"] == 4
    both = [*gallery.collect(results), *gallery.collect(results)]
    assert report.totals(both)["runs"] == 4
    assert (
        sum(report.counted(gallery.collect(results)).values()) == 7
    )  # what one seed leaves open, too


def test_table_shows_published_and_ours(results: Path) -> None:
    one = next(one for one in gallery.collect(results) if one.summary.figure == "2b")
    codel = next(row for row in one.rows if row[0] == "codel")
    cells = dict(zip(one.headers, codel, strict=True))
    assert cells["Published"] == "35 ± 1"
    assert cells["Seeds"] == "2"
    assert " to " in cells["95 % interval"]
    pie = next(row for row in one.rows if row[0] == "pie")
    assert dict(zip(one.headers, pie, strict=True))["95 % interval"] == "–"
    sfq = next(row for row in one.rows if row[0] == "sfq")
    assert dict(zip(one.headers, sfq, strict=True))["Ours"] == "–"


def test_every_run_is_told(results: Path, data: Path) -> None:
    page = Page((results / "runs/gbw2015/rrul.html").read_text())
    (variant,) = inventory.variants(data)
    assert len(variant.rows) == 4
    assert len({row["identity"] for row in variant.rows}) == 3  # of the kernel and the seed
    for row in variant.rows:
        assert row["identity"] in page.text
        assert [row[name] for name in ("virtual_s", "wall_s", "kernel")] == [
            32.5, 3.0, synthetic.KERNEL["digest"],
        ]  # fmt: skip
    assert page.text.count("clean") == 4
    assert "10.8" in page.text  # 32.5 / 3
    assert variant.facts["seeds"] == "1–2, 4"


def test_a_damaged_file_is_seen(tmp_path: Path) -> None:
    path = synthetic.write_run(tmp_path, "10-10", "codel", 1)
    synthetic.write_run(tmp_path, "10-10", "codel", 2)
    path.write_bytes(path.read_bytes()[:-1])
    (variant,) = inventory.variants(tmp_path)
    assert [row["verdict"] for row in variant.rows] == ["data damaged", "clean"]
    results = tmp_path / "results"
    results.mkdir()
    inventory.write_runs([variant], results, set())
    assert "1 damaged" in Page((results / "runs.html").read_text()).text
    path.with_name("seed-001.json").write_text("{}")
    with pytest.raises(DataError, match=r"seed-001\.json: is not the provenance of a run"):
        inventory.variants(tmp_path)


def test_pages_repeat_the_notes_of_the_console(tmp_path: Path) -> None:
    (run,) = select(experiment("gbw2015/rrul"), link="10/10", qdisc="codel", cc="dctcp", seed=1)
    (note,) = remarks.of_run(run)
    plain = synthetic.write_run(tmp_path / "data", "10-10", "codel", 1)
    told = json.loads(plain.with_name("seed-001.json").read_text())
    told |= {"run": run.id, "cc": "dctcp", "length_s": run.length.seconds}
    told |= {"axes": dict(run.point.axes), "outside_sweep": list(run.point.outside)}
    told["identity"]["kernel"]["series"] = run.kernel
    told["notes"] = ["its guest was short of memory"]
    noted = tmp_path / "data" / f"{run.id}.flent.gz"
    noted.parent.mkdir()
    shutil.copy(plain, noted)
    noted.with_name("seed-001.json").write_text(json.dumps(told))
    figure = tmp_path / "results/gbw2015/fig"
    cells = [
        {"experiment": "rrul", "era": "modern", "link": "10/10", "qdisc": "codel", "cc": cc,
         "seeds": [1], "virtual_s": 1.0, "wall_s": 1.0} for cc in ("cubic", "dctcp")
    ]  # fmt: skip
    source = outputs.Source("gbw2015", cells)
    table = pd.DataFrame({"qdisc": ["codel"]})
    outputs.publish(None, table, source, figure="9", title="t", caption="c", output=str(figure))
    report.write_report(tmp_path / "results", tmp_path / "data")
    runs = Page((tmp_path / "results/runs/gbw2015/rrul.html").read_text()).text
    assert note in runs and told["notes"][0] in runs
    page = Page((tmp_path / "results/gbw2015/fig/index.html").read_text()).text
    assert f"codel, dctcp: {note}" in page and f"codel, dctcp: {told['notes'][0]}" in page
    assert "codel, cubic" not in page


def test_pages_of_runs_that_are_gone_go(tmp_path: Path) -> None:
    synthetic.write_run(tmp_path / "data", "10-10", "codel", 1)
    inventory.write_runs(inventory.variants(tmp_path / "data"), tmp_path, set())
    assert (tmp_path / "runs/gbw2015/rrul.html").is_file()
    assert inventory.write_runs([], tmp_path, set()) == []
    assert not (tmp_path / "runs").exists()
    assert not (tmp_path / "runs.html").exists()


def test_a_notebook_refers_to_its_figure(results: Path) -> None:
    text = (results / "gbw2015/fig2c/notebook.html").read_text()
    page = Page(text)
    assert {"figure.svg", "figure-dark.svg"} <= set(page.links)
    assert page.alts == ["What is seen"]
    assert "image/svg+xml" not in text.partition("<body")[2]
    assert "answer" in page.text
    assert len(text) < 40_000


def test_a_page_shows_formulas_without_a_script(tmp_path: Path) -> None:
    text = r"The delay $d$ is $$d = \frac{8BL}{C}$$"
    cells = [nbformat.v4.new_markdown_cell(text)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "notebook.ipynb")
    page = notebookpage.render(tmp_path / "notebook.ipynb", "A title")
    assert page.count("<math") == 2
    assert page.count("<mfrac>") == 1
    assert "$" not in page.partition("<main")[2]


def test_another_image_stays_in_the_notebook(tmp_path: Path) -> None:
    def draw(palette: style.Palette) -> Figure:
        return Figure(figsize=(2, 2))

    style.save(draw, tmp_path / "figure")
    notebook = write_notebook(tmp_path)
    drawing = (tmp_path / "figure.svg").read_text()
    (tmp_path / "figure.svg").write_text(drawing.replace("</svg>", "<g/></svg>"))
    assert "image/svg+xml" in notebookpage.render(notebook, "A title")


def test_a_drawing_beside_the_figure_has_its_alternative_text_and_is_dark_on_a_dark_page(
    tmp_path: Path,
) -> None:
    drawing = {"image/svg+xml": "<svg>light</svg>"}
    about = {"image/svg+xml": {"alt": 'Round trips of "codel".', "dark": "<svg>dark</svg>"}}
    table = tables.readable(pd.DataFrame({"qdisc": ["codel"]}))._repr_html_()
    outputs = [
        nbformat.v4.new_output("display_data", drawing, metadata=about),
        *(nbformat.v4.new_output("display_data", {"text/html": table}) for _ in range(2)),
    ]
    cells = [nbformat.v4.new_code_cell("show(trace)", outputs=outputs)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "notebook.ipynb")
    text = notebookpage.render(tmp_path / "notebook.ipynb", "A title")
    assert Page(text).alts == ['Round trips of "codel".']
    light, dark = (b64encode(f"<svg>{of}</svg>".encode()).decode() for of in ("light", "dark"))
    only = 'media="(prefers-color-scheme: dark)"'
    assert f'<source {only} srcset="data:image/svg+xml;base64,{dark}"' in text
    assert f' src="data:image/svg+xml;base64,{light}"' in text
    head, _, body = text.partition("<body")  # where HTML has no styles
    assert (head.count("#T_"), body.count("<style"), body.count("<table")) == (1, 0, 2)


@pytest.mark.parametrize(("inches", "width"), [(2, 'width="144pt"'), (12, 'width="100%"')])
def test_a_notebook_shows_its_figure_in_a_size_that_fits(
    inches: float, width: str, tmp_path: Path
) -> None:
    def draw(palette: style.Palette) -> Figure:
        return Figure(figsize=(inches, 2))

    style.save(draw, tmp_path / "figure")
    notebook = write_notebook(tmp_path)
    shown_as = SVG(style.svg(draw)).data
    assert width in shown_as
    content = nbformat.read(notebook, as_version=4)
    content.cells[1].outputs[0].data["image/svg+xml"] = shown_as
    nbformat.write(content, notebook)
    text = notebookpage.render(notebook, "A title")
    assert "figure-dark.svg" in Page(text).links
    assert "image/svg+xml" not in text.partition("<body")[2]


def test_figures_come_in_their_order(results: Path) -> None:
    names = ["fig10a", "fig2b", "table1", "fig2a"]
    assert sorted(names, key=gallery._natural) == ["fig2a", "fig2b", "fig10a", "table1"]
    assert study.in_order({"rig", "codel2012", "gbw2015"}) == ["gbw2015", "codel2012", "rig"]


def test_measured_values_count_once_and_settings_do_not(results: Path) -> None:
    figures = gallery.collect(results)
    once = report.counted(figures)
    fitted = [replace(of, summary=replace(of.summary, section="Fitted")) for of in figures]
    settings = [replace(of, summary=replace(of.summary, cells=[])) for of in figures]
    assert sum(once.values()) == 7
    assert report.counted([*figures, *fitted, *settings]) == once


def test_the_papers_own_figures_come_first_and_all_are_there(copy: Path) -> None:
    summary = outputs.read_summary(copy / "gbw2015/fig2b/summary.json")
    outputs.write_summary(
        copy / "gbw2015/fig2b/summary.json", replace(summary, section="Today's Linux")
    )
    shown = gallery.collect(copy)
    assert [(of.name, of.section) for of in shown] == [
        ("fig2c", "The paper's figures"), ("fig2b", "Today's Linux"),
    ]  # fmt: skip
    report.Site(copy, shown, verdicts.read(copy), set()).write()
    page = Page((copy / "gbw2015/index.html").read_text())
    assert {"the-paper-s-figures", "today-s-linux", "fig2b", "fig2c"} <= {*page.ids}


def test_a_cover_that_a_study_does_not_have_is_named(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        report.pages, "of_paper", lambda name: Study("n", "t", "", (), "s", cover="fig2bb")
    )
    with pytest.raises(DataError, match=r"study\.yaml: cover: .*'fig2bb'.*fig2b"):
        report._cover("gbw2015", gallery.collect(results))


def test_empty_results_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main(["--results", str(tmp_path), "--data", str(tmp_path)]) == 1
    assert "no figure in it" in capsys.readouterr().err


@pytest.mark.parametrize("text", [json.dumps({"figure": "2a"}), "[" * 100_000])
def test_damaged_summary_is_named(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "gbw2015" / "fig2a"
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(text)
    with pytest.raises(DataError, match=r"fig2a/summary\.json: not a summary"):
        gallery.collect(tmp_path)


@pytest.mark.parametrize(("seconds", "text"), [(48, "48 s"), (720, "12 min"), (12240, "3.4 h")])
def test_durations_as_people_say_them(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


def test_seed_ranges() -> None:
    assert words.ranges([1, 2, 3, 7]) == "1–3, 7"
    assert words.ranges([]) == "–"


def test_a_study_that_a_call_does_not_know_keeps_its_page(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = write_results(tmp_path, data)
    before = (results / "gbw2015/index.html").read_text()
    others = [one for one in study.known() if one.name != "gbw2015"]
    monkeypatch.setattr(study, "known", lambda: others)
    report.write_report(results, data)
    assert (results / "gbw2015/index.html").read_text() == before
    index = (results / "index.html").read_text()
    assert "gbw2015" in index
    assert "The Good, the Bad" not in index


def test_a_study_whose_data_are_gone_is_no_longer_shown(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = write_results(tmp_path / "results", data)
    others = [one for one in study.known() if one.name != "gbw2015"]
    monkeypatch.setattr(study, "known", lambda: others)
    kept = len(gallery.collect(results))
    (tmp_path / "mine/gbw2015").mkdir(parents=True)
    (tmp_path / "mine/other").mkdir()  # as in results/data
    about = {"papermill": {"parameters": {"data_root": str(tmp_path / "mine")}}}
    (notebook,) = results.glob(f"gbw2015/*/{gallery.NOTEBOOK}")
    notebook.write_text(json.dumps({"cells": [], "metadata": about}))
    assert len(gallery.collect(results)) == kept  # another call's, which this one does not know
    (tmp_path / "mine/gbw2015").rmdir()
    assert len(gallery.collect(results)) == kept - 1


def test_the_index_of_figures_of_ones_own_speaks_of_no_papers(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report.pages, "has_paper", lambda name: False)
    monkeypatch.setattr(report.pages, "of_paper", lambda name: Study(name, name, "", ()))
    report.write_report(write_results(tmp_path, data), data)
    page = Page((tmp_path / "index.html").read_text())
    assert "papers" not in page.text.lower()
    assert re.search(r"Figures of your own.*virtual time. [1-9] runs", page.text, re.DOTALL)


def test_a_table_is_published_without_a_picture(tmp_path: Path, data: Path) -> None:
    rows = pd.DataFrame({"qdisc": ["codel"], "note": ["a target of 5 ms"]})
    folder = tmp_path / "gbw2015" / "table1"
    facts = {"figure": "Table 1", "title": "Parameters", "caption": "", "output": str(folder)}
    outputs.publish(None, rows, outputs.Source("gbw2015"), **facts)
    assert {path.name for path in folder.iterdir()} == {"summary.json", "table.csv"}
    (figure,) = gallery.collect(tmp_path)
    assert figure.size is None
    report.write_report(tmp_path, data)
    page = (tmp_path / "gbw2015/table1/index.html").read_text()
    assert "a target of 5 ms" in page
    assert "figure.svg" not in page
    assert "figure.svg" not in (tmp_path / "index.html").read_text()


def test_a_release_is_named_once_however_many_builds_of_it_ran() -> None:
    def shown(*kernels: tuple[str, str]) -> Any:
        told = [{"release": release, "digest": digest} for release, digest in kernels]
        summary = SimpleNamespace(
            kernels=told, cells=[], paper="p", figure="1", lengths_s=[], compared=0, agreeing=0
        )
        return SimpleNamespace(summary=summary, of_paper=True)

    found = report.totals([shown(("6.12", "a"), ("7.2", "c")), shown(("6.12", "b"))])
    assert found["releases"] == ["6.12", "7.2"]


def test_a_table_of_measurements_has_no_runs_among_those_of_figures() -> None:
    cell = dict.fromkeys(("experiment", "era", "link", "qdisc", "cc"), "a") | {"seeds": [1, 2]}
    timed = {**cell, "link": "b", "virtual_s": 20.0, "wall_s": 2.0}
    summary = SimpleNamespace(
        kernels=[], cells=[cell, timed], paper="testbed", lengths_s=[], compared=0, agreeing=0
    )
    shown: Any = SimpleNamespace(summary=summary, of_paper=False)
    found = report.totals([shown])
    assert (found["runs"], found["virtual_s"], found["wall_s"]) == (2, 20.0, 2.0)
