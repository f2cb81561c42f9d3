"""``kraftcheck rules``: read the rule catalogue, and see where each rule is at work."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kraftcheck import spec
from kraftcheck.checking.coverage import exercised
from kraftcheck.checking.coverage import rule_evidence as evidence
from kraftcheck.checking.mutation.catalogue import by_rule
from kraftcheck.query import releases, rule_table
from kraftcheck.spec import RELEASES, BrokerTransition, Property, Rule, Transition
from kraftcheck.support.arguments import add_json, add_output, flag
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import require_file_can_be_written, write_output
from kraftcheck.support.outputs import print_output
from kraftcheck.support.terminal import Console, console, entry, heading, say
from kraftcheck.systems import citations


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = "One rule is printed in full; several rules are listed with their titles."
    parser.add_argument(
        "words",
        nargs="*",
        metavar="ID|AREA|TEXT",
        help="rule ids (VOTE-10), areas (VOTE), or texts that a rule must contain",
    )
    listing = parser.add_mutually_exclusive_group()
    flag(listing, "--properties", says="list the properties instead")
    flag(listing, "--transitions", says="list the legal transitions instead")
    flag(listing, "--table", says="print the table of rules, with code, properties and tests, as Markdown")
    listing.add_argument(
        "--between",
        nargs=2,
        metavar=("OLDER", "NEWER"),
        help="list what changed for a replica between two releases of Kafka, as in '--between 3.9 4.3'; "
        f"the releases are {', '.join(RELEASES)}",
    )
    listing.add_argument(
        "--count",
        type=Path,
        metavar="REPORT",
        help="count the steps of each rule in a report of 'conform --json', as JSON",
    )
    listing.add_argument(
        "--exercised",
        type=Path,
        nargs="+",
        metavar="REPORT",
        help="the rules that an implementation exercised in reports of 'drive --json', 'conform --json' and "
        "'record --json' together, and the reasons for the others",
    )
    add_output(parser, "for --table and --count; ")
    flag(parser, "-v", "--verbose", says="print every rule found in full")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what was asked for. Raises InputError for an id or text that names nothing."""
    if arguments.table or arguments.count is not None:
        _write(arguments)
    elif arguments.exercised is not None:
        _show_exercised(arguments)
    elif arguments.output is not None:
        raise InputError("-o is for --table and --count; leave it out.")
    elif arguments.between is not None:
        _show_between(arguments)
    elif arguments.properties:
        _show_properties(arguments)
    elif arguments.transitions:
        _show_transitions(arguments)
    else:
        _show_rules(arguments)
    return 0


def _write(arguments: argparse.Namespace) -> None:
    if arguments.words or arguments.json:
        raise InputError("--table and --count take no rules and no --json; leave them out.")
    require_file_can_be_written(arguments.output, "-o")
    if arguments.table:
        text = rule_table.as_markdown(rule_table.rows())
    else:
        text = evidence.counted(arguments.count)
    write_output(arguments.output, text)


def _show_between(arguments: argparse.Namespace) -> None:
    if arguments.words:
        raise InputError("--between takes no rules; leave them out.")
    older, newer = arguments.between
    if arguments.json:
        print_output("rule-changes", releases.between_as_json(older, newer), indent=2)
    else:
        releases.print_between(console(), older, newer, verbose=arguments.verbose)


def _show_exercised(arguments: argparse.Namespace) -> None:
    if arguments.words or arguments.json or arguments.output is not None:
        raise InputError("--exercised takes no rules, no --json and no -o; leave them out.")
    out = console()
    for line in exercised.summary({str(path): exercised.exercised(path) for path in arguments.exercised}):
        say(out, line)


# Rules.


def find_rules(words: Iterable[str]) -> tuple[Rule, ...]:
    """The rules that ``words`` ask for, in the order of the catalogue.

    Ids and areas add to the answer; each other text narrows it to the rules that contain it. No words: all
    rules. Raises InputError if nothing is left.
    """
    rules = spec.load().rules
    named: set[str] = set()
    texts: list[str] = []
    for word in words:
        found = _by_name(word)
        named |= found
        if not found:
            texts.append(word)
    matching = [rule for rule in rules.values() if not named or rule.id in named]
    for text in texts:
        matching = [rule for rule in matching if text.casefold() in _prose(rule).casefold()]
        if not matching:
            raise InputError(_nothing_found(text))
    return tuple(matching)


