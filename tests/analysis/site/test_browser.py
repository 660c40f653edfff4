"""The pages of the results in a browser: every link, narrow and wide, light and dark.

Needs Debian's package chromium; skipped where no Chromium is found. REPORT=results has the pages of
that folder looked at instead of synthetic ones.
"""

import os
import re
import shutil
from collections.abc import Iterator
from importlib.resources import files
from itertools import product, starmap
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import html5rdf
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.data.synthetic_results import write_data, write_results

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"
    ),
    pytest.mark.xdist_group("browser"),  # one Chromium at a time, and the pages are found once
]

WIDTHS = {"phone": 360, "desk": 1400}
THEMES = ("light", "dark")

#: The elements whose text is too pale: WCAG 2.2, 1.4.3 asks for 4.5, of large text for 3.
PALE = """() => {
  const rgba = (text) => {
    const n = text.match(/[\\d.]+/g).map(Number);
    return [n[0], n[1], n[2], n.length > 3 ? n[3] : 1];
  };
  const over = (a, b) => a.slice(0, 3).map((v, i) => v * a[3] + b[i] * (1 - a[3]));
  const light = (c) => {
    const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = c.map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement)
      layers.push(rgba(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const pale = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const visible = element.checkVisibility({visibilityProperty: true});
    if (!own || !visible || element.closest("option")) continue;
    const style = getComputedStyle(element), back = behind(element);
    const [a, b] = [light(over(rgba(style.color), back)), light(back)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < (large ? 3 : 4.5))
      pale.push(`${contrast.toFixed(2)}: ${element.outerHTML.slice(0, 80)}`);
  }
  return pale;
}"""

#: The colours behind code inside its frame, which has one of its own.
BEHIND_CODE = """() => [...new Set([...document.querySelectorAll('.highlight')].map(
  (one) => getComputedStyle(one).backgroundColor))]"""

#: What axe holds against a page that is open: serious or critical, with the first element.
BARRIERS = """async () => (await axe.run({resultTypes: ["violations"]})).violations
  .filter((one) => ["serious", "critical"].includes(one.impact))
  .map((one) => `${one.id}, ${one.nodes.length} times: ${one.nodes[0].html.slice(0, 120)}`)"""

#: How many elements the keyboard has to reach, each marked until it has been.
MARK_CONTROLS = """() => {
  const all = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")]
    .filter((one) => one.checkVisibility({visibilityProperty: true}) && one.tabIndex >= 0);
  for (const one of all) one.dataset.waits = "";
  return all.length;
}"""

#: What has the focus, where it does not show it or had it before.
UNSEEN_FOCUS = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  const waited = "waits" in one.dataset;
  delete one.dataset.waits;
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  return waited && seen ? null : one.outerHTML.slice(0, 120);
}"""

LINKS = "() => [...document.querySelectorAll('a[href]')].map((one) => one.href)"

IMAGES = """async () => {
  const images = [...document.images];
  for (const one of images) one.loading = "eager";
  await Promise.all(images.map((one) => one.decode().catch(() => null)));
  return images.map((one) => ({source: one.currentSrc, width: one.naturalWidth, alt: one.alt,
    hidden: one.closest("[aria-hidden=true]") !== null}));
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if given := os.environ.get("REPORT"):
        return Path(given).resolve()
    data = write_data(tmp_path_factory.mktemp("data"))
    return write_results(tmp_path_factory.mktemp("results"), data)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Root, as in a container, may not have Chromium's own sandbox.
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


class Visit:
    """A page that is open, and what it complained of."""

    def __init__(self, browser: Browser, width: int, theme: str) -> None:
        self.problems: list[str] = []
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme=theme,  # type: ignore[arg-type]
        )
        self.page: Page = context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("requestfailed", self._lacked)
        self.page.on("request", self._asked)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"{message.type}: {message.text}")

    def _lacked(self, request: Any) -> None:
        if request.failure != "net::ERR_ABORTED":  # an image of a page that was left
            self.problems.append(f"no {request.url}: {request.failure}")

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:")):
            self.problems.append(f"asks the network for {request.url}")

    def open(self, path: Path, unfold: bool = True) -> Page:
        self.page.goto(path.as_uri())
        if unfold:
            self.page.evaluate(
                "document.querySelectorAll('details').forEach((one) => one.open = 1)"
            )
        return self.page


