"""Pages of documentation as programs: commands, examples and scenarios do what the pages show."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.engine.prepared import prepare
from tests.house.sources import ROOT

DOCS = ROOT / "docs"


def blocks(page: str, heading: str = "") -> list[tuple[str, str]]:
    """The language and the text of each fenced block of a page, or of its section ``## heading``."""
    text = (DOCS / page).read_text(encoding="utf-8")
    if heading:
        text = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)


def pattern(shown: str) -> str:
    """What a page shows, as a regular expression: ``…`` stands for anything, times for any time."""
    parts = re.split(r"\d+\.\d+ s\b", shown)
    return r"\d+\.\d+ s".join(map(re.escape, parts)).replace("…", ".*")


# docs/library.md.


@pytest.mark.slow
def test_each_example_gives_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "\n".join(text for language, text in blocks("library.md") if language == "python")
    examples = doctest.DocTestParser().get_doctest(text, {}, "library.md", None, 0)
    said: list[str] = []
    results = doctest.DocTestRunner().run(examples, out=said.append)
    assert results.attempted > 20
    assert not results.failed, "".join(said)


# The worked example of docs/scenarios.md.

_TABLE = re.compile(r"^(?=\[)", re.M)


def changed(file: str, block: str) -> str:
    """``file`` with the tables of ``block`` in place of those of the same name, or added."""
    tables = {part.partition("\n")[0]: part for part in _TABLE.split(file) if part.strip()}
    for part in _TABLE.split(block):
        first = part.partition("\n")[0]
        tables[first] = part.rstrip("\n") + "\n\n"
    return "".join(tables.values())


@pytest.mark.slow
def test_each_step_does_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    prepare()  # Nothing is said of compiling afterwards.
    file = Path("partition.toml")
    file.write_text("")
    ran = 0
    for language, text in blocks("scenarios.md", "A worked example"):
        if language == "toml":
            file.write_text(changed(file.read_text(), text))
            continue
        command, _, shown = text.partition("\n")
        main(shlex.split(command.removeprefix("$ kraftcheck ")))
        out, err = capsys.readouterr()
        assert re.fullmatch(pattern(shown), out + err, re.S), f"{command}\n{out}{err}"
        ran += 1
    assert ran == 9


# README and guide, on a terminal of the width that they name.

PAGES = ("../README.md", "guide.md")
WIDTH = "112"
#: Those that take seconds and need nothing else.
CHEAP = {"rules", "step", "trace", "simulate", "graph", "mutate", "check", "impact", "plan"}
#: Of those, the ones that explore everything, write files, or read what others wrote or changed.
NOT_ALONE = re.compile(r"^kraftcheck check$| -o | --html | > | --traces | traces/| --diff ")
#: The cheap commands that a page shows, each with the output that is shown.
SHOWN = [
    (page, command, shown)
    for page in PAGES
    for language, text in blocks(page)
    if not language
    for command, shown in re.findall(r"^\$ (kraftcheck [^\n]+)\n(.*?)(?=^\$ |\Z)", text, re.M | re.S)
    if command.split()[1] in CHEAP and not NOT_ALONE.search(command)
]


@pytest.mark.slow
@pytest.mark.parametrize("command", dict.fromkeys(command for _, command, _ in SHOWN))
def test_output_is_as_printed(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for language, text in (each for page in PAGES for each in blocks(page)):
        if language == "toml" and (name := re.match('name = "([a-z-]+)"', text)):
            (tmp_path / f"{name[1]}.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path if ".toml" in command else ROOT)
    monkeypatch.setenv("COLUMNS", WIDTH)
    main(shlex.split(command)[1:])
    out, err = capsys.readouterr()
    printed = [line.rstrip() for line in out.splitlines()]
    assert printed, err
    shown = [line for _, each, text in SHOWN if each == command for line in text.splitlines()]
    for line in filter(str.strip, shown):
        assert any(re.fullmatch(pattern(line.rstrip()), each) for each in printed), line


def test_the_pages_name_their_width_and_the_readme_is_short() -> None:
    assert len(SHOWN) > 12
    texts = [(DOCS / page).read_text(encoding="utf-8") for page in PAGES]
    assert all(f"a terminal of {WIDTH} columns" in text for text in texts)
    assert len(texts[0].splitlines()) < 150
