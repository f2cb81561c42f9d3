"""From a step of the checker to actions of the proof: each effect of the reference is one action, or none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from model_check.engine.system import PathStep
from model_check.kraft.network import CLIENT, InFlight
from model_check.kraft.node import Execution, Node
from model_check.kraft.step import Step
from model_check.kraft.system import KRaftSystem
from model_check.proof.tie.firing import Actions
from model_check.proof.tie.own import (
    NO_PROCESS,
    START,
    SYMBOLS,
    NotAbstract,
    Own,
    Record,
    own_of,
    records_of,
    voter_sets_of,
)
from model_check.proof.tie.walk import Sequence, Walk
from reference import disk as disks
from reference.disk import Disk
from reference.effects import (
    AppendBatch,
    DeleteBefore,
    Effect,
    Fatal,
    Flush,
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
from reference.log import Batch
from reference.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    EpochResponse,
    FetchRequest,
    FetchResponse,
    UpdateRaftVoterResponse,
    VoteRequest,
    VoteResponse,
)
from reference.replica import Candidate, Follower, Leader, QuorumState, Replica

_SNAPSHOTS = StoreSnapshot | DeleteBefore | LoadSnapshot


@dataclass(frozen=True)
class Translator:
    """Translates the steps of ``system``. ``changing``: to actions of the system with voter changes."""

    system: KRaftSystem
    actions: Actions
    changing: bool

    @property
    def component_of(self) -> dict[int, int]:
        """Components by replica id."""
        return {identity.id: number for number, identity in enumerate(self.system.identities)}

    def sequence(self, component: int, node: Node, message: InFlight | None, step: Step) -> Sequence:
        """What ``step`` of ``component``, which was ``node``, is in the proof."""
        try:
            own = own_of(node, self.component_of)
        except NotAbstract as why:
            return Sequence((), (str(why),), (), frozenset(), forgets=False, knows=frozenset())
        course = _Course(self, component, node, message, own)
        course.run(step)
        return course.walk.sequence()

    def steps_of(self, path: PathStep, node: Node) -> list[Step]:
        """The steps that the system offers where ``path`` is one of them."""
        if path.kind == "deliver":
            return self.system.deliver_steps(path.component, node, cast(InFlight, path.message))
        return self.system.action_steps(path.component, node)


class _Course:
    """The course of one step: the effects happen one after the other, to the disk and to the proof's replica."""

    def __init__(
        self, translator: Translator, component: int, node: Node, message: InFlight | None, own: Own
    ) -> None:
        self._translator = translator
        self._component_of = translator.component_of
        self._changing = translator.changing
        self._start_voters = frozenset(self._component_of[key.id] for key in translator.system.voters)
        self._actor = component
        self._node = node
        self._message = message
        self._payload = None if message is None else message.payload
        self._disk = node.disk
        self._handled: int | None = None
        self._counts_flush = False
        flushes = translator.system.identities[component].can_become_voter
        self.walk = Walk(translator.actions, component, own, flushes=flushes)

    # -- the whole step -------------------------------------------------------------------------------

    def run(self, step: Step) -> None:
        """All that happens in ``step``, and whether the replica is then as it should be."""
        node = self._node
        if step.execution is not None:
            if node.replica is None:
                self._start(step.execution, len(step.execution.effects))
            else:
                self._execution(step.execution, step.completed, node.replica)
        if step.restarted is not None:
            if node.replica is not None:
                self._crash(step.loses_power)
            for cut in step.cut:
                self._start(cut.execution, cut.completed)
                self._crash(cut.loses_power)
            self._start(step.restarted, len(step.restarted.effects))
        self._compare(cast(Node, step.outcome.local))

    def _compare(self, node: Node) -> None:
        walk = self.walk
        try:
            expected = own_of(node, self._component_of)
        except NotAbstract as why:
            walk.problem(str(why))
            return
        for name in SYMBOLS:
            found = getattr(walk.own, name)
            if found != getattr(expected, name):
                walk.problem(
                    f"the actions leave {name} {_shown(found)}, and the replica has "
                    f"{_shown(getattr(expected, name))}"
                )
        covered = -1 if walk.own.covered is None else walk.own.covered
        if expected.covered is not None and expected.covered > covered:
            walk.problem(f"the replica takes {expected.covered} for committed, which no action tells it")

    # -- starts and crashes ---------------------------------------------------------------------------

    def _crash(self, loses_power: bool) -> None:
        """The process ends. What was not flushed is lost with the power."""
        if loses_power:
            self._disk = disks.lose_power(self._disk)
        self._end_process()

    def _end_process(self) -> None:
        last = max((offset for offset, _ in records_of(self._disk.log)), default=0)
        self.walk.take("restart", NO_PROCESS, last)

    def _start(self, execution: Execution, completed: int) -> None:
        written_back = self._translator.system.wiring.written_back
        self._disk = disks.as_found(self._disk, written_back=written_back)
        if written_back and not self.walk.own.flushed:
            self.walk.take("flush")
        self._message = self._payload = None
        self._effects(execution, completed, None)

    def _execution(self, execution: Execution, completed: int, before: Replica) -> None:
        payload = self._payload
        if isinstance(payload, FetchRequest) and isinstance(before.role, Leader):
            self._count_fetch(payload)
        self._effects(execution, completed, before)

    def _effects(self, execution: Execution, completed: int, before: Replica | None) -> None:
        self._handled = None
        for number, effect in enumerate(execution.effects[:completed]):
            self._effect(number, effect, execution, before)
            if isinstance(effect, Stop):
                # An orderly shutdown closes the log, which flushes it.
                self._disk = disks.as_found(self._disk)
            else:
                self._disk = disks.apply(self._disk, effect)
        if completed == len(execution.effects):
            self._has_fetched(execution.replica)
        if self._counts_flush and self.walk.own.role == "Leader" and self.walk.own.flushed:
            self.walk.take("count-own-log", *self.walk.own.end)
        self._counts_flush = False

    # -- single effects -------------------------------------------------------------------------------

    def _effect(self, number: int, effect: Effect, execution: Execution, before: Replica | None) -> None:
        walk = self.walk
        if isinstance(effect, Persist):
            self._persist(number, effect.quorum_state, execution, before)
        elif isinstance(effect, Transition):
            if number != self._handled:
                self._transition(effect, None, execution, before)
        elif isinstance(effect, AppendBatch):
            self._append(effect.batch)
        elif isinstance(effect, Flush):
            self._flush(effect.offset)
        elif isinstance(effect, Truncate):
            self._truncate(effect.offset)
        elif isinstance(effect, HighWatermark):
            self._high_watermark(effect.offset, execution, before)
        elif isinstance(effect, Send):
            self._send(effect)
        elif isinstance(effect, Reply):
            self._reply(effect)
        elif isinstance(effect, Fatal):
            self._end_process()
        elif isinstance(effect, Stop):
            walk.take("flush")
            self._end_process()
        elif isinstance(effect, _SNAPSHOTS):
            walk.problem("the proof knows of no snapshots")

    def _persist(
        self, number: int, stored: QuorumState, execution: Execution, before: Replica | None
    ) -> None:
        """The file and the role that is entered with it are one action."""
        for place in range(number + 1, len(execution.effects)):
            effect = execution.effects[place]
            if isinstance(effect, Transition):
                self._handled = place
                self._transition(effect, stored, execution, before)
                return
            if isinstance(effect, Persist):
                break
        self.walk.problem("the quorum-state file is written without a change of role or epoch")

    def _transition(
        self, effect: Transition, stored: QuorumState | None, execution: Execution, before: Replica | None
    ) -> None:
        walk, target = self.walk, effect.target
        if effect.source == "Start":
            self._begin(target, stored)
        elif target == "Candidate":
            epoch = walk.own.epoch + 1 if stored is None else stored.epoch
            walk.take("become-candidate", epoch, self._start_voters)
        elif target == "Leader":
            self._become_leader(before)
        elif target == "Follower":
            self._follow(effect.epoch, stored)
        elif target == "Resigned":
            walk.take("resign")
        elif target == "Prospective":
            if walk.own.role != "Prospective":
                walk.take("become-prospective")
            self._vote(stored)
        else:
            self._unattached(stored)

    def _begin(self, role: str, stored: QuorumState | None) -> None:
        """The process takes up its first role."""
        walk = self.walk
        newer = stored is not None and stored.epoch > walk.own.epoch
        last = walk.own.end[0]
        knows_leader = bool(walk.own.leader)
        walk.take("restart", NO_PROCESS if newer else role, last)
        if role == "Candidate" and knows_leader and self._changing:
            # Where the guard says that this does not happen, the action does not say what comes of it.
            walk.own = replace(walk.own, leader=frozenset())
        if newer:
            assert stored is not None
            walk.take("hear-of-epoch", stored.epoch)

    def _unattached(self, stored: QuorumState | None) -> None:
        walk, payload = self.walk, self._payload
        epoch = walk.own.epoch if stored is None else stored.epoch
        if epoch > walk.own.epoch:
            if walk.own.role == "Resigned" and self._message is None:
                walk.take("leave-resigned", epoch)
            elif isinstance(payload, VoteRequest) and payload.pre_vote and payload.epoch == epoch:
                walk.take("hear-of-pre-vote", *self._request(payload))
            else:
                walk.take("hear-of-epoch", epoch)
        elif walk.own.role == "Prospective":
            walk.take("lose-pre-vote")
        self._vote(stored)

    def _request(self, payload: VoteRequest) -> tuple[int, int, int, int]:
        """Candidate, epoch, and end of the log that a request for votes tells of."""
        candidate = self._component_of[payload.candidate.id]
        return candidate, payload.epoch, payload.end_offset, payload.last_epoch

    def _vote(self, stored: QuorumState | None) -> None:
        """A vote that is written down."""
        if stored is None or stored.voted is None:
            return
        if self._component_of[stored.voted.id] in self.walk.own.voted:
            return
        if isinstance(self._payload, VoteRequest) and not self._payload.pre_vote:
            self.walk.take("grant-vote", *self._request(self._payload))
        else:
            self.walk.problem("a vote is written down that nobody has asked for")

    def _follow(self, epoch: int, stored: QuorumState | None) -> None:
        walk = self.walk
        if stored is None or stored.leader is None:
            walk.problem("a Follower has no leader")
            return
        leader = self._component_of[stored.leader]
        returns = walk.own.role == "Prospective" and epoch == walk.own.epoch
        if returns and walk.own.leader == frozenset({leader}):
            walk.take("return-to-leader", leader)
        else:
            walk.take("follow", epoch, leader)

    # -- elections and voter sets ---------------------------------------------------------------------

    def _voters(self) -> tuple[Record, frozenset[int]]:
        """The last voter set in the log on disk, and which record brings it."""
        if not self._changing:
            return START, self._start_voters
        sets = voter_sets_of(self._disk.log, frozenset(key.id for key in self._translator.system.voters))
        record = max(sets)
        return record, frozenset(self._component_of[each] for each in sets[record])

    def _in_force(self) -> tuple[tuple[int, ...], frozenset[tuple[Any, ...]]]:
        """What actions are told of the voter set in force: where it is, and that it is this."""
        if not self._changing:
            return (), frozenset()
        record, voters = self._voters()
        return record, frozenset({("set_of", *record, voters)})

    def _become_leader(self, before: Replica | None) -> None:
        quorum = self._granting(before) & self._voters()[1]
        place, assumed = self._in_force()
        self.walk.take("become-leader", quorum, *place, assumed=assumed)

    def _granting(self, before: Replica | None) -> frozenset[int]:
        """Who has voted for the replica that is elected: whom it has counted before, and who says so now."""
        found = {self._actor}
        if before is not None and isinstance(before.role, Candidate):
            found |= {self._component_of[each] for each in before.role.election.granted}
        payload = self._payload
        if isinstance(payload, VoteResponse) and payload.granted and self._message is not None:
            found.add(self._component_of[self._message.source])
        return frozenset(found)

    def _reply(self, effect: Reply) -> None:
        response = effect.response
        if effect.to == CLIENT or not isinstance(response, EpochResponse):
            return
        if isinstance(response, VoteResponse) and response.granted:
            self._grant()
        if response.leader is not None:
            self._tell(response.epoch, response.leader)

    def _grant(self) -> None:
        payload, walk = self._payload, self.walk
        if not isinstance(payload, VoteRequest):
            walk.problem("a vote is granted that nobody has asked for")
            return
        candidate, epoch, *end = self._request(payload)
        if payload.pre_vote:
            walk.take("grant-pre-vote", candidate, epoch, *end)
        elif candidate in walk.own.voted and walk.own.epoch == epoch:
            walk.require("the vote was given", "votes", self._actor, epoch, candidate)
        else:
            walk.take("grant-vote", candidate, epoch, *end)

    def _send(self, effect: Send) -> None:
        request, walk = effect.request, self.walk
        if isinstance(request, VoteRequest | FetchRequest) and request.epoch != walk.own.epoch:
            walk.problem(f"a request names epoch {request.epoch} in epoch {walk.own.epoch}")
        if isinstance(request, VoteRequest):
            action = "ask-for-pre-vote" if request.pre_vote else "ask-for-votes"
            walk.take(action, request.end_offset, request.last_epoch)
        elif isinstance(request, FetchRequest):
            walk.take("fetch", request.offset, request.last_epoch)
        elif isinstance(request, BeginQuorumEpochRequest | EndQuorumEpochRequest):
            self._tell(request.epoch, request.leader)

    def _tell(self, epoch: int, leader: int) -> None:
        if epoch != self.walk.own.epoch:
            self.walk.problem(f"a message says who leads epoch {epoch} in epoch {self.walk.own.epoch}")
        self.walk.take("tell-leader", self._component_of[leader])

    # -- logs -----------------------------------------------------------------------------------------

    def _append(self, batch: Batch) -> None:
        walk = self.walk
        if walk.own.role == "Leader":
            if batch.epoch != walk.own.epoch:
                walk.problem(f"a leader of epoch {walk.own.epoch} appends records of epoch {batch.epoch}")
            self._append_as_leader(batch)
            return
        response = self._payload
        if not isinstance(response, FetchResponse):
            walk.problem("records are taken over that no leader has sent")
            return
        epoch = walk.own.epoch
        taken = frozenset(
            ("record", epoch, offset + 1, batch.epoch) for offset in range(batch.base_offset, batch.end_offset)
        )
        walk.take("take-records", epoch, *walk.own.end, batch.end_offset, assumed=taken)

    def _append_as_leader(self, batch: Batch) -> None:
        walk, (place, voters) = self.walk, self._voters()
        after = voter_sets_of(
            disks.apply(self._disk, AppendBatch(batch)).log,
            frozenset(key.id for key in self._translator.system.voters),
        )
        for offset in range(batch.base_offset + 1, batch.end_offset + 1):
            changed = after.get((offset, batch.epoch)) if self._changing else None
            if changed is None:
                walk.take("append", offset)
                continue
            new = frozenset(self._component_of[each] for each in changed)
            committed = -1 if walk.own.covered is None else walk.own.covered
            assumed = frozenset({("set_of", *place, voters)})
            walk.take("append-voters", offset, *place, committed, new, assumed=assumed)
            place, voters = (offset, batch.epoch), new

    def _has_fetched(self, after: Replica) -> None:
        """An answer without records is taken as well: nothing comes after the end of the log."""
        walk = self.walk
        fetched = isinstance(after.role, Follower) and after.role.has_fetched
        if not fetched or walk.own.fetching:
            return
        if isinstance(self._payload, FetchResponse):
            walk.take("take-records", walk.own.epoch, *walk.own.end, walk.own.end[0])
        elif isinstance(self._payload, UpdateRaftVoterResponse):
            walk.take("hear-from-leader")

    def _flush(self, offset: int) -> None:
        if any(each > offset for each in self.walk.own.unflushed):
            self.walk.problem(f"the log is flushed up to {offset} and not whole")
            return
        self.walk.take("flush")
        self._counts_flush = True

    def _truncate(self, offset: int) -> None:
        walk, response = self.walk, self._payload
        if not isinstance(response, FetchResponse) or response.diverging is None:
            walk.problem("the log is cut, and no leader has told where it diverges")
            return
        left = disks.apply(self._disk, Truncate(offset)).log
        last = max((each for each, _ in records_of(left)), default=0)
        diverging = response.diverging
        walk.take("truncate", walk.own.epoch, *walk.own.end, diverging.epoch, diverging.offset + 1, last)

    # -- commitment -----------------------------------------------------------------------------------

    def _count_fetch(self, request: FetchRequest) -> None:
        """A leader counts a fetch that it may count; whoever it may not count it must not use."""
        voter = self._component_of.get(request.replica.id)
        if voter is None or request.epoch != self.walk.own.epoch:
            return
        parameters = voter, request.offset, request.last_epoch
        if self.walk.allows("count-fetch", *parameters):
            self.walk.take("count-fetch", *parameters)

    def _high_watermark(self, offset: int, execution: Execution, before: Replica | None) -> None:
        walk = self.walk
        if walk.own.role == "Leader":
            self._commit(offset, _end_offsets(before, execution))
            return
        response = self._payload
        if not isinstance(response, FetchResponse) or response.high_watermark is None:
            walk.problem("a high watermark is learned that no leader has told of")
            return
        walk.take("learn-high-watermark", walk.own.epoch, *walk.own.end, response.high_watermark)

    def _commit(self, offset: int, ends: dict[int, int]) -> None:
        walk = self.walk
        if isinstance(self._payload, FetchRequest):
            fetcher = self._payload.replica.id
            ends[fetcher] = max(self._payload.offset, ends.get(fetcher, 0))
        voters = self._voters()[1]
        having = {self._component_of[each] for each, end in ends.items() if end >= offset}
        quorum = frozenset((having & voters) - {self._actor})
        if 2 * len(quorum) <= len(voters) and self._actor in voters:
            quorum |= {self._actor}
        if self._actor in quorum and (walk.own.flushed or offset in walk.own.unflushed):
            walk.take("count-own-log", *walk.own.end)
        epoch = next((epoch for place, epoch in walk.own.holds if place == offset), None)
        if epoch is None:
            walk.problem(f"a leader commits to {offset}, where its log has no record")
            return
        place, assumed = self._in_force()
        walk.take("commit", offset, epoch, quorum, *place, assumed=assumed)


def _end_offsets(before: Replica | None, execution: Execution) -> dict[int, int]:
    """How far a leader knows the logs of replicas to reach, by replica id."""
    ends: dict[int, int] = {}
    for replica in (before, execution.replica):
        role = None if replica is None else replica.role
        if isinstance(role, Leader):
            for entry in (*role.observers, *role.progress):
                ends[entry.id] = max(ends.get(entry.id, 0), entry.end_offset or 0)
    return ends


def _shown(value: object) -> str:
    return f"{{{', '.join(map(str, sorted(value)))}}}" if isinstance(value, frozenset) else str(value)


__all__ = ["Disk", "Translator"]
