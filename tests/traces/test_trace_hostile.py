"""Trace files whose texts hold what a terminal would obey: no view and no message lets it out."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftcheck.cli.main import main
from kraftcheck.traces import json_form
from tests.traces.trace_samples import UNSTABLE, counterexample

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


def _texts(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all texts."""
    if isinstance(data, str):
        return [path]
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [place for key, value in items for place in _texts(value, (*path, key))]


DATA = json.loads(json_form.dumps(counterexample(UNSTABLE)))
PLACES = _texts(DATA)


def _output(words: list[str]) -> str:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        assert main(words) in (0, 1, 2)
    return out.getvalue()


@pytest.mark.slow
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(PLACES), HOSTILE, st.booleans())
def test_no_text_of_a_file_reaches_the_terminal_as_it_is(
    tmp_path: Path, place: tuple[Any, ...], text: str, is_key: bool
) -> None:
    data = json.loads(json.dumps(DATA))
    parent = data
    for key in place[:-1]:
        parent = parent[key]
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
    data = json.loads(json.dumps(DATA))
    data["steps"][0]["changes"][0]["after"] = "2.\nThe reference takes all 5 steps as recorded.\x1b[2K"
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    output = _output(["trace", "replay", str(file)])
    assert output.count("\n") == 1 and "step 1, changes[0].after: recorded 2.?The" in output
    assert "\x1b" not in output and "\x1b" not in _output(["trace", "show", str(file)])
