"""Every ``--json`` output names its format and version, and is valid by the schema that is published."""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kraftcheck.cli.main import main
from kraftcheck.support.outputs import outputs, schema, text_of_schema
from tests.house.sources import ROOT

SCHEMAS = ROOT / "docs" / "schemas"
RUNS = ROOT / "tests" / "recorded"

#: Commands that are quick, with the outputs that they print.
COMMANDS = [
    ("check single-voter --json --all", ["check"]),
    ("check single-voter --json --all --coverage", ["check", "coverage"]),
    ("check --list --json --tag finding", ["scenarios"]),
    ("simulate single-voter --walks 3 --depth 5 --json", ["simulation"]),
    ("mutate --list --json", ["mutants"]),
    ("bugs --json", ["bugs"]),
    ("rules VOTE-10 --json", ["rules"]),
    ("rules --between 3.9 trunk --json", ["rule-changes"]),
    ("rules --properties --json", ["properties"]),
    ("rules --transitions --json", ["transitions"]),
    ("step 'candidate epoch=6' 'vote-response from=2 granted' --poll --json", ["steps"]),
    ("step --protocol draft 'broker id=1 incarnation=1 controller=1' heartbeat-due --json", ["broker-step"]),
    ("step --table start --json", ["decision-table"]),
    ("step --table registration-due --json", ["decision-table"]),
    ("step --table --json", ["decision-tables"]),
    ("trace show single-voter --path 0 --json", ["trace"]),
    ("graph single-voter --format json", ["graph"]),
    ("graph single-voter --to role=Leader --format json", ["graph-answer"]),
    ("impact VOTE-10 --json", ["impact"]),
    ("hunt single-voter --steps 2 --threads 1 --json -o HUNTED", ["hunt"]),
]


def valid(text: str, name: str) -> dict[str, Any]:
    """The output in ``text``, which must be valid as the output ``name``."""
    data: dict[str, Any] = json.loads(text)
    Draft202012Validator(schema(name)).validate(data)
    assert list(data)[:2] == ["format", "version"]
    return data


def objects(text: str) -> Iterator[str]:
    """The JSON objects in what a command printed, one after the other."""
    decoder, begin = json.JSONDecoder(), 0
    while begin < len(text.rstrip()):
        _, end = decoder.raw_decode(text, begin)
        yield text[begin:end]
        begin = end + 1


@pytest.mark.slow
@pytest.mark.parametrize(("line", "names"), COMMANDS, ids=[line for line, _ in COMMANDS])
def test_outputs_are_valid(
    line: str, names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.replace("HUNTED", str(tmp_path)) for word in shlex.split(line)]) in (0, 1, 3)
    found = list(objects(capsys.readouterr().out))
    assert len(found) == len(names)
    for text, name in zip(found, names, strict=True):
        valid(text, name)


@pytest.mark.parametrize("name", sorted(outputs()))
def test_schemas_are_valid_and_published(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert (SCHEMAS / f"{name}.json").read_text() == text_of_schema(name)


def test_no_schema_is_published_of_an_output_that_is_gone() -> None:
    of_inputs = {"recording", "adapter", "scenario-file"}  # tests/evidence/test_schemas.py, test_new.py
    assert {path.stem for path in SCHEMAS.glob("*.json")} == {*outputs()} | of_inputs


def test_a_changed_output_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "single-voter", "--json", "--all"]) == 0
    data = json.loads(capsys.readouterr().out)
    validator = Draft202012Validator(schema("check"))
    for key in ("format", "version", "verdict", "violations", "distinct_states"):
        assert not validator.is_valid({name: value for name, value in data.items() if name != key}), key
        assert not validator.is_valid(data | {key: {}}), key


def test_commands_print_no_json_without_format_and_version() -> None:
    """A call of ``print(json.dumps(...))`` in a command has ``versioned`` in it."""
    files = [*(ROOT / "model_check" / "cli" / "commands").glob("*.py")]
    files += (ROOT / "model_check" / "pipeline").rglob("command.py")
    bare = []
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) != "print":
                continue
            source = ast.unparse(node)
            if ("json.dumps(" in source or "json_text(" in source) and "versioned(" not in source:
                bare.append(f"{path.name}: {source}")
    assert not bare
