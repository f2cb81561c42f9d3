"""Builds one value of `spec.model` from one entry of a file, and checks all that the entry alone can show.

Every function takes its keys from the entry and leaves it to the caller to refuse what is left over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar, get_args

from kraftcheck.spec import model
from kraftcheck.spec.model import (
    BrokerTable,
    BrokerTransition,
    Change,
    Config,
    Conflict,
    ErrorCode,
    Field,
    MessageSchema,
    Property,
    Rule,
    Transition,
    Variant,
)
from kraftcheck.spec.reader import Entry

T = TypeVar("T")

ROLES = ("Unattached", "Voted", "Prospective", "Candidate", "Leader", "Follower", "Resigned")
"""The roles a replica can be in, over all variants."""

START = "Start"
"""The pseudo-role a process has before it has read its durable state."""

RULE_ID = re.compile(r"[A-Z]+-[1-9][0-9]*|TRANS-Forbid-[1-9]|(?:OLD|TRANS|TRANS-Obs)-[A-Z][a-z]+-[A-Z][a-z]+")
PROPERTY_ID = re.compile(r"[SBLPG]-[1-9][0-9]*")
CONFLICT_ID = re.compile(r"C-[1-9][0-9]*")
VARIANT_ID = re.compile(r"V-[A-Z]+")
NAME = re.compile(r"[A-Z][A-Za-z0-9]*")
VERSIONS = re.compile(r"[0-9]+(?:\+|-[0-9]+)?")
PATH = re.compile(r"[A-Za-z][A-Za-z_0-9]*(?:\[\])?(?:\.[A-Za-z][A-Za-z_0-9]*(?:\[\])?)*")
ISSUE = re.compile(r"KIP-[1-9][0-9]*|KAFKA-[1-9][0-9]*")
TITLE_WORDS = 8


def matching(entry: Entry, key: str, pattern: re.Pattern[str], like: str) -> str:
    value = entry.word(key)
    if not pattern.fullmatch(value):
        raise entry.error(f"{key!r} is {value!r}, which is not of the form {like}")
    return value


def one_of(entry: Entry, key: str, allowed: Iterable[str]) -> str:
    value = entry.word(key)
    if value not in tuple(allowed):
        raise entry.error(f"{key!r} is {value!r}; it must be one of {', '.join(allowed)}")
    return value


def _pick(entry: Entry, key: str, allowed: tuple[T, ...]) -> T:
    value = entry.word(key)
    for candidate in allowed:
        if candidate == value:
            return candidate
    raise entry.error(f"{key!r} is {value!r}; it must be one of {', '.join(map(str, allowed))}")


def _release(entry: Entry, key: str, allowed: tuple[str, ...]) -> str | None:
    return one_of(entry, key, allowed) if entry.has(key) else None


def all_in(entry: Entry, key: str, values: Iterable[str], known: Iterable[str], what: str) -> None:
    for value in values:
        if value not in known:
            raise entry.error(f"{key!r} names {value!r}, which is not {what}")


def sources(entry: Entry) -> tuple[str, ...]:
    sources = entry.words("source")
    if not sources:
        raise entry.error("'source' is empty")
    return sources


# --- one builder per kind of entry --------------------------------------------------------------------------


def build_variant(entry: Entry) -> Variant:
    variant = Variant(
        id=matching(entry, "id", VARIANT_ID, "V-WORD"),
        name=entry.prose("name"),
        values=entry.words("values"),
        switch=entry.optional_word("switch"),
        governs=entry.prose("governs"),
        meanings=MappingProxyType(dict(entry.texts("meanings"))),
    )
    if len(variant.values) < 2:
        raise entry.error("'values' must hold at least two values")
    if set(variant.meanings) != set(variant.values):
        raise entry.error("'meanings' must explain exactly the values of the switch")
    return variant


def build_rule(entry: Entry, choices: frozenset[str]) -> Rule:
    confidences: tuple[model.Confidence, ...] = get_args(model.Confidence)
    rule = Rule(
        id=matching(entry, "id", RULE_ID, "AREA-1 or TRANS-From-To"),
        title=entry.prose("title"),
        when=entry.prose("when"),
        then=entry.prose("then"),
        source=sources(entry),
        confidence=_pick(entry, "confidence", confidences),
        variants=entry.words("variants"),
        protects=entry.words("protects"),
        note=entry.optional_prose("note"),
        uncovered=entry.optional_prose("uncovered"),
        unmutated=entry.optional_prose("unmutated"),
        file=entry.where,
        since=_release(entry, "since", model.RELEASES),
        until=_release(entry, "until", (model.BEFORE, *model.RELEASES)),
    )
    releases = (model.BEFORE, *model.RELEASES)
    if rule.since and rule.until and releases.index(rule.since) > releases.index(rule.until):
        raise entry.error(f"'since' is {rule.since!r}, which is later than 'until', {rule.until!r}")
    if len(rule.title.split()) > TITLE_WORDS:
        raise entry.error(f"'title' has more than {TITLE_WORDS} words")
    all_in(entry, "variants", rule.variants, choices, "a switch value of variants.toml")
    return rule


def build_property(entry: Entry) -> Property:
    kinds: tuple[model.PropertyKind, ...] = get_args(model.PropertyKind)
    judged: tuple[model.Judged, ...] = get_args(model.Judged)
    systems: tuple[model.PropertySystem, ...] = get_args(model.PropertySystem)
    kind = _pick(entry, "kind", kinds)
    # An entry with the key of another kind is refused for a key that is not known.
    where: model.Judged | None = "always" if kind == "always" else None
    if where is not None and entry.has("judged"):
        where = _pick(entry, "judged", judged)
    return Property(
        id=matching(entry, "id", PROPERTY_ID, "S-1"),
        name=matching(entry, "name", NAME, "CamelCase"),
        kind=kind,
        system=_pick(entry, "system", systems) if entry.has("system") else "replicas",
        judged=where,
        goals=entry.words("goals") if kind == "eventually" else (),
        statement=entry.prose("statement"),
        rules=entry.words("rules"),
        mutation=entry.prose("mutation"),
        bounds=entry.prose("bounds"),
    )


def build_transition(entry: Entry, tables: tuple[str, ...]) -> Transition:
    changes: tuple[model.EpochChange, ...] = get_args(model.EpochChange)
    members: tuple[model.Membership, ...] = get_args(model.Membership)
    table = one_of(entry, "table", tables)
    from_state = one_of(entry, "from", (START, *ROLES))
    to_state = one_of(entry, "to", ROLES)
    epoch = _pick(entry, "epoch", changes)
    role = _pick(entry, "role", members)
    return Transition(
        id="/".join((table, from_state, to_state, epoch, role)),
        table=table,
        from_state=from_state,
        to_state=to_state,
        rule=entry.word("rule"),
        epoch=epoch,
        cause=entry.prose("cause"),
        role=role,
        kafka=entry.flag("kafka"),
        requires=entry.optional_words("requires"),
        variants=entry.optional_words("variants"),
        via=one_of(entry, "via", ROLES) if entry.has("via") else None,
    )


def build_broker_table(entry: Entry, choices: frozenset[str]) -> BrokerTable:
    table = BrokerTable(
        id=entry.word("id"),
        about=entry.prose("about"),
        variants=entry.words("variants"),
        states=MappingProxyType(dict(entry.texts("states"))),
    )
    all_in(entry, "variants", table.variants, choices, "a switch value of variants.toml")
    for state in table.states:
        if not NAME.fullmatch(state):
            raise entry.error(f"'states' names {state!r}, which is not of the form CamelCase")
    return table


def build_broker_transition(
    entry: Entry, tables: Mapping[str, BrokerTable], rules: Iterable[str]
) -> BrokerTransition:
    table = one_of(entry, "table", tables)
    from_state = one_of(entry, "from", tables[table].states)
    to_state = one_of(entry, "to", tables[table].states)
    if from_state == to_state:
        raise entry.error(f"it leads from {from_state} to the same state, which is no transition")
    deciding = entry.words("rules")
    all_in(entry, "rules", deciding, rules, "a rule")
    return BrokerTransition(
        id="/".join((table, from_state, to_state, *deciding)),
        table=table,
        from_state=from_state,
        to_state=to_state,
        rules=deciding,
        cause=entry.prose("cause"),
        source=sources(entry),
    )


def build_message(entry: Entry) -> MessageSchema:
    kinds: tuple[model.MessageKind, ...] = get_args(model.MessageKind)
    name = entry.word("name")
    fields: dict[tuple[str, str], Field] = {}
    for value in entry.items("fields"):
        inner = Entry(entry.where, f"{entry.label}: field", value, "path")
        field = build_field(inner)
        inner.done()
        if (field.path, field.versions) in fields:
            raise inner.error("it is listed twice")
        fields[field.path, field.versions] = field
    flexible = entry.optional_word("flexible")
    if flexible is not None and not VERSIONS.fullmatch(flexible):
        raise entry.error(f"'flexible' is {flexible!r}, which is not of the form 1+")
    return MessageSchema(
        name=name,
        kind=_pick(entry, "kind", kinds),
        code=entry.optional_integer("code"),
        versions=matching(entry, "versions", VERSIONS, "0+ or 0-2"),
        flexible=flexible,
        shipped=entry.flag("shipped"),
        source=sources(entry),
        about=entry.prose("about"),
        fields=tuple(fields.values()),
    )


def build_field(entry: Entry) -> Field:
    return Field(
        path=matching(entry, "path", PATH, "Topics[].Name"),
        type=entry.word("type"),
        versions=matching(entry, "versions", VERSIONS, "0+, 0-2 or 3"),
        nullable=entry.optional_flag("nullable"),
        default=entry.optional_word("default"),
        tag=entry.optional_integer("tag"),
        about=entry.prose("about"),
    )


def build_error(entry: Entry) -> ErrorCode:
    status: tuple[model.ErrorStatus, ...] = get_args(model.ErrorStatus)
    return ErrorCode(
        name=matching(entry, "name", re.compile(r"[A-Z][A-Z_]*"), "UPPER_CASE"),
        code=entry.optional_integer("code"),
        aliases=entry.words("aliases"),
        status=_pick(entry, "status", status),
        meaning=entry.prose("meaning"),
        used_by=entry.words("used_by"),
    )


def build_config(entry: Entry, rules: Mapping[str, Rule]) -> Config:
    kinds: tuple[model.ConfigKind, ...] = get_args(model.ConfigKind)
    config = Config(
        key=entry.word("key"),
        kind=_pick(entry, "kind", kinds),
        former=entry.words("former"),
        default=entry.optional_word("default"),
        rule=entry.optional_word("rule"),
        source=sources(entry),
        about=entry.prose("about"),
    )
    if config.rule is not None:
        all_in(entry, "rule", [config.rule], rules, "a rule")
    return config


def build_change(entry: Entry, rules: Iterable[str]) -> Change:
    change = Change(
        name=entry.prose("name"),
        release=one_of(entry, "release", model.RELEASES[1:]),
        text=entry.prose("text"),
        issues=entry.words("issues"),
        rules=entry.words("rules"),
    )
    for issue in change.issues:
        if not ISSUE.fullmatch(issue):
            raise entry.error(f"'issues' names {issue!r}, which is not of the form KIP-1 or KAFKA-1")
    if not change.issues or not change.rules:
        raise entry.error("'issues' and 'rules' must not be empty")
    all_in(entry, "rules", change.rules, rules, "a rule of the catalogue")
    return change


def build_conflict(entry: Entry, variants: Iterable[str], rules: Iterable[str]) -> Conflict:
    conflict = Conflict(
        id=matching(entry, "id", CONFLICT_ID, "C-1"),
        about=entry.prose("about"),
        winner=entry.prose("winner"),
        reason=entry.prose("reason"),
        kept_as=entry.prose("kept_as"),
        variants=entry.words("variants"),
        rules=entry.words("rules"),
    )
    all_in(entry, "variants", conflict.variants, variants, "a switch of variants.toml")
    all_in(entry, "rules", conflict.rules, rules, "a rule of the catalogue")
    return conflict
