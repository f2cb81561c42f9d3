"""Marked code that is kept for the next run: of these sources alone, and only from this user's folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

from kraftcheck.checking.coverage import blocks, marked
from kraftcheck.support.places import REFERENCE

MODULE = f"{REFERENCE}.vote"


def begin() -> None:
    """As in a new process."""
    for each in (marked.marked, marked._made, marked._kept, marked._header):
        each.cache_clear()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file in which the marked code of a module is kept, in a process that has not read it yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    begin()
    marked.marked(MODULE)
    marked.keep_marked()
    (found,) = (each for each in tmp_path.rglob("*") if each.is_file())
    begin()
    yield found
    begin()


def is_marked_anew(monkeypatch: pytest.MonkeyPatch) -> bool:
    anew = []
    mark = blocks.mark
    monkeypatch.setattr(blocks, "mark", lambda tree: anew.append(1) or mark(tree))
    marked.marked(MODULE)
    return bool(anew)


def shape(code: CodeType) -> list[object]:
    inner = [shape(each) for each in code.co_consts if isinstance(each, CodeType)]
    return [code.co_name, code.co_code, code.co_filename, [*code.co_positions()], inner]


def test_kept_code_is_that_of_the_sources(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = marked.marked(MODULE)
    begin()
    file.unlink()
    made = marked.marked(MODULE)
    assert shape(kept.code) == shape(made.code)
    assert (kept.numbers, kept.size, kept.codes.keys()) == (made.numbers, made.size, made.codes.keys())


def test_what_is_kept_is_not_marked_anew(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_marked_anew(monkeypatch)


def test_other_sources_are_marked_anew(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = marked._key
    monkeypatch.setattr(marked, "_key", lambda module, source, of: key(module, f"{source}\n", of))
    assert is_marked_anew(monkeypatch)


def test_what_another_python_made_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marked.sys, "version", "another")
    assert is_marked_anew(monkeypatch)


def test_damaged_code_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert is_marked_anew(monkeypatch)


def test_what_others_may_write_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.parent.chmod(0o777)
    assert is_marked_anew(monkeypatch)
