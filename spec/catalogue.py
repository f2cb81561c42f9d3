"""Loads the specification: reads the TOML files of this folder, checks them, and returns frozen values.

`load` is the whole interface. `parse` is the same without a file system, for tests and tools that change a
file and want to know whether it still holds together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import TypeVar, get_args

from spec import model
from spec.model import (
    Config,
    Conflict,
    ErrorCode,
    Field,
    MessageSchema,
    Property,
    Rule,
    Specification,
    SpecificationError,
    Transition,
    Variant,
)
from spec.reader import Entry, parse_file

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
TITLE_WORDS = 8

CATALOGUES = (
    "transitions.toml",
    "messages.toml",
    "errors.toml",
    "configs.toml",
    "variants.toml",
    "conflicts.toml",
    "properties.toml",
    "planned.toml",
)
"""The files there is exactly one of; every other file is a file of rules under ``rules/``."""


@cache
def load() -> Specification:
    """The specification that ships with this package.

    Raises `SpecificationError` if a file is damaged. The result is cached: callers share one value.
    """
    folder = files("spec")
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in CATALOGUES}
    rules = sorted((f for f in (folder / "rules").iterdir() if f.name.endswith(".toml")), key=_name)
    texts |= {f"rules/{file.name}": file.read_text(encoding="utf-8") for file in rules}
    return parse(texts)


def _name(file: Traversable) -> str:
    return file.name


def parse(texts: Mapping[str, str]) -> Specification:
    """A specification from the texts of its files (path relative to ``spec/`` → TOML).

    Raises `SpecificationError` at the first thing that is wrong: a file missing or not TOML, a key unknown or
    missing, a value of the wrong type, an id malformed or used twice, or a reference to something that does
    not exist.
    """
    for name in CATALOGUES:
        if name not in texts:
            raise SpecificationError(f"{name}: the file is missing")
    variants = _read(texts, "variants.toml", "variant", "id", _variant)
    choices = frozenset(choice for variant in variants.values() for choice in variant.choices)
    rules: dict[str, Rule] = {}
    for path in (name for name in texts if name not in CATALOGUES):
        _add(rules, path, "rule", _tables(texts, path, "rule", "id"), lambda entry: _rule(entry, choices))
    properties = _read(texts, "properties.toml", "property", "id", _property)
    planned = _planned(texts["planned.toml"], rules)
    requirements, transitions = _transitions(texts["transitions.toml"], rules, variants, choices)
    errors = _read(texts, "errors.toml", "error", "name", _error)
    configs = _read(texts, "configs.toml", "config", "key", lambda entry: _config(entry, rules))
    messages = _read(texts, "messages.toml", "message", "name", _message)
    conflicts = _read(
        texts, "conflicts.toml", "conflict", "id", lambda entry: _conflict(entry, variants, rules, planned)
    )
    _check_properties(rules, planned, properties)
    return Specification(
        rules=MappingProxyType(rules),
        planned=MappingProxyType(planned),
        transitions=transitions,
        requirements=MappingProxyType(requirements),
        messages=MappingProxyType(messages),
        errors=MappingProxyType(errors),
        configs=MappingProxyType(configs),
        variants=MappingProxyType(variants),
        conflicts=MappingProxyType(conflicts),
        properties=MappingProxyType(properties),
    )


# --- reading the entries of one file ------------------------------------------------------------------------


def _tables(texts: Mapping[str, str], path: str, kind: str, name_key: str) -> list[Entry]:
    """The entries ``[[kind]]`` of a file that holds nothing else."""
    file = parse_file(path, texts[path])
    entries = [Entry(path, kind, value, name_key) for value in file.items(kind)]
    file.done()
    if not entries:
        raise file.error(f"no [[{kind}]] in it")
    return entries


def _add(
    found: dict[str, T], path: str, kind: str, entries: Iterable[Entry], build: Callable[[Entry], T]
) -> None:
    for entry in entries:
        built = build(entry)
        entry.done()
        key = str(getattr(built, "id", None) or getattr(built, "name", None) or getattr(built, "key", None))
        if key in found:
            raise entry.error(f"there is another {kind} {key}")
        found[key] = built


def _read(
    texts: Mapping[str, str], path: str, kind: str, name_key: str, build: Callable[[Entry], T]
) -> dict[str, T]:
    found: dict[str, T] = {}
    _add(found, path, kind, _tables(texts, path, kind, name_key), build)
    return found


def _matching(entry: Entry, key: str, pattern: re.Pattern[str], like: str) -> str:
    value = entry.word(key)
    if not pattern.fullmatch(value):
        raise entry.error(f"{key!r} is {value!r}, which is not of the form {like}")
    return value


def _one_of(entry: Entry, key: str, allowed: Iterable[str]) -> str:
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


def _all_in(entry: Entry, key: str, values: Iterable[str], known: Iterable[str], what: str) -> None:
    for value in values:
        if value not in known:
            raise entry.error(f"{key!r} names {value!r}, which is not {what}")


def _sources(entry: Entry) -> tuple[str, ...]:
    sources = entry.words("source")
    if not sources:
        raise entry.error("'source' is empty")
    return sources


# --- one builder per kind of entry --------------------------------------------------------------------------


def _variant(entry: Entry) -> Variant:
    variant = Variant(
        id=_matching(entry, "id", VARIANT_ID, "V-WORD"),
        name=entry.prose("name"),
        values=entry.words("values"),
        governs=entry.prose("governs"),
        meanings=MappingProxyType(dict(entry.texts("meanings"))),
    )
    if len(variant.values) < 2:
        raise entry.error("'values' must hold at least two values")
    if set(variant.meanings) != set(variant.values):
        raise entry.error("'meanings' must explain exactly the values of the switch")
    return variant


def _rule(entry: Entry, choices: frozenset[str]) -> Rule:
    confidences: tuple[model.Confidence, ...] = get_args(model.Confidence)
    rule = Rule(
        id=_matching(entry, "id", RULE_ID, "AREA-1 or TRANS-From-To"),
        title=entry.prose("title"),
        when=entry.prose("when"),
        then=entry.prose("then"),
        source=_sources(entry),
        confidence=_pick(entry, "confidence", confidences),
        variants=entry.words("variants"),
        protects=entry.words("protects"),
        note=entry.optional_prose("note"),
        uncovered=entry.optional_prose("uncovered"),
        file=entry.where,
    )
    if len(rule.title.split()) > TITLE_WORDS:
        raise entry.error(f"'title' has more than {TITLE_WORDS} words")
    _all_in(entry, "variants", rule.variants, choices, "a switch value of variants.toml")
    return rule


def _property(entry: Entry) -> Property:
    kinds: tuple[model.PropertyKind, ...] = get_args(model.PropertyKind)
    return Property(
        id=_matching(entry, "id", PROPERTY_ID, "S-1"),
        name=_matching(entry, "name", NAME, "CamelCase"),
        kind=_pick(entry, "kind", kinds),
        statement=entry.prose("statement"),
        rules=entry.words("rules"),
        mutation=entry.prose("mutation"),
        bounds=entry.prose("bounds"),
    )


def _transitions(
    text: str, rules: Mapping[str, Rule], variants: Mapping[str, Variant], choices: frozenset[str]
) -> tuple[dict[str, str], tuple[Transition, ...]]:
    path = "transitions.toml"
    file = parse_file(path, text)
    requirements = dict(file.texts("requires"))
    tables = variants["V-SM"].values if "V-SM" in variants else ()
    found: dict[str, Transition] = {}
    for number, value in enumerate(file.items("transition"), start=1):
        entry = Entry(path, f"transition {number}", value)
        transition = _transition(entry, tables)
        entry.label = f"transition {transition.id}"
        entry.done()
        if transition.id in found:
            raise entry.error("it is listed twice")
        _all_in(entry, "rule", [transition.rule], rules, "a rule")
        _all_in(entry, "requires", transition.requires, requirements, "explained under [requires]")
        _all_in(entry, "variants", transition.variants, choices, "a switch value of variants.toml")
        found[transition.id] = transition
    file.done()
    if missing := [name for name in tables if all(t.table != name for t in found.values())]:
        raise SpecificationError(f"{path}: table {missing[0]!r} has no transition")
    return requirements, tuple(found.values())


def _transition(entry: Entry, tables: tuple[str, ...]) -> Transition:
    changes: tuple[model.EpochChange, ...] = get_args(model.EpochChange)
    members: tuple[model.Membership, ...] = get_args(model.Membership)
    table = _one_of(entry, "table", tables)
    from_state = _one_of(entry, "from", (START, *ROLES))
    to_state = _one_of(entry, "to", ROLES)
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
        production=entry.flag("production"),
        requires=entry.optional_words("requires"),
        variants=entry.optional_words("variants"),
        via=_one_of(entry, "via", ROLES) if entry.has("via") else None,
    )


def _message(entry: Entry) -> MessageSchema:
    kinds: tuple[model.MessageKind, ...] = get_args(model.MessageKind)
    name = entry.word("name")
    fields: dict[tuple[str, str], Field] = {}
    for value in entry.items("fields"):
        inner = Entry(entry.where, f"{entry.label}: field", value, "path")
        field = _field(inner)
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
        versions=_matching(entry, "versions", VERSIONS, "0+ or 0-2"),
        flexible=flexible,
        shipped=entry.flag("shipped"),
        source=_sources(entry),
        about=entry.prose("about"),
        fields=tuple(fields.values()),
    )


def _field(entry: Entry) -> Field:
    return Field(
        path=_matching(entry, "path", PATH, "Topics[].Name"),
        type=entry.word("type"),
        versions=_matching(entry, "versions", VERSIONS, "0+, 0-2 or 3"),
        nullable=entry.optional_flag("nullable"),
        default=entry.optional_word("default"),
        tag=entry.optional_integer("tag"),
        about=entry.prose("about"),
    )


def _error(entry: Entry) -> ErrorCode:
    status: tuple[model.ErrorStatus, ...] = get_args(model.ErrorStatus)
    return ErrorCode(
        name=_matching(entry, "name", re.compile(r"[A-Z][A-Z_]*"), "UPPER_CASE"),
        code=entry.optional_integer("code"),
        aliases=entry.words("aliases"),
        status=_pick(entry, "status", status),
        meaning=entry.prose("meaning"),
        used_by=entry.words("used_by"),
    )


def _config(entry: Entry, rules: Mapping[str, Rule]) -> Config:
    kinds: tuple[model.ConfigKind, ...] = get_args(model.ConfigKind)
    config = Config(
        key=entry.word("key"),
        kind=_pick(entry, "kind", kinds),
        former=entry.words("former"),
        default=entry.optional_word("default"),
        rule=entry.optional_word("rule"),
        source=_sources(entry),
        about=entry.prose("about"),
    )
    if config.rule is not None:
        _all_in(entry, "rule", [config.rule], rules, "a rule")
    return config


def _conflict(
    entry: Entry, variants: Mapping[str, Variant], rules: Mapping[str, Rule], planned: Mapping[str, str]
) -> Conflict:
    conflict = Conflict(
        id=_matching(entry, "id", CONFLICT_ID, "C-1"),
        about=entry.prose("about"),
        winner=entry.prose("winner"),
        reason=entry.prose("reason"),
        kept_as=entry.prose("kept_as"),
        variants=entry.words("variants"),
        rules=entry.words("rules"),
    )
    _all_in(entry, "variants", conflict.variants, variants, "a switch of variants.toml")
    _all_in(entry, "rules", conflict.rules, {**rules, **planned}, "a rule, present or planned")
    return conflict


def _planned(text: str, rules: Mapping[str, Rule]) -> dict[str, str]:
    """The ids that have a place in the numbering but no text yet: ``area``, ``count`` and ``reason`` each."""
    file = parse_file("planned.toml", text)
    planned: dict[str, str] = {}
    for value in file.items("planned"):
        entry = Entry("planned.toml", "planned", value, "area")
        area, count = _matching(entry, "area", re.compile(r"[A-Z]+"), "AREA"), entry.integer("count")
        reason = entry.prose("reason")
        entry.done()
        if not 1 <= count <= 999:
            raise entry.error("'count' must lie between 1 and 999")
        for rule_id in (f"{area}-{number}" for number in range(1, count + 1)):
            if rule_id in rules:
                raise entry.error(f"{rule_id} is in the catalogue already")
            if rule_id in planned:
                raise entry.error("the area is listed twice")
            planned[rule_id] = reason
    file.done()
    return planned


# --- references between files -------------------------------------------------------------------------------


def _check_properties(
    rules: Mapping[str, Rule], planned: Mapping[str, str], properties: Mapping[str, Property]
) -> None:
    """`Rule.protects` and `Property.rules` must say the same, and property names must be unique."""
    names: dict[str, str] = {}
    for prop in properties.values():
        where = f"properties.toml: property {prop.id}"
        if prop.name in names:
            raise SpecificationError(f"{where}: {names[prop.name]} is called {prop.name!r} too")
        names[prop.name] = prop.id
        for rule_id in prop.rules:
            if rule_id in planned:
                continue
            if rule_id not in rules:
                raise SpecificationError(f"{where}: 'rules' names {rule_id!r}, which is not a rule")
            if prop.id not in rules[rule_id].protects:
                raise SpecificationError(
                    f"{where}: it rests on {rule_id}, but {rules[rule_id].file} does not say that "
                    f"{rule_id} protects {prop.id}"
                )
    for rule in rules.values():
        where = f"{rule.file}: rule {rule.id}"
        for property_id in rule.protects:
            if property_id not in properties:
                raise SpecificationError(f"{where}: 'protects' names {property_id!r}, which does not exist")
            if rule.id not in properties[property_id].rules:
                raise SpecificationError(
                    f"{where}: it protects {property_id}, but properties.toml does not list it there"
                )
