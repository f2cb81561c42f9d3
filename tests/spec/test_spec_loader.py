"""The loader refuses every kind of damage with one sentence that names the file and the entry."""

import re
import string
import tomllib
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.spec import Specification, SpecificationError, load, parse
from kraftcheck.spec.catalogue import CATALOGUES


def shipped_texts() -> dict[str, str]:
    folder = files("spec")
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in CATALOGUES}
    for file in (folder / "rules").iterdir():
        if file.name.endswith(".toml"):
            texts[f"rules/{file.name}"] = file.read_text(encoding="utf-8")
    return texts


SHIPPED = shipped_texts()


def damaged(name: str, old: str, new: str) -> dict[str, str]:
    """The shipped texts with the first occurrence of ``old`` in one file replaced."""
    assert old in SHIPPED[name], f"{name} does not hold {old!r}"
    return SHIPPED | {name: SHIPPED[name].replace(old, new, 1)}


def test_parse_agrees_with_load() -> None:
    assert dict(parse(SHIPPED).rules) == dict(load().rules)


DAMAGES = [
    # keys
    pytest.param(
        "rules/vote.toml", 'title = "What', 'tittle = "What', "VOTE-1: key 'title' is missing", id="missing"
    ),
    pytest.param(
        "rules/vote.toml",
        '[[rule]]\nid = "VOTE-2"',
        '[[rule]]\nowner = 1\nid = "VOTE-2"',
        "VOTE-2: unknown key 'owner'",
        id="unknown-key",
    ),
    pytest.param("rules/vote.toml", "[[rule]]", "[[rules]]", "unknown key 'rules'", id="unknown-table"),
    pytest.param(
        "errors.toml", "[[error]]", "version = 1\n[[error]]", "unknown key 'version'", id="top-level-key"
    ),
    # types and values
    pytest.param(
        "rules/vote.toml", 'id = "VOTE-1"', "id = 1", "'id' must be a string, not an integer", id="id-type"
    ),
    pytest.param(
        "rules/vote.toml", "variants = []", 'variants = ""', "'variants' must be a list", id="list-type"
    ),
    pytest.param("rules/vote.toml", "variants = []", "variants = [1]", "must hold strings", id="item-type"),
    pytest.param(
        "rules/vote.toml",
        "variants = []",
        'variants = ["V-SM=kip996", "V-SM=kip996"]',
        "lists 'V-SM=kip996' twice",
        id="item-twice",
    ),
    pytest.param(
        "rules/vote.toml", "variants = []", 'variants = [" V-SM=kip996"]', "untrimmed", id="item-blank"
    ),
    pytest.param(
        "rules/vote.toml", 'title = "What starts an election"', 'title = ""', "'title' is empty", id="empty"
    ),
    pytest.param(
        "rules/vote.toml",
        'title = "What starts an election"',
        'title = "one two three four five six seven eight nine"',
        "more than 8 words",
        id="long-title",
    ),
    pytest.param(
        "rules/vote.toml", 'id = "VOTE-1"', 'id = " VOTE-1"', "one line without blanks", id="id-blank"
    ),
    pytest.param(
        "rules/vote.toml", 'id = "VOTE-1"', 'id = "vote1"', "'vote1', which is not of the form", id="id-form"
    ),
    pytest.param("rules/vote.toml", 'id = "VOTE-1"', 'id = "VOTE-01"', "not of the form", id="id-zero"),
    pytest.param(
        "rules/vote.toml", 'confidence = "document', 'confidence = "rumour', "it must be one of", id="choice"
    ),
    pytest.param(
        "rules/vote.toml", 'source = ["KIP-595 Vote", ', "source = []\n#", "'source' is empty", id="no-source"
    ),
    pytest.param("transitions.toml", "kafka = true", 'kafka = "yes"', "true or false", id="flag-type"),
    pytest.param(
        "errors.toml", "code = 0", "code = 0.5", "must be an integer, not a float", id="integer-type"
    ),
    pytest.param(
        "errors.toml", "code = 0", "code = true", "must be an integer, not a boolean", id="boolean-code"
    ),
    pytest.param(
        "errors.toml", 'name = "NONE"', 'name = "none"', "not of the form UPPER_CASE", id="error-name"
    ),
    pytest.param(
        "errors.toml", 'status = "current"', 'status = "new"', "it must be one of", id="error-status"
    ),
    pytest.param(
        "messages.toml", 'versions = "0-2"', 'versions = "all"', "'all', which is not of", id="versions"
    ),
    pytest.param(
        "messages.toml", 'flexible = "0+"', 'flexible = "+"', "'+', which is not of the form", id="flexible"
    ),
    pytest.param("messages.toml", 'path = "ClusterId"', 'path = "Cluster Id"', "not of the form", id="path"),
    pytest.param(
        "messages.toml", 'path = "VoterId"', 'path = "ClusterId", tag = "x"', "must be an integer", id="tag"
    ),
    pytest.param(
        "messages.toml", 'kind = "request"', 'kind = "question"', "it must be one of", id="message-kind"
    ),
    pytest.param("configs.toml", 'kind = "config"', 'kind = "flag"', "it must be one of", id="config-kind"),
    pytest.param(
        "properties.toml", 'name = "SingleLeaderPerEpoch"', 'name = "single leader"', "CamelCase", id="name"
    ),
    pytest.param(
        "properties.toml", 'kind = "always"', 'kind = "never"', "it must be one of", id="property-kind"
    ),
    pytest.param("properties.toml", 'id = "S-1"', 'id = "Z-1"', "not of the form", id="property-id"),
    pytest.param("variants.toml", 'id = "V-SM"', 'id = "SM"', "not of the form", id="variant-id"),
    pytest.param(
        "variants.toml", 'values = ["off", "on"]', 'values = ["off"]', "at least two", id="one-value"
    ),
    pytest.param(
        "variants.toml", "meanings.off =", "meanings.of =", "explain exactly the values", id="meanings"
    ),
    pytest.param("transitions.toml", 'from = "Start"', 'from = "Begin"', "'from' is 'Begin'", id="role"),
    pytest.param("transitions.toml", 'epoch = "same"', 'epoch = "smaller"', "it must be one of", id="epoch"),
    pytest.param("transitions.toml", 'role = "any"', 'role = "broker"', "it must be one of", id="membership"),
    pytest.param(
        "transitions.toml", 'table = "kip996"', 'table = "kip595"', "'table' is 'kip595'", id="table"
    ),
    pytest.param(
        "broker_transitions.toml",
        'from = "Unknown"',
        'from = "Gone"',
        "'from' is 'Gone'; it must be",
        id="state",
    ),
    pytest.param(
        "broker_transitions.toml",
        'rules = ["INC-1"]',
        'rules = ["INC-99"]',
        "'INC-99', which is not a rule",
        id="broker-rule",
    ),
    pytest.param(
        "broker_transitions.toml",
        'table = "draft-controller"',
        'table = "draft"',
        "'table' is 'draft'",
        id="broker-table",
    ),
    pytest.param(
        "broker_transitions.toml",
        'to = "Inactive"',
        'to = "Unknown"',
        "to the same state",
        id="no-transition",
    ),
    pytest.param(
        "broker_transitions.toml",
        'rules = ["INC-5"]',
        'rules = ["INC-1"]',
        "it is listed twice",
        id="broker-transition-twice",
    ),
    pytest.param(
        "broker_transitions.toml",
        "Unknown = ",
        'Asleep = "It sleeps."\nUnknown = ',
        "no transition has the state Asleep",
        id="unused-state",
    ),
    pytest.param(
        "broker_transitions.toml",
        "Unknown = ",
        'asleep = "It sleeps."\nUnknown = ',
        "not of the form CamelCase",
        id="state-name",
    ),
    pytest.param(
        "broker_transitions.toml",
        "V-BLIVE=kip343",
        "V-BLIVE=kip1",
        "which is not a switch value",
        id="broker-variant",
    ),
    # ids used twice
    pytest.param(
        "rules/vote.toml", 'id = "VOTE-2"', 'id = "VOTE-1"', "there is another rule VOTE-1", id="rule-twice"
    ),
    pytest.param(
        "rules/vote.toml", 'id = "VOTE-2"', 'id = "FETCH-2"', "another rule FETCH-2", id="rule-elsewhere"
    ),
    pytest.param("properties.toml", 'id = "S-2"', 'id = "S-1"', "another property S-1", id="property-twice"),
    pytest.param(
        "properties.toml",
        'name = "SingleKnownLeaderPerEpoch"',
        'name = "SingleLeaderPerEpoch"',
        "S-1 is called 'SingleLeaderPerEpoch' too",
        id="property-name-twice",
    ),
    pytest.param(
        "errors.toml", 'name = "REQUEST_TIMED_OUT"', 'name = "NONE"', "another error NONE", id="error-twice"
    ),
    pytest.param(
        "messages.toml", 'name = "Vote response"', 'name = "Vote request"', "another message", id="msg-twice"
    ),
    pytest.param(
        "messages.toml",
        'path = "VoterId", type = "int32", versions = "1+"',
        'path = "ClusterId", type = "int32", versions = "0+"',
        "it is listed twice",
        id="field-twice",
    ),
    # references
    pytest.param(
        "rules/vote.toml", 'protects = ["', 'protects = ["S-99", "', "'S-99', which does not", id="protects"
    ),
    pytest.param(
        "rules/vote.toml", 'protects = ["', 'protects = ["S-42", "', "it protects S-42, but", id="one-sided"
    ),
    pytest.param(
        "properties.toml", 'rules = ["', 'rules = ["VOTE-99", "', "'VOTE-99', which is not a rule", id="rule"
    ),
    pytest.param(
        "properties.toml", 'rules = ["', 'rules = ["ID-2", "', "it rests on ID-2, but", id="other-side"
    ),
    pytest.param(
        "rules/vote.toml",
        "variants = []",
        'variants = ["V-SM=kip997"]',
        "not a switch value",
        id="choice-ref",
    ),
    pytest.param(
        "transitions.toml", 'rule = "INIT-7"', 'rule = "INIT-77"', "'INIT-77', which is not", id="row-rule"
    ),
    pytest.param(
        "transitions.toml",
        'requires = ["restart"',
        'requires = ["luck"',
        "'luck', which is not",
        id="requires",
    ),
    pytest.param(
        "transitions.toml",
        'variants = ["V-MEMBER=off"]',
        'variants = ["V-MEMBER=no"]',
        "not a switch value",
        id="row-choice",
    ),
    pytest.param(
        "transitions.toml",
        'from = "Unattached"\nto = "Prospective"',
        'from = "Unattached"\nto = "Unattached"',
        "it is listed twice",
        id="row-twice",
    ),
    pytest.param(
        "configs.toml", 'rule = "CONFIG-2"', 'rule = "CONFIG-99"', "which is not a rule", id="config-rule"
    ),
    pytest.param(
        "conflicts.toml",
        'variants = ["V-RECONF"]',
        'variants = ["V-X"]',
        "not a switch",
        id="conflict-switch",
    ),
    pytest.param(
        "conflicts.toml", '"VSET-2"]', '"VSET-99"]', "not a rule of the catalogue", id="conflict-rule"
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "problem"), DAMAGES)
def test_damage_is_refused(name: str, old: str, new: str, problem: str) -> None:
    with pytest.raises(SpecificationError) as caught:
        parse(damaged(name, old, new))
    message = str(caught.value)
    assert problem in message
    assert re.match(r"(rules/)?[a-z_0-9]+\.toml: ", message)
    assert "\n" not in message


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
    with pytest.raises(SpecificationError, match=rf"uncovered\.toml: uncovered: {problem}"):
        parse(SHIPPED | {"uncovered.toml": text})


