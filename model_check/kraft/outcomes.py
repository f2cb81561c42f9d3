"""From an execution of the reference to outcomes for the engine: its full course, and a crash after any of
its effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from model_check.engine.system import Forget, Outcome
from model_check.kraft import checks, names
from model_check.kraft.history import Committed, Elected, Label, Truncated, Voted
from model_check.kraft.network import NOBODY_WAITS, InFlight, after_forgetting
from model_check.kraft.node import Execution, Node, boot
from reference import disk as disks
from reference.disk import Disk
from reference.effects import (
    AppendBatch,
    Effect,
    Fatal,
    Flush,
    ForgetRequests,
    HighWatermark,
    Persist,
    Reply,
    Send,
    Stop,
    Transition,
    Truncate,
)
from reference.errors import ErrorCode
from reference.events import Event, RequestReceived
from reference.messages import FetchRequest, VoteRequest, VoteResponse
from reference.protocol import Protocol
from reference.replica import Leader, QuorumState, Replica


@dataclass(frozen=True, slots=True)
class Action:
    """What a trace and a graph edge call a step: ``kind`` at ``replica``, with details."""

    kind: str
    replica: int
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind} at {self.replica}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, slots=True)
class Step:
    """An outcome together with what a trace shows of it: the execution, and how much of it happened.

    ``completed`` counts the effects that happened before the process ended; ``restarted`` is the execution
    of the process that took over on the same disk.
    """

    outcome: Outcome
    execution: Execution | None
    completed: int
    restarted: Execution | None = None


@dataclass(frozen=True, slots=True)
class Wiring:
    """What an outcome depends on besides the replica itself.

    component: index of a replica id; cut: directed links (from, to) that carry nothing; no_pre_vote:
    replicas that do not know pre-vote; flag_ignored: senders whose pre-vote flag such a replica does not see,
    so that it takes the request for a standard one; forgotten_stay: whether forgotten requests stay in
    flight; crash: a budget index, ``None`` where the fault is off; power_loss: whether a crash may lose the
    unflushed tail; written_back: whether unflushed data of a dead process is durable when the next one
    starts; boundaries: whether a crash may fall between the effects of a step; duplicate: a budget index,
    ``None``: a request arrives once.
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
    duplicate: int | None = None


@dataclass(slots=True)
class _World:
    """What has happened to the disk, the network and the history after some effects.

    ``vote_request`` is the standard vote request being handled, ``leader_epoch`` the epoch that the replica
    leads at the end of the execution.
    """

    disk: Disk
    sends: list[InFlight] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    forgets: list[Forget] = field(default_factory=list)
    vote_request: VoteRequest | None = None
    leader_epoch: int | None = None


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
    world = _World(node.disk, vote_request=_standard_vote(event), leader_epoch=_leader_epoch(execution))
    crashes: list[Step] = []
    for count, effect in enumerate(execution.effects, 1):
        _happen(wiring, before.id, world, effect)
        if wiring.boundaries and _is_boundary(effect) and count < len(execution.effects):
            crashes += _crash(wiring, protocol, before, world, action, costs, execution, count)
    ended = execution.ended
    if isinstance(ended, Stop):
        # An orderly shutdown closes the log, which flushes it.
        world.disk = disks.as_found(world.disk)
    after = Node(None, world.disk, _cause(ended)) if ended else Node(execution.replica, world.disk)
    outcome = Outcome(
        action=action,
        local=after,
        sends=tuple(world.sends),
        labels=tuple(world.labels),
        costs=costs,
        forgets=tuple(world.forgets),
        violations=checks.violations(protocol, before, event, execution, after),
        goals=_goals(execution.effects),
    )
    yield Step(outcome, execution, len(execution.effects))
    if not isinstance(ended, Fatal):
        yield from _distinct(crashes, outcome)


def crash(wiring: Wiring, protocol: Protocol, node: Node, replica_id: int) -> Iterator[Step]:
    """The process is killed between two events, with or without loss of the unflushed tail."""
    if wiring.crash is None or node.replica is None:
        return
    world = _World(node.disk)
    action = Action("crash", replica_id)
    yield from _crash(wiring, protocol, node.replica, world, action, (), None, 0)


def restart(wiring: Wiring, protocol: Protocol, node: Node, identity: Replica) -> Iterator[Step]:
    """A stopped process is started again."""
    stored = node.disk.quorum_state or QuorumState()
    identity = replace(identity, quorum_state=stored, log=node.disk.log)
    disk = disks.as_found(node.disk, written_back=wiring.written_back)
    execution = boot(protocol, identity, disk)
    yield _booted(wiring, protocol, identity, disk, execution, Action("start", identity.id), (), [], [])


def _cause(ended: Fatal | Stop) -> str | None:
    return ended.reason if isinstance(ended, Fatal) else None


