"""The properties and goals that a scenario asks for, and the premises without which they hold vacuously."""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.reference.voters import majority
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft import names
from kraftcheck.systems.kraft.scenario import KRaftScenario

#: Builds the error to raise from a sentence.
Error = Callable[[str], InputError]

#: The properties about a leader that is in office from the beginning.
FROM_LEADER_ON = (names.STABLE_LEADERSHIP, names.REMOVED_VOTER_DISTURBS_NOBODY)


def requested(scenario: KRaftScenario, cut: frozenset[tuple[int, int]], error: Error) -> tuple[str, ...]:
    """The properties that are judged in every state and step. Raises the exception that ``error`` builds of a
    sentence.
    """
    check = scenario.check
    for entry in check.eventually:
        environment = scenario.environment
        timers = {*environment.timers, *(each for at in environment.timers_at.values() for each in at)}
        if entry.property == names.FAST_HAND_OVER and "fetch" in timers:
            raise error(
                f"check.eventually: {entry.property} says that nobody waits for a fetch timer; leave 'fetch' "
                "out of environment.timers"
            )
    wanted_names = dict.fromkeys((*(check.only or _always(scenario)), *check.properties))
    judged = tuple(name for name in wanted_names if name not in check.without)
    if not (judged or check.eventually or check.goals):
        raise error("check: nothing is left to judge; take something out of check.without, or give goals")
    _check_premises(scenario, judged, cut, error)
    return judged


def _check_premises(
    scenario: KRaftScenario, judged: tuple[str, ...], cut: frozenset[tuple[int, int]], error: Error
) -> None:
    """S-36 and L-5 are about a leader in good health, which must be there from the beginning."""
    if not scenario.admin.describes and set(names.DESCRIPTIONS) & set(judged):
        raise error(
            f"check: {', '.join(names.DESCRIPTIONS)} speak of DescribeQuorum; they need admin.describes"
        )
    for name in FROM_LEADER_ON:
        if name in judged and not _begins_with_healthy_leader(scenario, cut):
            raise error(
                f"check: '{name}' speaks of a leader from which a majority fetches; replicas.initial "
                "or initial-leader must give such a leader"
            )
    removed = [
        word
        for word, view in scenario.replicas.views.items()
        if int(word) in view and int(word) not in scenario.replicas.voters
    ]
    removed += [step for step in scenario.admin.steps if step.startswith("remove ")]
    if names.REMOVED_VOTER_DISTURBS_NOBODY in judged and not removed:
        raise error(
            f"check: '{names.REMOVED_VOTER_DISTURBS_NOBODY}' speaks of a removed voter; replicas.views "
            "must give an observer that still believes to be a voter, or admin.steps remove one"
        )


def _begins_with_healthy_leader(scenario: KRaftScenario, cut: frozenset[tuple[int, int]]) -> bool:
    """Whether a leader is given and a majority of the voters, itself included, can fetch from it."""
    voters = scenario.replicas.voters
    initial = scenario.replicas.initial.items()
    leaders = [int(word) for word, text in initial if text.split()[:1] == ["leader"]]
    for leader in (
        *leaders,
        *(() if scenario.replicas.initial_leader is None else (scenario.replicas.initial_leader,)),
    ):
        reached = [voter for voter in voters if (voter, leader) not in cut and (leader, voter) not in cut]
        if len(reached) >= majority(len(voters)):
            return True
    return False


def _always(scenario: KRaftScenario) -> tuple[str, ...]:
    """The properties that are judged unless the scenario excludes them."""
    changing = scenario.replicas.changing or scenario.budgets.snapshots or scenario.admin.alters
    described = names.DESCRIPTIONS if scenario.admin.describes else ()
    return (names.ALWAYS + names.VOTER_CHANGES if changing else names.ALWAYS) + described