def test_an_empty_reason_of_a_rule_is_refused() -> None:
    before, _, after = SHIPPED["rules/check_quorum.toml"].partition('id = "ZOMBIE-1"')
    text = before + 'id = "ZOMBIE-1"' + after.replace('uncovered = "', 'uncovered = " "\n#', 1)
    with pytest.raises(SpecificationError, match="ZOMBIE-1: 'uncovered' is empty"):
        parse(SHIPPED | {"rules/check_quorum.toml": text})


@pytest.mark.parametrize("name", CATALOGUES)
def test_a_missing_file_is_refused(name: str) -> None:
    with pytest.raises(SpecificationError, match=rf"{re.escape(name)}: the file is missing"):
        parse({path: text for path, text in SHIPPED.items() if path != name})


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_an_empty_file_is_refused(name: str) -> None:
    with pytest.raises(SpecificationError, match=re.escape(name)):
        parse(SHIPPED | {name: ""})


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_a_file_that_is_not_toml_is_refused(name: str) -> None:
    with pytest.raises(SpecificationError, match=rf"{re.escape(name)}: not TOML"):
        parse(SHIPPED | {name: SHIPPED[name] + "\n[[[\n"})


def test_a_missing_rule_file_is_noticed() -> None:
    with pytest.raises(SpecificationError):
        parse({path: text for path, text in SHIPPED.items() if path != "rules/vote.toml"})


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


