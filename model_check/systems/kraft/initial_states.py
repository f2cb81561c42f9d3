"""The initial states of a scenario: replicas begin by their first start, or in the state that is given."""

from __future__ import annotations

from typing import cast

from kraftcheck.engine.system import Outcome
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Poll
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, LeaderChange, Log
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Leader, Replica
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft import given_disks, given_states, membership
from kraftcheck.systems.kraft import identities as identities_of
from kraftcheck.systems.kraft import timers as timers_of
from kraftcheck.systems.kraft.history import History, record
from kraftcheck.systems.kraft.host import Host
from kraftcheck.systems.kraft.labels import Committed, Elected, Label, Voted
from kraftcheck.systems.kraft.node import Ended, Node
from kraftcheck.systems.kraft.reductions import without_unread_fields
from kraftcheck.systems.kraft.scenario import NAMES, KRaftScenario
from kraftcheck.systems.kraft.step import Action, Step
from kraftcheck.systems.kraft.text import parse_replica


def begin(scenario: KRaftScenario, host: Host) -> Outcome:
    """The first step of the replica: it starts on an empty or the given disk, or polls in the given state.

    Where a crash within the first start leaves a changed disk the replica has yet to start. Raises InputError
    where a replica cannot begin so.
    """
    identity = host.identity
    text = scenario.replicas.initial.get(str(identity.id))
    on = given_disks.disk_of(scenario, identity)
    if identity.id in scenario.replicas.stopped:
        disk = on or Disk(directory=identity.key.directory)
        if text is not None:
            given = _given(scenario, identity, text)
            disk = Disk(given.quorum_state, given.log, given.log.end_offset, identity.key.directory)
        return Outcome("stopped", Node(None, disk, Ended.STOPPED))
    if identity.id in (*scenario.replicas.newer_disk, *scenario.replicas.zero_directory):
        return Outcome("not started", Node(None, _unknown_disk(scenario, identity, text)))
    if text is None:
        node = Node(None, on or Disk(directory=identity.key.directory))
        taken = None if scenario.replicas.initial_leader is None else scenario.replicas.fresh
        if (taken is None or identity.id in taken) and host.crash_matters(node):
            return Outcome("not started", node)
        outcome = next(host.restart(node)).outcome
    else:
        armed = host.protocol if host.wiring.arms_timers else None
        outcome = first_poll(host, given_node(scenario, identity, text, armed)).outcome
    begun = cast(Node, outcome.local)
    if begun.died is not None and on is None:
        raise scenario.error(f"replica {identity.id} cannot be in the state that is given: {begun.end}")
    if begun.replica is not None and begun.replica.epoch > scenario.bounds.max_epoch:
        raise scenario.error(
            f"replica {identity.id} begins in epoch {begun.replica.epoch}, beyond bounds.max-epoch "
            f"{scenario.bounds.max_epoch}"
        )
    return outcome


def _unknown_disk(scenario: KRaftScenario, identity: Replica, text: str | None) -> Disk:
    """A disk on which the process may not start, with the contents of the given state, if any."""
    newer, directory = identity.id in scenario.replicas.newer_disk, identity.key.directory
    if text is None:
        return Disk(directory=directory, newer=newer)
    given = _given(scenario, identity, text)
    return Disk(given.quorum_state, given.log, given.log.end_offset, directory, newer)


def require_one_cluster(scenario: KRaftScenario, identities: list[Replica]) -> None:
    """Raises InputError where no cluster has the given states."""
    given = {
        identity.id: _parsed(scenario, identity.id, text, identity.bootstrap_voters.ids)
        for identity in identities
        if (text := scenario.replicas.initial.get(str(identity.id))) is not None
    }
    given_states.check(scenario, given)


def given_node(
    scenario: KRaftScenario, identity: Replica, text: str, protocol: Protocol | None = None
) -> Node:
    """The given state of a replica, all of it on its disk. Raises InputError where there is no such state.
    With a ``protocol`` the timers run that it needs in it.
    """
    replica = _given(scenario, identity, text)
    disk = Disk(replica.quorum_state, replica.log, replica.log.end_offset, identity.key.directory)
    timers = None if protocol is None else timers_of.given(protocol, replica)
    return Node(replica, disk, timers=timers)


def first_poll(host: Host, node: Node) -> Step:
    """The first step of a replica in a given state."""
    assert node.replica is not None
    event = Poll()
    execution = host.execute(node.replica, event, timers=node.timers)
    return next(host.steps(node, event, execution, Action("poll", node.replica.id)))


