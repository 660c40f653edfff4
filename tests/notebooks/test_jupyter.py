"""The notebooks in a real JupyterLab, driven by a headless Chromium."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect, sync_playwright

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
PATIENCE_S = 600  # a machine may be busy

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not BROWSER, reason="there is no Chromium: apt-get install chromium"),
    pytest.mark.xdist_group("browser"),  # one Chromium at a time is load enough
]

#: Cells are all attached, whether in sight or not; nothing is asked of the network.
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "docmanager-extension/plugin": {"autosave": False},  # notebooks of studies are no copies
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}

#: The open notebook, as JupyterLab itself knows it.
STATE = """() => {
  const panel = window.jupyterapp?.shell.currentWidget;
  if (!panel?.content?.model || !panel.sessionContext) return null;
  const kernel = panel.sessionContext.session?.kernel;
  const cells = panel.content.widgets.filter((one) => one.model.type === "code");
  return {
    ready: panel.context.isReady && panel.sessionContext.isReady,
    kernel: kernel?.status ?? "none",
    connection: kernel?.connectionStatus ?? "none",
    cells: cells.map((one) => ({
      count: one.model.executionCount,
      state: one.model.executionState,
      outputs: one.model.outputs.toJSON().map((output) => output.output_type
        + (output.name ? ` ${output.name}: ${[output.text].flat().join("").slice(-500)}` : "")
        + (output.ename ? ` ${output.ename}: ${output.evalue}` : "")),
    })),
    dialogs: [...document.querySelectorAll(".jp-Dialog")].map((one) => one.innerText),
  };
}"""


@pytest.fixture(scope="module")
def lab(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab in a copy of the notebooks, which reads what ships."""
    place = tmp_path_factory.mktemp("lab")
    shutil.copytree(root / "notebooks", place / "notebooks")
    for name in ("data", "studies"):
        (place / name).symlink_to(root / name)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folders = {
        f"JUPYTER_{name}_DIR": str(place / f"jupyter-{name.lower()}")
        for name in ("CONFIG", "DATA", "RUNTIME")
    }
    folders["PYTHONPATH"] = str(root)
    for name, settings in SETTINGS.items():
        file = place / f"jupyter-config/lab/user-settings/@jupyterlab/{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
        "--ServerApp.token=", "--LabApp.news_url=None", "--ServerApp.disable_check_xsrf=True",
        "--expose-app-in-browser",
    ]  # fmt: skip
    with (place / "log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=place, env={**os.environ, **folders}, stdout=log, stderr=log
        )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(10 * PATIENCE_S):
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
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.set_default_timeout(1000 * PATIENCE_S)
            expect.set_options(timeout=1000 * PATIENCE_S)
            yield page


def state(page: Page) -> dict[str, Any]:
    """What JupyterLab says of the open notebook; empty where none is open yet."""
    return dict(page.evaluate(STATE) or {})


def tell(page: Page, what: str) -> str:
    """`what` went wrong, with all that helps to find out why; leaves a picture beside it."""
    picture = Path(os.environ.get("TMPDIR", "/tmp")) / f"jupyterlab-{os.getpid()}.png"  # noqa: S108
    page.screenshot(path=picture)
    return f"{what}; picture in {picture}; {json.dumps(state(page), indent=1)}"


def wait_until(page: Page, what: str, key: Any) -> dict[str, Any]:
    """The state of the notebook for which `key` holds; fails with the last one."""
    end = time.monotonic() + PATIENCE_S
    while not (found := state(page)) or not key(found):
        gone = found.get("kernel") in ("dead", "autorestarting")
        if gone or time.monotonic() > end:
            pytest.fail(tell(page, f"the kernel is gone before {what}" if gone else f"not {what}"))
        time.sleep(0.2)
    return found


def connected(found: dict[str, Any]) -> bool:
    return bool(found["ready"]) and (found["connection"], found["kernel"]) == ("connected", "idle")


def executed(found: dict[str, Any]) -> bool:
    """Whether nothing goes on: also where a cell raised and those after it were left out."""
    started = found["cells"][0]["count"] is not None
    return started and connected(found) and all(one["state"] == "idle" for one in found["cells"])


def run_all(page: Page, lab: str, notebook: str) -> None:
    """Open `notebook` and execute its cells, as somebody would."""
    page.goto(f"{lab}/lab/tree/{notebook}?reset")
    # The indicator shows "idle" before there is a session, too, and what is run then is lost
    # without a word: JupyterLab itself has to say that the kernel is there.
    wait_until(page, "connected", connected)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).first.click()
    cells = wait_until(page, "executed", executed)["cells"]
    outputs = [output for one in cells for output in one["outputs"]]
    wrong = [one for one in outputs if one.startswith(("error", "stream stderr"))]
    if wrong or any(one["count"] is None for one in cells):
        pytest.fail(tell(page, f"{notebook} does not run"))


def choose(page: Page, label: str, value: str) -> None:
    """Type `value` into the field with that label."""
    page.get_by_label(label).fill(value)
    page.get_by_label(label).press("Enter")


def test_a_notebook_runs_on_the_shipped_data(page: Page, lab: str) -> None:
    run_all(page, lab, "notebooks/rrul.ipynb")
    expect(page.get_by_role("columnheader", name="Published", exact=True)).to_have_count(1)
    expect(page.locator(".jp-RenderedSVG img")).to_have_count(2)  # one run, and the figure
    drawn = "(one) => one.decode().then(() => one.naturalWidth)"
    assert page.locator(".jp-RenderedSVG img").last.evaluate(drawn) > 0
    assert page.locator('[data-mime-type="application/vnd.jupyter.stderr"]').count() == 0


def test_cells_are_run_once_the_kernel_is_there(page: Page, lab: str) -> None:
    def later(route: Route) -> None:
        if route.request.method == "POST":
            time.sleep(5)
        route.continue_()

    page.route("**/api/sessions*", later)
    run_all(page, lab, "studies/khademi2013/notebooks/facts.ipynb")


@pytest.mark.kernel
def test_a_run_is_refused_one_is_watched_and_one_cancelled(page: Page, lab: str) -> None:
    run_all(page, lab, "notebooks/explore.ipynb")
    start = page.locator(".jupyter-button", has_text="Run")
    alert = page.locator('.widget-html-content [role="alert"]')
    choose(page, "load, s", "0.1")
    start.click()
    expect(alert).to_contain_text("a length of 100 ms is not possible; choose from 200 ms to 600 s")
    choose(page, "load, s", "5")
    start.click()
    page.get_by_text("· done").wait_for()
    expect(page.locator(".widget-image")).to_be_visible()  # drawn after the word
    expect(page.locator(".widget-html-content table")).to_contain_text("published")
    choose(page, "load, s", "600")  # not done before the button is found
    start.click()
    page.get_by_text("· traffic").wait_for()
    page.locator(".jupyter-button", has_text="Cancel").click()
    expect(alert).to_have_text("stopped")
    expect(start).to_be_enabled()
