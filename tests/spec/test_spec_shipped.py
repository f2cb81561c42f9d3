"""The specification that ships: complete, consistent, and written for a reader."""

import re
from collections import Counter

import pytest

from kraftcheck.spec import ROLES, START, Specification, applies, load

RULES_PER_AREA = {
    "ADD": 15, "AISR": 7, "ALTER": 16, "BEGIN": 14, "BOOT": 14, "BSTATE": 10, "CHECKQ": 6, "COMPAT": 5,
    "CONFIG": 16, "DEF": 7, "DESCRIBE": 11, "END": 12, "EPOCH": 9, "FENCE": 9, "FETCH": 33, "FINDQ": 7,
    "HBK": 11, "HEARTBEAT": 11, "HWM": 9, "ID": 8, "INC": 5, "INIT": 10, "ISR": 10, "KVER": 6, "LOG": 8,
    "METRIC": 11, "OLD": 21, "PERSIST": 11, "PREVOTE": 35, "REG": 5, "REMOVE": 12, "RESIGN": 9, "RESP": 10,
    "SNAP": 11, "STATE": 7, "TIMER": 9, "TRANS": 28, "UPDATE": 8, "VOTE": 27, "VSET": 13, "ZOMBIE": 4,
}  # fmt: skip


@pytest.fixture(scope="module")
def shipped() -> Specification:
    return load()


def test_rules_per_area(shipped: Specification) -> None:
    found = Counter(rule_id.partition("-")[0] for rule_id in shipped.rules)
    assert found == RULES_PER_AREA
    # 477 were collected before there was any code; the others were found since.
    since = ["RESP-10", *(f"BSTATE-{number}" for number in range(6, 11)), "FENCE-8", "FENCE-9", "HBK-11"]
    since += ["ISR-10", "AISR-6", "AISR-7", "COMPAT-5"]
    assert found.total() == 477 + len(since)


def test_the_broker_layer_is_carried_out(shipped: Specification) -> None:
    areas = ("INC", "BSTATE", "HEARTBEAT", "FENCE", "COMPAT", "REG", "HBK", "ISR", "AISR")
    rules = [rule for rule in shipped.rules.values() if rule.area in areas]
    assert len(rules) == 73
    assert {rule.uncovered for rule in rules} == {None}


def test_numbered_areas_have_no_gap(shipped: Specification) -> None:
    for area, rules in shipped.areas.items():
        if area not in ("OLD", "TRANS"):
            assert [r.id for r in rules] == [f"{area}-{n}" for n in range(1, len(rules) + 1)]


def test_an_area_is_in_one_file(shipped: Specification) -> None:
    for area, rules in shipped.areas.items():
        assert len({rule.file for rule in rules}) == 1, area


def test_rule_texts_are_sentences(shipped: Specification) -> None:
    for rule in shipped.rules.values():
        assert len(rule.when) >= 15, rule.id
        assert len(rule.then) >= 20, rule.id
        assert not rule.when.endswith((".", ",")), rule.id
        assert rule.then.endswith("."), rule.id
        assert not re.match(r"(?i)when |if |then ", rule.when), rule.id
        assert rule.then.count("(") == rule.then.count(")"), rule.id
        assert rule.title[0].isupper() or rule.area in ("METRIC", "BOOT"), rule.id
        assert not rule.title.endswith("."), rule.id


def test_rule_titles_are_distinct(shipped: Specification) -> None:
    titles = Counter(rule.title for rule in shipped.rules.values())
    assert [title for title, times in titles.items() if times > 1] == []


def test_texts_name_existing_rules_only(shipped: Specification) -> None:
    known = shipped.rules.keys()
    areas = {rule_id.partition("-")[0] for rule_id in known}
    for rule in shipped.rules.values():
        text = " ".join((rule.when, rule.then, rule.note or ""))
        for match in re.finditer(r"\b([A-Z]+)-[0-9]+\b", text):
            if match[1] in areas:
                assert match[0] in known, f"{rule.id} mentions {match[0]}"
    for prop in shipped.properties.values():
        for match in re.finditer(r"\b([A-Z]+)-[0-9]+\b", prop.mutation):
            if match[1] in areas:
                assert match[0] in known, f"{prop.id} mentions {match[0]}"