def history_before(scenario: KRaftScenario, identities: list[Replica]) -> History:
    """The events that must precede the given initial states: leaders, votes and commits.

    Raises InputError where they contradict each other.
    """
    history = History(origin=identities_of.origin_of(scenario))
    if scenario.replicas.disks:
        return given_disks.history_before(scenario, identities)[0]
    for identity in identities:
        text = scenario.replicas.initial.get(str(identity.id))
        if text is None:
            continue
        replica = _given(scenario, identity, text)
        leads = isinstance(replica.role, Leader)
        labels: list[Label] = [Elected(replica.id, replica.epoch)] if leads else []
        if replica.high_watermark is not None:
            prefix = tuple(b for b in replica.log.batches if b.end_offset <= replica.high_watermark)
            epoch = replica.epoch if leads else None
            keys = identity.bootstrap_voters.keys if history.origin else ()
            labels.append(Committed(replica.id, prefix, epoch, voters=keys))
        voted = replica.quorum_state.voted
        if voted is not None:
            labels.append(Voted(replica.id, replica.epoch, voted))
        for label in labels:
            recorded = record(history, label)
            if set(recorded.violations) & set(NAMES.judged("always")):
                raise scenario.error(f"the initial states contradict {', '.join(recorded.violations)}")
            history = cast(History, recorded.history)
    return history


def after_first_polls(
    scenario: KRaftScenario, identities: list[Replica], history: History, begun: list[Outcome]
) -> tuple[History, frozenset[str], frozenset[str]]:
    """The history after the first steps of the replicas, with their goals and violations.

    The initial state of a replica is compared with the scenario (P-7).

    A given state may be unreachable for a replica, such as a log ahead of its quorum-state file; its first
    poll then violates nothing and reaches no goal. With ``initial-leader`` first starts belong to the run
    that leads there, except those of ``fresh`` replicas, which reach no goal.
    """
    goals: set[str] = set()
    violations = given_disks.broken(scenario, identities)
    led, fresh = scenario.replicas.initial_leader is not None, scenario.replicas.fresh
    for replica, outcome in zip(scenario.replicas.everybody, begun, strict=True):
        starts = isinstance(outcome.action, Action) and outcome.action.kind == "start"
        counts = starts and not led
        goals.update(outcome.goals if counts else ())
        violations.update(outcome.violations if counts or (starts and replica in fresh) else ())
        if not _begins_as_formatted(scenario, replica, cast(Node, outcome.local)):
            violations.add("VotersOfTheLog")
        for label in outcome.labels:
            recorded = record(history, cast(Label, label))
            goals.update(recorded.goals if counts else ())
            violations.update(recorded.violations)
            history = cast(History, recorded.history)
    return history, frozenset(goals), frozenset(violations)


def _begins_as_formatted(scenario: KRaftScenario, replica: int, node: Node) -> bool:
    """Whether a replica has begun with the key and the voters that the scenario gives it (P-7)."""
    if node.replica is None:
        return True
    wanted = given_disks.formatted(scenario, replica)
    return (node.replica.key, membership.own_origin(node.replica)) == wanted


def _given(scenario: KRaftScenario, identity: Replica, text: str) -> Replica:
    """The state that is given. Its role knows the replica's own voters; its log was written by others."""
    written = _parsed(scenario, identity.id, text, scenario.replicas.voters)
    given = _parsed(scenario, identity.id, text, identity.bootstrap_voters.ids)
    carried = ("quorum_state", "role", "high_watermark", "connections")
    ours = {name: getattr(given, name) for name in carried}
    replica = replace(identity, log=_as_led(scenario, written.log), **ours)
    expected = replace(
        replica,
        key=given.key,
        endpoints=given.endpoints,
        bootstrap_voters=given.bootstrap_voters,
        log=given.log,
    )
    if replace(expected, can_become_voter=given.can_become_voter) != given:
        raise scenario.error(
            f"replicas.initial.{identity.id}: a scenario gives role, epoch, leader, vote, log, high "
            "watermark and requests under way, and nothing else"
        )
    return without_unread_fields(replica)


def _as_led(scenario: KRaftScenario, log: Log) -> Log:
    """``log`` with each epoch opened by its leader, if any of the given states knows it.

    A short form alone knows no leader of other epochs, nor of its own if it names none.
    """
    leaders: dict[int, int] = {}
    for one, text in scenario.replicas.initial.items():
        state = _parsed(scenario, one, text, scenario.replicas.voters).quorum_state
        if state.leader is not None:
            leaders[state.epoch] = state.leader

    def led(batch: Batch) -> Batch:
        records = tuple(
            replace(each, leader=leaders.get(batch.epoch, each.leader))
            if isinstance(each, LeaderChange)
            else each
            for each in batch.records
        )
        return replace(batch, records=records)

    return replace(log, batches=tuple(map(led, log.batches)))


def _parsed(scenario: KRaftScenario, replica: int | str, text: str, voters: tuple[int, ...]) -> Replica:
    try:
        return parse_replica(f"{text} id={replica} voters={','.join(map(str, voters))}")
    except InputError as problem:
        raise scenario.error(f"replicas.initial.{replica}: {str(problem).rstrip('.')}") from None
