"""``kraftcheck new`` and the JSON Schema of scenario files."""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kraftcheck.cli.main import main
from kraftcheck.support.errors import InputError
from kraftcheck.systems.scenario import from_data, load, shipped_files
from kraftcheck.systems.scenario_schema import schema, text_of_schema
from tests.house.sources import ROOT

VALIDATOR = Draft202012Validator(schema())


def template() -> dict[str, Any]:
    text = (resources.files("kraftcheck.cli") / "new_scenario.toml").read_text(encoding="utf-8")
    return tomllib.loads(text.replace("NAME", "new"))


def test_the_schema_is_valid_and_published() -> None:
    Draft202012Validator.check_schema(schema())
    assert (ROOT / "docs/schemas/scenario-file.json").read_text(encoding="utf-8") == text_of_schema()


@pytest.mark.slow
def test_shipped_scenarios_are_valid() -> None:
    texts = {name: tomllib.loads(file.read_text(encoding="utf-8")) for name, file in shipped_files().items()}
    assert [name for name, data in texts.items() if not VALIDATOR.is_valid(data)] == []


@pytest.mark.parametrize(
    "change",
    [
        {"nonsense": 1},
        {"budgets": {"crashs": 1}},
        {"bounds": {"max-epoch": "2"}},
        {"network": {"capacity": 0}},
        {"expect": {"verdict": "maybe"}},
        {"replicas": {"voters": ["1"]}},
        {"tags": ["mine"]},
    ],
    ids=str,
)
def test_what_the_schema_refuses_is_refused(change: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(template())
    assert not VALIDATOR.is_valid(template() | change)
    with pytest.raises(InputError):
        from_data(template() | change, "changed")


@pytest.mark.parametrize("missing", ["name", "about", "expect", "replicas"])
def test_required_keys(missing: str) -> None:
    assert not VALIDATOR.is_valid({key: value for key, value in template().items() if key != missing})


def test_a_mistake_is_marked_where_it_is() -> None:
    """Not at the whole file, as one that is neither a scenario of replicas nor one of brokers."""
    replicas = template() | {"budgets": {"crashs": 1}, "network": {"capacity": "x"}}
    brokers = {"name": "x", "about": "x", "expect": {"verdict": "holds"}, "brokers": {"nonsense": 1}}
    places = [
        {tuple(error.absolute_path)[:1] for error in VALIDATOR.iter_errors(data)}
        for data in (replicas, brokers)
    ]
    assert places == [{("budgets",), ("network",)}, {("brokers",)}]


def test_a_new_scenario(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["new", "my-quorum"]
    assert main([*words, "--schema"]) == 0
    file = tmp_path / "my-quorum.toml"
    assert load(file).name == "my-quorum"
    named = file.read_text(encoding="utf-8").splitlines()[0].removeprefix("#:schema ./")
    assert json.loads((tmp_path / named).read_text(encoding="utf-8")) == schema()
    written = file.read_bytes()
    assert main(words) == 2
    assert "is there already" in capsys.readouterr().err and file.read_bytes() == written
    assert main(["new", "../x"]) == 2


@pytest.mark.slow
def test_a_new_scenario_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "holds"]) == 0
    assert main(["check", "holds.toml"]) == 0
