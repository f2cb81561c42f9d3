"""The properties and goals that a scenario asks for, and the premises without which they say nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from model_check.errors import InputError
from model_check.kraft import names
from model_check.kraft.scenario import KRaftScenario
from reference.voters import majority
from spec import load

#: Makes of a sentence the error to raise.
Error = Callable[[str], InputError]

#: The goals by which an *eventually* property may be judged.
EVENTUALLY = {
    "LeaderEventuallyElected": ("a-leader", "all-follow-one-leader"),
    "ProspectiveEventuallyLeaves": ("all-follow-one-leader",),
    "LeaderWithoutMajorityStepsDown": ("no-leader-of-epoch-1",),
    "VotersEventuallyLearnLeader": ("all-follow-one-leader",),
    names.FAST_HAND_OVER: ("a-leader",),
    "MixedVersionsElect": ("a-leader",),
    "RemovedVoterEventuallyObserver": ("no-outdated-voter",),
    "LeaderRemovalCompletes": ("no-leader-outside-voters",),
    "ElectableAfterUnseenVoterChange": ("a-leader",),
    "VoterChangeEventuallySettled": ("no-change-pending", "no-alteration-pending"),
    "FollowerEventuallyCatchesUp": ("all-caught-up", "high-watermark-known"),
    "StaleLeaderEventuallyLearns": ("no-stale-leader",),
    "AppendEventuallyAnswered": ("no-append-waits",),
    "LeadershipEventuallyStable": ("leadership-settled", "leadership-stays"),
}


#: The properties that speak of a leader that is in office from the beginning.
FROM_LEADER_ON = (names.STABLE_LEADERSHIP, names.REMOVED_VOTER_DISTURBS_NOBODY)


@cache
def _transition_goals() -> frozenset[str]:
    return frozenset(names.transition_goal(row.from_state, row.to_state) for row in load().transitions)


def requested(scenario: KRaftScenario, cut: frozenset[tuple[int, int]], error: Error) -> tuple[str, ...]:
    """The properties that are judged in every state and step. Raises what ``error`` makes of a sentence."""
    check = scenario.check
    known_names = {entry.name for entry in load().properties.values()}
    for wanted in (*(entry.property for entry in check.eventually), *scenario.expect.violates):
        if wanted not in known_names:
            raise error(f"'{wanted}' is no property of the catalogue ('kraftcheck rules --properties')")
    for entry in check.eventually:
        if entry.property not in EVENTUALLY:
            raise error(
                f"check.eventually: nothing judges {entry.property}; properties with goals are "
                f"{', '.join(EVENTUALLY)}"
            )
        if entry.goal not in EVENTUALLY[entry.property]:
            raise error(
                f"check.eventually: goal '{entry.goal}' does not say what {entry.property} means; "
                f"that is {' or '.join(EVENTUALLY[entry.property])}"
            )
        environment = scenario.environment
        timers = {*environment.timers, *(each for at in environment.timers_at.values() for each in at)}
        if entry.property == names.FAST_HAND_OVER and "fetch" in timers:
            raise error(
                f"check.eventually: {entry.property} says that nobody waits for a fetch timer; leave 'fetch' "
                "out of environment.timers"
            )
    known_to_checker = names.ALWAYS + names.VOTER_CHANGES + names.DESCRIPTIONS + names.ON_REQUEST
    for name in (*check.only, *check.properties, *check.without):
        if name not in known_to_checker:
            known = ", ".join(known_to_checker)
            raise error(f"check: '{name}' is no property of the checker; there are {known}")
    wanted_names = dict.fromkeys((*(check.only or _always(scenario)), *check.properties))
    judged = tuple(name for name in wanted_names if name not in check.without)
    if not (judged or check.eventually or check.goals):
        raise error("check: nothing is left to judge; take something out of check.without, or give goals")
    _check_premises(scenario, judged, cut, error)
    return judged


def _check_premises(
    scenario: KRaftScenario, judged: tuple[str, ...], cut: frozenset[tuple[int, int]], error: Error
) -> None:
    """S-36 and L-5 speak of a leader in good health, which must then be there from the beginning."""
    if not scenario.admin.describes and set(names.DESCRIPTIONS) & set(judged):
        raise error(
            f"check: {', '.join(names.DESCRIPTIONS)} speak of DescribeQuorum; they need admin.describes"
        )
    for name in FROM_LEADER_ON:
        if name in judged and not _begins_with_healthy_leader(scenario, cut):
            raise error(
                f"check: '{name}' speaks of a leader from which a majority fetches; replicas.initial "
                "or led-by must give such a leader"
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
    for leader in (*leaders, *(() if scenario.replicas.led_by is None else (scenario.replicas.led_by,))):
        reached = [voter for voter in voters if (voter, leader) not in cut and (leader, voter) not in cut]
        if len(reached) >= majority(len(voters)):
            return True
    return False


def requested_goals(scenario: KRaftScenario, error: Error) -> tuple[str, ...]:
    """The goals that must be reached. Raises what ``error`` makes of a sentence."""
    for name in scenario.check.goals:
        if name not in names.GOALS and name not in _transition_goals():
            known = ", ".join(names.GOALS)
            raise error(f"check.goals: '{name}' is no goal; there are {known}, and From->To")
    return scenario.check.goals


def _always(scenario: KRaftScenario) -> tuple[str, ...]:
    """What is judged unless the scenario says otherwise."""
    changing = scenario.replicas.changing or scenario.budgets.snapshots or scenario.admin.alters
    described = names.DESCRIPTIONS if scenario.admin.describes else ()
    return (names.ALWAYS + names.VOTER_CHANGES if changing else names.ALWAYS) + described
