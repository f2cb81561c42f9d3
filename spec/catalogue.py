"""Loads the specification: reads the TOML files of this folder, checks them, and returns frozen values.

`load` is the whole interface. `parse` is the same without a file system, for tests and tools that change a
file and want to know whether it still holds together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import TypeVar

from kraftcheck.spec import builders
from kraftcheck.spec.model import (
    BEFORE,
    RELEASES,
    BrokerTable,
    BrokerTransition,
    Change,
    Property,
    Rule,
    Specification,
    SpecificationError,
    Transition,
    Variant,
)
from kraftcheck.spec.reader import Entry, parse_file

T = TypeVar("T")

CATALOGUES = (
    "transitions.toml",
    "broker_transitions.toml",
    "messages.toml",
    "errors.toml",
    "configs.toml",
    "variants.toml",
    "conflicts.toml",
    "changes.toml",
    "properties.toml",
    "uncovered.toml",
)
"""The files there is exactly one of; every other file is a file of rules under ``rules/``."""


@cache
def load() -> Specification:
    """The specification that ships with this package.

    Raises `SpecificationError` if a file is damaged. The result is cached: callers share one value.
    """
    folder = files("kraftcheck.spec")
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
    variants = _read(texts, "variants.toml", "variant", "id", builders.build_variant)
    choices = frozenset(choice for variant in variants.values() for choice in variant.choices)
    rules: dict[str, Rule] = {}
    for path in (name for name in texts if name not in CATALOGUES):
        entries = _tables(texts, path, "rule", "id")
        _add(rules, path, "rule", entries, lambda entry: builders.build_rule(entry, choices))
    _explain_areas(texts["uncovered.toml"], rules)
    properties = _read(texts, "properties.toml", "property", "id", builders.build_property)
    requirements, transitions = _transitions(texts["transitions.toml"], rules, variants, choices)
    tables, of_brokers = _broker_transitions(texts["broker_transitions.toml"], rules, choices)
    errors = _read(texts, "errors.toml", "error", "name", builders.build_error)
    configs = _read(texts, "configs.toml", "config", "key", lambda entry: builders.build_config(entry, rules))
    messages = _read(texts, "messages.toml", "message", "name", builders.build_message)
    conflicts = _read(
        texts,
        "conflicts.toml",
        "conflict",
        "id",
        lambda entry: builders.build_conflict(entry, variants, rules),
    )
    _check_properties(rules, properties)
    changes = _read(
        texts, "changes.toml", "change", "name", lambda entry: builders.build_change(entry, rules)
    )
    _check_changes(rules, changes)
    return Specification(
        rules=MappingProxyType(rules),
        transitions=transitions,
        requirements=MappingProxyType(requirements),
        broker_tables=MappingProxyType(tables),
        broker_transitions=of_brokers,
        messages=MappingProxyType(messages),
        errors=MappingProxyType(errors),
        configs=MappingProxyType(configs),
        variants=MappingProxyType(variants),
        conflicts=MappingProxyType(conflicts),
        properties=MappingProxyType(properties),
        changes=tuple(sorted(changes.values(), key=lambda change: RELEASES.index(change.release))),
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
        transition = builders.build_transition(entry, tables)
        entry.label = f"transition {transition.id}"
        entry.done()
        if transition.id in found:
            raise entry.error("it is listed twice")
        builders.all_in(entry, "rule", [transition.rule], rules, "a rule")
        builders.all_in(entry, "requires", transition.requires, requirements, "explained under [requires]")
        builders.all_in(entry, "variants", transition.variants, choices, "a switch value of variants.toml")
        found[transition.id] = transition
    file.done()
    if missing := [name for name in tables if all(t.table != name for t in found.values())]:
        raise SpecificationError(f"{path}: table {missing[0]!r} has no transition")
    return requirements, tuple(found.values())


def _broker_transitions(
    text: str, rules: Mapping[str, Rule], choices: frozenset[str]
) -> tuple[dict[str, BrokerTable], tuple[BrokerTransition, ...]]:
    path = "broker_transitions.toml"
    file = parse_file(path, text)
    tables: dict[str, BrokerTable] = {}
    entries = [Entry(path, "table", value, "id") for value in file.items("table")]
    _add(tables, path, "table", entries, lambda entry: builders.build_broker_table(entry, choices))
    found: dict[str, BrokerTransition] = {}
    for number, value in enumerate(file.items("transition"), start=1):
        entry = Entry(path, f"transition {number}", value)
        transition = builders.build_broker_transition(entry, tables, rules)
        entry.label = f"transition {transition.id}"
        entry.done()
        if transition.id in found:
            raise entry.error("it is listed twice")
        found[transition.id] = transition
    file.done()
    for table in tables.values():
        used = {s for t in found.values() if t.table == table.id for s in (t.from_state, t.to_state)}
        if unused := [state for state in table.states if state not in used]:
            raise SpecificationError(f"{path}: table {table.id}: no transition has the state {unused[0]}")
    return tables, tuple(found.values())


def _explain_areas(text: str, rules: dict[str, Rule]) -> None:
    """Gives the rules of whole areas the reason why they have no code: ``areas`` and ``reason`` each."""
    file = parse_file("uncovered.toml", text)
    known = {rule.area for rule in rules.values()}
    explained: set[str] = set()
    for value in file.items("uncovered"):
        entry = Entry("uncovered.toml", "uncovered", value)
        areas, reason = entry.words("areas"), entry.prose("reason")
        entry.done()
        builders.all_in(entry, "areas", areas, known, "an area of the catalogue")
        for area in areas:
            if area in explained:
                raise entry.error(f"area {area} is explained twice")
            explained.add(area)
        for rule in [rule for rule in rules.values() if rule.area in areas]:
            if rule.uncovered is not None:
                raise entry.error(f"{rule.id} of area {rule.area} gives a reason of its own")
            rules[rule.id] = replace(rule, uncovered=reason)
    file.done()


# --- references between files -------------------------------------------------------------------------------


def _check_properties(rules: Mapping[str, Rule], properties: Mapping[str, Property]) -> None:
    """`Rule.protects` and `Property.rules` must say the same, and property names must be unique."""
    names: dict[str, str] = {}
    for prop in properties.values():
        where = f"properties.toml: property {prop.id}"
        if prop.name in names:
            raise SpecificationError(f"{where}: {names[prop.name]} is called {prop.name!r} too")
        names[prop.name] = prop.id
        for rule_id in prop.rules:
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


def _check_changes(rules: Mapping[str, Rule], changes: Mapping[str, Change]) -> None:
    """`Rule.since`, `Rule.until` and `Change.rules` must say the same."""
    listed: dict[tuple[str, str], str] = {}
    for change in changes.values():
        where = f"changes.toml: change {change.name}"
        before = RELEASES[RELEASES.index(change.release) - 1]
        for rule_id in change.rules:
            if not (rules[rule_id].is_in(change.release) or rules[rule_id].is_in(before)):
                raise SpecificationError(
                    f"{where}: 'rules' names {rule_id!r}, which is in neither {before} nor {change.release}"
                )
            listed[rule_id, change.release] = change.name
    for rule in rules.values():
        came = rule.since if rule.since != RELEASES[0] else None
        last = rule.until in (None, BEFORE, RELEASES[-1])
        went = None if last or rule.until is None else RELEASES[RELEASES.index(rule.until) + 1]
        for key, release in (("since", came), ("until", went)):
            if release is not None and (rule.id, release) not in listed:
                raise SpecificationError(
                    f"{rule.file}: rule {rule.id}: {key!r} names a change in {release}, but no change of "
                    f"{release} in changes.toml lists the rule"
                )
