"""docs/tutorial.md as a reader follows it: each file is saved, each command run, in order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.engine.prepared import prepare
from tests.house.test_pages import blocks, changed, pattern


@pytest.mark.slow
def test_each_command_does_what_the_tutorial_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "112")
    prepare()  # Nothing is said of compiling afterwards.
    ran = []
    for language, text in blocks("tutorial.md"):
        if language == "toml":
            file = Path("my-quorum.toml")
            file.write_text(changed(file.read_text() if file.is_file() else "", text), encoding="utf-8")
        elif language == "diff":
            Path("vote-twice.diff").write_text(text, encoding="utf-8")
        elif text.startswith("$ kraftcheck "):
            command, _, shown = text.partition("\n")
            ran.append(command)
            main(shlex.split(command)[2:])
            out = capsys.readouterr().out
            printed = [line.rstrip() for line in out.splitlines()]
            for line in filter(str.strip, shown.splitlines()):
                fits = (re.fullmatch(pattern(line.rstrip()), each) for each in printed)
                assert any(fits), f"{command}\n{line}\n{out}"
    assert len(ran) == 5
    assert Path("traces/my-quorum.AcknowledgedIsDurable.html").is_file()
