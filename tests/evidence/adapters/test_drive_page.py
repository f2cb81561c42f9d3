"""The example session and the skeleton in docs/drive.md are true."""

import io
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.evidence.adapters import wire
from kraftcheck.evidence.adapters.answers import REPORTED
from kraftcheck.evidence.adapters.serving import ReferenceAdapter, serve

PAGE = (Path(__file__).parents[3] / "docs" / "drive.md").read_text(encoding="utf-8")


def test_the_example_session_is_what_the_reference_answers() -> None:
    lines = re.findall(r"^([<>]) (\{.*\})$", PAGE, re.M)
    questions = [text for mark, text in lines if mark == ">"]
    answers = io.StringIO()
    serve(ReferenceAdapter(), io.StringIO("\n".join(questions)), answers)
    expected = [json.loads(text) for mark, text in lines if mark == "<"]
    assert len(expected) == len(questions) - 1 >= 5
    assert [json.loads(line) for line in answers.getvalue().splitlines()] == expected


def test_every_message_effect_and_field_is_described() -> None:
    rows = re.findall(r"^\| ((?:`[\w.]+`(?:, )?)+)", PAGE, re.M)
    described = {name for row in rows for name in re.findall(r"[\w.]+", row)}
    assert described >= {*wire.EVENTS, *REPORTED, *wire.STATE, "hello", "exit"}


def test_the_skeleton_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("the skeleton of docs/drive.md NOT TESTED: it is JavaScript, and node is not installed")
    found = re.search(r"^```js\n(.*?)^```", PAGE, re.M | re.S)
    assert found is not None
    script = tmp_path / "skeleton.js"
    script.write_text(found[1])
    command = shlex.join([node, str(script)])
    assert main(["drive", "--adapter", command, "--scenario", "scenario-a"]) == 0
    assert "skeleton: " in capsys.readouterr().out
