"""The worked example of docs/scenarios.md does what the page shows, step by step."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.engine.prepared import prepare
from tests.house.pages import blocks, pattern

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
