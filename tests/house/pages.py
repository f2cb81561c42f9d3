"""Pages of documentation as programs: the fenced blocks of a section, in order."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, heading: str = "") -> list[tuple[str, str]]:
    """The language and the text of each fenced block of a page, or of its section ``## heading``."""
    text = (DOCS / page).read_text(encoding="utf-8")
    if heading:
        text = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)


def pattern(shown: str) -> str:
    """What a page shows, as a regular expression: ``…`` stands for anything, times for any time."""
    parts = re.split(r"\d+\.\d s\b", shown)
    return r"\d+\.\d s".join(map(re.escape, parts)).replace("…", ".*")
