"""Effects of the reference as actions of the proof."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from kraftcheck.engine.system import PathStep
from kraftcheck.proof.refinement.abstraction import (
    NO_PROCESS,
    START,
    ProofReplica,
    Record,
    records_of,
    voter_sets_of,
)
from kraftcheck.proof.refinement.actions import Actions, SequenceBuilder
from kraftcheck.reference import disk as disks
from kraftcheck.reference import effects, messages
from kraftcheck.reference.log import Batch, Log
from kraftcheck.reference.replica import Candidate, Follower, Leader, QuorumState, Replica
from kraftcheck.systems.kraft.network import CLIENT, InFlight
from kraftcheck.systems.kraft.node import Execution, Node
from kraftcheck.systems.kraft.step import Step
from kraftcheck.systems.kraft.system import KRaftSystem


@dataclass(frozen=True)
class Setting:
    """The system that takes the steps, and the proof's actions. ``changing``: those with voter changes."""

    system: KRaftSystem
    actions: Actions
    changing: bool

    @property
    def component_of(self) -> dict[int, int]:
        """Components by replica id."""
        return {identity.id: number for number, identity in enumerate(self.system.identities)}

    def steps_of(self, path: PathStep, node: Node) -> list[Step]:
        """The steps that the system offers, with ``path`` among them."""
        if path.kind == "deliver":
            return self.system.deliver_steps(path.component, node, cast(InFlight, path.message))
        return self.system.action_steps(path.component, node)


