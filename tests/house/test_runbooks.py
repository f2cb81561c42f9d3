"""The runbooks show what the commands print on the logs and disks of each symptom."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.engine.prepared import prepare
from tests.house.sources import ROOT
from tests.house.symptoms import SYMPTOMS
from tests.house.test_pages import WIDTH, blocks, pattern

RUNBOOKS = ROOT / "docs" / "runbooks"
PARTS = ["Confirm", "What it means", "Safe next", "Do not"]


def shown(name: str) -> list[tuple[str, str]]:
    """The commands of a runbook, each with the output that it shows."""
    text = "".join(text for language, text in blocks(f"runbooks/{name}.md") if not language)
    found: list[tuple[str, str]] = re.findall(r"^\$ (kraftcheck [^\n]+)\n(.*?)(?=^\$ |\Z)", text, re.M | re.S)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", SYMPTOMS)
def test_each_command_prints_what_the_page_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare()  # Nothing is said of compiling afterwards, and no limit of time is used up by it.
    capsys.readouterr()
    SYMPTOMS[name](tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", WIDTH)
    for command, output in shown(name):
        assert main(shlex.split(command)[1:]) in (0, 1, 3)
        out, err = capsys.readouterr()
        printed = "".join(f"{line.rstrip()}\n" for line in out.lstrip("\n").splitlines())
        assert re.fullmatch(pattern(output), printed, re.S), f"{command}\n{printed}{err}"


def test_each_symptom_has_a_page_and_each_page_is_listed() -> None:
    names = {path.stem for path in RUNBOOKS.glob("*.md")}
    assert names == set(SYMPTOMS)
    overview = (ROOT / "docs" / "runbooks.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(runbooks/([a-z-]+)\.md\)", overview)) == names
    for name in names:
        text = (RUNBOOKS / f"{name}.md").read_text(encoding="utf-8")
        assert re.findall(r"^## (.*)$", text, re.M) == PARTS and "**Symptom.**" in text
        assert shown(name) and all(output.strip("…\n") for _, output in shown(name))
