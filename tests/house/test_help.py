"""The help of every command fits a narrow terminal, and says the same on every other."""

from __future__ import annotations

import re

import pytest

from kraftcheck.cli.commands.pipeline import PIPELINES
from kraftcheck.cli.main import COMMANDS, main
from kraftcheck.cli.parser import Parser

ALL = [
    [],
    *([name] for name in COMMANDS),
    ["trace", "show"],
    ["trace", "replay"],
    *(["pipeline", name] for name in PIPELINES),
]


def help_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as end:
        main([*words, "--help"])
    assert end.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_help_fits_the_terminal(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {}
    for columns in (60, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        texts[columns] = help_of(words, capsys)
        assert max(map(len, texts[columns].splitlines())) <= columns
    # The same is said on any terminal.
    assert re.sub(r"\s", "", texts[60]) == re.sub(r"\s", "", texts[200])


def test_a_wrapped_usage_keeps_options_with_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    parser = Parser(prog="program")
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--one-thing", metavar="VALUE")
    asked.add_argument("--another-thing", metavar="VALUE")
    parser.add_argument("--third", nargs="?", metavar="VALUE")
    parser.add_argument("names", nargs="*", metavar="NAME")
    assert parser.format_help().split("\n\n")[0].splitlines() == [
        "usage: program [-h] [--one-thing VALUE",
        "  | --another-thing VALUE]",
        "  [--third [VALUE]] [NAME ...]",
    ]


def test_paragraphs_are_wrapped_and_indented_lines_are_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "32")
    epilog = "Several words that\nare one paragraph.\n\nFor example:\n  one line\n  and another"
    text = Parser(prog="program", epilog=epilog).format_help()
    assert text.endswith(
        "\n\nSeveral words that are one\nparagraph.\n\nFor example:\n  one line\n  and another\n"
    )


def test_a_summary_is_as_wide_as_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["check", "single-voter"]) == 0
    *_, first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("1 of 1 scenarios as expected; ") and second.startswith("  ")
    assert max(len(first), len(second)) <= 40
