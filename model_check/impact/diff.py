"""Unified diffs: read, located in the sources before and after, and applied.

A diff is hostile until parsed. What it names is looked up among the files that are known, never opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import printable, shortened

MAX_BYTES = 2**20
_HUNK = re.compile(r"@@ -(\d{1,7})(?:,(\d{1,7}))? \+(\d{1,7})(?:,(\d{1,7}))? @@")
NO_FILE = "/dev/null"


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines from ``old`` on, counted from 1, and what they become, from ``new`` on. Each of ``lines`` begins
    with a space, a minus or a plus.
    """

    old: int
    new: int
    lines: tuple[str, ...]

    def side(self, sign: str) -> tuple[str, ...]:
        """The lines before (``-``) or after (``+``) the change, those that stay included."""
        return tuple(line[1:] for line in self.lines if line[0] in (" ", sign))

    def changed(self, sign: str) -> Iterator[int]:
        """The numbers of the lines that are removed (``-``) or added (``+``)."""
        number = self.old if sign == "-" else self.new
        for line in self.lines:
            if line[0] == sign:
                yield number
            if line[0] in (" ", sign):
                number += 1


@dataclass(frozen=True, slots=True)
class Change:
    """How one file changes: its name before and after, without ``a/`` and ``b/``."""

    before: str
    after: str
    hunks: tuple[Hunk, ...]

    @property
    def file(self) -> str:
        """The name of the file; of a removed one, its former name."""
        return self.before if self.after == NO_FILE else self.after

    def lines(self, sign: str) -> frozenset[int]:
        """The numbers of all lines that are removed (``-``) or added (``+``)."""
        return frozenset(number for hunk in self.hunks for number in hunk.changed(sign))


def parse(text: str, where: str, most: int = MAX_BYTES) -> tuple[Change, ...]:
    """The changes of a unified diff, as ``git diff`` and ``diff -u`` write it.

    where: what messages call it; most: bytes.
    Raises InputError for what is none, and for one that changes no line.
    """
    if len(text.encode("utf-8", "replace")) > most:
        raise InputError(f"{where}: larger than {most:,} bytes; give a smaller diff.")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    found: list[Change] = []
    at = 0
    while at < len(lines):
        if lines[at].startswith(("GIT binary patch", "Binary files ")):
            raise InputError(f"{where}:{at + 1}: a binary file; give a diff of text.")
        if lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            change, at = _change(lines, at, where)
            found.append(change)
        elif lines[at].startswith("@@ "):
            raise InputError(f"{where}:{at + 1}: lines of no file; begin with '--- a/FILE' and '+++ b/FILE'.")
        else:
            at += 1
    if not found:
        raise InputError(f"{where}: not a unified diff ('--- a/FILE', '+++ b/FILE', '@@ ... @@'); give one.")
    return tuple(found)


def _change(lines: list[str], at: int, where: str) -> tuple[Change, int]:
    before, after = (_file(line) for line in lines[at : at + 2])
    first, at = at, at + 2
    hunks = []
    while at < len(lines) and lines[at].startswith("@@ "):
        hunk, at = _hunk(lines, at, where)
        hunks.append(hunk)
    if not hunks:
        raise InputError(f"{where}:{first + 1}: a file without changed lines ('@@ ... @@'); leave it out.")
    return Change(before, after, tuple(hunks)), at


def _file(line: str) -> str:
    name = line[4:].partition("\t")[0].strip()
    return name if name == NO_FILE else re.sub(r"^[ab]/", "", name)


def _hunk(lines: list[str], at: int, where: str) -> tuple[Hunk, int]:
    head = _HUNK.match(lines[at])
    if head is None:
        raise InputError(f"{where}:{at + 1}: expected '@@ -LINE,COUNT +LINE,COUNT @@'; correct it.")
    old, olds, new, news = (int(each) if each is not None else 1 for each in head.groups())
    first, at, body = at, at + 1, list[str]()
    while olds or news:
        line = lines[at] if at < len(lines) else None
        # Some editors take the space of an empty line away.
        line = " " if line == "" and at + 1 < len(lines) else line
        if line is None or line[:1] not in (" ", "-", "+", "\\"):
            raise InputError(f"{where}:{at + 1}: fewer lines than '@@' counts in line {first + 1}.")
        if line[0] != "\\":
            body.append(line)
            olds, news = olds - (line[0] != "+"), news - (line[0] != "-")
        if olds < 0 or news < 0:
            raise InputError(
                f"{where}:{at + 1}: more lines than '@@' counts in line {first + 1}; correct it."
            )
        at += 1
    while at < len(lines) and lines[at].startswith("\\"):
        at += 1
    # Where there are no lines, the number is of the line before them.
    old += not any(line[0] != "+" for line in body)
    new += not any(line[0] != "-" for line in body)
    return Hunk(old, new, tuple(body)), at


def apply(source: str, change: Change, where: str, *, backwards: bool = False) -> str:
    """``source`` after ``change``, or, ``backwards``, before it. Raises InputError where it does not fit."""
    find, give = ("+", "-") if backwards else ("-", "+")
    lines = source.removesuffix("\n").split("\n") if source else []
    result: list[str] = []
    done = 0
    for hunk in change.hunks:
        start = (hunk.new if backwards else hunk.old) - 1
        expected = list(hunk.side(find))
        if start < done or lines[start : start + len(expected)] != expected:
            raise InputError(_does_not_fit(where, change.file, start, expected, lines))
        result += lines[done:start] + list(hunk.side(give))
        done = start + len(expected)
    return "\n".join([*result, *lines[done:]]) + "\n"


def _does_not_fit(where: str, file: str, start: int, expected: list[str], lines: list[str]) -> str:
    there = lines[start : start + len(expected)] if start >= 0 else []
    differs = next((at for at, line in enumerate(expected) if there[at : at + 1] != [line]), 0)
    line = shortened(printable(expected[differs].strip()), 80) if expected else ""
    return (
        f"{where}: does not fit {shortened(printable(file), 80)}:{start + differs + 1}, where it expects "
        f"'{line}'; make the diff against this version of the reference, and undo the edit there first."
    )
