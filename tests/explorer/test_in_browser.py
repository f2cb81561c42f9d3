"""The explorer as people use it, in Chromium."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as File
from typing import Any

import pytest

from kraftcheck.explorer.start import start_of
from kraftcheck.explorer.web.answers import Answers
from kraftcheck.explorer.web.guard import Guard
from kraftcheck.explorer.web.server import Server
from tests.browser import NEEDS_AXE, NEEDS_CHROMIUM, browser, inaccessible, problems

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]

TOKEN = "the-token"
FINDING = "finding-second-leader-of-epoch"
#: The counterexample of the finding.
PATH = "2,5,3,2,0,0,0,0,4,1,2,1,1,1,1,3,1,1,1,1,3,1,1,2"


@contextmanager
def served(*words: str) -> Iterator[str]:
    """The address of an explorer, without a fragment."""
    with Server(0) as server:
        server.answer = Answers(start_of(words).ground, Guard(server.port, TOKEN)).answer
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def crash() -> Iterator[str]:
    with served("three-voters-crash") as address:
        yield address


@pytest.fixture(scope="module")
def finding() -> Iterator[str]:
    with served(FINDING) as address:
        yield address


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with browser() as found:
        yield found


def opened(driver: Any, address: str, fragment: str = "") -> None:
    driver.get("about:blank")
    driver.get(f"{address}?token={TOKEN}{fragment}")
    settled(driver)


def settled(driver: Any, script: str = "return shown !== null") -> None:
    """Wait until the page has its answers."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(driver, 20, poll_frequency=0.02).until(lambda found: found.execute_script(script))


def at(driver: Any, path: str, step: int) -> None:
    """Wait for the page of this path and step, and for its possible steps."""
    text = f"return pathText(route) === '{path}' && chosen.step === {step}"
    settled(driver, f"{text} && pathText(shown.path) === pathText(route.slice(0, {step}))")


def text_of(driver: Any, selector: str) -> str:
    return driver.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)