def test_texts_name_existing_switches_only(shipped: Specification) -> None:
    choices = {choice for variant in shipped.variants.values() for choice in variant.choices}
    texts = [(r.id, f"{r.when} {r.then} {r.note}") for r in shipped.rules.values()]
    texts += [(p.id, f"{p.statement} {p.mutation}") for p in shipped.properties.values()]
    texts += [(c.id, f"{c.about} {c.winner} {c.kept_as}") for c in shipped.conflicts.values()]
    for where, text in texts:
        for match in re.finditer(r"\bV-[A-Z]+(=[a-z0-9-]+)?", text):
            assert match[0].partition("=")[0] in shipped.variants, where
            assert match[1] is None or match[0] in choices, where


def test_confidence_agrees_with_the_sources(shipped: Specification) -> None:
    for rule in shipped.rules.values():
        if rule.confidence in ("memory", "decision"):
            continue
        document = any(source.startswith(("KIP-", "TLA+")) for source in rule.source)
        production = any(source.startswith(("Kafka", "KAFKA-")) for source in rule.source)
        expected = {
            (True, True): "document+kafka",
            (True, False): "document",
            (False, True): "kafka",
        }
        assert rule.confidence == expected[document, production], rule.id


def test_sources_have_one_of_the_known_forms(shipped: Specification) -> None:
    forms = re.compile(r"KIP-[0-9]+( .+)?|Kafka( [0-9.]+)?: \S.*|KAFKA-[0-9]+|Raft: .+|TLA\+: .+")
    for rule in shipped.rules.values():
        for source in rule.source:
            assert forms.fullmatch(source), f"{rule.id}: {source}"


def test_every_default_rule_is_in_force_somewhere(shipped: Specification) -> None:
    every = {v.id: v.values for v in shipped.variants.values()}
    for rule in shipped.rules.values():
        for choice in rule.variants:
            switch, _, value = choice.partition("=")
            assert value in every[switch]
    in_force = [r for r in shipped.rules.values() if r.belongs_to(shipped.defaults)]
    assert 200 < len(in_force) < len(shipped.rules)
    assert not any(rule.area == "OLD" for rule in in_force)


# --- transitions --------------------------------------------------------------------------------------------


def test_every_transition_row_of_the_rules_is_in_a_table(shipped: Specification) -> None:
    used = {t.rule for t in shipped.transitions}
    rows = {r for r in shipped.rules if re.match(r"(OLD|TRANS)-(?!Forbid)", r)}
    assert rows <= used


def test_a_transition_follows_its_rule(shipped: Specification) -> None:
    for row in shipped.transitions:
        rule = shipped.rules[row.rule]
        if rule.area in ("OLD", "TRANS"):
            name = row.rule.replace("-Obs", "").split("-", 1)[1]
            assert name == f"{row.from_state}-{row.to_state}", row.id
        assert "V-SM" not in "".join(rule.variants) or f"V-SM={row.table}" in rule.variants, row.id
        if "-Obs-" in row.rule:
            assert row.role == "observer", row.id


def test_the_kip996_table_is_what_production_has(shipped: Specification) -> None:
    table = shipped.table("kip996")
    assert all(row.kafka for row in table)
    here = {(row.from_state, row.to_state, row.epoch) for row in table}
    for row in shipped.transitions:
        known = (row.from_state, row.to_state, row.epoch) in here
        assert row.kafka == known, row.id


def test_table_sizes(shipped: Specification) -> None:
    sizes = Counter(row.table for row in shipped.transitions)
    assert sizes == {"kip996": 46, "pre996": 40, "pre996-voted": 49}
    with pytest.raises(KeyError):
        shipped.table("kip595")


