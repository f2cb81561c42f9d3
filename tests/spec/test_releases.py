"""Since which release of Kafka a rule holds, until which one, and what changed in between."""

from __future__ import annotations

import re

import pytest

from kraftcheck.spec import RELEASES, load

SHIPPED = load()


@pytest.mark.parametrize(
    ("rule", "releases"),
    [
        ("VOTE-10", RELEASES),
        ("PREVOTE-1", RELEASES[1:]),
        ("OLD-Resigned-Candidate", RELEASES[:1]),
        ("OLD-Voted-Candidate", ()),
        ("TIMER-6", RELEASES[:2]),
        ("KVER-5", RELEASES[2:]),
        ("ADD-14", RELEASES[3:]),
    ],
)
def test_the_releases_of_a_rule(rule: str, releases: tuple[str, ...]) -> None:
    assert tuple(filter(SHIPPED.rules[rule].is_in, RELEASES)) == releases


def test_an_unknown_release_is_an_error() -> None:
    with pytest.raises(ValueError):
        SHIPPED.rules["VOTE-10"].is_in("2.8")


def test_the_state_machine_of_a_rule_fixes_its_releases() -> None:
    """Kafka took the state machine of KIP-996 in 4.0; PREVOTE-17 is of the document alone."""
    for rule in SHIPPED.rules.values():
        if "V-SM=kip996" in rule.variants and rule.id != "PREVOTE-17":
            assert rule.since is not None and not rule.is_in("3.9")
        if "V-SM=pre996" in rule.variants or "V-SM=pre996-voted" in rule.variants:
            assert not rule.is_in("4.0"), rule.id
        assert rule.is_in("3.9") or rule.since is not None or rule.until is not None


def test_a_rule_that_names_older_releases_has_a_change() -> None:
    """A text such as "before KIP-996" or "up to 4.0" is in the list of changes, and finds its release."""
    listed = {rule for change in SHIPPED.changes for rule in change.rules}
    named = re.compile(r"\b(?:since|until|up to|before|from) (?:Kafka |release )?(?:[34]\.[0-9]+|KIP-996)\b")
    inside_a_line = {"VSET-7"}
    found = {rule.id for rule in SHIPPED.rules.values() if named.search(f"{rule.when} {rule.then}")}
    assert found - listed <= inside_a_line


def test_changes_are_sentences_in_the_order_of_releases() -> None:
    places = [RELEASES.index(change.release) for change in SHIPPED.changes]
    assert places == sorted(places)
    for change in SHIPPED.changes:
        assert re.fullmatch(r"(?s)[A-Z].*\.", change.text), change.name
        assert len(change.name.split()) <= 8 and not change.name.endswith(".")
