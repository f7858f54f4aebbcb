"""A browser without a window, for tests of what a reader sees."""

import os
import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def driver():
    """One Chromium for all tests; without it they are skipped, unless TRISPLIT_BROWSER=1 says that it must be there."""
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        webdriver = None
    if webdriver is None or chromium is None or chromedriver is None:
        missing = "these tests need the package selenium and the programs chromium and chromedriver"
        if os.environ.get("TRISPLIT_BROWSER") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run"):
        options.add_argument(f"--{argument}")
    # With both paths given, selenium looks for nothing, least of all in the network.
    driver = webdriver.Chrome(options=options, service=Service(executable_path=chromedriver))
    yield driver
    driver.quit()


@pytest.fixture
def browser(driver):
    """A browser as a reader finds it: 1280 pixels wide, light, with an empty page and an empty log."""
    driver.get("about:blank")
    resize(driver, 1280)
    emulate(driver)
    driver.get_log("browser")
    return driver


def resize(driver, width, height=900):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def emulate(driver, scheme="light", motion="reduce", media=""):
    """Set what the reader prefers; with less motion nothing glides while a test wants to click on it."""
    features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion}
    wishes = [{"name": name, "value": value} for name, value in features.items()]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": wishes})


LOOKS = [("wide", 1280, "light"), ("narrow", 360, "light"), ("dark", 1280, "dark")]


def photograph(driver, path, width, scheme):
    """Take a picture of the whole page, also into the folder TRISPLIT_SCREENSHOTS, where somebody wants to look."""
    emulate(driver, scheme)
    resize(driver, width)
    resize(driver, width, driver.execute_script("return document.documentElement.scrollHeight"))
    assert driver.save_screenshot(str(path))
    if folder := os.environ.get("TRISPLIT_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder)
