"""The notebooks in a real JupyterLab, driven by a headless Chromium."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
PATIENCE_MS = 300_000  # a machine may be busy

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not BROWSER, reason="there is no Chromium: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def lab(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab in a copy of the notebooks that reads the shipped data."""
    place = tmp_path_factory.mktemp("lab")
    shutil.copytree(root / "notebooks", place / "notebooks")
    (place / "data").symlink_to(root / "data")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folders = {
        f"JUPYTER_{name}_DIR": str(place / f"jupyter-{name.lower()}")
        for name in ("CONFIG", "DATA", "RUNTIME")
    }
    folders["PYTHONPATH"] = str(root)
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
        "--ServerApp.token=", "--LabApp.news_url=None", "--ServerApp.disable_check_xsrf=True",
    ]  # fmt: skip
    with (place / "log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=place / "notebooks", env={**os.environ, **folders}, stdout=log, stderr=log
        )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            assert server.poll() is None, (place / "log").read_text()
            try:
                urllib.request.urlopen(f"{address}/api", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def page() -> Iterator[Page]:
    """An empty page of the browser."""
    with sync_playwright() as playwright:
        options = {"executable_path": BROWSER, "args": ["--no-sandbox"]}
        with playwright.chromium.launch(**options) as browser:
            # Tall, as JupyterLab does not render what is out of sight.
            page = browser.new_page(viewport={"width": 1400, "height": 4000})
            page.set_default_timeout(PATIENCE_MS)
            expect.set_options(timeout=PATIENCE_MS)
            yield page


def run_all(page: Page, lab: str, notebook: str) -> None:
    """Open `notebook` and execute its cells, as somebody would."""
    page.goto(f"{lab}/lab/tree/{notebook}?reset")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    expect(page.locator(".jp-NotebookPanel .jp-Notebook-ExecutionIndicator")).to_have_attribute(
        "data-status", "idle"
    )
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).first.click()


def choose(page: Page, label: str, value: str) -> None:
    """Type `value` into the field with that label."""
    page.get_by_label(label).fill(value)
    page.get_by_label(label).press("Enter")


def test_a_notebook_runs_on_the_shipped_data(page: Page, lab: str) -> None:
    run_all(page, lab, "rrul.ipynb")
    heading = page.get_by_role("columnheader", name="Published", exact=True)
    heading.wait_for()
    assert page.locator('[data-mime-type="application/vnd.jupyter.stderr"]').count() == 0
    assert page.locator(".jp-RenderedSVG").count() == 1


@pytest.mark.kernel
def test_a_run_is_refused_one_is_watched_and_one_cancelled(page: Page, lab: str) -> None:
    run_all(page, lab, "explore.ipynb")
    start = page.locator(".jupyter-button", has_text="Run")
    alert = page.locator('.widget-html-content [role="alert"]')
    choose(page, "load, s", "0.1")
    start.click()
    expect(alert).to_contain_text("a length of 100 ms is not possible; choose from 200 ms to 600 s")
    choose(page, "load, s", "5")
    start.click()
    page.get_by_text("· done").wait_for()
    assert page.locator(".widget-image").is_visible()
    expect(page.locator(".widget-html-content table")).to_contain_text("published")
    start.click()
    page.get_by_text("· traffic").wait_for()
    page.locator(".jupyter-button", has_text="Cancel").click()
    expect(alert).to_have_text("stopped")
    expect(start).to_be_enabled()