def _by_name(word: str) -> set[str]:
    """The ids that ``word`` names: one rule, or a whole area."""
    rules = spec.load().rules
    same = {rule_id for rule_id in rules if rule_id.casefold() == word.casefold()}
    wrong = not same and citations.looks_like_id(word.upper())
    if wrong and word.upper().partition("-")[0] in citations.areas():
        raise InputError(_nothing_found(word))
    return same or {rule.id for rule in rules.values() if rule.area == word.upper()}


def _prose(rule: Rule) -> str:
    parts = (rule.id, rule.title, rule.when, rule.then, *rule.source, *rule.variants, rule.note or "")
    return "\n".join(parts)


def _nothing_found(word: str) -> str:
    catalogue = spec.load()
    properties = (name for each in catalogue.properties.values() for name in (each.id, each.name))
    known = [*catalogue.rules, *sorted(citations.areas()), *properties]
    hint = did_you_mean(word, known, most=3) or f"; the areas are {', '.join(sorted(citations.areas()))}."
    return f"no rule is or contains {word[:60]!r}{hint}"


def _show_rules(arguments: argparse.Namespace) -> None:
    if _names_only_properties(arguments.words):
        _show_properties(arguments)
        return
    rules = find_rules(arguments.words)
    if arguments.json:
        print_output("rules", {"rules": [rule_as_json(rule) for rule in rules]}, indent=2)
        return
    out = console()
    if arguments.verbose or (len(rules) == 1 and arguments.words):
        for rule in rules:
            print_rule(out, rule)
        return
    for area in dict.fromkeys(rule.area for rule in rules):
        listed = [rule for rule in rules if rule.area == area]
        heading(out, f"{area} ({len(listed)})")
        column = max(len(rule.id) for rule in listed) + 4
        for rule in listed:
            entry(out, rule.id, rule.title, column=column)
    heading(out, f"{len(rules)} rules" if len(rules) != 1 else "1 rule")


def print_rule(out: Console, rule: Rule) -> None:
    """Print a rule with everything that is known of it."""
    heading(out, f"{rule.id}  {rule.title}")
    say(out, rule.sentence, indent=2)
    entry(out, "source", "; ".join(rule.source) + f" ({rule.confidence})")
    entry(out, "variants", ", ".join(rule.variants) or "all")
    entry(out, "releases", releases.in_words(rule))
    for change in releases.changes_of(rule):
        entry(out, "changed", f"in {change.release} ({', '.join(change.issues)}): {change.text}")
    properties = spec.load().properties
    protects = (f"{each} {properties[each].name}" for each in rule.protects)
    entry(out, "protects", ", ".join(protects) or "no property by itself")
    if rule.note:
        entry(out, "note", rule.note)
    places = citations.in_reference().get(rule.id, ())
    missing = f"not implemented: {rule.uncovered}" if rule.uncovered else "not named in the reference"
    entry(out, "code", ", ".join(places) or missing)
    unmutated = f"none: {rule.unmutated}" if rule.unmutated else "none"
    entry(out, "mutants", ", ".join(by_rule().get(rule.id, ())) or unmutated)
    entry(out, "tests", ", ".join(_tests(rule)) or "none of the reference")
    production = evidence.in_recorded_runs()
    steps = production.rules.get(rule.id, 0)
    entry(
        out,
        "recorded",
        f"{steps:,} steps of {len(production.runs)} recorded runs" if steps else "decided no step",
    )


def _tests(rule: Rule) -> list[str]:
    """The modules of ``tests/reference`` in which the rule decides something, with the lines that name it."""
    named = [place.split(":") for place in citations.in_tests().get(rule.id, ())]
    modules = [f"tests/reference/{name}.py" for name in evidence.in_tests().get(rule.id, ())]
    return [":".join([each, *(line for file, line in named if file == each)]) for each in modules]


def rule_as_json(rule: Rule) -> dict[str, Any]:
    """A rule with everything that is known of it, as JSON data."""
    names = (
        "id", "title", "when", "then", "source", "confidence", "variants", "protects", "note", "uncovered",
        "unmutated", "since", "until",
    )  # fmt: skip
    return {
        **_data(rule, names),
        "changes": [releases.change_as_json(change) for change in releases.changes_of(rule)],
        "file": f"spec/{rule.file}",
        "code": list(citations.in_reference().get(rule.id, ())),
        "mutants": list(by_rule().get(rule.id, ())),
        "tests": _tests(rule),
        "production": evidence.in_recorded_runs().rules.get(rule.id, 0),
    }


