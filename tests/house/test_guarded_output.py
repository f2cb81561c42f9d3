"""Whatever a text from outside holds, a terminal shows it and obeys none of it."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.support.errors import InputError
from kraftcheck.support.files import write_atomically
from kraftcheck.support.printable import guarded, json_text, printable, shown
from kraftcheck.support.terminal import Console, console, say
from tests.house.sources import importing

#: Control characters of two kinds, delete, what changes directions, and line breaks that are no line feed.
CONTROLS = "\x00\x07\x08\x0c\r\x1b\x7f\x80\x85\x9b\x9d\u200e\u202a\u202e\u2066\u2069\u2028\u2029\ufeff"
TEXTS = st.text(st.sampled_from(CONTROLS) | st.characters(), max_size=40)


def _is_harmless(text: str) -> bool:
    return all(letter.isprintable() or letter in "\n\t" for letter in text)


@given(TEXTS)
def test_no_door_lets_a_control_character_out(text: str) -> None:
    assert printable(text).isprintable() and len(printable(text)) == len(text)
    out = io.StringIO()
    with redirect_stdout(out), guarded():
        print(text)
        say(console(), text)
        console().print(text)
        Console().print({"a": text})
    assert _is_harmless(out.getvalue())
    assert _is_harmless(str(InputError(text)))


@pytest.mark.slow
@given(st.recursive(TEXTS | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
def test_json_keeps_what_it_escapes(data: object) -> None:
    text = json_text(data, 1)
    assert _is_harmless(text)
    assert json.loads(text) == data


def test_files_are_written_through_the_same_door(tmp_path: Path) -> None:
    write_atomically(tmp_path / "report", f"a{CONTROLS}\n\tb\n")
    assert (tmp_path / "report").read_text() == f"a{'?' * len(CONTROLS)}\n\tb\n"


def test_colours_are_those_of_rich_alone() -> None:
    out = io.StringIO()
    target = Console(file=out, force_terminal=True, color_system="standard")
    say(target, "red \x1b[32mnot green", "red")
    assert out.getvalue() == "\x1b[31mred ?[32mnot green\x1b[0m\n"


def test_a_message_ends_with_what_to_do_however_long_it_quotes() -> None:
    for quoted in ("x" * 100_000, "x " * 100_000, "\x1b" * 100_000, "x\n" * 100_000):
        sentence = str(InputError(f"file: there is no goal '{quoted}'; see the docs."))
        assert sentence.startswith("file: there is no goal '") and _is_harmless(sentence)
        assert max(map(len, sentence.split("\n"))) < 900
        assert sentence.count("\n") < 100
    assert str(InputError("x\ny")) == "x\ny"


def test_a_short_message_stays_as_it_is() -> None:
    sentence = f"{'/folder' * 30}/file.toml: no {'word ' * 90}; see docs/scenarios.md."
    assert str(InputError(sentence)) == sentence


@pytest.mark.slow
def test_rich_writes_through_one_console() -> None:
    """A console of rich itself would write without that."""
    found = {
        path
        for path, name in importing("model_check")
        if name in ("rich.console.Console", "rich.console", "rich.print")
    }
    assert found == {"model_check/support/terminal.py"}


@pytest.mark.parametrize("text", [shown, printable])
def test_what_terminals_show_stays(text: object) -> None:
    assert callable(text) and text("→ ✓ é 日本 ─") == "→ ✓ é 日本 ─"
