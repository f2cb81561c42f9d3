"""The effects of a replica on the world around it: its disk, the network and the history.

The effects of an execution happen one after the other, so that a crash may fall between any two of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeGuard

from msgspec import Struct

from kraftcheck.engine.system import Signal
from kraftcheck.reference import disk as disks
from kraftcheck.reference import effects, versions
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event, RequestReceived
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    AlterQuorumResponse,
    FetchRequest,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    Response,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.replica import AddingVoter, Leader, Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey
from kraftcheck.systems.kraft import addresses, assignments, membership, reductions
from kraftcheck.systems.kraft.labels import (
    Acknowledged,
    Altered,
    Committed,
    Elected,
    Label,
    Refused,
    Snapshotted,
    Truncated,
    Voted,
)
from kraftcheck.systems.kraft.membership import Origin
from kraftcheck.systems.kraft.network import CLIENT, NOBODY_WAITS, InFlight, after_forgetting, request_of
from kraftcheck.systems.kraft.node import Execution, Node
from kraftcheck.systems.kraft.wiring import Wiring

#: After these effects a crash leaves a different state than before them.
_BOUNDARIES = {
    effects.Persist,
    effects.AppendBatch,
    effects.Truncate,
    effects.Flush,
    effects.StoreSnapshot,
    effects.DeleteBefore,
    effects.LoadSnapshot,
    effects.Send,
    effects.Reply,
    effects.HighWatermark,
}

#: The versions of Vote that a peer without pre-vote supports.
_VOTE_WITHOUT_PRE_VOTE = (0, 1)

#: Refusals that report the voter set to a client.
_TELLING = (ErrorCode.DUPLICATE_VOTER, ErrorCode.VOTER_NOT_FOUND)


class Left(Struct, frozen=True):
    """The state that a crash leaves: the disk, the messages that were sent, the labels for the history."""

    disk: Disk
    sends: tuple[InFlight, ...] = ()
    labels: tuple[Label, ...] = ()


@dataclass(slots=True)
class World:
    """The state of the disk, the network and the history after some effects of ``replica_id``.

    ``origin`` is the voter set that the process knows apart from its log, ``leader_epoch`` the epoch that the
    replica leads by now, ``assignment`` the offset of the assignment of voters that it takes to be effective
    (KIP-595). The replica was as ``before`` when ``event`` began, and is as ``after`` at the end; of a start
    they are ``None``. ``sender`` is the replica at the end of an event or a start.
    """

    wiring: Wiring
    replica_id: int
    disk: Disk
    origin: Origin
    sends: list[InFlight] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)
    leader_epoch: int | None = None
    assignment: int = -1
    before: Replica | None = None
    event: Event | None = None
    after: Replica | None = None
    sender: Replica | None = None

    def copy(self) -> World:
        """The world as it is now; later effects do not change the result."""
        return replace(self, sends=list(self.sends), labels=list(self.labels), signals=list(self.signals))

    def left(self) -> Left:
        """The state that a crash leaves here."""
        return Left(self.disk, tuple(self.sends), tuple(self.labels))

    def node_after(self, execution: Execution) -> Node:
        """The node when all effects of ``execution`` have happened."""
        ended = execution.ended
        if ended is None:
            return Node(execution.replica, self.disk, timers=execution.timers)
        return Node(None, self.disk, ended if isinstance(ended, effects.Fatal) else None)

    def happen(self, effect: effects.Effect) -> None:
        """``effect`` reaches the disk, the network or the history."""
        log_before = self.disk.log.batches
        self.disk = disks.apply(self.disk, effect)
        # The most frequent first, by comparisons alone: this is done some times for every step.
        if type(effect) is effects.Send:
            self._send(effect)
        elif type(effect) is effects.Reply:
            self._reply(effect)
        elif type(effect) is effects.Transition:
            leads = effect.target == "Leader"
            self.leader_epoch = effect.epoch if leads else None
            self.labels += [Elected(self.replica_id, effect.epoch)] if leads else []
        elif type(effect) is effects.HighWatermark:
            self._commit(effect.offset)
        elif type(effect) is effects.Truncate:
            assert self.after is not None  # a start truncates nothing
            epoch = self.after.epoch
            self.labels.append(Truncated(self.replica_id, log_before, len(self.disk.log.batches), epoch))
        elif isinstance(effect, effects.StoreSnapshot | effects.LoadSnapshot):
            self.labels.append(Snapshotted(self.replica_id, effect.snapshot))
        elif isinstance(effect, effects.ForgetRequests):
            self._forget(effect.node)

    def _commit(self, offset: int) -> None:
        log = self.disk.log
        prefix = tuple(batch for batch in log.batches if batch.end_offset <= offset)
        if self.wiring.targets is None:
            voters = () if self.wiring.origin is None else membership.newest(self.origin, log).keys
            self.labels.append(
                Committed(self.replica_id, prefix, self.leader_epoch, log.start_offset, voters)
            )
            return
        voters = assignments.voters_at(self.origin, log, self.assignment)
        self.labels.append(
            Committed(self.replica_id, prefix, self.leader_epoch, log.start_offset, voters, self.assignment)
        )
        self.assignment = assignments.newest_below(log, offset, self.assignment)

    def _forget(self, node: int | None) -> None:
        """Requests sent earlier in the same step are also forgotten."""
        here, stay = self.replica_id, self.wiring.forgotten_stay
        peer = None if node is None else self.wiring.component(node)
        self.signals.append(Signal(self.wiring.component(here), peer))
        after = (after_forgetting(sent, here, node, stay) for sent in self.sends)
        self.sends = [sent for sent in after if sent is not None]

    def _send(self, effect: effects.Send) -> None:
        request = effect.request
        if isinstance(request, VoteRequest) and not request.pre_vote:
            self.labels.append(Voted(self.replica_id, request.epoch, request.candidate))
        if (self.replica_id, effect.to) in self.wiring.cut:
            return
        if self._lacks_endpoints(effect.to):
            older = addresses.WITHOUT_ENDPOINTS[type(request)]
            sending = versions.send(request, older)
            if sending.version is None:
                assert sending.answer is not None
                self.sends.append(InFlight(effect.to, self.replica_id, sending.answer))
                return
            request = versions.at_version(request, sending.version) or request
        if isinstance(request, VoteRequest) and effect.to in self.wiring.network.no_pre_vote:
            sending = versions.send(request, _VOTE_WITHOUT_PRE_VOTE)
            if sending.answer is not None and self.replica_id not in self.wiring.flag_ignored:
                # The own network client answers: the flag cannot be sent to this peer (RESP-9).
                self.sends.append(InFlight(effect.to, self.replica_id, sending.answer))
                return
            request = replace(request, pre_vote=False)
        if self.wiring.idle_left_out and self.after is not None:
            request = reductions.as_sent(request, self.after, effect.to)
        elif isinstance(request, FetchRequest) and request.max_wait_ms == 0:
            # A request that does not wait is answered at once, with any high watermark.
            request = replace(request, high_watermark=None)
        self.sends.append(InFlight(self.replica_id, effect.to, request, address=self._address(effect)))

    def _address(self, effect: effects.Send) -> Endpoint | None:
        if self.wiring.network.addresses == "ignored" or self.sender is None:
            return None
        configured = self.wiring.listening.get(effect.to, ())
        return addresses.known_to(self.sender, effect.to, effect.request, configured)

    def _lacks_endpoints(self, peer: int) -> bool:
        """Whether messages to and from ``peer`` have versions without endpoints."""
        old = self.wiring.network.without_endpoints
        return bool(old) and (peer in old or self.replica_id in old)

    def _reply(self, effect: effects.Reply) -> None:
        response = effect.response
        if effect.to == CLIENT:
            self._answer_client(effect)
            return
        if effect.correlation == NOBODY_WAITS or (self.replica_id, effect.to) in self.wiring.cut:
            return
        asked = request_of(self.event)
        granted = isinstance(response, VoteResponse) and response.granted
        if isinstance(asked, VoteRequest) and not asked.pre_vote and granted:
            self.labels.append(Voted(self.replica_id, asked.epoch, asked.candidate))
        if asked is not None and self._lacks_endpoints(effect.to):
            older = addresses.WITHOUT_ENDPOINTS[type(asked)]
            response = response if older is None else versions.at_version(response, older[1]) or response
        if self.wiring.idle_left_out and self.event is not None:
            again = reductions.asked_again(self.event, self.replica_id, response)
            if again is not None:
                self.sends.append(InFlight(effect.to, self.replica_id, again))
            if again is not None or reductions.is_unread(self.event, response):
                return
        self.sends.append(InFlight(self.replica_id, effect.to, response))

    def _answer_client(self, effect: effects.Reply) -> None:
        """A success is about the newest voter set of the leader's log: one change is under way at a time."""
        response = effect.response
        if isinstance(response, AddRaftVoterResponse) and not response.error:
            self.labels.append(self._acknowledged())
        elif isinstance(response, RemoveRaftVoterResponse) and not response.error:
            self.labels.append(Acknowledged(self.replica_id, self._newest_change()))
        elif isinstance(response, AlterQuorumResponse) and not response.error:
            assert self.wiring.targets is not None and effect.correlation is not None
            self.labels.append(Altered(self.replica_id, self.wiring.targets[effect.correlation]))
        elif (key := self._asked()) is not None and _is_telling(response):
            adding = isinstance(response, AddRaftVoterResponse)
            self.labels.append(Refused(key, adding, response.error is ErrorCode.DUPLICATE_VOTER))

    def _acknowledged(self) -> Acknowledged:
        """The success of the requested addition, or else of the one that is under way."""
        request = request_of(self.event)
        addition = request if isinstance(request, AddRaftVoterRequest) else self._addition_under_way()
        assert addition is not None
        asked, early = addition.voter, not addition.ack_when_committed
        key = asked if isinstance(asked, ReplicaKey) else asked.key
        return Acknowledged(self.replica_id, self._newest_change(), key, early)

    def _asked(self) -> ReplicaKey | None:
        """The replica that the admin client wants added or removed now, or that a waiting one wants added."""
        request = request_of(self.event)
        if isinstance(request, AddRaftVoterRequest | RemoveRaftVoterRequest) and self._is_of_client:
            return request.voter
        waiting = self._addition_under_way()
        return waiting.voter.key if waiting is not None else None

    @property
    def _is_of_client(self) -> bool:
        return isinstance(self.event, RequestReceived) and self.event.source == CLIENT

    def _addition_under_way(self) -> AddingVoter | None:
        role = None if self.before is None else self.before.role
        change = role.change if isinstance(role, Leader) else None
        return change if isinstance(change, AddingVoter) else None

    def _newest_change(self) -> Batch | None:
        batches = () if self.after is None or not self.wiring.origin else self.after.log.batches
        return next((batch for batch in reversed(batches) if membership.has_voters(batch)), None)


