"""A Chromium without a window for tests of pages, driven by Selenium; axe judges how accessible they are."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import resources
from importlib.util import find_spec
from typing import Any

import pytest

_MISSING = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
_MISSING += [] if find_spec("selenium") else ["selenium"]

#: Tests of pages are slow tests, and are skipped where there is no Chromium.
NEEDS_CHROMIUM = pytest.mark.skipif(bool(_MISSING), reason=f"needs {', '.join(_MISSING)}")

#: Axe, the usual judge of accessibility, comes with a package.
NEEDS_AXE = pytest.mark.skipif(find_spec("axe_core_python") is None, reason="needs axe-core-python")


@contextmanager
def browser(width: int = 1300, height: int = 900, *, dark: bool = False) -> Iterator[Any]:
    """A Chromium whose pages have this size in pixels."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        media = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        yield driver
    finally:
        with suppress(Exception):
            driver.quit()


def problems(driver: Any) -> list[str]:
    """What the console of the browser has said since the last call."""
    return [entry["message"] for entry in driver.get_log("browser")]


def inaccessible(driver: Any) -> list[str]:
    """The serious and critical findings of axe on the page that is open, without what is in frames, in light
    and in dark: the rule and the first element that breaks it.
    """
    program = (resources.files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
    driver.execute_script(program)
    driver.execute_script(_AT_ONCE)
    found: list[str] = []
    for scheme in ("light", "dark"):
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        found += driver.execute_async_script(_JUDGE, scheme)
    return found


#: Colours change at once: in between they are those of no scheme.
_AT_ONCE = """
const sheet = new CSSStyleSheet();
sheet.replaceSync("*, *::before, *::after { transition: none !important; }");
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
"""

_JUDGE = """
const [scheme, done] = arguments;
axe.run(document, { iframes: false, resultTypes: ["violations"] }).then(
  ({ violations }) => done(violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${scheme}: ${id}: ${nodes[0].html.slice(0, 200)}: ${nodes[0].failureSummary}`)),
  (error) => done([String(error)]));
"""
