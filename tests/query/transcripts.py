"""Cases in text files: blocks with a head, and cases that are indented under it."""

from __future__ import annotations

from pathlib import Path


def cases(file: str) -> list[list[str]]:
    """The cases of a file in this folder: the head of the block, the case, and what is expected, by line.

    A case is indented by two spaces, what is expected by four; a line that is indented further goes on.
    """
    found: list[list[str]] = []
    head = ""
    for line in (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if line.startswith("      "):
            found[-1][-1] += f" {text}"
        elif line.startswith("    "):
            found[-1].append(text)
        elif line.startswith("  "):
            found.append([head, text])
        elif not line.startswith("#"):
            head = text
    return found


def name_of(case: list[str]) -> str:
    """The name of a case among the tests."""
    return f"{case[0]} {case[1]}"
