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
README = (ROOT / "README.md").read_text(encoding="utf-8")
WIDTH = "112"
#: Those that take seconds and need nothing else. `graph -o` and `--traces` write files.
CHEAP = {"rules", "step", "trace", "simulate", "graph", "mutate", "check"}
BLOCKS = [
    block
    for block in re.findall(r"^```\n(\$ kraftcheck [^\n]+\n.*?)^```", README, re.M | re.S)
    if block.split()[2] in CHEAP and not re.search(r"^\$ kraftcheck check$| -o | --traces ", block, re.M)
]


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0][2:40])
def test_output_is_as_printed(block: str) -> None:
    command, *shown = block.splitlines()
    done = subprocess.run(
        [sys.executable, "-m", "kraftcheck", *shlex.split(command)[2:]],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "COLUMNS": WIDTH},
        check=False,
    )
    printed = [without_seconds(line) for line in done.stdout.splitlines()]
    for line in filter(str.strip, shown):
        pattern = ".*".join(map(re.escape, without_seconds(line).split("…")))
        assert any(re.fullmatch(pattern, each) for each in printed), line


def without_seconds(line: str) -> str:
    return re.sub(r"\d+\.\d+ s\b", "0.0 s", line).rstrip()


def test_the_readme_names_its_width() -> None:
    assert len(BLOCKS) > 8 and f"a terminal of {WIDTH} columns" in README
