"""Unified diffs: against difflib, and against whatever else may be in such a file."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.impact import diff
from kraftcheck.impact.diff import parse
from kraftcheck.support.errors import InputError

LINES = st.lists(st.sampled_from(["a", "b", "    c", "", "--- a", "+++ b", "@@ x"]), min_size=1, max_size=12)


@settings(max_examples=60)
@given(LINES, LINES, st.integers(0, 3))
def test_a_diff_leads_there_and_back(old: list[str], new: list[str], context: int) -> None:
    if old == new:
        return
    text = "\n".join(
        difflib.unified_diff(old, new, "a/reference/x.py", "b/reference/x.py", "", "", context, "")
    )
    (change,) = parse(text, "a test")
    before, after = ("\n".join(lines) + "\n" for lines in (old, new))
    assert diff.apply(before, change, "a test") == after
    assert diff.apply(after, change, "a test", backwards=True) == before
    assert change.file == "reference/x.py"
    removed = [old[line - 1] for line in sorted(change.lines("-"))]
    added = [new[line - 1] for line in sorted(change.lines("+"))]
    told = text.split("\n")[2:]
    assert removed == [line[1:] for line in told if line.startswith("-")]
    assert added == [line[1:] for line in told if line.startswith("+")]


HEADS = ["--- a/x", "+++ b/x", "@@ -1 +1 @@", "@@ -1,2 +1,2 @@", "@@ -9999999,9999999 +1 @@"]
PIECES = st.sampled_from([*HEADS, "-a", "+b", " c", "", "\\ No newline"])


@settings(max_examples=60)
@given(st.text(max_size=100) | st.lists(PIECES, max_size=9).map("\n".join))
def test_any_text_is_read_or_refused_in_one_sentence(text: str) -> None:
    try:
        for change in parse(text, "a test"):
            diff.apply("a\nc\n", change, "a test")
    except InputError as error:
        assert "\n" not in str(error) and len(str(error)) < 400


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a unified diff"),
        ("--- a/x\n+++ b/x\n", "without changed lines"),
        ("--- a/x\n+++ b/x\n@@ 1 @@\n", "expected '@@"),
        ("--- a/x\n+++ b/x\n@@ -1,3 +1 @@\n-a\n", "fewer lines"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n-b\n", "more lines"),
        ("@@ -1 +1 @@\n-a\n+b\n", "lines of no file"),
        ("GIT binary patch\n", "a binary file"),
        ("x" * (diff.MAX_BYTES + 1), "larger than"),
    ],
)
def test_what_is_no_diff(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        parse(text, "my.patch")
    assert str(caught.value).startswith("my.patch")
