"""Whether the keys of a scenario go with each other, and the properties that it asks for."""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.reference.protocol import Protocol, VoterChanges
from kraftcheck.reference.voters import majority
from kraftcheck.spec.model import Judged
from kraftcheck.systems.kraft.scenario import NAMES, KRaftScenario


def check(scenario: KRaftScenario, protocols: Sequence[Protocol]) -> None:
    """Raises InputError if they do not; ``protocols``: those of the
    replicas.
    """
    replicas, ids = scenario.replicas, scenario.replicas.everybody
    if len(set(ids)) != len(ids):
        raise scenario.error("replicas: a replica is listed twice")
    for word, view in replicas.views.items():
        if len(set(view)) != len(view):
            raise scenario.error(f"replicas.views.{word}: a replica is listed twice")
    if replicas.dynamic and (replicas.views or replicas.initial):
        raise scenario.error("replicas.dynamic: views and initial are for a static voter set")
    _check_changes(scenario)
    _check_alterations(scenario, protocols)
    _check_clocks(scenario)
    _check_idle_answers(scenario)
    _check_relative_epochs(scenario)
    _check_who_is_named(scenario)


def _check_who_is_named(scenario: KRaftScenario) -> None:
    views = {f"replicas.views.{word}": view for word, view in scenario.replicas.views.items()}
    for key, words in {**scenario.named, **views}.items():
        for word in words:
            replica_named(scenario, key, str(word))


def replica_named(scenario: KRaftScenario, key: str, word: str) -> int:
    """The replica id that ``word`` stands for; ``key`` is its place in the scenario.

    Raises InputError.
    """
    known = [str(replica) for replica in scenario.replicas.everybody]
    if word not in known:
        raise scenario.error(f"{key}: '{word[:40]}' is not one of the replicas {', '.join(known)}")
    return int(word)


def _check_changes(scenario: KRaftScenario) -> None:
    """The keys that require a voter set that may change."""
    replicas, budgets = scenario.replicas, scenario.budgets
    if replicas.dynamic and replicas.upgradable:
        raise scenario.error("replicas: dynamic is kraft.version 1 and upgradable 0; choose one")
    alters = scenario.admin.alters
    if scenario.admin.steps and not ((replicas.changing or alters) and budgets.admin):
        raise scenario.error("admin.steps: needs replicas.dynamic or upgradable, and budgets.admin")
    if budgets.admin and not scenario.admin.steps:
        raise scenario.error("budgets.admin: there are no admin.steps to spend it on")
    if budgets.restores and budgets.wipes != 1:
        raise scenario.error("budgets.restores: goes with budgets.wipes = 1")
    if ((replicas.joining and not alters) or replicas.auto_join) and not replicas.changing:
        raise scenario.error("replicas.joining, auto-join: the voter set of this scenario never changes")
    if set(replicas.auto_join) & set(replicas.observers):
        raise scenario.error("replicas.auto-join: is for controllers, and an observer is none")
    if replicas.initial_leader is not None and (replicas.initial or replicas.views):
        raise scenario.error("replicas.initial-leader: the states in which replicas begin are given twice")


def _check_idle_answers(scenario: KRaftScenario) -> None:
    """The conditions under which idle answers can be left out."""
    environment, budgets = scenario.environment, scenario.budgets
    if scenario.network.idle_answers == "left-out" and (
        scenario.network.forgotten == "stay"
        or environment.delayed_fetches
        or budgets.timeouts
        or budgets.duplicates
        or scenario.check.eventually
        or "update-voter" in scenario.all_timers
    ):
        raise scenario.error(
            "network.idle-answers: 'left-out' needs network.forgotten = 'lost', and goes without "
            "environment.delayed-fetches, the timer update-voter, budgets.timeouts, budgets.duplicates and "
            "check.eventually"
        )


#: The goal that names an epoch.
EPOCH_1 = "no-leader-of-epoch-1"


