"""The loader refuses every kind of damage with one sentence that names the file and the entry."""

import re
import string
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.spec import Specification, SpecificationError, load, parse
from kraftcheck.spec.catalogue import CATALOGUES


def shipped_texts() -> dict[str, str]:
    folder = files("kraftcheck.spec")
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in CATALOGUES}
    for file in (folder / "rules").iterdir():
        if file.name.endswith(".toml"):
            texts[f"rules/{file.name}"] = file.read_text(encoding="utf-8")
    return texts


SHIPPED = shipped_texts()


@pytest.fixture(scope="module", autouse=True)
def each_text_is_parsed_once() -> Iterator[None]:
    """Almost all of the loader's time goes to TOML, and each test changes one file of many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kraftcheck.spec.reader.tomllib.loads", cache(tomllib.loads))
        yield


def outcome(texts: dict[str, str]) -> Specification | str:
    """What the loader makes of the texts, or one sentence that begins with the file."""
    try:
        return parse(texts)
    except SpecificationError as error:
        assert re.fullmatch(r"(rules/)?[a-z_0-9]+\.toml: .+", str(error))
        return str(error)


def refused(texts: dict[str, str]) -> str:
    """What the loader says of the texts, which it must refuse."""
    sentence = outcome(texts)
    assert isinstance(sentence, str)
    return sentence


def test_parse_agrees_with_load() -> None:
    assert dict(parse(SHIPPED).rules) == dict(load().rules)


#: By file: a text in it, what replaces the first occurrence of that text, and what the loader says.
DAMAGES = {
    "rules/vote.toml": [
        ('title = "What', 'tittle = "What', "VOTE-1: key 'title' is missing"),
        ('[[rule]]\nid = "VOTE-2"', '[[rule]]\nowner = 1\nid = "VOTE-2"', "VOTE-2: unknown key 'owner'"),
        ("[[rule]]", "[[rules]]", "unknown key 'rules'"),
        ('id = "VOTE-1"', "id = 1", "'id' must be a string, not an integer"),
        ("variants = []", 'variants = ""', "'variants' must be a list"),
        ("variants = []", "variants = [1]", "must hold strings"),
        ("variants = []", 'variants = ["V-SM=kip996", "V-SM=kip996"]', "lists 'V-SM=kip996' twice"),
        ("variants = []", 'variants = [" V-SM=kip996"]', "untrimmed"),
        ('title = "What starts an election"', 'title = ""', "'title' is empty"),
        ('title = "What starts an election"',
         'title = "one two three four five six seven eight nine"', "more than 8 words"),
        ('id = "VOTE-1"', 'id = " VOTE-1"', "one line without blanks"),
        ('id = "VOTE-1"', 'id = "vote1"', "'vote1', which is not of the form"),
        ('id = "VOTE-1"', 'id = "VOTE-01"', "not of the form"),
        ('confidence = "document', 'confidence = "rumour', "it must be one of"),
        ('source = ["KIP-595 Vote", ', "source = []\n#", "'source' is empty"),
        ('id = "VOTE-2"', 'id = "VOTE-1"', "there is another rule VOTE-1"),
        ('id = "VOTE-2"', 'id = "FETCH-2"', "another rule FETCH-2"),
        ('protects = ["', 'protects = ["S-99", "', "'S-99', which does not"),
        ('protects = ["', 'protects = ["S-42", "', "it protects S-42, but"),
        ("variants = []", 'variants = ["V-SM=kip997"]', "not a switch value"),
    ],
    "rules/check_quorum.toml": [('uncovered = "', 'uncovered = " "\n#', "'uncovered' is empty")],
    "errors.toml": [
        ("[[error]]", "version = 1\n[[error]]", "unknown key 'version'"),
        ("code = 0", "code = 0.5", "must be an integer, not a float"),
        ("code = 0", "code = true", "must be an integer, not a boolean"),
        ('name = "NONE"', 'name = "none"', "not of the form UPPER_CASE"),
        ('status = "current"', 'status = "new"', "it must be one of"),
        ('name = "REQUEST_TIMED_OUT"', 'name = "NONE"', "another error NONE"),
    ],
    "transitions.toml": [
        ("kafka = true", 'kafka = "yes"', "true or false"),
        ('from = "Start"', 'from = "Begin"', "'from' is 'Begin'"),
        ('epoch = "same"', 'epoch = "smaller"', "it must be one of"),
        ('role = "any"', 'role = "broker"', "it must be one of"),
        ('table = "kip996"', 'table = "kip595"', "'table' is 'kip595'"),
        ('rule = "INIT-7"', 'rule = "INIT-77"', "'INIT-77', which is not"),
        ('requires = ["restart"', 'requires = ["luck"', "'luck', which is not"),
        ('variants = ["V-MEMBER=off"]', 'variants = ["V-MEMBER=no"]', "not a switch value"),
        ('from = "Unattached"\nto = "Prospective"',
         'from = "Unattached"\nto = "Unattached"', "it is listed twice"),
    ],
    "messages.toml": [
        ('versions = "0-2"', 'versions = "all"', "'all', which is not of"),
        ('flexible = "0+"', 'flexible = "+"', "'+', which is not of the form"),
        ('path = "ClusterId"', 'path = "Cluster Id"', "not of the form"),
        ('path = "VoterId"', 'path = "ClusterId", tag = "x"', "must be an integer"),
        ('kind = "request"', 'kind = "question"', "it must be one of"),
        ('name = "Vote response"', 'name = "Vote request"', "another message"),
        ('path = "VoterId", type = "int32", versions = "1+"',
         'path = "ClusterId", type = "int32", versions = "0+"', "it is listed twice"),
    ],
    "configs.toml": [
        ('kind = "config"', 'kind = "flag"', "it must be one of"),
        ('rule = "CONFIG-2"', 'rule = "CONFIG-99"', "which is not a rule"),
    ],
    "properties.toml": [
        ('name = "SingleLeaderPerEpoch"', 'name = "single leader"', "CamelCase"),
        ('kind = "always"', 'kind = "never"', "it must be one of"),
        ('id = "S-1"', 'id = "Z-1"', "not of the form"),
        ('id = "S-2"', 'id = "S-1"', "another property S-1"),
        ('name = "SingleKnownLeaderPerEpoch"',
         'name = "SingleLeaderPerEpoch"', "S-1 is called 'SingleLeaderPerEpoch' too"),
        ('rules = ["', 'rules = ["VOTE-99", "', "'VOTE-99', which is not a rule"),
        ('rules = ["', 'rules = ["ID-2", "', "it rests on ID-2, but"),
    ],
    "variants.toml": [
        ('id = "V-SM"', 'id = "SM"', "not of the form"),
        ('values = ["off", "on"]', 'values = ["off"]', "at least two"),
        ("meanings.off =", "meanings.of =", "explain exactly the values"),
    ],
    "broker_transitions.toml": [
        ('from = "Unknown"', 'from = "Gone"', "'from' is 'Gone'; it must be"),
        ('rules = ["INC-1"]', 'rules = ["INC-99"]', "'INC-99', which is not a rule"),
        ('table = "draft-controller"', 'table = "draft"', "'table' is 'draft'"),
        ('to = "Inactive"', 'to = "Unknown"', "to the same state"),
        ('rules = ["INC-5"]', 'rules = ["INC-1"]', "it is listed twice"),
        ("Unknown = ", 'Asleep = "It sleeps."\nUnknown = ', "no transition has the state Asleep"),
        ("Unknown = ", 'asleep = "It sleeps."\nUnknown = ', "not of the form CamelCase"),
        ("V-BLIVE=kip343", "V-BLIVE=kip1", "which is not a switch value"),
    ],
    "changes.toml": [
        ('release = "4.0"', 'release = "4.9"', "'release' is '4.9'; it must be one of 4.0, 4.1"),
        ('release = "4.0"', 'release = "3.9"', "'release' is '3.9'; it must be one of 4.0, 4.1"),
        ('"KIP-996"', '"KIP-x"', "which is not of the form KIP-1 or KAFKA-1"),
        ('issues = ["KAFKA-14619"]', "issues = []", "must not be empty"),
        ('"VOTE-1",', '"VOTE-99",', "not a rule of the catalogue"),
        ('"VOTE-1",', '"KVER-5",', "which is in neither 3.9 nor 4.0"),
        ('"Snapshots end at a batch"', '"Pre-votes"', "there is another change Pre-votes"),
    ],
    "rules/voter_changes.toml": [
        ('since = "4.2"', 'since = "4.9"', "rule ADD-13: 'since' is '4.9'; it must be one of 3.9, 4.0"),
        ('since = "4.2"', "since = 4.2", "rule ADD-13: 'since' must be a string, not a float"),
        ('since = "4.2"', 'until = "4"', "rule ADD-13: 'until' is '4'; it must be one of 3.8, 3.9"),
        ('since = "4.2"', 'since = "4.2"\nuntil = "4.0"', "is '4.2', which is later than 'until', '4.0'"),
        ('since = "4.2"', 'since = "4.0"', "'since' names a change in 4.0, but no change of 4.0"),
        ('since = "4.2"', 'until = "4.3"', "'until' names a change in 4.4, but no change of 4.4"),
    ],
    "conflicts.toml": [
        ('variants = ["V-RECONF"]', 'variants = ["V-X"]', "not a switch"),
        ('"VSET-2"]', '"VSET-99"]', "not a rule of the catalogue"),
    ],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_refused(name: str) -> None:
    wrong = []
    for old, new, problem in DAMAGES[name]:
        assert old in SHIPPED[name], f"{name} does not hold {old!r}"
        sentence = refused(SHIPPED | {name: SHIPPED[name].replace(old, new, 1)})
        if problem not in sentence:
            wrong.append((new, problem, sentence))
    assert not wrong


def uncovered(*areas: str, reason: str = "later") -> str:
    listed = ", ".join(f'"{area}"' for area in areas)
    return f'[[uncovered]]\nareas = [{listed}]\nreason = "{reason}"\n'


def test_a_whole_area_has_one_reason() -> None:
    rules = parse(SHIPPED | {"uncovered.toml": uncovered("ISR", "AISR")}).rules
    other = parse(SHIPPED | {"uncovered.toml": uncovered("AISR")}).rules
    assert {rule.area for rule in rules.values() if rule != other[rule.id]} == {"ISR"}
    assert {rule.uncovered for rule in rules.values() if rule.area in ("ISR", "AISR")} == {"later"}
    assert {rule.uncovered for rule in other.values() if rule.area == "ISR"} == {None}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (uncovered("NOWHERE"), "'areas' names 'NOWHERE', which is not an area of the catalogue"),
        (uncovered("ISR", reason=" "), "'reason' is empty"),
        (uncovered("ISR") + uncovered("REG", "ISR"), "area ISR is explained twice"),
        (uncovered("ZOMBIE"), "ZOMBIE-1 of area ZOMBIE gives a reason of its own"),
        (uncovered("ISR") + "all = true", "unknown key 'all'"),
    ],
)
def test_what_is_no_reason_for_an_area(text: str, problem: str) -> None:
    assert f"uncovered.toml: uncovered: {problem}" in refused(SHIPPED | {"uncovered.toml": text})


@pytest.mark.slow
def test_a_file_that_is_missing_empty_or_no_toml_is_named() -> None:
    for name, text in SHIPPED.items():
        assert name in refused(SHIPPED | {name: ""})
        assert f"{name}: not TOML" in refused(SHIPPED | {name: text + "\n[[[\n"})
    for name in CATALOGUES:
        others = {path: text for path, text in SHIPPED.items() if path != name}
        assert f"{name}: the file is missing" in refused(others)
    refused({path: text for path, text in SHIPPED.items() if path != "rules/vote.toml"})


def test_values_are_frozen() -> None:
    specification = load()
    with pytest.raises(AttributeError):
        specification.rules["VOTE-1"].title = "another"  # type: ignore[misc]
    with pytest.raises(TypeError):
        specification.rules["VOTE-1"] = specification.rules["VOTE-2"]  # type: ignore[index]
    with pytest.raises(TypeError):
        specification.variants["V-SM"].meanings["kip996"] = "x"  # type: ignore[index]


# --- damage at random ---------------------------------------------------------------------------------------

NAMES = st.sampled_from(sorted(SHIPPED))
#: The optional keys.
OPTIONAL = {
    "note", "uncovered", "unmutated", "code", "default", "rule", "flexible", "requires", "variants", "via",
    "tag", "switch", "system", "judged", "goals", "since", "until",
}  # fmt: skip
VALUES = st.sampled_from(
    ['""', '"x"', "0", "-1", "1.5", "true", "[]", '["x"]', "{}", "{ a = 1 }", "1979-05-27", "inf"]
)


@pytest.mark.slow
@settings(max_examples=120)
@given(name=NAMES, data=st.data(), piece=st.text(string.printable + "é≥\x00", max_size=12))
def test_another_piece_of_text_never_confuses_the_loader(name: str, data: st.DataObject, piece: str) -> None:
    text = SHIPPED[name]
    start = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(0, 400))
    outcome(SHIPPED | {name: text[:start] + piece + text[start + length :]})


def line_of(name: str, data: st.DataObject, key: str) -> tuple[list[str], int]:
    """The lines of a file, and the number of one that assigns a value to a key of the form ``key``."""
    lines = SHIPPED[name].split("\n")
    assignments = [i for i, line in enumerate(lines) if re.match(rf'{key} = (?!""")(?!\[$)', line)]
    return lines, data.draw(st.sampled_from(assignments))


@pytest.mark.slow
@settings(max_examples=80)
@given(name=NAMES, data=st.data(), value=VALUES)
def test_another_value_is_refused_or_means_something_else(name: str, data: st.DataObject, value: str) -> None:
    """A one-line value replaced by one of another type or content: refused, or read as what it now says."""
    lines, at = line_of(name, data, "[a-z_.]+")
    lines[at] = f"{lines[at].split(' = ')[0]} = {value}"
    changed = "\n".join(lines)
    if tomllib.loads(changed) == tomllib.loads(SHIPPED[name]):
        return
    assert outcome(SHIPPED | {name: changed}) != load()


@pytest.mark.slow
@settings(max_examples=60)
@given(name=NAMES, data=st.data())
def test_a_dropped_key_is_refused_unless_optional(name: str, data: st.DataObject) -> None:
    lines, at = line_of(name, data, "[a-z_]+")
    found = outcome(SHIPPED | {name: "\n".join(lines[:at] + lines[at + 1 :])})
    assert isinstance(found, str) or lines[at].split(" = ")[0] in OPTIONAL or name == "transitions.toml"
