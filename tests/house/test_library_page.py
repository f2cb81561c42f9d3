"""The examples of docs/library.md give what the page shows."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests.house.pages import blocks


@pytest.mark.slow
def test_each_example_gives_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "\n".join(text for language, text in blocks("library.md") if language == "python")
    examples = doctest.DocTestParser().get_doctest(text, {}, "library.md", None, 0)
    said: list[str] = []
    results = doctest.DocTestRunner().run(examples, out=said.append)
    assert results.attempted > 20
    assert not results.failed, "".join(said)