def outcome(texts: dict[str, str]) -> Specification | None:
    """What `parse` makes of the texts; any exception but `SpecificationError` fails the test."""
    try:
        return parse(texts)
    except SpecificationError as error:
        assert re.match(r"(rules/)?[a-z_0-9]+\.toml: ", str(error))
        return None


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(name=NAMES, data=st.data())
def test_cutting_out_a_piece_never_confuses_the_loader(name: str, data: st.DataObject) -> None:
    text = SHIPPED[name]
    start = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(1, 400))
    outcome(SHIPPED | {name: text[:start] + text[start + length :]})


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    name=NAMES, data=st.data(), piece=st.text(alphabet=string.printable + "é≥\x00", min_size=1, max_size=12)
)
def test_inserting_text_never_confuses_the_loader(name: str, data: st.DataObject, piece: str) -> None:
    text = SHIPPED[name]
    at = data.draw(st.integers(0, len(text)))
    outcome(SHIPPED | {name: text[:at] + piece + text[at:]})


VALUES = st.sampled_from(
    ['""', '"x"', "0", "-1", "1.5", "true", "[]", '["x"]', "{}", "{ a = 1 }", "1979-05-27", "inf"]
)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(name=NAMES, data=st.data(), value=VALUES)
def test_another_value_is_refused_or_means_something_else(name: str, data: st.DataObject, value: str) -> None:
    """A one-line value replaced by one of another type or content: refused, or read as what it now says."""
    lines = SHIPPED[name].split("\n")
    assignments = [i for i, line in enumerate(lines) if re.match(r'[a-z_.]+ = (?!""")(?!\[$)', line)]
    at = data.draw(st.sampled_from(assignments))
    key = lines[at].split(" = ")[0]
    lines[at] = f"{key} = {value}"
    changed = "\n".join(lines)
    if tomllib.loads(changed) == tomllib.loads(SHIPPED[name]):
        return
    found = outcome(SHIPPED | {name: changed})
    assert found is None or found != load()


@settings(max_examples=60, deadline=None)
@given(name=NAMES, data=st.data())
def test_a_dropped_key_is_refused_unless_optional(name: str, data: st.DataObject) -> None:
    lines = SHIPPED[name].split("\n")
    assignments = [i for i, line in enumerate(lines) if re.match(r'[a-z_]+ = (?!""")(?!\[$)', line)]
    at = data.draw(st.sampled_from(assignments))
    key = lines[at].split(" = ")[0]
    optional = {
        "note",
        "uncovered",
        "unmutated",
        "code",
        "default",
        "rule",
        "flexible",
        "requires",
        "variants",
        "via",
        "tag",
    }
    found = outcome(SHIPPED | {name: "\n".join(lines[:at] + lines[at + 1 :])})
    assert found is None or key in optional or name == "transitions.toml"
