"""The site as it is made by ``make docs``: whole, without dead links, and usable in Chromium from files."""

from __future__ import annotations

import fcntl
import re
import time
from collections.abc import Iterator
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from kraftcheck import spec
from kraftcheck.checking import finding_pages
from kraftcheck.site.build import build
from kraftcheck.site.counterexamples import violated
from kraftcheck.systems.scenario import shipped
from tests.browser import NEEDS_AXE, NEEDS_CHROMIUM, browser, inaccessible, problems

pytestmark = pytest.mark.slow

_TAG = re.compile(r"<(a|link|script|img|iframe)\b[^>]*?\s(?:href|src)=\"?([^\"\s>]+)")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The site, made once although several processes test it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "whole-site"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "site").is_dir():
            build(folder / "site", say=lambda _: None)
    return folder / "site"


def test_there_is_a_page_for_everything(site: Path) -> None:
    wanted = {
        *(f"rules/{name}.html" for name in spec.load().rules),
        *(f"properties/{each.name}.html" for each in spec.load().properties.values()),
        *(f"scenarios/{name}.html" for name in shipped()),
        *(f"findings/{page.name}.html" for page in finding_pages.pages()),
    }
    assert {each for each in wanted if not (site / each).is_file()} == set()
    for scenario in violated():
        text = (site / "scenarios" / f"{scenario.name}.html").read_text(encoding="utf-8")
        embedded = re.search(r"<iframe[^>]* src=\"?\.\./(traces/[^\"\s>]+)", text)
        assert embedded and (site / embedded[1]).is_file(), scenario.name


def test_no_link_is_dead_and_nothing_comes_from_elsewhere(site: Path) -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    ids = {
        path: {unescape(x) for x in re.findall(r"\bid=\"?([^\"\s>]+)", text)} for path, text in pages.items()
    }
    dead, foreign = set(), set()
    for path, text in pages.items():
        if path.parent.name == "traces" or path.name == "404.html":  # Made of one file; made for a server.
            continue
        for tag, address in set(_TAG.findall(text)):
            target, _, fragment = unquote(unescape(address)).partition("#")
            if re.match(r"\w+:|//", target):
                foreign |= {(path.name, address)} if tag != "a" else set()
                continue
            file = (path.parent / target).resolve() if target else path
            if not file.is_file() or (fragment and file in ids and fragment not in ids[file]):
                dead.add((path.relative_to(site).as_posix(), address))
    assert len(pages) > 1000
    assert foreign == set()
    assert {link for link in dead if not link[1].endswith("#__skip")} == set()


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with browser() as found:
        yield found


def waited(driver: Any, script: str, seconds: float = 20) -> Any:
    """What ``script`` returns in the page, as soon as that is true."""
    end = time.monotonic() + seconds
    while not (found := driver.execute_script(script)) and time.monotonic() < end:
        time.sleep(0.1)
    return found


@NEEDS_CHROMIUM
def test_search_finds_a_rule_and_leads_to_it(site: Path, driver: Any) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    driver.get((site / "index.html").as_uri())
    waited(driver, "return document.readyState === 'complete'")
    ActionChains(driver).key_down(Keys.CONTROL).send_keys("k").key_up(Keys.CONTROL).perform()
    time.sleep(1)
    ActionChains(driver).send_keys("VOTE-10 grant by log comparison").perform()
    found = "a[href*='rules/VOTE-10.html']"
    assert waited(
        driver,
        f"return [...document.querySelectorAll('*')].some(e => e.shadowRoot?.querySelector(\"{found}\"))"
        f' || !!document.querySelector("{found}")',
    )
    assert problems(driver) == []
    if find_spec("axe_core_python"):
        assert inaccessible(driver) == []


@NEEDS_CHROMIUM
def test_a_deep_link_opens_its_section_and_a_counterexample_runs(site: Path, driver: Any) -> None:
    page = site / "findings" / "second-leader-of-epoch.html"
    driver.get(f"{page.as_uri()}#the-counterexample")
    place = "return Math.abs(document.getElementById('the-counterexample').getBoundingClientRect().top) < 200"
    assert waited(driver, place)
    frame = driver.find_element("css selector", "iframe.trace")
    driver.switch_to.frame(frame)
    assert waited(driver, "return document.querySelector('.counter')?.innerText.startsWith('0 / ')")
    driver.switch_to.default_content()
    # With a fragment in the address the browser says that it does not focus the search, which is right.
    assert [text for text in problems(driver) if "Autofocus" not in text] == []


@NEEDS_AXE
@NEEDS_CHROMIUM
@pytest.mark.parametrize(
    "page", ["index", "architecture", "rules/VOTE-10", "scenarios/zombie-leader", "findings/alter-quorum"]
)
def test_pages_are_accessible(site: Path, driver: Any, page: str) -> None:
    driver.get((site / f"{page}.html").as_uri())
    assert waited(driver, "return document.readyState === 'complete'")
    assert inaccessible(driver) == []


@NEEDS_CHROMIUM
def test_dark_and_narrow(site: Path) -> None:
    with browser(360, 740, dark=True) as narrow:
        for page in ("index.html", "tutorial.html", "rules/VOTE-10.html", "scenarios/zombie-leader.html"):
            narrow.get((site / page).as_uri())
            root = "document.documentElement"
            assert waited(narrow, f"return {root}.scrollWidth <= {root}.clientWidth"), page
            colour = narrow.execute_script("return getComputedStyle(document.body).backgroundColor")
            assert max(map(int, re.findall(r"\d+", colour)[:3])) < 90, page
        assert problems(narrow) == []
