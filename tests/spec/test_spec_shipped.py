"""The specification that ships: complete, consistent, and written for a reader."""

import re
from collections import Counter

import pytest

from kraftcheck.spec import ROLES, START, applies, load

RULES_PER_AREA = {
    "ADD": 16, "AISR": 7, "ALTER": 16, "BEGIN": 14, "BOOT": 14, "BSTATE": 10, "CHECKQ": 6, "COMPAT": 5,
    "CONFIG": 17, "DEF": 7, "DESCRIBE": 11, "END": 12, "EPOCH": 9, "FENCE": 9, "FETCH": 33, "FINDQ": 7,
    "HBK": 11, "HEARTBEAT": 11, "HWM": 9, "ID": 9, "INC": 5, "INIT": 10, "ISR": 10, "KVER": 6, "LOG": 8,
    "METRIC": 11, "OLD": 21, "PERSIST": 12, "PREVOTE": 35, "REG": 5, "REMOVE": 12, "RESIGN": 9, "RESP": 10,
    "SNAP": 11, "STATE": 7, "TIMER": 9, "TRANS": 28, "UPDATE": 11, "VOTE": 27, "VSET": 16, "ZOMBIE": 4,
}  # fmt: skip


SHIPPED = load()
BROKER_AREAS = ("INC", "BSTATE", "HEARTBEAT", "FENCE", "COMPAT", "REG", "HBK", "ISR", "AISR")
#: A rule that a text may name, a switch with or without a value, a name of an error, a key.
RULE, SWITCH = re.compile(r"\b([A-Z]+)-[0-9]+\b"), re.compile(r"\bV-[A-Z]+(=[a-z0-9-]+)?")
ERROR = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b")
CONFIG = re.compile(r"\b(?:controller\.)?quorum\.[a-z.]*[a-z]")
SOURCE = re.compile(r"KIP-[0-9]+( .+)?|Kafka( [0-9.]+)?: \S.*|KAFKA-[0-9]+|Raft: .+|TLA\+: .+")


def test_rules_per_area() -> None:
    assert Counter(rule.area for rule in SHIPPED.rules.values()) == RULES_PER_AREA
    assert not [rule.id for rule in SHIPPED.rules.values() if rule.area in BROKER_AREAS and rule.uncovered]


def test_an_area_is_in_one_file_and_has_no_gap() -> None:
    for area, rules in SHIPPED.areas.items():
        assert len({rule.file for rule in rules}) == 1, area
        if area not in ("OLD", "TRANS"):
            assert [r.id for r in rules] == [f"{area}-{n}" for n in range(1, len(rules) + 1)]


def test_rule_texts_are_sentences() -> None:
    for rule in SHIPPED.rules.values():
        assert re.fullmatch(r"(?is)(?!when |if |then ).{14,}[^.,]", rule.when), rule.id
        assert re.fullmatch(r"(?s).{19,}\.", rule.then), rule.id
        assert rule.then.count("(") == rule.then.count(")"), rule.id
        assert rule.title[0].isupper() or rule.area in ("METRIC", "BOOT"), rule.id
        assert not rule.title.endswith("."), rule.id
    titles = Counter(rule.title for rule in SHIPPED.rules.values())
    assert titles.most_common(1)[0][1] == 1


def test_texts_name_existing_rules_and_switches_only() -> None:
    areas = {rule_id.partition("-")[0] for rule_id in SHIPPED.rules}
    of_rules = [(r.id, f"{r.when} {r.then} {r.note}") for r in SHIPPED.rules.values()]
    mutations = [(p.id, p.mutation) for p in SHIPPED.properties.values()]
    for where, text in of_rules + mutations:
        for match in RULE.finditer(text):
            assert match[1] not in areas or match[0] in SHIPPED.rules, f"{where} mentions {match[0]}"
    choices = {choice for variant in SHIPPED.variants.values() for choice in variant.choices}
    statements = [(p.id, p.statement) for p in SHIPPED.properties.values()]
    conflicts = [(c.id, f"{c.about} {c.winner} {c.kept_as}") for c in SHIPPED.conflicts.values()]
    for where, text in of_rules + mutations + statements + conflicts:
        for match in SWITCH.finditer(text):
            assert match[0].partition("=")[0] in SHIPPED.variants, where
            assert match[1] is None or match[0] in choices, where