def press(driver: Any, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(driver).send_keys(*keys).perform()


def moved(driver: Any, steps: int, step: int) -> str:
    """Wait for a path of so many steps, with this one chosen, and for what can happen there; the path."""
    ready = (
        "shown.path.length === chosen.step && pathText(shown.path) === pathText(route.slice(0, chosen.step))"
    )
    settled(driver, f"return route.length === {steps} && chosen.step === {step} && {ready}")
    return str(driver.execute_script("return pathText(route)"))


def test_steps_are_taken_and_taken_back(driver: Any, crash: str) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(driver, crash)
    assert "token" not in driver.current_url
    driver.execute_script("document.querySelector('button.take').click()")
    one = moved(driver, 1, 1)
    assert driver.current_url.endswith(f"#path={one}&step=1")
    assert text_of(driver, ".next h3 .note").strip() == "Prospective"
    press(driver, "1")
    two = moved(driver, 2, 2)
    press(driver, Keys.ARROW_LEFT)
    assert moved(driver, 2, 1) == two
    assert "branches off" in text_of(driver, ".next")
    assert text_of(driver, "button.take[aria-current]").startswith("●")
    press(driver, "2")
    branch = moved(driver, 2, 2)
    assert branch != two and branch.startswith(f"{one},")
    driver.back()
    assert moved(driver, 2, 1) == two
    driver.back()
    assert moved(driver, 1, 1) == one
    assert problems(driver) == []


def test_the_keyboard_alone_is_enough(driver: Any, crash: str) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(driver, crash)
    press(driver, "s")
    assert driver.execute_script("return document.activeElement.className") == "take"
    press(driver, Keys.TAB, Keys.ENTER)
    settled(driver, "return document.querySelector('.preview .rules') !== null")
    assert driver.execute_script("return document.activeElement.getAttribute('aria-expanded')") == "true"
    press(driver, Keys.ENTER)
    settled(driver, "return document.querySelector('.preview') === null")
    press(driver, "s", Keys.ENTER)
    moved(driver, 1, 1)
    assert driver.execute_script("return panel === document.activeElement")
    assert problems(driver) == []


def test_an_address_opens_its_path_and_step(driver: Any, finding: str) -> None:
    opened(driver, finding, f"#path={PATH}&step=14")
    at(driver, PATH, 14)
    assert text_of(driver, ".counter") == "14 / 24"
    driver.refresh()
    settled(driver)
    at(driver, PATH, 14)
    driver.execute_script(f"location.hash = '#path={PATH}&step=24'")
    at(driver, PATH, 24)
    assert "SingleLeaderPerEpoch is violated" in text_of(driver, ".next")
    assert "violated here" in text_of(driver, ".next")
    assert problems(driver) == []


@pytest.mark.parametrize(
    "fragment",
    [
        "#path=99&step=1",
        "#path=x",
        "#path=%3Cimg%20src%3Dx%3E",
        "#path=" + "0," * 2_000 + "0",
        "#path=%",
        "#<b>",
    ],
    ids=range(6),
)
def test_a_hostile_address_gets_a_sentence(driver: Any, crash: str, fragment: str) -> None:
    opened(driver, crash, fragment)
    if fragment.startswith("#path="):
        assert text_of(driver, ".alarm").endswith("To the beginning")
        assert len(text_of(driver, ".alarm")) < 300
    assert text_of(driver, ".next h2") == "What can happen next"
    assert driver.execute_script("return document.querySelectorAll('img, b').length") == 0
    # The browser itself tells of an answer with status 400.
    assert [each for each in problems(driver) if "400 (Bad Request)" not in each] == []


def test_why_something_is_not_possible(driver: Any, crash: str) -> None:
    opened(driver, crash)
    driver.execute_script("[...document.querySelectorAll('.fold')].forEach((each) => (each.open = true))")
    text = text_of(driver, ".refusals")
    assert "timer (fetch)\nit does not run in the role Unattached" in text
    assert "the scenario has no budget: budgets.timeouts = 0" in text
    assert "All " in text_of(driver, ".next") and "SingleLeaderPerEpoch (S-1)" in text_of(driver, ".judged")


def test_a_check_from_here_finds_the_violation(driver: Any, finding: str) -> None:
    opened(driver, finding, f"#path={PATH.rsplit(',', 3)[0]}")
    driver.execute_script("check(pathText(shown.path))")
    settled(
        driver,
        "return document.querySelector('.result a') !== null || document.querySelector('.alarm').innerText",
    )
    assert "violated 3 steps from here" in text_of(driver, ".result")
    driver.execute_script("document.querySelector('.result a').click()")
    settled(driver, "return route.length === 24")
    assert "Replica 2 becomes Leader of epoch 2" in text_of(driver, "header")
    assert problems(driver) == []


def test_a_path_is_saved(driver: Any, crash: str, tmp_path: File) -> None:
    opened(driver, crash, "#path=0,0&step=1")
    at(driver, "0,0", 1)
    driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    driver.execute_script("saveMenu.open = true; document.querySelector('.wide').click()")
    file = tmp_path / "three-voters-crash.json"
    settled(driver, "return !saveMenu.open")
    for _ in range(200):
        if file.exists() and file.stat().st_size:
            break
        threading.Event().wait(0.02)
    assert start_of([str(file)]).path == (0,)
    driver.execute_script("save('kafka-test')")
    settled(driver, "return document.querySelector('.alarm').innerText !== ''")
    assert text_of(driver, ".alarm").startswith("Not saved: ")


def test_without_the_token_there_is_a_sentence(driver: Any, crash: str) -> None:
    driver.delete_all_cookies()
    driver.get(crash)
    assert "it has the token" in text_of(driver, "body")
    problems(driver)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 900, 1280])
def test_no_width_needs_scrolling_sideways(finding: str, width: int, dark: bool) -> None:
    with browser(width, 740, dark=dark) as driver:
        opened(driver, finding, f"#path={PATH}&step=14")
        driver.execute_script("[...document.querySelectorAll('.fold')].forEach((each) => (each.open = true))")
        driver.execute_script("document.querySelector('.why').click()")
        settled(driver, "return document.querySelector('.preview') !== null")
        root = "document.documentElement"
        assert driver.execute_script(f"return {root}.scrollWidth <= {root}.clientWidth")
        ground = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(20, 23, 27)") == dark
        assert problems(driver) == []


@NEEDS_AXE
def test_it_is_accessible(driver: Any, finding: str) -> None:
    opened(driver, finding, f"#path={PATH}&step=14")
    assert inaccessible(driver) == []


def test_each_control_has_a_name(driver: Any, finding: str) -> None:
    opened(driver, finding, f"#path={PATH}&step=14")
    nameless = """return [...document.querySelectorAll('button, input, a, summary, [tabindex]')]
      .filter((each) => !(each.textContent.trim() || each.ariaLabel || each.closest('label')))
      .map((each) => each.outerHTML.slice(0, 80))"""
    assert driver.execute_script(nameless) == []


def test_a_step_is_answered_soon(driver: Any, finding: str) -> None:
    """Milliseconds from the press to the new panel; generous, as other tests run at the same time."""
    opened(driver, finding)
    took = driver.execute_async_script(
        """const done = arguments[0];
        (async () => {
          const took = [];
          for (let at = 0; at < 8; at++) {
            const begin = performance.now();
            await take(shown.events[0].choices[0].option);
            while (pathText(shown.path) !== pathText(route)) await new Promise((go) => setTimeout(go));
            took.push(performance.now() - begin);
          }
          done(took);
        })();"""
    )
    assert len(took) == 8 and sorted(took)[4] < 1_000
