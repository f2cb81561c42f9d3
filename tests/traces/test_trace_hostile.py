"""Trace files whose texts hold what a terminal would obey: no view and no message lets it out."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.cli.main import main
from kraftcheck.traces import json_form
from tests.examples import examples
from tests.traces.trace_samples import UNSTABLE, Place, around, as_json, places

#: Control characters of both kinds, delete, and what changes the direction of text or ends a line.
HOSTILE = st.text(
    st.sampled_from("\x1b\x07\x08\r\x7f\x85\x9b\x9d\u200f\u202a\u202e\u2066\u2069\u2028\u2029[]2J;m0"),
    min_size=1,
    max_size=12,
)
VIEWS = (
    ["show"],
    ["show", "-v"],
    ["show", "--markdown"],
    ["show", "--json"],
    ["show", "--pytest"],
    ["replay"],
)


TEXTS = [place for place, value in places(as_json(UNSTABLE)) if isinstance(value, str)]


def _output(words: list[str]) -> str:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        assert main(words) in (0, 1, 2)
    return out.getvalue()


@pytest.mark.slow
@examples(15)
@given(st.sampled_from(TEXTS), HOSTILE, st.booleans())
def test_no_text_of_a_file_reaches_the_terminal_as_it_is(
    tmp_path: Path, place: Place, text: str, is_key: bool
) -> None:
    data = as_json(UNSTABLE)
    parent = around(data, place)
    if is_key and isinstance(parent, dict):
        parent[text] = parent.pop(place[-1])
    else:
        parent[place[-1]] = text
    data["digest"] = json_form._digest(data.get("scenario"), data.get("property"))
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    for view in VIEWS:
        output = _output(["trace", view[0], str(file), *view[1:]])
        assert all(letter.isprintable() or letter in "\n\t" for letter in output), (view, output)


def test_a_difference_is_told_in_one_line(tmp_path: Path) -> None:
    data = as_json(UNSTABLE)
    data["steps"][0]["changes"][0]["after"] = "2.\nThe reference takes all 5 steps as recorded.\x1b[2K"
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    output = _output(["trace", "replay", str(file)])
    assert output.count("\n") == 1 and "step 1, changes[0].after: recorded 2.?The" in output
    assert "\x1b" not in output and "\x1b" not in _output(["trace", "show", str(file)])