@pytest.fixture(scope="module")
def found(site: Path, browser: Browser) -> dict[Path, list[str]]:
    """Every page that can be reached from the index by links, and its links."""
    visit = Visit(browser, 1400, "light")
    pages: dict[Path, list[str]] = {}
    open_ = [site / "index.html"]
    while open_:
        path = open_.pop()
        if path in pages:
            continue
        pages[path] = visit.open(path).evaluate(LINKS)
        files = [Path(unquote(urlparse(one).path)) for one in pages[path] if one[:5] == "file:"]
        open_ += [one for one in files if one.suffix == ".html" and one.is_file()]
    assert visit.problems == []
    return pages


def test_every_link_leads_somewhere(found: dict[Path, list[str]], site: Path) -> None:
    assert {path.name for path in found} >= {
        "index.html", "claims.html", "runs.html", "notebook.html", "rrul.html",
    }  # fmt: skip
    assert set(site.rglob("*.html")) == set(found)
    targets: dict[Path, set[str]] = {}
    for path, links in found.items():
        for link in links:
            parts = urlparse(link)
            if parts.scheme == "https":
                continue
            target = Path(unquote(parts.path))
            assert target.is_file(), f"{path}: {link}"
            if parts.fragment:
                targets.setdefault(target, set()).add(unquote(parts.fragment))
    for path, anchors in targets.items():
        text = path.read_text()
        assert [one for one in anchors if f'id="{one}"' not in text] == [], path


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_pages_fit_and_can_be_read(
    found: dict[Path, list[str]], browser: Browser, width: int, theme: str
) -> None:
    visit = Visit(browser, width, theme)
    for path in sorted(found):
        page = visit.open(path)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{path} is {wide} px wide"
        assert page.evaluate(PALE) == [], path
        assert page.evaluate(BEHIND_CODE) in ([], ["rgba(0, 0, 0, 0)"]), path
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert back == {"light": "rgb(246, 246, 244)", "dark": "rgb(18, 20, 23)"}[theme]
    assert visit.problems == []


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_pages_have_no_barriers(site: Path, browser: Browser, width: int, theme: str) -> None:
    """A page of each kind; everything unfolded."""
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text()
    visit = Visit(browser, width, theme)
    pages = [site / f"{stem}.html" for stem in ("index", "claims", "runs", "search")]
    pages += [site / "gbw2015/index.html", site / "gbw2015/fig2b/index.html"]
    pages += [min(site.rglob("notebook.html")), min((site / "runs").rglob("*.html"))]
    for path in pages:
        page = visit.open(path)
        page.evaluate(axe)
        assert page.evaluate(BARRIERS) == [], path


def test_pages_are_valid(found: dict[Path, list[str]]) -> None:
    """Of HTML's syntax: what a parser has to mend, and ids that are there twice."""
    for path in found:
        text = path.read_text()
        parser = html5rdf.HTMLParser()
        parser.parse(text)
        assert parser.errors == [], path
        ids = re.findall(r'<[^<>]* id="([^"]*)"', text)
        assert len(ids) == len(set(ids)), path


@pytest.mark.parametrize("theme", THEMES)
def test_images_are_there_and_described(
    found: dict[Path, list[str]], browser: Browser, theme: str
) -> None:
    visit = Visit(browser, 1400, theme)
    seen = 0
    for path in sorted(found):
        for image in visit.open(path).evaluate(IMAGES):
            seen += 1
            assert image["width"] > 0, f"{path}: {image['source']}"
            assert image["alt"] or image["hidden"], f"{path}: {image['source']}"
            drawn = image["source"].endswith(f"{'-dark' * (theme == 'dark')}.svg")
            assert drawn or image["source"].startswith("data:"), image["source"]
    assert seen >= 4
    assert visit.problems == []


def test_the_keyboard_reaches_everything(site: Path, browser: Browser) -> None:
    visit = Visit(browser, 360, "light")
    names = ("index", "claims", "search", "gbw2015/index", "gbw2015/fig2b/index")
    for name in names:
        page = visit.open(site / f"{name}.html", unfold=False)
        reached = page.evaluate(MARK_CONTROLS)
        assert reached > 3
        for _ in range(reached):
            page.keyboard.press("Tab")
            assert page.evaluate(UNSEEN_FOCUS) is None, name
        assert page.locator("[data-waits]").count() == 0, name
    page = visit.open(site / "claims.html", unfold=False)
    claim = page.locator(".claim").first
    claim.locator("summary").focus()
    page.keyboard.press("Enter")
    assert claim.get_attribute("open") is not None


def test_claims_are_filtered(site: Path, browser: Browser) -> None:
    page = Visit(browser, 360, "light").open(site / "claims.html", unfold=False)
    shown = page.locator(".claim:visible")
    everything = shown.count()
    page.locator("select[name=verdict]").select_option("agrees")
    agreeing = shown.count()
    assert 0 < agreeing < everything
    assert page.locator("#filters output").inner_text() == f"{agreeing} of {everything}"
    assert page.url.endswith("?verdict=agrees")
    page.goto(page.url)  # a link to what was filtered
    assert shown.count() == agreeing
    page.locator("select[name=verdict]").select_option("")
    page.locator("input[name=text]").fill("g038")
    assert shown.count() == 1
    shown.locator("summary").click()
    assert shown.locator("table").first.is_visible()


