"""What changed for a replica from one release of Kafka to another, by the rules of the catalogue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kraftcheck import spec
from kraftcheck.spec import RELEASES, Change, Rule
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.support.terminal import Console, entry, heading, say


@dataclass(frozen=True, slots=True)
class Changed:
    """A change with its rules: those that came, those that went, and those whose text names the change."""

    change: Change
    came: tuple[Rule, ...]
    went: tuple[Rule, ...]
    changed: tuple[Rule, ...]


def between(older: str, newer: str) -> tuple[Changed, ...]:
    """The changes after release ``older`` up to ``newer``, by release. Raises InputError otherwise."""
    first, last = _place(older), _place(newer)
    if first >= last:
        raise InputError(f"--between takes the older release first: {newer} does not come after {older}.")
    wanted = RELEASES[first + 1 : last + 1]
    return tuple(_with_rules(change) for change in spec.load().changes if change.release in wanted)


def _place(release: str) -> int:
    if release not in RELEASES:
        hint = did_you_mean(release, RELEASES) or f"; they are {', '.join(RELEASES)}."
        raise InputError(f"{release[:20]!r} is no release that the rules speak of{hint}")
    return RELEASES.index(release)


def _with_rules(change: Change) -> Changed:
    before = RELEASES[RELEASES.index(change.release) - 1]
    rules = [spec.load().rules[rule_id] for rule_id in change.rules]
    came = tuple(rule for rule in rules if not rule.is_in(before))
    went = tuple(rule for rule in rules if not rule.is_in(change.release))
    return Changed(change, came, went, tuple(rule for rule in rules if rule not in came + went))


def changes_of(rule: Rule) -> tuple[Change, ...]:
    """The changes that list ``rule``, by release."""
    return tuple(change for change in spec.load().changes if rule.id in change.rules)


def in_words(rule: Rule) -> str:
    """The releases of Kafka that follow ``rule``, as in ``since 4.0``, ``until 3.9`` or ``all since 3.9``."""
    if rule.since is None and rule.until is None:
        if not rule.belongs_to(spec.load().defaults):
            return "no matter of releases: its variants decide"
        return f"all since {RELEASES[0]}"
    if not any(map(rule.is_in, RELEASES)):
        return f"none since {RELEASES[0]}"
    return ", ".join(
        f"{word} {release}" for word, release in (("since", rule.since), ("until", rule.until)) if release
    )


# Output.


def print_between(out: Console, older: str, newer: str, *, verbose: bool) -> None:
    """Print the changes from ``older`` to ``newer``; with ``verbose`` the rules with their titles."""
    found = between(older, newer)
    count = {
        name: len({rule.id for each in found for rule in getattr(each, name)})
        for name in ("came", "went", "changed")
    }
    counts = f"{count['came']} rules came, {count['went']} went, {count['changed']} changed"
    heading(out, f"Kafka {older} to {newer}: {counts}")
    for release in dict.fromkeys(each.change.release for each in found):
        heading(out, release)
        for each in found:
            if each.change.release == release:
                _print_change(out, each, verbose=verbose)
    if not found:
        say(out, "No rule for a replica changed.", indent=2)


def _print_change(out: Console, each: Changed, *, verbose: bool) -> None:
    change = each.change
    say(out, f"{change.name} ({', '.join(change.issues)})", "bold", indent=2)
    say(out, change.text, indent=4)
    for label, rules in (("came", each.came), ("went", each.went), ("changed", each.changed)):
        if not verbose:
            if rules:
                entry(out, f"  {label}", id_runs(rule.id for rule in rules), column=14)
            continue
        for rule in rules:
            entry(out, f"  {label}", f"{rule.id}  {rule.title}", column=14)


def between_as_json(older: str, newer: str) -> dict[str, Any]:
    """The changes from ``older`` to ``newer`` as JSON data, rules by their ids."""
    return {
        "from": older,
        "to": newer,
        "changes": [
            {
                **change_as_json(each.change),
                "text": each.change.text,
                "came": [rule.id for rule in each.came],
                "went": [rule.id for rule in each.went],
                "changed": [rule.id for rule in each.changed],
            }
            for each in between(older, newer)
        ],
    }


def change_as_json(change: Change) -> dict[str, Any]:
    """The release, name and issues of a change as JSON data."""
    return {"release": change.release, "name": change.name, "issues": list(change.issues)}


def id_runs(rule_ids: Iterable[str]) -> str:
    """Ids in words, runs of three and more numbers of one area together."""
    found: list[list[str]] = []
    for rule_id in rule_ids:
        if found and _next(found[-1][-1]) == rule_id:
            found[-1].append(rule_id)
        else:
            found.append([rule_id])
    texts = (f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in found)
    return ", ".join(texts) or "none"


def _next(rule_id: str) -> str:
    area, _, number = rule_id.rpartition("-")
    return f"{area}-{int(number) + 1}" if number.isdigit() else ""
