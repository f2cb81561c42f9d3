"""Whether the keys of a scenario go with each other, and the properties that it asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from kraftcheck.reference.protocol import Protocol, VoterChanges
from kraftcheck.reference.voters import majority
from kraftcheck.spec import RELEASES
from kraftcheck.spec.model import Judged
from kraftcheck.systems.kraft.scenario import NAMES, KRaftScenario

#: The properties about a leader that is in office from the beginning.
FROM_LEADER_ON = ("ReturningReplicaDeposesNobody", "RemovedVoterDisturbsNobody")

#: The goal that names an epoch.
EPOCH_1 = "no-leader-of-epoch-1"


def check(scenario: KRaftScenario, protocols: Sequence[Protocol]) -> None:
    """Raises InputError if they do not; ``protocols``: those of the replicas."""
    found = chain(
        _of_release(scenario),
        _contradictions(scenario),
        _of_alterations(scenario, protocols),
        _of_reductions(scenario),
    )
    for sentence in found:
        raise scenario.error(sentence)
    views = {f"replicas.views.{word}": view for word, view in scenario.replicas.views.items()}
    for key, words in {**scenario.named, **views}.items():
        for word in words:
            replica_named(scenario, key, str(word))


#: The keys and steps of what came with a release, and that release.
_JOINS, _UPGRADES, _ACKNOWLEDGES = "4.2", "4.1", "4.2"


def _of_release(scenario: KRaftScenario) -> Iterator[str]:
    """What the scenario does that the release of its preset cannot do yet."""
    preset = scenario.protocol.preset
    release = preset.removeprefix("kafka-")
    if release not in RELEASES:
        return
    steps = scenario.admin.steps
    asked = {
        "replicas.auto-join": (_JOINS, bool(scenario.replicas.auto_join)),
        "admin.steps: upgrade": (_UPGRADES, any(step.startswith("upgrade") for step in steps)),
        "admin.steps: ack-when-appended": (_ACKNOWLEDGES, any("ack-when" in step for step in steps)),
    }
    for what, (since, used) in asked.items():
        if used and RELEASES.index(release) < RELEASES.index(since):
            yield f"{what}: Kafka has it since {since}, and protocol.preset is '{preset}'"


def replica_named(scenario: KRaftScenario, key: str, word: str) -> int:
    """The replica id that ``word`` stands for; ``key`` is its place in the scenario.

    Raises InputError.
    """
    known = [str(replica) for replica in scenario.replicas.everybody]
    if word not in known:
        raise scenario.error(f"{key}: '{word[:40]}' is not one of the replicas {', '.join(known)}")
    return int(word)


def _contradictions(scenario: KRaftScenario) -> Iterator[str]:
    """The contradictions between the keys of the participants, the admin client and the budgets."""
    replicas, budgets, admin = scenario.replicas, scenario.budgets, scenario.admin
    static, changing, alters = replicas.views or replicas.initial, replicas.changing, admin.alters
    if len(set(replicas.everybody)) != len(replicas.everybody):
        yield "replicas: a replica is listed twice"
    for word, view in replicas.views.items():
        if len(set(view)) != len(view):
            yield f"replicas.views.{word}: a replica is listed twice"
    if replicas.dynamic and static:
        yield "replicas.dynamic: views and initial are for a static voter set"
    if replicas.dynamic and replicas.upgradable:
        yield "replicas: dynamic is kraft.version 1 and upgradable 0; choose one"
    if admin.steps and not ((changing or alters) and budgets.admin):
        yield "admin.steps: needs replicas.dynamic or upgradable, and budgets.admin"
    if budgets.admin and not admin.steps:
        yield "budgets.admin: there are no admin.steps to spend it on"
    known = scenario.network.addresses == "known"
    if (budgets.moves or replicas.misadvertised) and not known:
        yield "budgets.moves, replicas.misadvertised: need network.addresses = 'known', or nobody notices"
    if budgets.moves and (budgets.wipes or budgets.shutdowns or admin.alters):
        yield "budgets.moves: goes without budgets.wipes and shutdowns, and without the step alter"
    if set(replicas.misadvertised) & set(replicas.moved):
        yield "replicas.misadvertised: a replica in it is not in replicas.moved, too"
    if budgets.restores and budgets.wipes != 1:
        yield "budgets.restores: goes with budgets.wipes = 1"
    if ((replicas.joining and not alters) or replicas.auto_join) and not changing:
        yield "replicas.joining, auto-join: the voter set of this scenario never changes"
    if set(replicas.auto_join) & set(replicas.observers):
        yield "replicas.auto-join: is for controllers, and an observer is none"
    if "linger" in scenario.all_timers and scenario.environment.expiry != "armed":
        yield "environment.timers: linger is over at once, unless environment.expiry = 'armed'"
    unknown = set(replicas.newer_disk) | set(replicas.zero_directory)
    if unknown and replicas.initial_leader is not None:
        yield "replicas.newer-disk, zero-directory: go without replicas.initial-leader"
    if not set(replicas.zero_directory) <= set(replicas.joining):
        yield "replicas.zero-directory: is for replicas.joining; the voter set has the directory of a voter"
    if replicas.disks and (static or replicas.initial_leader is not None or unknown or alters):
        yield (
            "replicas.disks: goes without views, initial, initial-leader, newer-disk and zero-directory, and "
            "without the step alter"
        )
    if replicas.initial_leader is not None and static:
        yield "replicas.initial-leader: the states in which replicas begin are given twice"
    # Where clocks run a voter has one key; reports about a quorum under AlterQuorum are not judged.
    if budgets.ticks and (replicas.upgradable or budgets.wipes):
        yield "budgets.ticks: goes without replicas.upgradable and budgets.wipes"
    if alters and (admin.describes or budgets.ticks):
        yield "admin.describes, budgets.ticks: go without the step alter"


def _of_alterations(scenario: KRaftScenario, protocols: Sequence[Protocol]) -> Iterator[str]:
    """AlterQuorum is for static voters that all replicas take for the same, and for nothing else."""
    replicas, admin = scenario.replicas, scenario.admin
    if not admin.alters:
        return
    if replicas.changing or replicas.views or replicas.initial or scenario.budgets.wipes:
        yield (
            "admin.steps: alter goes without replicas.dynamic, upgradable, views and initial, and without "
            "budgets.wipes"
        )
    if admin.order != "any" or not all(step.startswith("alter ") for step in admin.steps):
        yield "admin.steps: alter goes with no other step, and with admin.order = 'any'"
    if any(protocol.voter_changes is not VoterChanges.ALTER_QUORUM for protocol in protocols):
        yield "admin.steps: alter needs protocol.preset = 'kip595'"


def _of_reductions(scenario: KRaftScenario) -> Iterator[str]:
    """The conditions under which idle answers can be left out, and epochs be relative: for *eventually*
    properties, and for states of which all numbers are known.
    """
    environment, budgets, check = scenario.environment, scenario.budgets, scenario.check
    # An answer without new information starts the fetch timer over.
    armed = environment.expiry == "armed"
    needs_answers = environment.delayed_fetches or "update-voter" in scenario.all_timers or armed
    network = scenario.network
    needs_requests = network.addresses == "known" or network.without_endpoints
    if network.idle_answers == "left-out" and (
        needs_answers
        or needs_requests
        or check.eventually
        or budgets.timeouts
        or budgets.duplicates
        or network.forgotten == "stay"
    ):
        yield (
            "network.idle-answers: 'left-out' needs network.forgotten = 'lost', and goes without "
            "environment.delayed-fetches, the timer update-voter, environment.expiry = 'armed', "
            "budgets.timeouts, budgets.duplicates, check.eventually, network.addresses and "
            "network.without-endpoints"
        )
    if scenario.reduction.epochs == "absolute":
        return
    changing = scenario.replicas.changing or scenario.admin.alters
    if not check.eventually or changing or budgets.wipes or budgets.snapshots or budgets.ticks:
        yield (
            "reduction.epochs: 'relative' is for check.eventually, and goes without replicas.dynamic, "
            "upgradable, the step alter, budgets.wipes, budgets.snapshots and budgets.ticks"
        )
    if any(EPOCH_1 in (wanted.goal, wanted.when) for wanted in check.eventually):
        yield (
            f"reduction.epochs: with 'relative' no epoch is told from others, and '{EPOCH_1}' in "
            "check.eventually names one; leave it out"
        )


def requested(scenario: KRaftScenario, cut: frozenset[tuple[int, int]]) -> tuple[str, ...]:
    """The properties that are judged in every state and step. Raises InputError."""
    check = scenario.check
    wanted = dict.fromkeys((*(check.only or _always(scenario)), *check.properties))
    judged = tuple(name for name in wanted if name not in check.without)
    for sentence in _broken_premises(scenario, judged, cut):
        raise scenario.error(sentence)
    return judged


def _broken_premises(
    scenario: KRaftScenario, judged: tuple[str, ...], cut: frozenset[tuple[int, int]]
) -> Iterator[str]:
    """Of the ``judged`` properties: S-36 and L-5 are about a leader in good health, which must be there from
    the beginning.
    """
    check, replicas, admin = scenario.check, scenario.replicas, scenario.admin
    fast = "GracefulHandOverIsFast"
    if "fetch" in scenario.all_timers and any(entry.property == fast for entry in check.eventually):
        yield (
            f"check.eventually: {fast} says that no replica waits for a fetch timer; leave 'fetch' out of "
            "environment.timers"
        )
    if not (judged or check.eventually or check.goals):
        yield "check: nothing is left to judge; take something out of check.without, or give goals"
    descriptions = NAMES.judged("descriptions")
    if not admin.describes and set(descriptions) & set(judged):
        yield f"check: {', '.join(descriptions)} speak of DescribeQuorum; they need admin.describes"
    armed = NAMES.judged("timers")
    if scenario.environment.expiry != "armed" and set(armed) & set(judged):
        yield f"check: {', '.join(armed)} speak of timers that run; they need environment.expiry = 'armed'"
    for name in FROM_LEADER_ON:
        if name in judged and not _begins_with_healthy_leader(scenario, cut):
            yield (
                f"check: '{name}' speaks of a leader from which a majority fetches; replicas.initial or "
                "initial-leader must give such a leader"
            )
    removed = any(int(w) in view and int(w) not in replicas.voters for w, view in replicas.views.items())
    removed = removed or any(step.startswith("remove ") for step in admin.steps)
    if "RemovedVoterDisturbsNobody" in judged and not removed:
        yield (
            "check: 'RemovedVoterDisturbsNobody' speaks of a removed voter; replicas.views must give an "
            "observer that still believes to be a voter, or admin.steps remove one"
        )


def _begins_with_healthy_leader(scenario: KRaftScenario, cut: frozenset[tuple[int, int]]) -> bool:
    """Whether a leader is given and a majority of the voters, itself included, can fetch from it."""
    replicas = scenario.replicas
    voters, initial = replicas.voters, replicas.initial.items()
    leaders = {int(word) for word, text in initial if text.split()[:1] == ["leader"]}
    for leader in leaders if replicas.initial_leader is None else leaders | {replicas.initial_leader}:
        reached = [voter for voter in voters if not {(voter, leader), (leader, voter)} & cut]
        if len(reached) >= majority(len(voters)):
            return True
    return False


def _always(scenario: KRaftScenario) -> tuple[str, ...]:
    """The properties that are judged unless the scenario excludes them."""
    changing = scenario.replicas.changing or scenario.budgets.snapshots or scenario.admin.alters
    where: list[Judged] = ["always", "voter-changes"] if changing else ["always"]
    where += ["descriptions"] if scenario.admin.describes else []
    where += ["timers"] if scenario.environment.expiry == "armed" else []
    return NAMES.judged(*where)