def test_roles_of_each_table(shipped: Specification) -> None:
    roles = {name: set[str]() for name in shipped.variants["V-SM"].values}
    for row in shipped.transitions:
        roles[row.table] |= {row.from_state, row.to_state} - {START}
    assert roles["kip996"] == set(ROLES) - {"Voted"}
    assert roles["pre996"] == set(ROLES) - {"Voted", "Prospective"}
    assert roles["pre996-voted"] == set(ROLES) - {"Prospective"}


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


def test_transitions_that_kip996_forbids(shipped: Specification) -> None:
    table = shipped.table("kip996")
    assert not [row.id for row in table if row.to_state in FORBIDDEN.get(row.from_state, ())]


def test_only_these_transitions_raise_the_epoch_by_themselves(shipped: Specification) -> None:
    raising = {(r.from_state, r.to_state) for r in shipped.table("kip996") if r.epoch == "plus-one"}
    assert raising == {("Prospective", "Candidate"), ("Resigned", "Unattached")}


def test_every_role_is_reachable_and_can_be_left(shipped: Specification) -> None:
    for name in shipped.variants["V-SM"].values:
        table = shipped.table(name)
        reached = {START}
        while more := {r.to_state for r in table if r.from_state in reached} - reached:
            reached |= more
        assert reached - {START} == {r.to_state for r in table}
        assert {r.to_state for r in table} <= {r.from_state for r in table}


def test_sizes_of_broker_tables(shipped: Specification) -> None:
    sizes = Counter(row.table for row in shipped.broker_transitions)
    assert list(shipped.broker_tables) == list(sizes)
    assert sizes == {
        "draft-controller": 26,
        "draft-process": 13,
        "shipped-controller": 11,
        "shipped-process": 8,
    }


def test_rules_of_a_broker_transition_are_in_force_with_its_table(shipped: Specification) -> None:
    for row in shipped.broker_transitions:
        form = dict(choice.split("=") for choice in shipped.broker_tables[row.table].variants)
        assert row in shipped.broker_transitions_under(form)
        assert all(shipped.rules[rule].belongs_to(form) for rule in row.rules), row.id


# --- properties ---------------------------------------------------------------------------------------------


def test_properties_per_kind_of_id(shipped: Specification) -> None:
    prefixes = Counter(property_id[0] for property_id in shipped.properties)
    assert prefixes == {"S": 42, "B": 20, "L": 18, "P": 10, "G": 25}


SHARED_NAMES = [
    "SingleLeaderPerEpoch", "LogMatching", "LeaderCompleteness", "StateMachineSafety", "VotedOncePerEpoch",
    "HighWatermarkMonotone", "NoFatal", "TransitionsLegal", "GoalLeaderElected", "GoalRecordCommitted",
    "GoalDivergenceTruncated",
]  # fmt: skip


def test_names_shared_with_checker_and_proofs(shipped: Specification) -> None:
    assert [shipped.property_named(name).name for name in SHARED_NAMES] == SHARED_NAMES
    with pytest.raises(KeyError):
        shipped.property_named("NoSuchProperty")


def test_goals_are_sometimes_and_liveness_is_mostly_eventually(shipped: Specification) -> None:
    for prop in shipped.properties.values():
        assert (prop.kind == "sometimes") == prop.id.startswith("G-") == prop.name.startswith("Goal")
    assert {p.id for p in shipped.properties.values() if p.id[0] == "L" and p.kind == "always"} == {"L-5"}


def test_property_texts_are_sentences(shipped: Specification) -> None:
    for prop in shipped.properties.values():
        assert prop.statement.endswith(".") and len(prop.statement) > 20, prop.id
        assert prop.mutation.endswith("."), prop.id
        assert prop.rules, prop.id


# --- the other files ----------------------------------------------------------------------------------------


def test_counts_of_the_other_files(shipped: Specification) -> None:
    assert list(shipped.conflicts) == [f"C-{n}" for n in range(1, 29)]
    assert len(shipped.variants) == 23
    assert len(shipped.messages) == 43
    assert len(shipped.errors) == 32
    assert len(shipped.configs) == 32