def _data(value: Any, names: Iterable[str]) -> dict[str, Any]:
    """Some fields of an entry of the catalogue as JSON data, under the keys of its files."""
    found = ((name, getattr(value, name)) for name in names)
    return {name.removesuffix("_state"): list(x) if isinstance(x, tuple) else x for name, x in found}


# Properties and transitions.


def _show_properties(arguments: argparse.Namespace) -> None:
    found = [each for each in spec.load().properties.values() if _property_matches(each, arguments.words)]
    if not found:
        raise InputError(
            f"no property is or contains {' '.join(arguments.words)!r}; see 'rules --properties'."
        )
    if arguments.json:
        names = ("id", "name", "kind", "statement", "rules", "mutation", "bounds")
        print_output("properties", {"properties": [_data(each, names) for each in found]}, indent=2)
        return
    out = console()
    for each in found:
        heading(out, f"{each.id}  {each.name} ({each.kind})")
        say(out, each.statement, indent=2)
        if arguments.verbose or len(found) == 1:
            entry(out, "rules", ", ".join(each.rules))
            entry(out, "mutation", each.mutation)
            entry(out, "bounds", each.bounds)


def _names_only_properties(words: list[str]) -> bool:
    """Whether every word is the id or the name of a property."""
    properties = spec.load().properties.values()
    known = {text.casefold() for each in properties for text in (each.id, each.name)}
    return bool(words) and all(word.casefold() in known for word in words)


def _property_matches(each: Property, words: list[str]) -> bool:
    if any(word.casefold() in (each.id.casefold(), each.name.casefold()) for word in words):
        return True
    return _mentions(words, each.name, each.kind, each.statement)


def _mentions(words: list[str], *texts: str) -> bool:
    whole = " ".join(texts).casefold()
    return all(word.casefold() in whole for word in words)


def _show_transitions(arguments: argparse.Namespace) -> None:
    catalogue, words = spec.load(), arguments.words
    found = [each for each in catalogue.transitions if _mentions(words, each.id, each.rule, each.cause)]
    of_brokers = [
        each for each in catalogue.broker_transitions if _mentions(words, each.id, each.goal, each.cause)
    ]
    if not (found or of_brokers):
        raise InputError(f"no transition is or contains {' '.join(words)!r}; see 'rules --transitions'.")
    if arguments.json:
        ends = ("id", "table", "from_state", "to_state")
        names = (*ends, "via", "epoch", "role", "rule", "cause", "kafka", "requires", "variants")
        data = [_data(each, names) for each in found]
        data += [_data(each, (*ends, "rules", "cause", "source")) for each in of_brokers]
        print_output("transitions", {"transitions": data}, indent=2)
        return
    out = console()
    _print_transitions(out, [(f"V-SM={each.table}", *_of_replicas(each)) for each in found])
    _print_transitions(out, [(each.table, *_of_brokers(each)) for each in of_brokers])


def _of_replicas(each: Transition) -> tuple[str, str, str]:
    """A transition, its cause and its rules, in words."""
    via = f" via {each.via}" if each.via else ""
    role = "" if each.role == "any" else f", {each.role}"
    change = f"{each.from_state} → {each.to_state}{via}, {each.epoch} epoch{role}"
    return change, each.cause, f"{each.rule}{'' if each.kafka else '; not in Kafka'}"


def _of_brokers(each: BrokerTransition) -> tuple[str, str, str]:
    rules = ", ".join(each.rules) or "no rule decides in the step"
    return f"{each.from_state} → {each.to_state}", each.cause, rules


def _print_transitions(out: Console, rows: list[tuple[str, str, str, str]]) -> None:
    """Print transitions, each with its table first, by table."""
    for table in dict.fromkeys(row[0] for row in rows):
        chosen = [row for row in rows if row[0] == table]
        heading(out, f"{table} ({len(chosen)})")
        for _, change, cause, rules in chosen:
            say(out, change, "bold", indent=2)
            say(out, cause, indent=4)
            say(out, rules, "dim", indent=4)
