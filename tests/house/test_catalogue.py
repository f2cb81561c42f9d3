"""The catalogue and the reference agree on which rules there are, and each covered rule has its code."""

import spec
from model_check.consult.citations import in_reference

#: Definitions, consequences of other rules, and rules that hold by construction: no line decides by them alone.
NO_PLACE_OF_THEIR_OWN = {
    "BEGIN-12", "BEGIN-13", "CHECKQ-5", "CHECKQ-6", "DEF-1", "DEF-2", "DEF-3", "DEF-4", "DEF-7", "END-11",
    "END-12", "FETCH-11", "HWM-8", "ID-2", "ID-7", "ID-8", "LOG-7", "LOG-8", "PREVOTE-1", "PREVOTE-16",
    "PREVOTE-19", "PREVOTE-2", "PREVOTE-20", "PREVOTE-30", "PREVOTE-31", "PREVOTE-34", "RESIGN-7", "RESP-8",
    "STATE-1", "STATE-2", "TIMER-6", "VOTE-18", "VOTE-27",
}  # fmt: skip


def test_every_rule_that_the_reference_names_is_in_the_catalogue() -> None:
    assert not set(in_reference()) - set(spec.load().rules)


def test_every_rule_has_code_or_a_reason_why_not() -> None:
    named = set(in_reference())
    left = {rule.id for rule in spec.load().rules.values() if rule.uncovered is None} - named
    assert left <= NO_PLACE_OF_THEIR_OWN


def test_no_rule_has_both() -> None:
    named = set(in_reference())
    assert not [
        rule.id for rule in spec.load().rules.values() if rule.uncovered is not None and rule.id in named
    ]
