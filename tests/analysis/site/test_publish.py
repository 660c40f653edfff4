"""The folder that a web server serves."""

import re
import tarfile
from pathlib import Path

import pytest

from qdisclab.analysis.site import publish
from tests.analysis.site.test_report import Page
from tests.data.synthetic_results import write_data, write_results


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    data = write_data(tmp_path_factory.mktemp("data"))
    return data, write_results(tmp_path_factory.mktemp("results"), data)


def links_out(folder: Path) -> list[str]:
    out = []
    for page in folder.rglob("*.html"):
        for link in Page(page.read_text()).links:
            target = (page.parent / re.split("[#?]", link)[0]).resolve()
            inside = ":" not in link and (link[0] == "#" or target.is_file())
            if not inside and link[:5] != "data:" and "doi.org" not in link:
                out.append(link)
    return out


def test_no_link_leaves_the_site_and_no_folder_is_named(
    roots: tuple[Path, Path], tmp_path: Path
) -> None:
    data, results = roots
    site = tmp_path / "site"
    assert publish.main([str(site), "--results", str(results), "--data", str(data)]) == 0
    assert {path.suffix for path in site.rglob("*") if path.is_file()} == {
        ".html", ".svg", ".png", ".pdf", ".csv", ".json",
    }  # fmt: skip
    assert links_out(site) == []
    for page in site.rglob("*.html"):
        assert str(tmp_path.parent) not in page.read_text(), page
    with tarfile.open(tmp_path / "site.tar.xz", "w:xz") as archive:
        archive.add(site)
    assert (tmp_path / "site.tar.xz").stat().st_size < 2**20


def test_runs_lead_to_the_address_that_is_given(roots: tuple[Path, Path], tmp_path: Path) -> None:
    data, results = roots
    options = ["--results", str(results), "--data", str(data), "--data-url", "https://x.org/runs/"]
    options += ["--site-url", "https://y.org/lab"]
    assert publish.main([str(tmp_path / "site"), *options]) == 0
    out = links_out(tmp_path / "site")
    assert len(out) == 8  # the data and the provenance of four runs
    for link in out:
        assert (data / link.removeprefix("https://x.org/runs/")).is_file()
    sitemap = (tmp_path / "site/sitemap.xml").read_text()
    assert "<loc>https://y.org/lab/gbw2015/fig2b/index.html</loc>" in sitemap
    index = (tmp_path / "site/index.html").read_text()
    assert 'property="og:image" content="https://y.org/lab/gbw2015/fig2b/figure.png"' in index


def test_what_cannot_be_published_is_named(
    roots: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, results = roots
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter.txt").write_text("x")
    options = ["--results", str(results), "--data", str(data)]
    assert publish.main([str(tmp_path / "mine"), *options]) == 1
    assert "mine: is not an empty folder. Name one that does not" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]
    assert publish.main([str(tmp_path / "new"), "--results", str(tmp_path)]) == 1
    assert "has no index.html" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        publish.main([str(tmp_path / "new"), "--data-url", "x.org"])
    assert "'x.org' is not an address" in capsys.readouterr().err
