"""The README shows what the commands print, on a terminal of the width that it names."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "guide.md"]
WIDTH = "112"
#: Those that take seconds and need nothing else.
CHEAP = {"rules", "step", "trace", "simulate", "graph", "mutate", "check", "impact"}
#: Of those, the ones that explore everything, write files, or read what others wrote or changed.
NOT_ALONE = re.compile(r"^kraftcheck check$| -o | > | --traces | traces/| --diff ")


def shown_in(page: Path) -> list[tuple[str, list[str]]]:
    """The cheap commands that a page shows, each with the lines of its output that are shown."""
    text = page.read_text(encoding="utf-8")
    found = [
        (command, shown.splitlines())
        for block in re.findall(r"^```\n(\$ .*?)^```", text, re.M | re.S)
        for command, shown in re.findall(r"^\$ (kraftcheck [^\n]+)\n(.*?)(?=^\$ |\Z)", block, re.M | re.S)
    ]
    return [
        (command, shown)
        for command, shown in found
        if command.split()[1] in CHEAP and not NOT_ALONE.search(command)
    ]


SHOWN = [(page, *each) for page in PAGES for each in shown_in(page)]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "command", "shown"), SHOWN, ids=[command[:40] for _, command, _ in SHOWN])
def test_output_is_as_printed(page: Path, command: str, shown: list[str], tmp_path: Path) -> None:
    for text in re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
        if name := re.match('name = "([a-z-]+)"', text):
            (tmp_path / f"{name[1]}.toml").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "kraftcheck", *shlex.split(command)[1:]],
        capture_output=True,
        text=True,
        cwd=tmp_path if ".toml" in command else ROOT,
        env={**os.environ, "COLUMNS": WIDTH},
        check=False,
    )
    printed = [without_seconds(line) for line in done.stdout.splitlines()]
    assert printed, done.stderr
    for line in filter(str.strip, shown):
        pattern = ".*".join(map(re.escape, without_seconds(line).split("…")))
        assert any(re.fullmatch(pattern, each) for each in printed), line


def without_seconds(line: str) -> str:
    return re.sub(r"\d+\.\d+ s\b", "0.0 s", line).rstrip()


def test_the_pages_name_their_width_and_the_readme_is_short() -> None:
    assert len(SHOWN) > 12
    assert all(f"a terminal of {WIDTH} columns" in page.read_text(encoding="utf-8") for page in PAGES)
    assert len(PAGES[0].read_text(encoding="utf-8").splitlines()) < 150