def test_printed_claims_are_all_there(site: Path, browser: Browser) -> None:
    page = Visit(browser, 1400, "light").open(site / "claims.html", unfold=False)
    page.emulate_media(media="print")
    statements = page.locator(".claim > summary")
    assert 0 < statements.count() == page.locator(".claim > summary:visible").count()
    assert page.locator(".claim table:visible").count() == 0  # of those that are not open
    assert not page.locator("#filters").is_visible()


def test_search_finds_figures_and_claims_by_words(site: Path, browser: Browser) -> None:
    visit = Visit(browser, 360, "light")
    page = visit.open(site / "search.html")
    shown = page.locator(".entries li:visible")
    everything = shown.count()
    page.locator("input[name=text]").press_sequentially("G038")
    assert 0 < shown.count() < everything
    assert "g038" in shown.first.inner_text()
    assert page.url.endswith("?text=G038")
    assert visit.problems == []


def test_values_of_a_figure_are_drawn_and_chosen(site: Path, browser: Browser) -> None:
    visit = Visit(browser, 1200, "dark")
    page = visit.open(site / "gbw2015/fig2b/index.html")
    drawn = page.locator("#draw-its-values")
    assert drawn.locator("canvas").count() == 1
    shown = drawn.locator(".u-legend .u-series th")
    everything = shown.all_inner_texts()
    drawn.get_by_label("pfifo_fast", exact=True).uncheck()
    assert shown.all_inner_texts() == [name for name in everything if name != "pfifo_fast"]
    drawn.get_by_label("Along the axis").select_option("Qdisc")
    drawn.get_by_label("Whose: all or none").click()  # all are on: none
    assert drawn.locator("output").inner_text() == "Nothing chosen."
    drawn.get_by_label("Whose: all or none").click()
    over = drawn.locator(".u-over")
    box = over.bounding_box()
    assert box

    def said_at(across: int, down: int) -> str:
        over.hover(position={"x": across * box["width"] / 40, "y": down * box["height"] / 12})
        return drawn.locator("output").inner_text()

    said = starmap(said_at, product(range(1, 40), range(1, 12)))
    assert any("codel" in words and "Published" in words and ": 35" in words for words in said)
    assert visit.problems == []


def test_a_slider_shows_one_linux_beside_what_is_printed(site: Path, browser: Browser) -> None:
    visit = Visit(browser, 1200, "light")
    drawn = visit.open(site / "gbw2015/fig2b/index.html").locator("#draw-its-values")
    drawn.get_by_label("Along the axis").select_option("Qdisc")
    shown, slider = drawn.locator(".u-legend .u-series th"), drawn.get_by_label("Linux", exact=True)
    every = shown.all_inner_texts()
    assert every[0] == "Published" and len(every) >= 3
    slider.focus()
    for linux in every[1:]:
        visit.page.keyboard.press("ArrowRight")
        assert shown.all_inner_texts() == ["Published", linux]
        assert slider.get_attribute("aria-valuetext") == linux
    assert visit.problems == []


def test_seeds_are_switched_off_and_runs_are_drawn_over_time(site: Path, browser: Browser) -> None:
    visit = Visit(browser, 1200, "light")
    page = visit.open(site / "gbw2015/fig2b/index.html")
    runs, series = page.locator("#run-by-run"), page.locator("#over-time")
    seeds = runs.get_by_role("group", name="Seed").get_by_role("checkbox")
    whole = runs.locator("canvas").evaluate("(one) => one.toDataURL()")
    seeds.last.uncheck()
    assert runs.locator("canvas").evaluate("(one) => one.toDataURL()") != whole
    assert "Time (s)" in series.get_by_label("Along the axis").locator("option").all_inner_texts()
    assert series.locator(".u-legend .u-series th").count() >= 2
    assert visit.problems == []


def test_pages_read_without_scripts(site: Path, browser: Browser) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    for name in ("claims.html", "search.html"):
        page.goto((site / name).as_uri())
        assert not page.locator("form").is_visible()
        assert page.locator(".claim > summary, .entries li").first.is_visible()
    page.goto((site / "gbw2015/fig2b/index.html").as_uri())
    assert not page.locator(".draw").first.is_visible()
    assert page.locator("figure img").is_visible() and page.locator("#values table").is_visible()