def test_requests_have_responses(shipped: Specification) -> None:
    requests = {m.name.removesuffix(" request") for m in shipped.messages.values() if m.kind == "request"}
    for name in requests - {"Vote request (draft)"}:
        assert f"{name} response" in shipped.messages


#: A message, a field, a version, and whether the field exists in it.
FIELDS = [
    ("Vote request", "PreVote", 1, False),
    ("Vote request", "PreVote", 2, True),
    ("Vote request", "VoterId", 0, False),
    ("EndQuorumEpoch request", "PreferredSuccessors", 0, True),
    ("EndQuorumEpoch request", "PreferredSuccessors", 1, False),
    ("Fetch request", "ReplicaState.ReplicaId", 15, True),
    ("Fetch request", "TopicId", 12, False),
    ("quorum-state", "votedDirectoryId", 1, True),
]


def test_fields_by_version(shipped: Specification) -> None:
    for message, field, version, exists in FIELDS:
        assert shipped.messages[message].field(field).exists_in(version) is exists, (message, field, version)


def test_ambiguous_and_unknown_fields(shipped: Specification) -> None:
    vote = shipped.messages["Vote response"]
    assert vote.field("ErrorCode").path == "ErrorCode"  # an exact path wins over a name
    assert vote.field("Topics[].Partitions[].ErrorCode").name == "ErrorCode"
    with pytest.raises(KeyError, match="2 fields"):
        shipped.messages["Fetch response"].field("Epoch")
    with pytest.raises(KeyError, match="0 fields"):
        vote.field("NoSuchField")


def test_field_versions_lie_within_the_message(shipped: Specification) -> None:
    for message in shipped.messages.values():
        last = message.versions.partition("-")[2] or message.versions
        if last.endswith("+"):
            continue
        for field in message.fields:
            first = int(re.match(r"[0-9]+", field.versions)[0])  # type: ignore[index]
            assert first <= int(last), f"{message.name}: {field.path}"


def test_error_codes_are_distinct(shipped: Specification) -> None:
    codes = [error.code for error in shipped.errors.values() if error.code is not None]
    assert len(codes) == len(set(codes))
    assert shipped.errors["FENCED_LEADER_EPOCH"].code == 74
    assert shipped.errors["INVALID_VOTER_KEY"].code == 125


def test_every_error_named_in_a_rule_is_listed(shipped: Specification) -> None:
    known = shipped.errors.keys() | {a.partition(" ")[0] for e in shipped.errors.values() for a in e.aliases}
    for rule in shipped.rules.values():
        for word in re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", f"{rule.when} {rule.then} {rule.note}"):
            assert word in known, f"{rule.id}: {word}"


def test_every_config_named_in_a_rule_is_listed(shipped: Specification) -> None:
    known = shipped.configs.keys() | {key for c in shipped.configs.values() for key in c.former}
    for rule in shipped.rules.values():
        for word in re.findall(
            r"\b(?:controller\.)?quorum\.[a-z.]*[a-z]", f"{rule.when} {rule.then} {rule.note}"
        ):
            assert word in known, f"{rule.id}: {word}"


def test_every_config_rule_has_a_key(shipped: Specification) -> None:
    used = {config.rule for config in shipped.configs.values()}
    keyless = {"CONFIG-15", "CONFIG-16"}
    assert {r for r in shipped.rules if r.startswith("CONFIG-")} - keyless == used - {None}


# --- choices ------------------------------------------------------------------------------------------------


def test_applies() -> None:
    earlier, current, flag = "V-SM=pre996-voted", "V-SM=kip996", "V-PVCOMPAT=response-flag"
    assert applies((), {})
    assert applies((current,), {})
    assert applies((current,), {"V-SM": "kip996"})
    assert not applies((current,), {"V-SM": "pre996"})
    assert applies(("V-SM=pre996", earlier), {"V-SM": "pre996-voted"})
    assert applies((current, flag), {"V-SM": "kip996", "V-PVCOMPAT": "response-flag"})
    assert not applies((current, flag), {"V-SM": "kip996", "V-PVCOMPAT": "other"})