def test_every_error_and_config_named_in_a_rule_is_listed() -> None:
    errors, configs = SHIPPED.errors, SHIPPED.configs
    known = errors.keys() | {alias.partition(" ")[0] for each in errors.values() for alias in each.aliases}
    known |= configs.keys() | {key for each in configs.values() for key in each.former}
    for rule in SHIPPED.rules.values():
        text = f"{rule.when} {rule.then} {rule.note}"
        for word in ERROR.findall(text) + CONFIG.findall(text):
            assert word in known, f"{rule.id}: {word}"


def test_sources_have_a_known_form_and_agree_with_the_confidence() -> None:
    expected = {(True, True): "document+kafka", (True, False): "document", (False, True): "kafka"}
    for rule in SHIPPED.rules.values():
        for source in rule.source:
            assert SOURCE.fullmatch(source), f"{rule.id}: {source}"
        if rule.confidence not in ("memory", "decision"):
            document = any(source.startswith(("KIP-", "TLA+")) for source in rule.source)
            kafka = any(source.startswith(("Kafka", "KAFKA-")) for source in rule.source)
            assert rule.confidence == expected[document, kafka], rule.id


def test_some_rules_are_effective_by_default() -> None:
    effective = [r for r in SHIPPED.rules.values() if r.belongs_to(SHIPPED.defaults)]
    assert 200 < len(effective) < len(SHIPPED.rules)
    assert not any(rule.area == "OLD" for rule in effective)


# --- transitions --------------------------------------------------------------------------------------------


def test_transitions_and_rules_go_together() -> None:
    rows = {rule for rule in SHIPPED.rules if re.match(r"(OLD|TRANS)-(?!Forbid)", rule)}
    assert rows <= {row.rule for row in SHIPPED.transitions}
    for row in SHIPPED.transitions:
        rule = SHIPPED.rules[row.rule]
        if rule.area in ("OLD", "TRANS"):
            name = row.rule.replace("-Obs", "").split("-", 1)[1]
            assert name == f"{row.from_state}-{row.to_state}", row.id
        assert "V-SM" not in "".join(rule.variants) or f"V-SM={row.table}" in rule.variants, row.id
        if "-Obs-" in row.rule:
            assert row.role == "observer", row.id


def test_the_kip996_table_is_that_of_kafka() -> None:
    table = SHIPPED.table("kip996")
    assert all(row.kafka for row in table)
    here = {(row.from_state, row.to_state, row.epoch) for row in table}
    for row in SHIPPED.transitions:
        assert row.kafka == ((row.from_state, row.to_state, row.epoch) in here), row.id


def test_tables() -> None:
    sizes = Counter(row.table for row in SHIPPED.transitions)
    assert sizes == {"kip996": 46, "pre996": 40, "pre996-voted": 49}
    with pytest.raises(KeyError):
        SHIPPED.table("kip595")
    absent = {"kip996": {"Voted"}, "pre996": {"Voted", "Prospective"}, "pre996-voted": {"Prospective"}}
    assert set(absent) == set(SHIPPED.variants["V-SM"].values)
    for name, roles in absent.items():
        table = SHIPPED.table(name)
        found = {role for row in table for role in (row.from_state, row.to_state)} - {START}
        assert found == set(ROLES) - roles
        reached = {START}
        while more := {r.to_state for r in table if r.from_state in reached} - reached:
            reached |= more
        assert reached - {START} == {r.to_state for r in table}, "every role is reachable"
        assert {r.to_state for r in table} <= {r.from_state for r in table}, "and can be left"


#: By source the targets of transitions that KIP-996 forbids.
FORBIDDEN = {
    "Start": {"Leader", "Prospective"},
    "Unattached": {"Candidate", "Leader"},
    "Prospective": {"Leader"},
    "Candidate": {"Candidate"},
    "Follower": {"Candidate", "Leader", "Resigned"},
    "Leader": {"Prospective", "Candidate"},
    "Resigned": {"Candidate", "Leader"},
}


def test_transitions_of_kip996() -> None:
    table = SHIPPED.table("kip996")
    assert not [row.id for row in table if row.to_state in FORBIDDEN.get(row.from_state, ())]
    raising = {(row.from_state, row.to_state) for row in table if row.epoch == "plus-one"}
    assert raising == {("Prospective", "Candidate"), ("Resigned", "Unattached")}


def test_broker_tables() -> None:
    sizes = Counter(row.table for row in SHIPPED.broker_transitions)
    assert list(SHIPPED.broker_tables) == list(sizes) == [
        "draft-controller", "draft-process", "shipped-controller", "shipped-process"
    ]  # fmt: skip
    assert list(sizes.values()) == [26, 13, 11, 8]
    for row in SHIPPED.broker_transitions:
        form = dict(choice.split("=") for choice in SHIPPED.broker_tables[row.table].variants)
        assert row in SHIPPED.broker_transitions_under(form)
        assert all(SHIPPED.rules[rule].belongs_to(form) for rule in row.rules), row.id


