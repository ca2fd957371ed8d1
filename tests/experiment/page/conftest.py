"""A page of a small experiment, and a browser to look at it."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest
from page_examples import write_example
from page_experiment import make_experiment

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)


@pytest.fixture(scope="session")
def drawn_experiment(tmp_path_factory):
    """Three seeds of 60 questions."""
    return make_experiment(tmp_path_factory.mktemp("drawn"), (42, 43, 44), 60)


@pytest.fixture(scope="session")
def example_page(drawn_experiment, tmp_path_factory):
    """The page of `drawn_experiment` with everything on it: path, html, report."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    report = write_example(path, drawn_experiment)
    return SimpleNamespace(path=path, html=path.read_text(encoding="utf-8"), report=report)


@pytest.fixture(scope="session")
def chrome(tmp_path_factory):
    """Debian's Chromium without a window, driven by Selenium."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("chromium or chromedriver is not installed: tools/install_chromium.sh")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chrome')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
    yield found
    found.quit()


@pytest.fixture
def look(chrome):
    """Open a page at a width, in a colour scheme or for print."""

    def look(path, width=1280, *, scheme="light", media="", fragment=""):
        chrome.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
        chrome.get("about:blank")
        for log in ("browser", "performance"):
            chrome.get_log(log)  # of the page before
        chrome.get(path.as_uri() + fragment)
        return chrome

    return look
