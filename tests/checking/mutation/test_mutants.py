"""The shipped mutants: their edits apply to today's reference, their names exist, and they are killed."""

from __future__ import annotations

import pytest

from kraftcheck import spec
from kraftcheck.checking.ledger import Sources
from kraftcheck.checking.mutation import campaign, catalogue, patch
from kraftcheck.checking.mutation.campaign import Status
from kraftcheck.checking.mutation.catalogue import Mutant
from kraftcheck.support.errors import InputError
from kraftcheck.systems import scenario
from kraftcheck.systems.brokers.kind import BROKERS
from kraftcheck.systems.brokers.scenario import NAMES as BROKER_NAMES
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.scenario import NAMES

MUTANTS = catalogue.shipped()
SCENARIOS = scenario.shipped()


@pytest.mark.slow
def test_every_mutant_applies_and_names_what_there_is() -> None:
    rules = set(spec.load().rules)
    judged = {name: _judged(name) for name in {mutant.scenario for mutant in MUTANTS.values()}}
    imported = Sources.installed().closure()
    wrong = {
        mutant.id: lacks
        for mutant in MUTANTS.values()
        if (lacks := _lacks(mutant, rules, judged[mutant.scenario], imported))
    }
    assert not wrong


def _judged(name: str) -> set[str]:
    """What the scenario ``name`` judges."""
    chosen = SCENARIOS[name]
    eventually = {each.property for each in chosen.check.eventually}
    return {*kind_of(chosen).build(chosen).properties, *eventually, *chosen.check.goals}


def _lacks(mutant: Mutant, rules: set[str], judged: set[str], imported: set[str]) -> list[str]:
    lacks = [f"no rule {rule}" for rule in mutant.rules if rule not in rules]
    lacks += [f"{name} is not judged" for name in mutant.expect if name not in judged]
    if SCENARIOS[mutant.scenario].expect.verdict != "holds":
        lacks.append("its scenario expects a violation")
    lacks += [f"no check imports {edit.module}" for edit in mutant.edit if edit.module not in imported]
    try:
        patch.mutated_sources(mutant)
    except InputError as error:
        lacks.append(str(error))
    return lacks


def test_no_two_mutants_make_the_same_edits_in_one_scenario() -> None:
    assert len({(mutant.edit, mutant.scenario) for mutant in MUTANTS.values()}) == len(MUTANTS)


def test_every_scenario_made_for_mutants_is_used() -> None:
    used = {mutant.scenario for mutant in MUTANTS.values()}
    made = {name for name in SCENARIOS if name.startswith("mutants-")}
    assert made <= used


def test_safety_properties_have_a_mutant() -> None:
    """What the checker judges and no mutant violates would be believed without a reason.

    The reference itself violates RefusalIsUpToDate and HandOverSurvivesFailover, as Kafka does; findings show
    it.
    """
    broken = {name for mutant in MUTANTS.values() for name in mutant.expect}
    judged = {*NAMES.judged("always", "voter-changes", "descriptions", "on-request")}
    assert judged - {"RefusalIsUpToDate"} <= broken
    assert {*BROKER_NAMES.judged("always", "on-request")} - {"HandOverSurvivesFailover"} <= broken
    assert set(BROKER_NAMES.eventually) <= broken


def test_a_mutant_changes_what_its_scenario_is_about() -> None:
    """A mutant of brokers is killed in a scenario of brokers, and one of replicas in one of replicas."""
    for mutant in MUTANTS.values():
        of_brokers = {edit.module.startswith("kraftcheck.reference.brokers.") for edit in mutant.edit}
        assert of_brokers == {kind_of(SCENARIOS[mutant.scenario]) is BROKERS}


def test_every_rule_of_brokers_has_a_mutant_or_says_why_not() -> None:
    mutated = {rule for mutant in MUTANTS.values() for rule in mutant.rules}
    areas = {"INC", "BSTATE", "HEARTBEAT", "FENCE", "COMPAT", "REG", "HBK", "ISR", "AISR"}
    rules = [rule for rule in spec.load().rules.values() if rule.area in areas]
    assert {rule.area for rule in rules} == areas
    for rule in rules:
        assert (rule.id in mutated) != (rule.unmutated is not None), rule.id


@pytest.mark.slow
def test_some_mutants_are_killed() -> None:
    ids = ("grant-without-looking-at-vote", "fenced-broker-serves")
    chosen = [MUTANTS[id_] for id_ in ids]
    for result in campaign.run(chosen):
        assert result.status is Status.KILLED, result.reason
        assert tuple(run.property for run in result.runs) == result.mutant.expect