def _check_relative_epochs(scenario: KRaftScenario) -> None:
    """Relative epochs are for *eventually* properties, and for states of which all numbers are known."""
    budgets = scenario.budgets
    if scenario.reduction.epochs == "relative" and (
        not scenario.check.eventually
        or scenario.replicas.changing
        or scenario.admin.alters
        or budgets.wipes
        or budgets.snapshots
        or budgets.ticks
    ):
        raise scenario.error(
            "reduction.epochs: 'relative' is for check.eventually, and goes without replicas.dynamic, "
            "upgradable, the step alter, budgets.wipes, budgets.snapshots and budgets.ticks"
        )
    named = {name for wanted in scenario.check.eventually for name in (wanted.goal, wanted.when)}
    if scenario.reduction.epochs == "relative" and EPOCH_1 in named:
        raise scenario.error(
            f"reduction.epochs: with 'relative' no epoch is told from others, and '{EPOCH_1}' in "
            "check.eventually names one; leave it out"
        )


def _check_alterations(scenario: KRaftScenario, protocols: Sequence[Protocol]) -> None:
    """AlterQuorum is for static voters that all replicas take for the same, and for nothing else."""
    replicas, admin = scenario.replicas, scenario.admin
    if not admin.alters:
        return
    if replicas.changing or replicas.views or replicas.initial or scenario.budgets.wipes:
        raise scenario.error(
            "admin.steps: alter goes without replicas.dynamic, upgradable, views and initial, and "
            "without budgets.wipes"
        )
    if admin.order != "any" or not all(step.startswith("alter ") for step in admin.steps):
        raise scenario.error("admin.steps: alter goes with no other step, and with admin.order = 'any'")
    if any(protocol.voter_changes is not VoterChanges.ALTER_QUORUM for protocol in protocols):
        raise scenario.error("admin.steps: alter needs protocol.preset = 'kip595'")


def _check_clocks(scenario: KRaftScenario) -> None:
    """A voter has one key throughout where clocks run; reports about a quorum under AlterQuorum are not
    judged.
    """
    if scenario.budgets.ticks and (scenario.replicas.upgradable or scenario.budgets.wipes):
        raise scenario.error("budgets.ticks: goes without replicas.upgradable and budgets.wipes")
    if scenario.admin.alters and (scenario.admin.describes or scenario.budgets.ticks):
        raise scenario.error("admin.describes, budgets.ticks: go without the step alter")


#: The properties about a leader that is in office from the beginning.
FROM_LEADER_ON = ("ReturningReplicaDeposesNobody", "RemovedVoterDisturbsNobody")


def requested(scenario: KRaftScenario, cut: frozenset[tuple[int, int]]) -> tuple[str, ...]:
    """The properties that are judged in every state and step. Raises InputError."""
    check = scenario.check
    for entry in check.eventually:
        if entry.property == "GracefulHandOverIsFast" and "fetch" in scenario.all_timers:
            raise scenario.error(
                f"check.eventually: {entry.property} says that no replica waits for a fetch timer; leave "
                "'fetch' out of environment.timers"
            )
    wanted_names = dict.fromkeys((*(check.only or _always(scenario)), *check.properties))
    judged = tuple(name for name in wanted_names if name not in check.without)
    if not (judged or check.eventually or check.goals):
        raise scenario.error(
            "check: nothing is left to judge; take something out of check.without, or give goals"
        )
    _check_premises(scenario, judged, cut)
    return judged


def _check_premises(
    scenario: KRaftScenario, judged: tuple[str, ...], cut: frozenset[tuple[int, int]]
) -> None:
    """S-36 and L-5 are about a leader in good health, which must be there from the beginning."""
    descriptions = NAMES.judged("descriptions")
    if not scenario.admin.describes and set(descriptions) & set(judged):
        raise scenario.error(
            f"check: {', '.join(descriptions)} speak of DescribeQuorum; they need admin.describes"
        )
    for name in FROM_LEADER_ON:
        if name in judged and not _begins_with_healthy_leader(scenario, cut):
            raise scenario.error(
                f"check: '{name}' speaks of a leader from which a majority fetches; replicas.initial "
                "or initial-leader must give such a leader"
            )
    removed = [
        word
        for word, view in scenario.replicas.views.items()
        if int(word) in view and int(word) not in scenario.replicas.voters
    ]
    removed += [step for step in scenario.admin.steps if step.startswith("remove ")]
    if "RemovedVoterDisturbsNobody" in judged and not removed:
        raise scenario.error(
            "check: 'RemovedVoterDisturbsNobody' speaks of a removed voter; replicas.views "
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
    where: list[Judged] = ["always", "voter-changes"] if changing else ["always"]
    return NAMES.judged(*where, *(("descriptions",) if scenario.admin.describes else ()))
