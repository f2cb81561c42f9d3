"""The page of a trace as people use it, in Chromium."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.reference.frozen import replace
from kraftcheck.traces.page import page_of
from kraftcheck.traces.page.document import Document, document_of
from kraftcheck.traces.page.html import page
from tests.browser import NEEDS_AXE, NEEDS_CHROMIUM, browser, inaccessible, problems
from tests.traces.trace_samples import UNSTABLE, counterexample

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]

LAST = len(counterexample(UNSTABLE).steps)


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with browser() as found:
        yield found


@pytest.fixture
def opened(driver: Any, tmp_path: Path) -> Iterator[Any]:
    file = tmp_path / "trace.html"
    file.write_text(page_of(counterexample(UNSTABLE)), encoding="utf-8")
    driver.get(file.as_uri())
    yield driver
    assert problems(driver) == []


def text_of(driver: Any, selector: str) -> str:
    return driver.execute_script("return document.querySelector(arguments[0]).innerText", selector)


def press(driver: Any, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(driver).send_keys(*keys).perform()


def counter(driver: Any) -> str:
    return text_of(driver, ".counter")


def test_keys_move_and_the_address_follows(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    assert counter(opened) == f"0 / {LAST}"
    assert "What does not hold" in text_of(opened, ".detail")
    press(opened, Keys.ARROW_RIGHT, "j")
    assert counter(opened) == f"2 / {LAST}" and opened.current_url.endswith("#step=2")
    press(opened, Keys.END)
    assert counter(opened) == f"{LAST} / {LAST}"
    assert "violates ReturningReplicaDeposesNobody" in text_of(opened, ".detail")
    press(opened, Keys.ARROW_RIGHT)
    assert counter(opened) == f"{LAST} / {LAST}"
    press(opened, Keys.HOME, "k")
    assert counter(opened) == f"0 / {LAST}"


def test_an_address_opens_its_step(opened: Any) -> None:
    opened.get(opened.current_url.partition("#")[0] + "#step=3")
    opened.refresh()
    assert counter(opened) == f"3 / {LAST}"
    assert opened.execute_script("return document.querySelector('[aria-selected=true]').id") == "row-3"


@pytest.mark.parametrize("address", ["#step=99999", "#step=-1", "#step=x", "#<img>"])
def test_an_address_of_no_step_does_no_harm(opened: Any, address: str) -> None:
    opened.get(opened.current_url.partition("#")[0] + address)
    assert counter(opened) in (f"0 / {LAST}", f"{LAST} / {LAST}")


def test_searching(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    press(opened, "/", "candidate", Keys.ENTER)
    assert text_of(opened, ".found").endswith(" found") and text_of(opened, ".found") != "0 found"
    assert "andidate" in text_of(opened, ".detail")
    press(opened, Keys.ESCAPE)
    assert text_of(opened, ".found") == ""


def test_lanes_can_be_hidden(opened: Any) -> None:
    count = "paintNow(); return document.querySelectorAll('.canvas line.lane').length"
    before = opened.execute_script(count)
    opened.execute_script("document.querySelector('.menu input[type=checkbox]').click()")
    assert opened.execute_script(count) < before
    assert "replica 1" not in text_of(opened, ".names")


def test_the_theme_changes(opened: Any) -> None:
    colour = "return getComputedStyle(document.body).backgroundColor"
    before = opened.execute_script(colour)
    press(opened, "t")
    assert opened.execute_script(colour) != before


def test_a_narrow_window_needs_no_scrolling_sideways(tmp_path: Path) -> None:
    file = tmp_path / "trace.html"
    document = document_of(counterexample(UNSTABLE))
    with browser(360, 640, dark=True) as narrow:
        for shown in (document, everywhere(document, "x" * 5_000)):
            file.write_text(page(shown), encoding="utf-8")
            for step in (0, 1, LAST):
                narrow.get(f"{file.as_uri()}#step={step}")
                narrow.refresh()
                narrow.execute_script("laneMenu.open = true")
                root = "document.documentElement"
                assert narrow.execute_script(f"return {root}.scrollWidth <= {root}.clientWidth")
        assert problems(narrow) == []


def everywhere(value: Any, text: str, name: str = "") -> Any:
    """A document, or a part of it, with ``text`` for each text but those that the page knows."""
    if isinstance(value, str):
        return value if name in ("kind", "end") else text
    if is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: everywhere(getattr(value, each.name), text, each.name) for each in fields(value)}
        return replace(value, **parts)
    if isinstance(value, tuple):
        return tuple(everywhere(each, text, name) for each in value)
    if isinstance(value, dict):
        return dict.fromkeys([text], text) if value else value
    return value


def test_the_header_leads_to_the_step_that_violates_and_the_overview_lists_it(opened: Any) -> None:
    items = "return [...document.querySelectorAll('.moments > li')].map((item) => item.innerText)"
    assert "This step violates ReturningReplicaDeposesNobody." in opened.execute_script(items)[-1]
    opened.execute_script("document.querySelector('header a').click()")
    time.sleep(0.1)
    assert counter(opened) == f"{LAST} / {LAST}"


def test_a_lost_message_and_an_outcome_are_seen_first(opened: Any, tmp_path: Path) -> None:
    document = document_of(counterexample(UNSTABLE))
    lost = replace(document.steps[0], kind="lose", head="←2 VoteRequest(e1) is lost", short="", violations=())
    file = tmp_path / "lost.html"
    file.write_text(page(replace(document, steps=(lost, *document.steps[1:]))), encoding="utf-8")
    opened.get(file.as_uri())
    assert text_of(opened, "#row-1 .label") == "lost: ←2 VoteRequest(e1)"
    assert text_of(opened, f"#row-{LAST} .label").startswith("→ Leader")
    opened.execute_script(f"go({LAST}); paintNow()")
    under = "const box = document.getElementById(arguments[0]).getBoundingClientRect();"
    assert opened.execute_script(f"{under} return box.bottom <= innerHeight", f"row-{LAST}")


def test_every_shape_of_the_picture_is_in_the_key(opened: Any) -> None:
    """Lines, marks and the ends of arrows, by their classes."""
    shapes = "return [...document.querySelectorAll(arguments[0])].map((shape) => shape.getAttribute('class'))"
    drawn = {
        name.replace(" active", "")
        for selector in ("line.lane", ".mark", ".arrow", ".cross", ".stop", ".tip")
        for name in opened.execute_script(shapes, f".canvas {selector}")
    }
    assert len(drawn) > 6
    assert drawn - {"lane follower", "lane unattached"} <= {*opened.execute_script(shapes, ".key svg *")}
    texts = opened.execute_script("return [...document.querySelectorAll('.key li')].map((x) => x.innerText)")
    assert len(set(texts)) == len(texts) and "leads" in texts and "any other role" in texts


def test_paper_says_the_property_the_notation_and_where_it_begins(opened: Any) -> None:
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    opened.execute_script("dispatchEvent(new Event('beforeprint'))")
    shown = text_of(opened, "body")
    # Paper is light, whatever the theme of the window.
    colours = "document.documentElement.dataset.theme = 'dark'; return getComputedStyle(document.body).color"
    assert opened.execute_script(colours) == "rgb(27, 31, 36)"
    opened.execute_script("dispatchEvent(new Event('afterprint'))")
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    document = document_of(counterexample(UNSTABLE))
    for text in (document.statement, *document.notation, *document.reasons, document.lanes[0].summary):
        assert text in shown
    assert shown.count("This step violates") == 1 and "Show step" not in shown
    assert text_of(opened, "body").count("This step violates") <= 1


@NEEDS_AXE
@pytest.mark.parametrize("step", [0, LAST])
def test_it_is_accessible(opened: Any, step: int) -> None:
    opened.execute_script(f"go({step})")
    assert inaccessible(opened) == []


def long(steps: int) -> Document:
    document = document_of(counterexample(UNSTABLE))
    rounds = steps // LAST
    arrows = (
        replace(arrow, sent=arrow.sent + LAST * each, ended=(arrow.ended or LAST) + LAST * each)
        for each in range(rounds)
        for arrow in document.arrows
    )
    return replace(document, steps=document.steps * rounds, arrows=tuple(arrows))


def test_a_long_trace_is_as_quick_as_a_short_one(driver: Any, tmp_path: Path) -> None:
    """What a step draws depends on the window, not on how many steps there are: the number of elements, and
    how often the page asks what is left of a trace, so that 10,000 steps are as fluid as 100.
    """
    elements = {}
    for steps in (100, 10_000):
        file = tmp_path / f"{steps}.html"
        file.write_text(page(long(steps)), encoding="utf-8")
        assert file.stat().st_size < 10_000 * steps
        driver.get(file.as_uri())
        there = "go(arguments[0]); paintNow(); return document.getElementById(`row-${arguments[0]}`) !== null"
        assert driver.execute_script(there, steps // 2)
        elements[steps] = driver.execute_script("return document.querySelectorAll('*').length")
        found = "search.value = 'leader'; find(); nextMatch(1); return chosen.step"
        assert driver.execute_script(found) > steps // 2
        moved = "scroller.scrollTop = 0; paintNow(); return document.getElementById('row-1') !== null"
        assert driver.execute_script(moved)
    assert elements[10_000] < elements[100] + 100


HOSTILE = [
    "<script>document.title = 'ran'</script>",
    "</script><script>document.title = 'ran'</script>",
    "<img src=x onerror=\"document.title = 'ran'\">",
    "<svg onload=\"document.title = 'ran'\">",
    "javascript:document.title='ran'",
    "'\"><b onmouseover=\"document.title = 'ran'\">",
    "<!-- <script> -->",
    "\u202egnihton\u202c \u2066right to left",
    "</title><svg><title><script>document.title = 'ran'</script></title></svg>",
    "a\x00b\r\nSet-Cookie: x",
    "<base href='https://example.com/'><form action=https://example.com/><button>",
    "</noscript><template><script>document.title = 'ran'</script>",
    "Z\u0351\u0351\u0351" * 3_000,
    "\x1b[31mred\x1b[0m\x07\x00",
    "\u2028\u2029\ufeff\ufffe",
    "{{7*7}}${7*7}",
    "__proto__",
    "constructor",
    "&lt;b&gt;&amp;",
    "a" * 1_000_000,
    "long words " * 20_000,
    "שלום עולם",
    "🎉" * 5_000,
    "<style>*{display:none}</style>",
    "<meta http-equiv=refresh content='0;url=data:text/html,ran'>",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_texts_are_only_texts(driver: Any, tmp_path: Path, text: str) -> None:
    document = document_of(counterexample(UNSTABLE))
    step = document.steps[0]
    changes = tuple(replace(each, field=text, after=text) for each in step.changes)
    effects = tuple(replace(each, text=text) for each in step.effects)
    first = replace(
        step, head=text, short=text, fault=text, changes=changes,
        effects=effects, events=(text,), notes=(text,), moments=(text,),
        violations=(text,), rules=(text, "__proto__", *step.rules),
    )  # fmt: skip
    hostile = replace(
        document,
        about=(text,), statement=text, reasons=(text,), notation=(text,), verdict=text, again=text,
        lanes=tuple(replace(each, name=text, fields={text: text}) for each in document.lanes),
        steps=(first, *document.steps[1:]),
        arrows=tuple(replace(each, text=text) for each in document.arrows),
    )  # fmt: skip
    file = tmp_path / "hostile.html"
    file.write_text(page(hostile), encoding="utf-8", errors="surrogatepass")
    driver.get(f"{file.as_uri()}#step=1")
    driver.execute_script("go(0); go(1); search.value = 'a'; find(); help.open = true")
    time.sleep(0.1)
    assert driver.title == document.title
    assert driver.execute_script("return document.querySelectorAll('base, form, template').length") == 0
    assert text[:20].strip() in driver.execute_script("return detail.textContent")
    assert (
        driver.execute_script("return document.querySelectorAll('img, iframe, b[onmouseover]').length") == 0
    )
    assert problems(driver) == []
