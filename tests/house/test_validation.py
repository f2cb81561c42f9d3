"""What is wrong with a file is said in words of the file, not of the library that looks at it."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftcheck.checking.mutation import catalogue, historical_bugs
from kraftcheck.support.errors import InputError
from kraftcheck.systems import scenario
from kraftcheck.tlc.modules import Modules

#: What pydantic says of its own, of Python or of regular expressions.
FOREIGN = ("value error", "input", "pattern", "regex", "[a-z", "dictionary", "instance", "tuple", "valid ")
TLA = Path(__file__).parents[2] / "tla"
SCENARIO = """
name = "good"
about = "a good one"
replicas = { voters = [1, 2] }
expect = { verdict = "holds" }
"""
MUTANT = """
[[mutant]]
id = "good"
rules = ["VOTE-8"]
about = "a good one"
scenario = "single-voter"
expect = ["NoFatal"]
edit = [{ module = "kraftcheck.reference.vote", find = "a", replace = "b" }]
"""
BUG = """
[[bug]]
id = "KAFKA-12345"
title = "a title"
kind = "safety"
story = "a story"
missing = "a rule"
"""
TLA_MUTANT = """
[[mutant]]
id = "good"
scenario = "single-voter"
replaces = { Old = "New" }
"""


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], object]:
    """Reads a file of some kind with the given text."""
    file = tmp_path / "some.toml"
    monkeypatch.setattr(historical_bugs, "FILE", file.name)
    shutil.copy(TLA / "KRaft.tla", tmp_path)
    readers: dict[str, Callable[[], object]] = {
        "scenario": lambda: scenario.parse(file.read_text(encoding="utf-8"), file.name),
        "mutants": lambda: catalogue.shipped(file),
        "bugs": historical_bugs.shipped,
        "tla-mutants": lambda: Modules(tmp_path).mutants(),
    }

    def text_of(kind: str, text: str) -> object:
        if kind == "bugs":
            monkeypatch.setattr(historical_bugs.resources, "files", lambda package: tmp_path)
        for place in (file, tmp_path / "mutants.toml"):
            place.write_text(text, encoding="utf-8")
        return readers[kind]()

    return text_of


GOOD = {"scenario": SCENARIO, "mutants": MUTANT, "bugs": BUG, "tla-mutants": TLA_MUTANT}
CASES = [
    ("scenario", 'name = "good"', "", "name: is missing"),
    ("scenario", '"good"', '"No Good"', "name: 'No Good' is not a name: small letters"),
    ("scenario", '"good"', "1", "name: should be a text"),
    ("scenario", "[1, 2]", "1", "replicas.voters: should be a list"),
    ("scenario", "[1, 2]", "[]", "replicas.voters: should have at least 1 entry"),
    ("scenario", "[1, 2]", "[1.5]", "replicas.voters.0: should be a whole number"),
    ("scenario", "[1, 2]", "[-1]", "replicas.voters.0: should be greater than or equal to 0"),
    ("scenario", "{ voters = [1, 2] }", "3", "replicas: should be a table"),
    ("scenario", '"holds"', '"Holds"', "expect.verdict: should be 'holds'"),
    ("scenario", "expect =", "expects = 1\nexpect =", "expects: is not a known key"),
    ("scenario", "name =", '"\\n\\u001b" = 1\nname =', "??: is not a known key"),
    ("scenario", '"holds"', '"holds", steps = 3', "expect: violates and steps go with the verdict"),
    ("scenario", "", "x = 1 y", ":1: only a comment"),
    ("mutants", 'id = "good"', 'id = "GOOD"', "mutant.0.id: 'GOOD' does not have the form"),
    ("mutants", 'expect = ["NoFatal"]', "", "mutant.0: give either the properties that fail ('expect')"),
    ("mutants", '["VOTE-8"]', "[]", "mutant.0.rules: should have at least 1 entry"),
    ("mutants", "kraftcheck.reference.vote", "os", "mutant.0.edit.0.module: 'os' does not have the form"),
    ("mutants", "[[mutant]]", "[mutant]", "mutant: should be a list"),
    ("mutants", "", "x = 1 y", ":1: only a comment"),
    ("bugs", "KAFKA-12345", "12345", "bug.0.id: '12345' does not have the form"),
    ("bugs", '"safety"', '"danger"', "bug.0.kind: should be 'safety', 'liveness', 'crash' or 'view'"),
    ("bugs", '"a title"', '""', "bug.0.title: should have at least 1 character"),
    ("bugs", "", "x = 1 y", ":1: only a comment"),
    ("tla-mutants", "New", "<-", "'<-' does not have the form that this key expects"),
    ("tla-mutants", '{ Old = "New" }', "{}", "mutant.0.replaces: should have at least 1 entry"),
    ("tla-mutants", "", "x = 1 y", ":1: only a comment"),
]


@pytest.mark.parametrize("kind", GOOD)
def test_a_good_file_is_read(kind: str, read: Callable[[str, str], object]) -> None:
    tomllib.loads(GOOD[kind])
    read(kind, GOOD[kind])


@pytest.mark.parametrize(("kind", "old", "new", "said"), CASES)
def test_a_bad_one_is_refused(
    kind: str, old: str, new: str, said: str, read: Callable[[str, str], object]
) -> None:
    with pytest.raises(InputError) as caught:
        read(kind, GOOD[kind].replace(old, new, 1) if old else new)
    sentence = str(caught.value)
    assert said in sentence
    assert sentence.endswith(".") and sentence.isprintable()
    assert not any(word in sentence.lower() for word in FOREIGN), sentence