def before_step(wiring: Wiring, replica: Replica, disk: Disk, event: Event, execution: Execution) -> World:
    """The world before the effects of ``execution``, in which ``replica`` handles ``event``."""
    return World(
        wiring,
        replica.id,
        disk,
        membership.own_origin(replica),
        leader_epoch=replica.epoch if isinstance(replica.role, Leader) else None,
        assignment=replica.assignment_offset,
        before=replica,
        event=event,
        after=execution.replica,
        sender=execution.replica,
    )


def _is_telling(response: Response) -> TypeGuard[AddRaftVoterResponse | RemoveRaftVoterResponse]:
    """Whether the admin client learns the voter set from this refusal."""
    kinds = AddRaftVoterResponse | RemoveRaftVoterResponse
    return isinstance(response, kinds) and response.error in _TELLING


def is_boundary(effect: effects.Effect) -> bool:
    """Whether a crash after ``effect`` leaves a different state than one before it."""
    return type(effect) in _BOUNDARIES


# Crash points: where within an execution a crash may fall.


class CrashPoint(Struct, frozen=True):
    """A crash after the first ``completed`` effects of ``execution``, which have ``left`` this.

    Where requests go out in any order, those that went out come first in this ``execution``.
    """

    left: Left
    execution: Execution
    completed: int


