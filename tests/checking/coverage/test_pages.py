"""The source of the reference as pages: the lines that ran, guards and rules, and inert texts."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.checking.coverage import blocks
from kraftcheck.checking.coverage.covering import Covered
from kraftcheck.checking.coverage.executed import Place
from kraftcheck.checking.coverage.pages import counted, page_name, pages_of
from kraftcheck.checking.coverage.report import Report
from kraftcheck.cli.main import main
from kraftcheck.systems.guards import Guard
from kraftcheck.systems.kraft.kind import REPLICAS
from tests.browser import NEEDS_AXE, NEEDS_CHROMIUM, browser, inaccessible, problems

SOURCE = '''
def granted(epoch: int) -> str:
    """Says what."""
    if epoch > 1:
        return "VOTE-10"
    for each in range(epoch):
        print(each)
    return "</td><script>alert(1)</script>"
'''
PLACE = Place("kraftcheck.reference.made", "granted")
GUARD = Guard("made.py:4", "granted", "epoch > 1", ("VOTE-10",), 4, 4, 5, 5)


def flags(*called: int) -> str:
    """The flags of a run that calls the function with these epochs."""
    tree = ast.parse(SOURCE)
    size = max(each.stop for each in blocks.mark(tree).values())
    space: dict[str, Any] = {blocks.NOTED: bytearray(size)}
    exec(compile(tree, "made.py", "exec"), space)
    for epoch in called:
        space["granted"](epoch)
    function = blocks.functions_in(ast.parse(SOURCE))["granted"]
    return blocks.flags_of(function, space[blocks.NOTED])


def test_lines_are_those_that_ran() -> None:
    runs = [{PLACE: flags(2)}, {PLACE: flags(0)}, {}]
    assert counted("made.py", SOURCE, runs) == {4: 2, 5: 1, 6: 1, 7: 0, 8: 1}


def pages(guards: frozenset[tuple[str, bool]]) -> dict[str, str]:
    report = Report(
        Covered(frozenset({("rule", "VOTE-10")}), guards), REPLICAS.to_cover(()), {GUARD.place: GUARD}
    )
    return pages_of({"one": {PLACE: flags(2)}, "<b>two": {PLACE: flags(3)}}, report, {"made.py": SOURCE})


def test_pages_say_what_never_happened() -> None:
    found = pages(frozenset({(GUARD.place, True)}))
    source = found[page_name("made.py")]
    assert "guard never false" in source and 'href="rules.html#VOTE-10"' in source
    assert '<tr id="L5" class="heat4">' in source and '<tr id="L8" class="heat0">' in source
    assert 'id="VOTE-10"' in found["rules.html"] and f"{page_name('made.py')}#L5" in found["rules.html"]
    assert "2 of 5 lines" in found["index.html"] and "0 of 1" in found["index.html"]


def test_texts_of_the_source_are_inert() -> None:
    for content in pages(frozenset()).values():
        assert "<script" not in content and "<b>two" not in content
        assert "default-src 'none'; style-src" in content and "script-src" not in content


def test_links_lead_somewhere() -> None:
    found = pages(frozenset())
    for content in found.values():
        for href in re.findall(r'href="([^"]*)"', content):
            file, _, fragment = href.partition("#")
            target = found[file] if file else content
            assert not fragment or f'id="{fragment}"' in target


@pytest.mark.slow
def test_the_command_writes_pages_and_counts_guards_as_without_them(tmp_path: Path, capsys: Any) -> None:
    guards = []
    for more in ([], ["--coverage-html", str(tmp_path / "pages")]):
        assert main(["check", "single-voter", "--coverage", *more]) == 0
        guards.append(re.findall(r"guards .*", capsys.readouterr().out))
    assert guards[0] == guards[1]
    assert "vote.py" in (tmp_path / "pages" / "index.html").read_text(encoding="utf-8")
    assert main(["check", "single-voter", "--coverage-html", str(tmp_path)]) == 2
    assert "--coverage-html: goes with --coverage" in capsys.readouterr().err


@pytest.mark.slow
@NEEDS_AXE
@NEEDS_CHROMIUM
def test_the_pages_are_accessible(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    assert main(["check", "single-voter", "--coverage", "--coverage-html", str(folder)]) == 0
    with browser() as driver:
        for page in ("index.html", "elections.py.html"):
            driver.get((folder / page).as_uri())
            assert inaccessible(driver) == []
            assert problems(driver) == []
