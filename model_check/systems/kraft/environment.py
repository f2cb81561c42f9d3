"""Events at a node without a message: timers, input of the state machine, administration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kraftcheck.reference import events
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.messages import DescribeQuorumRequest
from kraftcheck.reference.protocol import ObserverAfterFetchTimeout, Protocol
from kraftcheck.reference.replica import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Replica,
    Resigned,
    Unattached,
)
from kraftcheck.systems.kraft import administration, membership
from kraftcheck.systems.kraft.network import CLIENT, NOBODY_WAITS
from kraftcheck.systems.kraft.timers import Timers
from kraftcheck.systems.kraft.wiring import Wiring


@dataclass(frozen=True, slots=True)
class Offer:
    """An event that the environment offers: its name, and the budgets it spends."""

    kind: str
    about: str
    event: events.Event
    costs: tuple[int, ...] = ()


#: The names of the admin client's requests.
ADMIN_NAMES = {
    "add": "add voter",
    "remove": "remove voter",
    "upgrade": "upgrade kraft.version",
    "downgrade": "downgrade kraft.version",
    "alter": "alter quorum",
}


def offers(
    wiring: Wiring, protocol: Protocol, replica: Replica, timers: Timers | None = None
) -> Iterator[Offer]:
    """The events that may happen to ``replica`` now, in a fixed order; ``timers`` are those of its process,
    where they expire only if they were armed.
    """
    running = possible_timers(replica) if timers is None else timers.running
    for timer in _expiring(wiring, protocol, replica, running):
        yield Offer("timer", timer.value, events.Poll((timer,)), wiring.price("timers") or ())
    for connection in replica.connections:
        if not connection.awaiting:
            yield Offer("back-off over", f"towards {connection.node}", events.BackoffExpired(connection.node))
        elif (costs := wiring.price("timeouts")) is not None:
            yield Offer(
                "request timed out", f"to {connection.node}", events.RequestTimedOut(connection.node), costs
            )
    for parked in replica.parked:
        expired = events.FetchWaitExpired(parked.source, parked.correlation)
        who = "nobody waits" if parked.correlation == NOBODY_WAITS else f"of {parked.source}"
        yield Offer("fetch wait over", who, expired)
    yield from _discoveries(wiring, protocol, replica, timers)
    yield from _inputs(wiring, replica)


def _expiring(
    wiring: Wiring, protocol: Protocol, replica: Replica, running: tuple[events.Timer, ...]
) -> Iterator[events.Timer]:
    """Of the ``running`` timers those that may expire and are heeded."""
    if replica.shutting_down:
        return
    for timer in running:
        heeded = protocol.counts_contacts if timer is events.Timer.CHECK_QUORUM else True
        fed = timer is events.Timer.FETCH and _is_fed(wiring, replica)
        if timer in wiring.timers[replica.id] and heeded and not fed:
            yield timer


def possible_timers(replica: Replica) -> tuple[events.Timer, ...]:
    """The timers that may run in the role of ``replica``."""
    role = replica.role
    if isinstance(role, Leader):
        announcing = (events.Timer.BEGIN_QUORUM_EPOCH, events.Timer.CHECK_QUORUM)
        return announcing if role.change is None else (*announcing, events.Timer.VOTER_CHANGE)
    if isinstance(role, Follower):
        return (events.Timer.FETCH,)
    if isinstance(role, Unattached):
        # An observer that has voted waits for the outcome, and that changes nothing.
        waits = replica.is_voter or replica.quorum_state.voted is not None
        return (events.Timer.ELECTION,) if waits else ()
    assert isinstance(role, Prospective | Candidate | Resigned)
    return (events.Timer.ELECTION,)


def _is_fed(wiring: Wiring, replica: Replica) -> bool:
    """Whether the network is fast enough for this follower to hear from its leader in time."""
    leader = replica.quorum_state.leader
    if not wiring.choice.timely or leader is None:
        return False
    here = replica.id
    return (here, leader) not in wiring.cut and (leader, here) not in wiring.cut


def _discoveries(
    wiring: Wiring, protocol: Protocol, replica: Replica, timers: Timers | None
) -> Iterator[Offer]:
    if not wiring.choice.discovery or any(connection.awaiting for connection in replica.connections):
        return
    follows = isinstance(replica.role, Follower)
    lost = isinstance(replica.role, Unattached) or (follows and bool(replica.connections))
    if timers is not None and follows and not replica.is_voter and events.Timer.FETCH in timers.expired:
        lost |= protocol.observer_after_fetch_timeout is ObserverAfterFetchTimeout.BOOTSTRAP_ONLY
    busy = {connection.node for connection in replica.connections}
    for server in (wiring.servers or replica.voters.ids) if lost else ():
        if server != replica.id and server not in busy:
            yield Offer("looks for the leader", f"at {server}", events.Poll((), server))


def _inputs(wiring: Wiring, replica: Replica) -> Iterator[Offer]:
    if isinstance(replica.role, Leader):
        yield from _calls(wiring, replica, replica.epoch, "")
        if wiring.choice.late_calls and replica.epoch > 1:
            yield from _calls(wiring, replica, replica.epoch - 1, "in the epoch before")
        asked_here = not wiring.admin.at or replica.id in wiring.admin.at
        if (costs := wiring.price("admin")) is not None and asked_here:
            listed = wiring.admin.order == "listed"
            for step, asked in administration.requests(wiring.steps, listed, replica):
                yield Offer(ADMIN_NAMES[step.verb], str(step), asked, costs)
    if wiring.admin.describes:
        yield Offer("describe quorum", "", events.RequestReceived(CLIENT, DescribeQuorumRequest()))
        other = DescribeQuorumRequest("other-0")
        yield Offer("describe quorum", "of another partition", events.RequestReceived(CLIENT, other))
    yield from snapshots(wiring, replica)
    if (costs := wiring.price("shutdowns")) is not None and not replica.shutting_down:
        yield Offer("shutdown", "", events.Shutdown(), costs)


def _calls(wiring: Wiring, replica: Replica, epoch: int, about: str) -> Iterator[Offer]:
    """The calls of the state machine of a leader, which names an epoch."""
    if (costs := wiring.price("appends")) is not None and not replica.shutting_down:
        values = (replica.id,) * wiring.choice.append_size
        yield Offer("append", about, events.Append(epoch, values), costs)
    if (costs := wiring.price("resigns")) is not None:
        yield Offer("resign", about, events.Resign(epoch), costs)


def snapshots(wiring: Wiring, replica: Replica) -> Iterator[Offer]:
    """The state machine writes a snapshot, unless it has done so: at the high watermark, or anywhere."""
    log, end, costs = replica.log, replica.high_watermark, wiring.price("snapshots")
    if costs is None or end is None or replica.shutting_down:
        return
    choice, anywhere = wiring.choice, wiring.choice.snapshots == "any"
    newest = log.snapshots[-1] if log.snapshots else None
    at = 0 if newest is None else newest.id.end_offset
    batches = [batch for batch in log.batches if at < batch.end_offset]
    ends = [batch.end_offset for batch in batches if batch.end_offset <= end]
    for asked in range(at + 1, log.end_offset + 1) if anywhere else ends[-1:]:
        applied = [batch for batch in batches if batch.base_offset < asked]
        values = (() if newest is None else newest.values) + membership.values_of(applied)
        for epoch in (applied[-1].epoch, log.last_epoch + 1)[: 1 + anywhere]:
            deleted = choice.snapshot_prefix == "deleted"
            event = events.CreateSnapshot(
                SnapshotId(asked, epoch), values, choice.snapshot_size, delete_prefix=deleted
            )
            yield Offer("snapshot", f"at offset {asked}", event, costs)
