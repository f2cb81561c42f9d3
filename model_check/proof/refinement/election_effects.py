"""Effects that are actions of elections: roles, votes, and the known leader."""

from __future__ import annotations

from dataclasses import replace

from kraftcheck.proof.refinement.own import NO_PROCESS
from kraftcheck.proof.refinement.scene import Scene
from kraftcheck.reference import effects, messages
from kraftcheck.reference.replica import Candidate, QuorumState, Replica
from kraftcheck.systems.kraft.network import CLIENT
from kraftcheck.systems.kraft.node import Execution


class ElectionEffects(Scene):
    """The images of elections' effects in the proof."""

    #: The transition that was already taken, together with the file written for it.
    handled: int | None = None

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
        self.walk.problem("the quorum-state file is written without a change of role or epoch")

    def transition(
        self,
        effect: effects.Transition,
        stored: QuorumState | None,
        execution: Execution,
        before: Replica | None,
    ) -> None:
        walk, target = self.walk, effect.target
        if effect.source == "Start":
            self.begin(target, stored)
        elif target == "Candidate":
            epoch = walk.own.epoch + 1 if stored is None else stored.epoch
            walk.take("become-candidate", epoch, self.start_voters)
        elif target == "Leader":
            self.become_leader(before)
        elif target == "Follower":
            self.follow(effect.epoch, stored)
        elif target == "Resigned":
            walk.take("resign")
        elif target == "Prospective":
            if walk.own.role != "Prospective":
                walk.take("become-prospective")
            self.vote(stored)
        else:
            self.unattached(stored)

    def begin(self, role: str, stored: QuorumState | None) -> None:
        """The process enters its first role."""
        walk = self.walk
        newer = stored is not None and stored.epoch > walk.own.epoch
        last = walk.own.end[0]
        knows_leader = bool(walk.own.leader)
        walk.take("restart", NO_PROCESS if newer else role, last)
        if role == "Candidate" and knows_leader and self.changing:
            # Where the guard excludes this case, the action does not define its result.
            walk.own = replace(walk.own, leader=frozenset())
        if newer:
            assert stored is not None
            walk.take("hear-of-epoch", stored.epoch)

    def unattached(self, stored: QuorumState | None) -> None:
        walk, payload = self.walk, self.payload
        epoch = walk.own.epoch if stored is None else stored.epoch
        if epoch > walk.own.epoch:
            if walk.own.role == "Resigned" and self.message is None:
                walk.take("leave-resigned", epoch)
            elif isinstance(payload, messages.VoteRequest) and payload.pre_vote and payload.epoch == epoch:
                walk.take("hear-of-pre-vote", *self._request(payload))
            else:
                walk.take("hear-of-epoch", epoch)
        elif walk.own.role == "Prospective":
            walk.take("lose-pre-vote")
        self.vote(stored)

    def _request(self, payload: messages.VoteRequest) -> tuple[int, int, int, int]:
        """Candidate, epoch, and end of the log in a request for votes."""
        candidate = self.component_of[payload.candidate.id]
        return candidate, payload.epoch, payload.end_offset, payload.last_epoch

    def vote(self, stored: QuorumState | None) -> None:
        """The replica records a vote."""
        if stored is None or stored.voted is None:
            return
        if self.component_of[stored.voted.id] in self.walk.own.voted:
            return
        if isinstance(self.payload, messages.VoteRequest) and not self.payload.pre_vote:
            self.walk.take("grant-vote", *self._request(self.payload))
        else:
            self.walk.problem("a vote is persisted without a request")

    def follow(self, epoch: int, stored: QuorumState | None) -> None:
        walk = self.walk
        if stored is None or stored.leader is None:
            walk.problem("a Follower has no leader")
            return
        leader = self.component_of[stored.leader]
        returns = walk.own.role == "Prospective" and epoch == walk.own.epoch
        if returns and walk.own.leader == frozenset({leader}):
            walk.take("return-to-leader", leader)
        else:
            walk.take("follow", epoch, leader)

    def become_leader(self, before: Replica | None) -> None:
        quorum = self._granting(before) & self.voters()[1]
        place, assumed = self.in_force()
        self.walk.take("become-leader", quorum, *place, assumed=assumed)

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
        payload, walk = self.payload, self.walk
        if not isinstance(payload, messages.VoteRequest):
            walk.problem("a vote is granted that nobody has asked for")
            return
        candidate, epoch, *end = self._request(payload)
        if payload.pre_vote:
            walk.take("grant-pre-vote", candidate, epoch, *end)
        elif candidate in walk.own.voted and walk.own.epoch == epoch:
            walk.require("the vote was given", "votes", self.actor, epoch, candidate)
        else:
            walk.take("grant-vote", candidate, epoch, *end)

    def send(self, effect: effects.Send) -> None:
        request, walk = effect.request, self.walk
        if (
            isinstance(request, messages.VoteRequest | messages.FetchRequest)
            and request.epoch != walk.own.epoch
        ):
            walk.problem(f"a request names epoch {request.epoch} in epoch {walk.own.epoch}")
        if isinstance(request, messages.VoteRequest):
            action = "ask-for-pre-vote" if request.pre_vote else "ask-for-votes"
            walk.take(action, request.end_offset, request.last_epoch)
        elif isinstance(request, messages.FetchRequest):
            walk.take("fetch", request.offset, request.last_epoch)
        elif isinstance(request, messages.BeginQuorumEpochRequest | messages.EndQuorumEpochRequest):
            self._tell(request.epoch, request.leader)

    def _tell(self, epoch: int, leader: int) -> None:
        if epoch != self.walk.own.epoch:
            self.walk.problem(f"a message says who leads epoch {epoch} in epoch {self.walk.own.epoch}")
        self.walk.take("tell-leader", self.component_of[leader])
