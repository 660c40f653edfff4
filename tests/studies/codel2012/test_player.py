"""The slider over a connection's time in the notebook `window`, moved in a real JupyterLab."""

import base64
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from qdisclab.analysis.runs.dataset import find_runs
from studies.codel2012.measures import window
from studies.codel2012.plots import player as window_live
from tests.notebooks import test_jupyter as jupyter

lab, page = jupyter.lab, jupyter.page
pytestmark = jupyter.pytestmark

#: Whether the picture that is shown has these bytes, in base 64.
SHOWS = """async ([image, asked]) => {
  const bytes = new Uint8Array(await (await fetch(image.src)).arrayBuffer());
  return btoa(bytes.reduce((text, one) => text + String.fromCharCode(one), "")) === asked;
}"""


@pytest.fixture(scope="module")
def connection(root: Path) -> window.Connection:
    """What the notebook shows where nobody says otherwise."""
    return window.read_connection(find_runs(root / "data", "codel2012", "window_25")[0])


def wait_for(page: Page, picture: bytes) -> None:
    """Until that is the picture that is shown."""
    image = page.locator("img.widget-image").element_handle()
    page.wait_for_function(SHOWS, arg=[image, base64.b64encode(picture).decode()])


def test_the_slider_shows_the_packets_of_its_moment_and_plays(
    page: Page, lab: str, connection: window.Connection
) -> None:
    jupyter.run_all(page, lab, "studies/codel2012/notebooks/window.ipynb")
    readout = page.locator(".widget-slider .widget-readout")
    expect(readout).to_have_text("232")
    wait_for(page, window_live.picture(connection, 232))

    readout.fill("700")
    readout.press("Enter")
    wait_for(page, window_live.picture(connection, 700))

    handle = page.locator(".widget-slider .noUi-handle")
    handle.press("ArrowRight")
    step = window_live.STEP_MS
    expect(readout).to_have_text(f"{700 + step}")
    wait_for(page, window_live.picture(connection, 700 + step))

    play = page.locator(".widget-play button").first
    play.click()
    page.wait_for_function(
        "([readout, least]) => Number(readout.textContent) > least",
        arg=[readout.element_handle(), 700 + 4 * step],
    )
    play.click()
    expect(play.locator(".fa-play")).to_have_count(1)  # it stands still
    wait_for(page, window_live.picture(connection, int(readout.inner_text())))