def happen(world: World, execution: Execution, *, crashes: bool = True) -> list[CrashPoint]:
    """Let all effects of ``execution`` happen in ``world``; the state that is left after each, if the process
    may crash there (``crashes``).
    """
    if not crashes:
        for effect in execution.effects:
            world.happen(effect)
        return []
    whole, points = execution.effects, list[CrashPoint]()
    done = 0
    while done < len(whole):
        together = _sent_together(whole, done) if world.wiring.choice.sends == "any-order" else 1
        if together > 1:
            points += _among(world, execution, done, together)
        for effect in whole[done : done + together]:
            if isinstance(effect, effects.LoadSnapshot):
                points.append(_half_loaded(world, execution, done, effect))
            world.happen(effect)
        done += together
        if is_boundary(whole[done - 1]):
            points.append(CrashPoint(world.left(), execution, done))
    return points


def _half_loaded(world: World, execution: Execution, done: int, effect: effects.LoadSnapshot) -> CrashPoint:
    """A crash when the snapshot is in its place and the log that it replaces has not been truncated.

    Source: KafkaRaftLog.createLog, which truncates the log at the next start.
    """
    other = world.copy()
    other.disk = disks.apply(other.disk, effects.StoreSnapshot(effect.snapshot))
    return CrashPoint(other.left(), execution, done)


def _sent_together(whole: tuple[object, ...], first: int) -> int:
    """The number of consecutive requests from effect ``first`` on; at least 1, even if that is not a
    request.
    """
    last = first
    while last < len(whole) and isinstance(whole[last], effects.Send):
        last += 1
    return max(1, last - first)


def _among(world: World, execution: Execution, first: int, together: int) -> list[CrashPoint]:
    """Crashes when some of the requests have gone out that go out together, and others have not."""
    points = []
    places = range(first, first + together)
    for size in range(1, together):
        for chosen in combinations(places, size):
            order = [*chosen, *(place for place in places if place not in chosen)]
            other = world.copy()
            for place in chosen:
                other.happen(execution.effects[place])
            moved = tuple(execution.effects[place] for place in order)
            changed = (*execution.effects[:first], *moved, *execution.effects[first + together :])
            reordered = replace(execution, effects=changed)
            points.append(CrashPoint(other.left(), reordered, first + size))
    return points