# --- properties ---------------------------------------------------------------------------------------------


def test_properties_per_kind_of_id() -> None:
    prefixes = Counter(property_id[0] for property_id in SHIPPED.properties)
    assert prefixes == {"S": 44, "B": 20, "L": 19, "P": 20, "G": 31}


def test_a_property_by_its_name() -> None:
    assert SHIPPED.property_named("LogMatching").name == "LogMatching"
    with pytest.raises(KeyError):
        SHIPPED.property_named("NoSuchProperty")


def test_kinds_and_texts_of_properties() -> None:
    for prop in SHIPPED.properties.values():
        assert (prop.kind == "sometimes") == prop.id.startswith("G-") == prop.name.startswith("Goal")
        assert prop.statement.endswith(".") and len(prop.statement) > 20, prop.id
        assert prop.mutation.endswith("."), prop.id
        assert prop.rules, prop.id
    assert {p.id for p in SHIPPED.properties.values() if p.id[0] == "L" and p.kind == "always"} == {"L-5"}


# --- the other files ----------------------------------------------------------------------------------------


def test_counts_of_the_other_files() -> None:
    assert list(SHIPPED.conflicts) == [f"C-{n}" for n in range(1, 31)]
    files = (SHIPPED.variants, SHIPPED.messages, SHIPPED.errors, SHIPPED.configs)
    assert list(map(len, files)) == [33, 43, 32, 32]


def test_requests_have_responses_and_fields_lie_within_their_message() -> None:
    requests = {m.name.removesuffix(" request") for m in SHIPPED.messages.values() if m.kind == "request"}
    for name in requests - {"Vote request (draft)"}:
        assert f"{name} response" in SHIPPED.messages
    for message in SHIPPED.messages.values():
        last = message.versions.partition("-")[2] or message.versions
        if not last.endswith("+"):
            for field in message.fields:
                first = int(re.match(r"[0-9]+", field.versions)[0])  # type: ignore[index]
                assert first <= int(last), f"{message.name}: {field.path}"


def test_fields_by_version() -> None:
    for message, field, without, having in (
        ("Vote request", "PreVote", 1, 2), ("Vote request", "VoterId", 0, 1),
        ("EndQuorumEpoch request", "PreferredSuccessors", 1, 0),
        ("Fetch request", "ReplicaState.ReplicaId", 14, 15), ("Fetch request", "TopicId", 12, 13),
        ("quorum-state", "votedDirectoryId", 0, 1),
    ):  # fmt: skip
        found = SHIPPED.messages[message].field(field)
        assert found.exists_in(having) and not found.exists_in(without), (message, field)
    vote = SHIPPED.messages["Vote response"]
    assert vote.field("ErrorCode").path == "ErrorCode"  # an exact path wins over a name
    assert vote.field("Topics[].Partitions[].ErrorCode").name == "ErrorCode"
    with pytest.raises(KeyError, match="2 fields"):
        SHIPPED.messages["Fetch response"].field("Epoch")
    with pytest.raises(KeyError, match="0 fields"):
        vote.field("NoSuchField")


def test_error_codes_are_distinct() -> None:
    codes = [error.code for error in SHIPPED.errors.values() if error.code is not None]
    assert len(codes) == len(set(codes))
    assert SHIPPED.errors["FENCED_LEADER_EPOCH"].code == 74
    assert SHIPPED.errors["INVALID_VOTER_KEY"].code == 125


def test_every_config_rule_has_a_key() -> None:
    used = {config.rule for config in SHIPPED.configs.values()}
    keyless = {"CONFIG-15", "CONFIG-16", "CONFIG-17"}
    assert {r for r in SHIPPED.rules if r.startswith("CONFIG-")} - keyless == used - {None}


# --- choices ------------------------------------------------------------------------------------------------


def test_applies() -> None:
    earlier, current, flag = "V-SM=pre996-voted", "V-SM=kip996", "V-PVCOMPAT=response-flag"
    assert applies((), {}) and applies((current,), {})
    assert applies((current,), {"V-SM": "kip996"}) and not applies((current,), {"V-SM": "pre996"})
    assert applies(("V-SM=pre996", earlier), {"V-SM": "pre996-voted"})
    assert applies((current, flag), {"V-SM": "kip996", "V-PVCOMPAT": "response-flag"})
    assert not applies((current, flag), {"V-SM": "kip996", "V-PVCOMPAT": "other"})