class Effects:
    """The effects of a step of ``actor``: the ``message`` that it receives with its ``payload``, the current
    ``disk``, and the actions of the proof taken so far (``proof``).
    """

    #: The transition that was already taken, together with the file written for it.
    handled: int | None = None
    #: Whether the log was flushed, so that a leader may count it.
    counts_flush = False

    def __init__(
        self, setting: Setting, component: int, node: Node, message: InFlight | None, replica: ProofReplica
    ) -> None:
        self.setting = setting
        self.component_of = setting.component_of
        self.changing = setting.changing
        self.start_voters = frozenset(self.component_of[key.id] for key in setting.system.voters)
        self.actor = component
        self.node = node
        self.message = message
        self.payload = None if message is None else message.payload
        self.disk = node.disk
        flushes = setting.system.identities[component].can_become_voter
        self.proof = SequenceBuilder(setting.actions, component, replica, flushes=flushes)

    def voter_sets(self, log: Log) -> dict[Record, frozenset[int]]:
        """The records of ``log`` that change the voters, with the new voters."""
        found = voter_sets_of(log, frozenset(key.id for key in self.setting.system.voters))
        return {
            record: frozenset(self.component_of[each] for each in voters) for record, voters in found.items()
        }

    def voters(self) -> tuple[Record, frozenset[int]]:
        """The last voter set in the log on disk, and its record."""
        if not self.changing:
            return START, self.start_voters
        return max(self.voter_sets(self.disk.log).items(), key=lambda found: found[0])

    def in_force(self) -> tuple[tuple[int, ...], frozenset[tuple[Any, ...]]]:
        """The parameters of actions about the effective voter set: its place, and the fact that it is this
        set.
        """
        if not self.changing:
            return (), frozenset()
        record, voters = self.voters()
        return record, frozenset({("set_of", *record, voters)})

    # -- elections: roles, votes, and the known leader ------------------------------------------------

    def persist(self, number: int, stored: QuorumState, execution: Execution, before: Replica | None) -> None:
        """The file and the role that the replica enters with it are one action."""
        for place in range(number + 1, len(execution.effects)):
            effect = execution.effects[place]
            if isinstance(effect, effects.Transition):
                self.handled = place
                self.transition(effect, stored, execution, before)
                return
            if isinstance(effect, effects.Persist):
                break
        self.proof.problem("the quorum-state file is written without a change of role or epoch")

    def transition(
        self,
        effect: effects.Transition,
        stored: QuorumState | None,
        execution: Execution,
        before: Replica | None,
    ) -> None:
        proof, target = self.proof, effect.target
        if effect.source == "Start":
            self.begin(target, stored)
        elif target == "Candidate":
            epoch = proof.replica.epoch + 1 if stored is None else stored.epoch
            proof.take("become-candidate", epoch, self.start_voters)
        elif target == "Leader":
            self.become_leader(before)
        elif target == "Follower":
            self.follow(effect.epoch, stored)
        elif target == "Resigned":
            proof.take("resign")
        elif target == "Prospective":
            if proof.replica.role != "Prospective":
                proof.take("become-prospective")
            self.vote(stored)
        else:
            self.unattached(stored)

    def begin(self, role: str, stored: QuorumState | None) -> None:
        """The process enters its first role."""
        proof = self.proof
        newer = stored is not None and stored.epoch > proof.replica.epoch
        last = proof.replica.end[0]
        knows_leader = bool(proof.replica.leader)
        proof.take("restart", NO_PROCESS if newer else role, last)
        if role == "Candidate" and knows_leader and self.changing:
            # Where the guard excludes this case, the action does not define its result.
            proof.replica = replace(proof.replica, leader=frozenset())
        if newer:
            assert stored is not None
            proof.take("hear-of-epoch", stored.epoch)

    def unattached(self, stored: QuorumState | None) -> None:
        proof, payload = self.proof, self.payload
        epoch = proof.replica.epoch if stored is None else stored.epoch
        if epoch > proof.replica.epoch:
            if proof.replica.role == "Resigned" and self.message is None:
                proof.take("leave-resigned", epoch)
            elif isinstance(payload, messages.VoteRequest) and payload.pre_vote and payload.epoch == epoch:
                proof.take("hear-of-pre-vote", *self._request(payload))
            else:
                proof.take("hear-of-epoch", epoch)
        elif proof.replica.role == "Prospective":
            proof.take("lose-pre-vote")
        self.vote(stored)

    def _request(self, payload: messages.VoteRequest) -> tuple[int, int, int, int]:
        """Candidate, epoch, and end of the log in a request for votes."""
        candidate = self.component_of[payload.candidate.id]
        return candidate, payload.epoch, payload.end_offset, payload.last_epoch

    def vote(self, stored: QuorumState | None) -> None:
        """The replica records a vote."""
        if stored is None or stored.voted is None:
            return
        if self.component_of[stored.voted.id] in self.proof.replica.voted:
            return
        if isinstance(self.payload, messages.VoteRequest) and not self.payload.pre_vote:
            self.proof.take("grant-vote", *self._request(self.payload))
        else:
            self.proof.problem("a vote is persisted without a request")

    def follow(self, epoch: int, stored: QuorumState | None) -> None:
        proof = self.proof
        if stored is None or stored.leader is None:
            proof.problem("a Follower has no leader")
            return
        leader = self.component_of[stored.leader]
        returns = proof.replica.role == "Prospective" and epoch == proof.replica.epoch
        if returns and proof.replica.leader == frozenset({leader}):
            proof.take("return-to-leader", leader)
        else:
            proof.take("follow", epoch, leader)

    def become_leader(self, before: Replica | None) -> None:
        quorum = self._granting(before) & self.voters()[1]
        place, assumed = self.in_force()
        self.proof.take("become-leader", quorum, *place, assumed=assumed)

    def _granting(self, before: Replica | None) -> frozenset[int]:
        """The voters of the elected replica: those that it has counted before, and the one whose answer
        arrives now.
        """
        found = {self.actor}
        if before is not None and isinstance(before.role, Candidate):
            found |= {self.component_of[each] for each in before.role.election.granted}
        payload = self.payload
        if isinstance(payload, messages.VoteResponse) and payload.granted and self.message is not None:
            found.add(self.component_of[self.message.source])
        return frozenset(found)

    def reply(self, effect: effects.Reply) -> None:
        response = effect.response
        if effect.to == CLIENT or not isinstance(response, messages.EpochResponse):
            return
        if isinstance(response, messages.VoteResponse) and response.granted:
            self._grant()
        if response.leader is not None:
            self._tell(response.epoch, response.leader)

    def _grant(self) -> None:
        payload, proof = self.payload, self.proof
        if not isinstance(payload, messages.VoteRequest):
            proof.problem("a vote is granted without a request for it")
            return
        candidate, epoch, *end = self._request(payload)
        if payload.pre_vote:
            proof.take("grant-pre-vote", candidate, epoch, *end)
        elif candidate in proof.replica.voted and proof.replica.epoch == epoch:
            proof.require("the vote was given", "votes", self.actor, epoch, candidate)
        else:
            proof.take("grant-vote", candidate, epoch, *end)

    def send(self, effect: effects.Send) -> None:
        request, proof = effect.request, self.proof
        if (
            isinstance(request, messages.VoteRequest | messages.FetchRequest)
            and request.epoch != proof.replica.epoch
        ):
            proof.problem(f"a request names epoch {request.epoch} in epoch {proof.replica.epoch}")
        if isinstance(request, messages.VoteRequest):
            action = "ask-for-pre-vote" if request.pre_vote else "ask-for-votes"
            proof.take(action, request.end_offset, request.last_epoch)
        elif isinstance(request, messages.FetchRequest):
            proof.take("fetch", request.offset, request.last_epoch)
        elif isinstance(request, messages.BeginQuorumEpochRequest | messages.EndQuorumEpochRequest):
            self._tell(request.epoch, request.leader)

    def _tell(self, epoch: int, leader: int) -> None:
        if epoch != self.proof.replica.epoch:
            self.proof.problem(f"a message says who leads epoch {epoch} in epoch {self.proof.replica.epoch}")
        self.proof.take("tell-leader", self.component_of[leader])

    # -- logs -------------------------------------------------------------------------------------------

    def append(self, batch: Batch) -> None:
        proof = self.proof
        if proof.replica.role == "Leader":
            if batch.epoch != proof.replica.epoch:
                proof.problem(
                    f"a leader of epoch {proof.replica.epoch} appends records of epoch {batch.epoch}"
                )
            self._append_as_leader(batch)
            return
        response = self.payload
        if not isinstance(response, messages.FetchResponse):
            proof.problem("records are taken over that no leader has sent")
            return
        epoch = proof.replica.epoch
        taken = frozenset(
            ("record", epoch, offset + 1, batch.epoch)
            for offset in range(batch.base_offset, batch.end_offset)
        )
        if self.changing:
            self._take_over_voters(batch)
        proof.take("take-records", epoch, *proof.replica.end, batch.end_offset, assumed=taken)

    def _take_over_voters(self, batch: Batch) -> None:
        """Records that a replica takes over carry the voter sets that their leader has appended, and no
        others.
        """
        after = self.voter_sets(disks.apply(self.disk, effects.AppendBatch(batch)).log)
        for offset in range(batch.base_offset + 1, batch.end_offset + 1):
            record = offset, batch.epoch
            if record in after:
                self.proof.require("brings the voter set of the leader", "set_of", *record, after[record])
            else:
                self.proof.rule_out("brings no voter set, as with the leader", "config", *record)

    def _append_as_leader(self, batch: Batch) -> None:
        proof, (place, voters) = self.proof, self.voters()
        after = self.voter_sets(disks.apply(self.disk, effects.AppendBatch(batch)).log)
        for offset in range(batch.base_offset + 1, batch.end_offset + 1):
            new = after.get((offset, batch.epoch)) if self.changing else None
            if new is None:
                proof.take("append", offset)
                continue
            committed = proof.replica.covered or 0
            assumed = frozenset({("set_of", *place, voters)})
            proof.take("append-voters", offset, *place, committed, new, assumed=assumed)
            place, voters = (offset, batch.epoch), new

    def has_fetched(self, after: Replica) -> None:
        """An answer without records is an action too: no record follows the end of the log."""
        proof = self.proof
        fetched = isinstance(after.role, Follower) and after.role.has_fetched
        if not fetched or proof.replica.fetching:
            return
        if isinstance(self.payload, messages.FetchResponse):
            proof.take("take-records", proof.replica.epoch, *proof.replica.end, proof.replica.end[0])
        elif isinstance(self.payload, messages.UpdateRaftVoterResponse):
            proof.take("hear-from-leader")

    def flush(self, offset: int) -> None:
        if any(each > offset for each in self.proof.replica.unflushed):
            self.proof.problem(f"the log is flushed up to {offset} and not whole")
            return
        self.proof.take("flush")
        self.counts_flush = True

    def truncate(self, offset: int) -> None:
        proof, response = self.proof, self.payload
        if not isinstance(response, messages.FetchResponse) or response.diverging is None:
            proof.problem("the log is truncated without a diverging epoch from a leader")
            return
        left = disks.apply(self.disk, effects.Truncate(offset)).log
        last = max((each for each, _ in records_of(left)), default=0)
        diverging = response.diverging
        proof.take(
            "truncate", proof.replica.epoch, *proof.replica.end, diverging.epoch, diverging.offset + 1, last
        )

    # -- commitment -----------------------------------------------------------------------------------

    def count_fetch(self, request: messages.FetchRequest) -> None:
        """A leader counts a fetch of a voter; it must not use the fetch of another replica."""
        voter = self.component_of.get(request.replica.id)
        if voter is None or request.epoch != self.proof.replica.epoch:
            return
        parameters = voter, request.offset, request.last_epoch
        if self.proof.allows("count-fetch", *parameters):
            self.proof.take("count-fetch", *parameters)

    def high_watermark(self, offset: int, execution: Execution, before: Replica | None) -> None:
        proof = self.proof
        if proof.replica.role == "Leader":
            self._commit(offset, _end_offsets(before, execution))
            return
        response = self.payload
        if not isinstance(response, messages.FetchResponse) or response.high_watermark is None:
            proof.problem("a high watermark is learned that no leader has sent")
            return
        proof.take("learn-high-watermark", proof.replica.epoch, *proof.replica.end, response.high_watermark)

    def _commit(self, offset: int, ends: dict[int, int]) -> None:
        proof = self.proof
        if isinstance(self.payload, messages.FetchRequest):
            fetcher = self.payload.replica.id
            ends[fetcher] = max(self.payload.offset, ends.get(fetcher, 0))
        voters = self.voters()[1]
        having = {self.component_of[each] for each, end in ends.items() if end >= offset}
        quorum = frozenset((having & voters) - {self.actor})
        if 2 * len(quorum) <= len(voters) and self.actor in voters:
            quorum |= {self.actor}
        if self.actor in quorum and (proof.replica.flushed or offset in proof.replica.unflushed):
            proof.take("count-own-log", *proof.replica.end)
        epoch = next((epoch for place, epoch in proof.replica.holds if place == offset), None)
        if epoch is None:
            proof.problem(f"a leader commits to {offset}, where its log has no record")
            return
        place, assumed = self.in_force()
        proof.take("commit", offset, epoch, quorum, *place, assumed=assumed)


def _end_offsets(before: Replica | None, execution: Execution) -> dict[int, int]:
    """The ends of replicas' logs as a leader knows them, by replica id."""
    ends: dict[int, int] = {}
    for replica in (before, execution.replica):
        role = None if replica is None else replica.role
        if isinstance(role, Leader):
            for entry in (*role.observers, *role.progress):
                ends[entry.id] = max(ends.get(entry.id, 0), entry.end_offset or 0)
    return ends
