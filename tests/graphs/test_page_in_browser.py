"""The page of a state graph as people use it, in Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.cli.main import main
from kraftcheck.graphs import page
from tests.browser import NEEDS_AXE, NEEDS_CHROMIUM, browser, inaccessible, problems

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]
HOSTILE = "<img src=x onerror=\"document.title = 'ran'\"></script><script>document.title = 'ran'</script>"


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with browser(360, 640, dark=True) as found:
        yield found


@pytest.fixture
def opened(driver: Any, tmp_path: Path) -> Iterator[Any]:
    file = tmp_path / "graph.html"
    assert main(["graph", "single-voter", "--format", "html", "-o", str(file)]) == 0
    driver.get(file.as_uri())
    yield driver
    assert problems(driver) == []


def detail(driver: Any) -> str:
    return str(driver.execute_script("return detail.innerText"))


def press(driver: Any, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(driver).send_keys(*keys).perform()


def test_keys_lead_through_the_graph(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    assert "What to cut first" in detail(opened) and "budgets.crashes 1 → 0" in detail(opened)
    press(opened, Keys.ARROW_RIGHT)
    assert "It is where the exploration begins." in detail(opened)
    press(opened, Keys.ARROW_RIGHT)
    assert "kraftcheck trace show single-voter --path " in detail(opened)
    assert opened.execute_script("return document.activeElement.getAttribute('aria-label')").count("states")
    before = opened.execute_script("return view.scale")
    press(opened, "+")
    assert opened.execute_script("return view.scale") > before
    press(opened, Keys.ESCAPE)
    assert "What to cut first" in detail(opened)


def test_searching_and_a_narrow_window(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    press(opened, "/", "Follower e2", Keys.ENTER)
    assert detail(opened).startswith("1 Leader e2, 2 Follower e2")
    assert opened.execute_script("return document.querySelector('.found').innerText") == "1 found"
    assert opened.execute_script("return document.querySelectorAll('.node.dim').length") == 5
    root = "document.documentElement"
    assert opened.execute_script(f"return {root}.scrollWidth <= {root}.clientWidth")


@NEEDS_AXE
def test_it_is_accessible(opened: Any) -> None:
    assert inaccessible(opened) == []


def test_texts_are_only_texts(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_sample", lambda states, number: [HOSTILE])
    monkeypatch.setattr(page, "_lines", lambda whole: [HOSTILE])
    file = tmp_path / "hostile.html"
    assert main(["graph", "single-voter", "--format", "html", "-o", str(file)]) == 0
    driver.get(file.as_uri())
    driver.execute_script("choose(doc.nodes[1])")
    assert HOSTILE in detail(driver)
    assert driver.title == "single-voter: the state graph"
    assert driver.execute_script("return document.querySelectorAll('img').length") == 0
    assert problems(driver) == []


def test_a_large_graph_draws_what_is_in_sight(driver: Any, tmp_path: Path) -> None:
    """From afar all edges are two elements; near by only what is in sight is there."""
    file = tmp_path / "large.html"
    assert main(["graph", "single-voter", "--project", "none", "--format", "html", "-o", str(file)]) == 0
    driver.get(file.as_uri())
    every = "return [...document.querySelectorAll(arguments[0])]"
    shown = f"{every}.filter((each) => each.style.display !== 'none')"
    driver.execute_script("view.scale = 0.1; cull(true)")
    assert driver.execute_script("return document.querySelectorAll('.node').length") == 495
    assert driver.execute_script(f"{shown}.length", ".edge") == 2
    driver.execute_script("choose(doc.nodes[400]); cull(false)")
    assert 1 < driver.execute_script(f"{shown}.length", ".node") < 100
    assert 1 < driver.execute_script(f"{shown}.length", ".edge") < 300
    assert driver.execute_script("return drawnNodes.get(doc.nodes[400].id).textContent").startswith("1 ")
    assert driver.execute_script("return document.querySelectorAll('.edge.in').length") > 0
    assert problems(driver) == []
