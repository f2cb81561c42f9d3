"""A follower passes over a silent leader at one poll, no more and no less.

A follower whose request has timed out notices that at its next poll, fetches from another node, and finds the
connection ready at the poll after that (FETCH-32). In the model no time passes between polls, so there the
reference passes over the leader until a back-off would be over. Where polls come one by one, the connection
is ready again after the first.

Source: Kafka: KafkaRaftClient.maybeSendFetchToBestNode, RequestManager.isReady.
"""

from __future__ import annotations

from kraftcheck.evidence.recordings.log_high_watermark import LogHighWatermark, Step
from kraftcheck.reference.effects import Send
from kraftcheck.reference.events import BackoffExpired, Event, Poll, RequestTimedOut
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import FetchRequest, FetchSnapshotRequest
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Follower, Replica
from kraftcheck.reference.step import Outcome


class SilentLeader:
    """The steps of one process, poll by poll; remembers the leader whose request has timed out since the last
    poll.
    """

    def __init__(self) -> None:
        self._node: int | None = None
        self._step = LogHighWatermark().step

    def step(self, protocol: Protocol, replica: Replica, event: Event, step: Step | None = None) -> Outcome:
        """As ``step`` (default: the reference's, with the high watermark of the log), with the leader passed
        over at the next poll only.
        """
        step = step or self._step
        node = self._node
        if isinstance(event, RequestTimedOut):
            is_leader = isinstance(replica.role, Follower) and replica.quorum_state.leader == event.node
            self._node = event.node if is_leader else node
        if node is None:
            return step(protocol, replica, event)
        if isinstance(event, BackoffExpired) and event.node == node:
            return Outcome(replica, (), ())  # The node backs off from nothing.
        if not isinstance(event, Poll):
            return step(protocol, replica, event)
        self._node = None
        ready = step(protocol, replica, BackoffExpired(node)).replica
        outcome = step(protocol, ready, event)
        if event.discovery == node or _reports_itself(outcome, node):
            return outcome
        outcome = step(protocol, replica, event)
        return replace(outcome, replica=step(protocol, outcome.replica, BackoffExpired(node)).replica)


def _reports_itself(outcome: Outcome, leader: int) -> bool:
    """Whether the replica sends a request about its own entry: for that, no leader is passed over."""
    fetches = FetchRequest | FetchSnapshotRequest
    sent = [effect for effect in outcome.effects if isinstance(effect, Send) and effect.to == leader]
    return any(not isinstance(effect.request, fetches) for effect in sent)