def _is_boundary(effect: Effect) -> bool:
    return isinstance(effect, Persist | AppendBatch | Truncate | Flush | Send | Reply | HighWatermark)


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
    if wiring.crash is None:
        return []
    found = []
    unflushed = world.disk.flushed < world.disk.log.end_offset
    for loses in (False, True) if wiring.power_loss and unflushed else (False,):
        left = disks.lose_power(world.disk) if loses else world.disk
        disk = disks.as_found(left, written_back=wiring.written_back)
        restarted = boot(protocol, before, disk)
        cause = "loses power" if loses else "crashes"
        detail = f"{cause} after effect {completed} of {len(execution.effects)}" if execution else cause
        crashed = Action(
            action.kind, action.replica, f"{action.detail}, {detail}" if action.detail else detail
        )
        budget = (*costs, wiring.crash)
        booted = _booted(
            wiring, protocol, before, disk, restarted, crashed, budget, world.sends, world.labels
        )
        found.append(Step(booted.outcome, execution, completed, restarted))
    return found


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
) -> Step:
    """The outcome of a start; what the process before had sent is on its way, its requests unanswerable."""
    world = _World(disk, labels=list(labels_before), leader_epoch=_leader_epoch(execution))
    for effect in execution.effects:
        _happen(wiring, identity.id, world, effect)
    left = (after_forgetting(sent, identity.id, None, wiring.forgotten_stay) for sent in sends_before)
    orphans = [sent for sent in left if sent is not None]
    ended = execution.ended
    after = Node(None, world.disk, _cause(ended)) if ended else Node(execution.replica, world.disk)
    outcome = Outcome(
        action=action,
        local=after,
        sends=(*orphans, *world.sends),
        labels=tuple(world.labels),
        costs=costs,
        forgets=(Forget(wiring.component(identity.id)),),
        violations=checks.violations(protocol, identity, None, execution, after),
        goals=_goals(execution.effects),
    )
    return Step(outcome, execution, len(execution.effects))


def _happen(wiring: Wiring, replica_id: int, world: _World, effect: Effect) -> None:
    """One effect reaches the disk, the network or the history."""
    log_before = world.disk.log.batches
    world.disk = disks.apply(world.disk, effect)
    if isinstance(effect, Transition) and effect.target == "Leader":
        world.labels.append(Elected(replica_id, effect.epoch))
    elif isinstance(effect, HighWatermark):
        _commit(world, replica_id, effect.offset)
    elif isinstance(effect, Truncate):
        world.labels.append(Truncated(replica_id, log_before, len(world.disk.log.batches)))
    elif isinstance(effect, ForgetRequests):
        _forget(wiring, world, replica_id, effect.node)
    elif isinstance(effect, Send):
        _send(wiring, world, replica_id, effect)
    elif isinstance(effect, Reply):
        _reply(wiring, world, replica_id, effect)


def _standard_vote(event: Event) -> VoteRequest | None:
    request = event.request if isinstance(event, RequestReceived) else None
    return request if isinstance(request, VoteRequest) and not request.pre_vote else None


def _leader_epoch(execution: Execution) -> int | None:
    return execution.replica.epoch if isinstance(execution.replica.role, Leader) else None


def _commit(world: _World, replica_id: int, offset: int) -> None:
    prefix = tuple(batch for batch in world.disk.log.batches if batch.end_offset <= offset)
    world.labels.append(Committed(replica_id, prefix, world.leader_epoch))


def _forget(wiring: Wiring, world: _World, replica_id: int, node: int | None) -> None:
    """Requests sent earlier in the same step are forgotten as well."""
    peer = None if node is None else wiring.component(node)
    world.forgets.append(Forget(wiring.component(replica_id), peer))
    after = (after_forgetting(sent, replica_id, node, wiring.forgotten_stay) for sent in world.sends)
    world.sends = [sent for sent in after if sent is not None]


def _send(wiring: Wiring, world: _World, replica_id: int, effect: Send) -> None:
    request = effect.request
    if isinstance(request, VoteRequest) and not request.pre_vote:
        world.labels.append(Voted(replica_id, request.epoch, replica_id))
    if (replica_id, effect.to) in wiring.cut:
        return
    if isinstance(request, VoteRequest) and request.pre_vote and effect.to in wiring.no_pre_vote:
        if replica_id not in wiring.flag_ignored:
            # The own network client answers: the flag cannot be sent to this peer (RESP-9).
            answer = VoteResponse(-1, error=ErrorCode.UNSUPPORTED_VERSION)
            world.sends.append(InFlight(effect.to, replica_id, answer))
            return
        request = replace(request, pre_vote=False)
    if isinstance(request, FetchRequest) and request.max_wait_ms == 0:
        # A request that does not wait is answered at once, whatever high watermark it carries.
        request = replace(request, high_watermark=None)
    world.sends.append(InFlight(replica_id, effect.to, request))


def _reply(wiring: Wiring, world: _World, replica_id: int, effect: Reply) -> None:
    response = effect.response
    if effect.correlation == NOBODY_WAITS or (replica_id, effect.to) in wiring.cut:
        return
    asked = world.vote_request
    if asked is not None and isinstance(response, VoteResponse) and response.granted:
        world.labels.append(Voted(replica_id, asked.epoch, asked.candidate.id))
    world.sends.append(InFlight(replica_id, effect.to, response))


def _goals(effects: tuple[Effect, ...]) -> tuple[str, ...]:
    taken = (
        names.transition_goal(effect.source, effect.target)
        for effect in effects
        if isinstance(effect, Transition)
    )
    return tuple(dict.fromkeys(taken))
