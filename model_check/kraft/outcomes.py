"""From an execution of the reference to outcomes for the engine: its full course, and a crash after any of
its effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from model_check.engine.system import Forget, Outcome
from model_check.kraft import administration, assignments, checks, idle, membership, names, voter_checks
from model_check.kraft.history import (
    Acknowledged,
    Altered,
    Committed,
    Elected,
    Label,
    Refused,
    Restored,
    Snapshotted,
    Truncated,
    Voted,
    Wiped,
)
from model_check.kraft.membership import Origin
from model_check.kraft.network import CLIENT, NOBODY_WAITS, InFlight, after_forgetting
from model_check.kraft.node import Execution, Node, boot
from reference import disk as disks
from reference.disk import Disk
from reference.effects import (
    AppendBatch,
    DeleteBefore,
    Effect,
    Fatal,
    Flush,
    ForgetRequests,
    HighWatermark,
    LoadSnapshot,
    Persist,
    Reply,
    Send,
    Stop,
    StoreSnapshot,
    Transition,
    Truncate,
)
from reference.errors import ErrorCode
from reference.events import Event, RequestReceived
from reference.log import Batch
from reference.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    AlterQuorumResponse,
    FetchRequest,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    VoteRequest,
    VoteResponse,
)
from reference.protocol import Protocol
from reference.replica import AddingVoter, Leader, QuorumState, Replica
from reference.voters import ReplicaKey, VoterSet

#: After these effects a crash leaves something else behind than before them.
_BOUNDARIES = (
    Persist,
    AppendBatch,
    Truncate,
    Flush,
    StoreSnapshot,
    DeleteBefore,
    LoadSnapshot,
    Send,
    Reply,
    HighWatermark,
)

#: Refusals that tell a client what the voter set is.
_TELLING = (ErrorCode.DUPLICATE_VOTER, ErrorCode.VOTER_NOT_FOUND)


@dataclass(frozen=True, slots=True)
class Action:
    """What a trace and a graph edge call a step: ``kind`` at ``replica``, with details."""

    kind: str
    replica: int
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind} at {self.replica}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, slots=True)
class CutStart:
    """A crash within the start ``execution``, of which ``completed`` effects happened.

    ``loses_power``: and the unflushed tail is gone.
    """

    execution: Execution
    completed: int
    loses_power: bool


@dataclass(frozen=True, slots=True)
class Step:
    """An outcome together with what a trace shows of it: the execution, and how much of it happened.

    ``completed`` counts the effects that happened before the process ended, ``loses_power`` tells that it
    ended with the loss of the unflushed tail; ``restarted`` is the execution of the process that took over on
    the same disk. ``cut`` are the starts before that one which a crash has cut short, in order.
    """

    outcome: Outcome
    execution: Execution | None
    completed: int
    restarted: Execution | None = None
    loses_power: bool = False
    cut: tuple[CutStart, ...] = ()


@dataclass(frozen=True, slots=True)
class Wiring:
    """What an outcome depends on besides the replica itself.

    component: index of a replica id; cut: directed links (from, to) that carry nothing; no_pre_vote:
    replicas that do not know pre-vote; flag_ignored: senders whose pre-vote flag such a replica does not see,
    so that it takes the request for a standard one; forgotten_stay: whether forgotten requests stay in
    flight; crash: a budget index, ``None`` where the fault is off; power_loss: whether a crash may lose the
    unflushed tail; written_back: whether unflushed data of a dead process is durable when the next one
    starts; boundaries: whether a crash may fall between the effects of a step or of a start; crashes: how
    many there may be in all; duplicate: a budget index,
    ``None``: a request arrives once; wipe: a budget index, ``None``: no disk is replaced by an empty one;
    restore: a budget index, ``None``: no disk that was taken out is put back in; ``crashes_at``,
    ``wipes_at``: the ids of those that may be hit.

    origin: what is in force before any record, where voter sets may change or snapshots are taken; addable:
    the ids of the replicas that may be added to the voter set; targets: those of the AlterQuorum requests
    (KIP-595), in the order of the administrator's steps, ``None`` where voters do not change that way;
    known_deaths: parts of reasons to die that are not judged; the process starts again. idle_left_out:
    whether answers that tell nothing are not modelled.
    """

    component: Callable[[int], int]
    cut: frozenset[tuple[int, int]]
    no_pre_vote: frozenset[int]
    flag_ignored: frozenset[int]
    forgotten_stay: bool
    crash: int | None
    power_loss: bool
    written_back: bool
    boundaries: bool
    crashes: int = 0
    duplicate: int | None = None
    wipe: int | None = None
    restore: int | None = None
    crashes_at: frozenset[int] = frozenset()
    wipes_at: frozenset[int] = frozenset()
    origin: Origin | None = None
    addable: frozenset[int] = frozenset()
    targets: tuple[tuple[int, ...] | None, ...] | None = None
    known_deaths: tuple[str, ...] = ()
    idle_left_out: bool = False


@dataclass(slots=True)
class _World:
    """What has happened to the disk, the network and the history after some effects.

    ``vote_request`` is the standard vote request being handled, ``asked`` the replica about which a client's
    request is that is being handled, ``addition`` the addition that is asked for or under way,
    ``leader_epoch`` the epoch that the replica leads by now, ``origin`` what the process knows of voters
    besides its log, ``change`` the newest voter set of its log at the end, ``assignment`` where the
    assignment of voters is that it takes to be in force (KIP-595). ``event`` is what is being handled, and
    ``after`` the replica at the end, where idle answers are left out.
    """

    disk: Disk
    origin: Origin
    sends: list[InFlight] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    forgets: list[Forget] = field(default_factory=list)
    vote_request: VoteRequest | None = None
    asked: ReplicaKey | None = None
    addition: AddRaftVoterRequest | AddingVoter | None = None
    leader_epoch: int | None = None
    change: Batch | None = None
    assignment: int = -1
    event: Event | None = None
    after: Replica | None = None


def steps(
    wiring: Wiring,
    protocol: Protocol,
    node: Node,
    event: Event,
    execution: Execution,
    action: Action,
    costs: tuple[int, ...] = (),
) -> Iterator[Step]:
    """Every way the execution may go: to its end, or cut short by a crash after one of its effects."""
    assert node.replica is not None
    before = node.replica
    world = _World(
        node.disk,
        _origin(before),
        vote_request=_standard_vote(event),
        asked=_asked(event),
        addition=_addition(before, event),
        leader_epoch=before.epoch if isinstance(before.role, Leader) else None,
        change=_newest_change(execution) if wiring.origin else None,
        assignment=before.assignment_offset,
    )
    if wiring.idle_left_out:
        world.event, world.after = event, execution.replica
    crashes: list[Step] = []
    for count, effect in enumerate(execution.effects, 1):
        _happen(wiring, before.id, world, effect)
        if wiring.boundaries and _is_boundary(effect) and count < len(execution.effects):
            crashes += _crash(wiring, protocol, before, world, action, costs, execution, count)
    ended = execution.ended
    if isinstance(ended, Stop):
        # An orderly shutdown closes the log, which flushes it.
        world.disk = disks.as_found(world.disk)
    if isinstance(ended, Fatal) and _is_known(wiring, ended.reason):
        yield from _known_death(wiring, protocol, before, event, world, action, costs, execution)
        return
    after = Node(None, world.disk, _cause(ended)) if ended else Node(execution.replica, world.disk)
    outcome = Outcome(
        action=action,
        local=after,
        sends=tuple(world.sends),
        labels=tuple(world.labels),
        costs=costs,
        forgets=tuple(world.forgets),
        violations=_violations(wiring, protocol, before, event, execution, after),
        goals=_goals(before, execution),
    )
    yield Step(outcome, execution, len(execution.effects))
    if not isinstance(ended, Fatal):
        yield from _distinct(crashes, outcome)


def crash(wiring: Wiring, protocol: Protocol, node: Node, replica_id: int) -> Iterator[Step]:
    """The process is killed between two events, with or without loss of the unflushed tail."""
    if wiring.crash is None or node.replica is None:
        return
    world = _World(node.disk, _origin(node.replica))
    action = Action("crash", replica_id)
    yield from _crash(wiring, protocol, node.replica, world, action, (), None, 0)


def restart(wiring: Wiring, protocol: Protocol, node: Node, identity: Replica) -> Iterator[Step]:
    """A process that does not run is started: in full first, then cut short by each crash that may be."""
    stored = node.disk.quorum_state or QuorumState()
    identity = replace(identity_on(identity, node.disk), quorum_state=stored, log=node.disk.log)
    disk = disks.as_found(node.disk, written_back=wiring.written_back)
    execution = boot(protocol, identity, disk, wiring.addable)
    for start in _booted(
        wiring, protocol, identity, disk, execution, Action("start", identity.id), (), [], []
    ):
        if start.cut:
            yield start
        else:
            yield Step(start.outcome, execution, len(execution.effects))


def crash_matters(wiring: Wiring, protocol: Protocol, node: Node, identity: Replica) -> bool:
    """Whether a crash within the start of a stopped process leaves something behind.

    Otherwise the next start comes to the same, and the crash costs no more than a crash of the budget.
    """
    full, *cut = restart(wiring, protocol, node, identity)
    expected = _left_behind(full.outcome)
    return any(_left_behind(step.outcome) != expected for step in cut)


def _left_behind(outcome: Outcome) -> tuple[object, ...]:
    return outcome.local, outcome.sends, outcome.labels, outcome.violations


def wipe(wiring: Wiring, protocol: Protocol, node: Node, identity: Replica) -> Iterator[Step]:
    """The process ends, its disk is replaced by an empty one with another directory id, and it starts."""
    old = node.disk
    if wiring.wipe is None or identity.id not in wiring.wipes_at:
        return
    assert old.directory is not None
    disk = Disk(directory=administration.next_directory(old.directory))
    reborn = identity_on(identity, disk)
    execution = boot(protocol, reborn, disk, wiring.addable)
    action = Action("wipe", identity.id, f"new directory {disk.directory}")
    for start in _booted(
        wiring, protocol, reborn, disk, execution, action, (wiring.wipe,), [], [_taken_out(node, identity)]
    ):
        yield replace(start, outcome=_keeping(wiring, start.outcome, old))


def restore(wiring: Wiring, protocol: Protocol, node: Node, identity: Replica) -> Iterator[Step]:
    """The process ends, the disk that was taken out last is put back in its place, and it starts on that."""
    back = node.replaced
    if wiring.restore is None or back is None:
        return
    labels: list[Label] = [_taken_out(node, identity), Restored(ReplicaKey(identity.id, back.directory))]
    stored = back.quorum_state or QuorumState()
    known = replace(identity_on(identity, back), quorum_state=stored, log=back.log)
    execution = boot(protocol, known, back, wiring.addable)
    action = Action("restore", identity.id, f"directory {back.directory} again")
    costs = (wiring.restore,)
    for start in _booted(wiring, protocol, known, back, execution, action, costs, [], labels):
        yield replace(start, outcome=_keeping(wiring, start.outcome, node.disk))


def _keeping(wiring: Wiring, outcome: Outcome, disk: Disk) -> Outcome:
    """``outcome``, after which ``disk`` lies beside the machine, where it may be put back in."""
    if wiring.restore is None:
        return outcome
    kept = disks.as_found(disk, written_back=wiring.written_back)
    return replace(outcome, local=replace(cast(Node, outcome.local), replaced=kept))


def _taken_out(node: Node, identity: Replica) -> Wiped:
    """What is gone with the disk of ``node``, as far as it was durable."""
    disk = node.disk
    known = node.replica or identity_on(identity, disk)
    entry = membership.in_force(_origin(known), disk.log).find(identity.id)
    held = tuple(batch for batch in disk.log.batches if batch.end_offset <= disk.flushed)
    another = entry is None or entry.key.directory is not None
    return Wiped(node.key(identity.id), held, disk.log.start_offset, another)


def identity_on(identity: Replica, disk: Disk) -> Replica:
    """``identity`` as a process on ``disk`` has it: an empty disk has no checkpoint with a voter set."""
    if disk.directory == identity.key.directory:
        return identity
    reborn = replace(identity, key=ReplicaKey(identity.id, disk.directory))
    if identity.bootstrap_kraft_version < 1:
        return reborn
    return replace(reborn, bootstrap_voters=VoterSet(), bootstrap_kraft_version=0)


def _origin(replica: Replica) -> Origin:
    return Origin(replica.bootstrap_voters, replica.bootstrap_kraft_version)


def _violations(
    wiring: Wiring,
    protocol: Protocol,
    before: Replica,
    event: Event | None,
    execution: Execution,
    after: Node,
) -> tuple[str, ...]:
    found = checks.violations(protocol, before, event, execution, after)
    if after.died is not None and _is_known(wiring, after.died):
        found = tuple(name for name in found if name != names.NO_FATAL)
    if wiring.origin is None:
        return found
    return tuple(dict.fromkeys((*found, *voter_checks.violations(before, event, execution, after))))


def _is_known(wiring: Wiring, reason: str) -> bool:
    return any(known in reason for known in wiring.known_deaths)


def _cause(ended: Fatal | Stop) -> str | None:
    return ended.reason if isinstance(ended, Fatal) else None


def _is_boundary(effect: Effect) -> bool:
    return isinstance(effect, _BOUNDARIES)


def _distinct(crashes: Iterable[Step], full: Outcome) -> Iterator[Step]:
    """Crashes that differ in what they leave behind."""
    seen = set()
    for crashed in crashes:
        key = (crashed.outcome.local, crashed.outcome.sends, crashed.outcome.labels)
        if key not in seen:
            seen.add(key)
            yield crashed


def _crash(
    wiring: Wiring,
    protocol: Protocol,
    before: Replica,
    world: _World,
    action: Action,
    costs: tuple[int, ...],
    execution: Execution | None,
    completed: int,
) -> list[Step]:
    if wiring.crash is None or before.id not in wiring.crashes_at:
        return []
    found = []
    for loses in _losses(wiring, world.disk):
        left = disks.lose_power(world.disk) if loses else world.disk
        disk = disks.as_found(left, written_back=wiring.written_back)
        restarted = boot(protocol, before, disk, wiring.addable)
        cause = "loses power" if loses else "crashes"
        detail = f"{cause} after effect {completed} of {len(execution.effects)}" if execution else cause
        crashed = Action(
            action.kind, action.replica, f"{action.detail}, {detail}" if action.detail else detail
        )
        budget = (*costs, wiring.crash)
        for start in _booted(
            wiring, protocol, before, disk, restarted, crashed, budget, world.sends, world.labels
        ):
            found.append(replace(start, execution=execution, completed=completed, loses_power=loses))
    return found


def _known_death(
    wiring: Wiring,
    protocol: Protocol,
    before: Replica,
    event: Event,
    world: _World,
    action: Action,
    costs: tuple[int, ...],
    execution: Execution,
) -> Iterator[Step]:
    """The process dies of what a finding has shown already, and is started again on the same disk."""
    dead = Node(None, world.disk, _cause(execution.ended) if execution.ended else None)
    judged = _violations(wiring, protocol, before, event, execution, dead)
    disk = disks.as_found(world.disk, written_back=wiring.written_back)
    restarted = boot(protocol, before, disk, wiring.addable)
    detail = f"{action.detail}, dies and starts again".removeprefix(", ")
    again = replace(action, detail=detail)
    for start in _booted(wiring, protocol, before, disk, restarted, again, costs, world.sends, world.labels):
        violated = tuple(dict.fromkeys((*judged, *start.outcome.violations)))
        outcome = replace(start.outcome, violations=violated)
        yield replace(start, outcome=outcome, execution=execution, completed=len(execution.effects))


def _booted(
    wiring: Wiring,
    protocol: Protocol,
    identity: Replica,
    disk: Disk,
    execution: Execution,
    action: Action,
    costs: tuple[int, ...],
    sends_before: list[InFlight],
    labels_before: list[Label],
) -> Iterator[Step]:
    """A start, ``execution``: in full, then cut short by a crash after each effect that matters.

    What the process before had sent is on its way, its requests unanswerable.
    """
    decided = assignments.decided_in(disk.log) if wiring.targets is not None else -1
    world = _World(disk, _origin(identity), labels=list(labels_before), assignment=decided)
    cuts: list[tuple[int, _World]] = []
    for count, effect in enumerate(execution.effects, 1):
        _happen(wiring, identity.id, world, effect)
        if _is_boundary(effect):
            cuts.append((count, _copy(world)))
    orphans = _unanswerable(wiring, identity.id, sends_before)
    ended = execution.ended
    after = Node(None, world.disk, _cause(ended)) if ended else Node(execution.replica, world.disk)
    outcome = Outcome(
        action=action,
        local=after,
        sends=(*orphans, *world.sends),
        labels=tuple(world.labels),
        costs=costs,
        forgets=(Forget(wiring.component(identity.id)),),
        # Who votes is what the process found: a crash may have cut short a step that changed it.
        violations=_violations(wiring, protocol, replace(identity, log=disk.log), None, execution, after),
        goals=_goals(identity, execution),
    )
    full = Step(outcome, None, 0, execution)
    yield full
    if not isinstance(ended, Fatal) and _may_crash(wiring, identity.id, costs):
        # Nothing is left to happen: the crash between two steps that may follow comes to the same.
        cuts = [(count, cut) for count, cut in cuts if not _is_as(cut, world)]
        found = (_cut_short(wiring, protocol, identity, full, orphans, *cut) for cut in cuts)
        yield from _distinct((step for steps_ in found for step in steps_), outcome)


def _may_crash(wiring: Wiring, replica_id: int, costs: tuple[int, ...]) -> bool:
    """Whether a crash is left, after ``costs``, that may fall within a start of this replica."""
    if wiring.crash is None or not wiring.boundaries or replica_id not in wiring.crashes_at:
        return False
    return costs.count(wiring.crash) < wiring.crashes


def _cut_short(
    wiring: Wiring,
    protocol: Protocol,
    identity: Replica,
    full: Step,
    orphans: tuple[InFlight, ...],
    completed: int,
    world: _World,
) -> Iterator[Step]:
    """The start ``full``, cut short by a crash, and the start after it, which may be cut short as well."""
    assert wiring.crash is not None and full.restarted is not None
    action = cast(Action, full.outcome.action)
    sends = [*orphans, *world.sends]
    costs = (*full.outcome.costs, wiring.crash)
    for loses in _losses(wiring, world.disk):
        left = disks.lose_power(world.disk) if loses else world.disk
        disk = disks.as_found(left, written_back=wiring.written_back)
        again = boot(protocol, identity, disk, wiring.addable)
        cause = "loses power" if loses else "crashes"
        detail = f"{cause} after effect {completed} of {len(full.restarted.effects)} of its start"
        cut = CutStart(full.restarted, completed, loses)
        named = replace(action, detail=f"{action.detail}, {detail}".removeprefix(", "))
        for start in _booted(wiring, protocol, identity, disk, again, named, costs, sends, world.labels):
            yield replace(start, cut=(cut, *start.cut))


def _losses(wiring: Wiring, disk: Disk) -> tuple[bool, ...]:
    """Whether power is lost in the crashes that may happen: only where that makes a difference."""
    return (False, True) if wiring.power_loss and disk.flushed < disk.log.end_offset else (False,)


def _unanswerable(wiring: Wiring, replica_id: int, sends: Iterable[InFlight]) -> tuple[InFlight, ...]:
    """What is left of ``sends`` when the process that made them has ended."""
    left = (after_forgetting(sent, replica_id, None, wiring.forgotten_stay) for sent in sends)
    return tuple(sent for sent in left if sent is not None)


def _copy(world: _World) -> _World:
    return replace(world, sends=list(world.sends), labels=list(world.labels), forgets=list(world.forgets))


def _is_as(cut: _World, full: _World) -> bool:
    return (cut.disk, cut.sends, cut.labels) == (full.disk, full.sends, full.labels)


def _happen(wiring: Wiring, replica_id: int, world: _World, effect: Effect) -> None:
    """One effect reaches the disk, the network or the history."""
    log_before = world.disk.log.batches
    world.disk = disks.apply(world.disk, effect)
    if isinstance(effect, Transition):
        leads = effect.target == "Leader"
        world.leader_epoch = effect.epoch if leads else None
        world.labels += [Elected(replica_id, effect.epoch)] if leads else []
    elif isinstance(effect, HighWatermark):
        _commit(wiring, world, replica_id, effect.offset)
    elif isinstance(effect, Truncate):
        world.labels.append(Truncated(replica_id, log_before, len(world.disk.log.batches)))
    elif isinstance(effect, StoreSnapshot | LoadSnapshot):
        world.labels.append(Snapshotted(replica_id, effect.snapshot))
    elif isinstance(effect, ForgetRequests):
        _forget(wiring, world, replica_id, effect.node)
    elif isinstance(effect, Send):
        _send(wiring, world, replica_id, effect)
    elif isinstance(effect, Reply):
        _reply(wiring, world, replica_id, effect)


def _standard_vote(event: Event) -> VoteRequest | None:
    request = event.request if isinstance(event, RequestReceived) else None
    return request if isinstance(request, VoteRequest) and not request.pre_vote else None


def _asked(event: Event) -> ReplicaKey | None:
    """The replica that an administrator wants added or removed."""
    request = event.request if isinstance(event, RequestReceived) and event.source == CLIENT else None
    return request.voter if isinstance(request, AddRaftVoterRequest | RemoveRaftVoterRequest) else None


def _addition(before: Replica, event: Event) -> AddRaftVoterRequest | AddingVoter | None:
    """The addition of a voter that a reply may be about."""
    request = event.request if isinstance(event, RequestReceived) else None
    if isinstance(request, AddRaftVoterRequest):
        return request
    change = before.role.change if isinstance(before.role, Leader) else None
    return change if isinstance(change, AddingVoter) else None


def _commit(wiring: Wiring, world: _World, replica_id: int, offset: int) -> None:
    log = world.disk.log
    prefix = tuple(batch for batch in log.batches if batch.end_offset <= offset)
    if wiring.targets is None:
        voters = () if wiring.origin is None else membership.in_force(world.origin, log).keys
        world.labels.append(Committed(replica_id, prefix, world.leader_epoch, log.start_offset, voters))
        return
    voters = assignments.voters_at(world.origin, log, world.assignment)
    world.labels.append(Committed(replica_id, prefix, world.leader_epoch, 0, voters, world.assignment))
    world.assignment = assignments.newest_below(log, offset, world.assignment)


def _forget(wiring: Wiring, world: _World, replica_id: int, node: int | None) -> None:
    """Requests sent earlier in the same step are forgotten as well."""
    peer = None if node is None else wiring.component(node)
    world.forgets.append(Forget(wiring.component(replica_id), peer))
    after = (after_forgetting(sent, replica_id, node, wiring.forgotten_stay) for sent in world.sends)
    world.sends = [sent for sent in after if sent is not None]


def _send(wiring: Wiring, world: _World, replica_id: int, effect: Send) -> None:
    request = effect.request
    if isinstance(request, VoteRequest) and not request.pre_vote:
        world.labels.append(Voted(replica_id, request.epoch, request.candidate))
    if (replica_id, effect.to) in wiring.cut:
        return
    if isinstance(request, VoteRequest) and request.pre_vote and effect.to in wiring.no_pre_vote:
        if replica_id not in wiring.flag_ignored:
            # The own network client answers: the flag cannot be sent to this peer (RESP-9).
            answer = VoteResponse(-1, error=ErrorCode.UNSUPPORTED_VERSION)
            world.sends.append(InFlight(effect.to, replica_id, answer))
            return
        request = replace(request, pre_vote=False)
    if world.after is not None:
        request = idle.as_sent(request, world.after, effect.to)
    elif isinstance(request, FetchRequest) and request.max_wait_ms == 0:
        # A request that does not wait is answered at once, whatever high watermark it carries.
        request = replace(request, high_watermark=None)
    world.sends.append(InFlight(replica_id, effect.to, request))


def _reply(wiring: Wiring, world: _World, replica_id: int, effect: Reply) -> None:
    response = effect.response
    if effect.to == CLIENT:
        _answer_client(wiring, world, replica_id, effect)
        return
    if effect.correlation == NOBODY_WAITS or (replica_id, effect.to) in wiring.cut:
        return
    asked = world.vote_request
    if asked is not None and isinstance(response, VoteResponse) and response.granted:
        world.labels.append(Voted(replica_id, asked.epoch, asked.candidate))
    if world.event is not None:
        again = idle.asked_again(world.event, replica_id, response)
        if again is not None:
            world.sends.append(InFlight(effect.to, replica_id, again))
        if again is not None or idle.is_unread(world.event, response):
            return
    world.sends.append(InFlight(replica_id, effect.to, response))


def _answer_client(wiring: Wiring, world: _World, replica_id: int, effect: Reply) -> None:
    """A success is about the newest voter set of the leader's log: one change is under way at a time."""
    response = effect.response
    if isinstance(response, AddRaftVoterResponse) and not response.error:
        world.labels.append(_acknowledged(replica_id, world))
    elif isinstance(response, RemoveRaftVoterResponse) and not response.error:
        world.labels.append(Acknowledged(replica_id, world.change))
    elif isinstance(response, AlterQuorumResponse) and not response.error:
        assert wiring.targets is not None and effect.correlation is not None
        world.labels.append(Altered(replica_id, wiring.targets[effect.correlation]))
    elif getattr(response, "error", None) in _TELLING and world.asked is not None:
        world.labels.append(Refused(world.asked, response.error is ErrorCode.DUPLICATE_VOTER))


def _acknowledged(replica_id: int, world: _World) -> Acknowledged:
    assert world.addition is not None
    asked = world.addition.voter
    key = asked if isinstance(asked, ReplicaKey) else asked.key
    return Acknowledged(replica_id, world.change, key, early=not world.addition.ack_when_committed)


def _newest_change(execution: Execution) -> Batch | None:
    batches = reversed(execution.replica.log.batches)
    return next((batch for batch in batches if membership.has_voters(batch)), None)


def _goals(before: Replica, execution: Execution) -> tuple[str, ...]:
    taken = [
        names.transition_goal(effect.source, effect.target)
        for effect in execution.effects
        if isinstance(effect, Transition)
    ]
    return tuple(dict.fromkeys((*taken, *voter_checks.goals(before, execution))))
