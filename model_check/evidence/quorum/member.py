"""A replica of a quorum twice: the reference's, and the one behind an adapter. Both take the same steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kraftcheck.evidence.adapters import wire
from kraftcheck.evidence.adapters.answers import AdapterError, Answer
from kraftcheck.evidence.adapters.asked import Asking, Question
from kraftcheck.evidence.adapters.compare import ON_DISK, Difference
from kraftcheck.evidence.adapters.deployed import deployed, modelled, renamed
from kraftcheck.evidence.adapters.session import (
    Correlations,
    Expectation,
    Session,
    expectation,
    note_correlations,
)
from kraftcheck.evidence.adapters.state_machine import StateMachine
from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, Start, Stimulus
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Effect, Reply, Send
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import RequestReceived, RequestTimedOut, ResponseReceived
from kraftcheck.reference.messages import ApiVersionsRequest, Message, Request
from kraftcheck.reference.replica import Follower, Replica
from kraftcheck.reference.versions import refusal

#: The effects that an adapter must show: what one replica sends, another one receives.
MESSAGES = ("request", "response")

#: What a verdict rests on in every behaviour: the exit of the process, and these fields of the state.
_ALWAYS_NEEDED = {"effect": ("fatal",), "state": ("state", "epoch", "leader", "voted", "leo", "hw")}


class Sent(NamedTuple):
    """A message that a replica sent: as the reference's sent it, and the ``data`` of the adapter's."""

    to: int
    message: Message
    data: Json


class Differs(Exception):
    """The adapter's replica does not do in a step what the reference's does."""

    def __init__(self, replica: int, question: Question, differences: tuple[Difference, ...]) -> None:
        super().__init__(replica, question, differences)
        self.replica, self.question, self.differences = replica, question, differences


class NotTaken(Exception):
    """A step cannot be taken; the text is the reason, a clause that needs no more context."""


class Member:
    """A replica of the quorum. ``sequence`` gives its configuration and its first disk, and no stimuli.

    The clock of the process behind ``session`` begins anew with the first start.
    """

    def __init__(self, session: Session, sequence: DriveSequence) -> None:
        """Raises AdapterError where the adapter does not show the messages of its replica."""
        if not session.capabilities.effects.issuperset(MESSAGES):
            raise AdapterError(
                "the adapter does not show the messages that its replica sends, which a quorum needs: the "
                "effects 'request' and 'response'."
            )
        self._session = session
        self._sequence = deployed(sequence)
        self._asking = Asking(self._sequence, punctual=True)
        self._correlations: Correlations = {}
        self._requests: dict[int, Request] = {}
        self._machine = StateMachine()
        self._taken = 0
        known = session.capabilities
        #: What the adapter does not show although a verdict rests on it: effects, fields, ``addresses``.
        self.unshown = {each for each in _ALWAYS_NEEDED["effect"] if each not in known.effects} | {
            f"state.{each}" for each in _ALWAYS_NEEDED["state"] if each not in known.state
        }

    @property
    def id(self) -> int:
        return self._sequence.identity.id

    def rests_on_addresses(self) -> None:
        """The verdict rests on the address that a request of this replica goes to."""
        if not self._session.capabilities.addresses:
            self.unshown.add("addresses")

    @property
    def replica(self) -> Replica | None:
        """The reference's replica, with the ids of the model; ``None`` where no process runs."""
        return modelled(self._asking.replica)

    @property
    def disk(self) -> Disk:
        """The disk as it is now."""
        return modelled(self._asking.disk)

    def wait(self, milliseconds: int) -> None:
        """Let time pass, in which nothing happens."""
        self._asking.now += milliseconds

    def take(self, stimulus: Stimulus, data: Json = None) -> list[Sent]:
        """Both take a step; the messages that they sent. ``data``: the message that arrives, as another
        adapter sent it.

        Raises Differs where they do not do the same, NotTaken where the adapter does not take the step, and
        AdapterError where it breaks the protocol.
        """
        if isinstance(stimulus, RequestTimedOut):
            stimulus = self._broken_off(stimulus)
        question = self._asking.ask(self._taken, renamed(stimulus))
        self._taken += 1
        if question is None:
            return []
        if isinstance(question.event, Start):
            self._correlations, self._requests, self._machine = {}, {}, StateMachine()
        kind, known = wire.kind_of(question.event), self._session.capabilities
        if kind not in known.events:
            if isinstance(question.event, Crash):
                return []  # The start that follows ends the process.
            raise NotTaken(f"the adapter does not support '{kind}'")
        if question.outcome is not None and not _has_a_form(question.outcome.replica):
            raise NotTaken(
                "one replica id is in the voter set twice, and states and records of the drive protocol name "
                "voters once"
            )
        name, protocol = f"replica {self.id}", self._sequence.protocol
        answer = self._session.ask(question, name, protocol, self._correlations, data)
        if question.outcome is None:
            return []
        expected = expectation(question, protocol)
        self.unshown |= {each["effect"] for each in expected.effects} & set(ON_DISK) - known.effects
        if answer.unsupported is not None:
            return self._stand_in(question, expected, answer.unsupported)
        found = (
            *(each for each in expected.differences(known, answer) if not _is_of_length(each)),
            *self._machine.differences(known, question, answer.effects),
        )
        if found:
            raise Differs(self.id, question, found)
        note_correlations(self._correlations, expected, answer)
        self._requests |= {
            each.to: each.request for each in question.outcome.effects if isinstance(each, Send)
        }
        return list(_sent(question.outcome.effects, expected, answer))

    def _broken_off(self, event: RequestTimedOut) -> RequestTimedOut | ResponseReceived:
        """A follower's request to its leader that gets no answer, as Kafka's network client reports it: then
        the follower backs off, as it does in a behaviour, and does not pass over the leader at one poll only.

        Source: Kafka: KafkaNetworkChannel.sendOnCompleted.
        """
        replica, request = self._asking.replica, self._requests.get(event.node)
        if replica is None or request is None or not isinstance(replica.role, Follower):
            return event
        if replica.quorum_state.leader != event.node:
            return event
        return ResponseReceived(event.node, refusal(request, ErrorCode.BROKER_NOT_AVAILABLE))

    def _stand_in(self, question: Question, expected: Expectation, refused: str) -> list[Sent]:
        """The answer of the reference to a request that the raft module of an implementation may leave to
        the server around it.
        """
        event = question.event
        if not isinstance(event, RequestReceived) or not isinstance(event.request, ApiVersionsRequest):
            raise NotTaken(f"the adapter refuses the step: {refused[:200]}")
        assert question.outcome is not None
        return list(_sent(question.outcome.effects, expected, Answer(tuple(expected.effects), {})))


def _is_of_length(difference: Difference) -> bool:
    """Whether a timer is armed with another time: a behaviour has no times, and releases differ in them."""
    armed = isinstance(difference.expected, str) and difference.expected.endswith(" ms")
    return difference.field.startswith("timer ") and armed and type(difference.found) is int


def _has_a_form(replica: Replica) -> bool:
    """Whether voter sets of ``replica`` can be read on the wire."""
    return all(len(voters.ids) == len(set(voters.ids)) for _, voters in replica.log.voter_sets)


def _sent(effects: tuple[Effect, ...], expected: Expectation, answer: Answer) -> Iterator[Sent]:
    """The messages among ``effects``, each with that of the answer, which has the same ones."""
    left = [effect for effect in answer.effects if effect["effect"] in MESSAGES]
    for effect, mine in zip(effects, expected.effects, strict=True):
        if isinstance(effect, Send | Reply):
            theirs = next(other for other in left if _about(other) == _about(mine))
            left.remove(theirs)
            message = effect.request if isinstance(effect, Send) else effect.response
            yield Sent(effect.to, message, theirs["data"])


def _about(effect: dict[str, Json]) -> tuple[Json, ...]:
    """What distinguishes a message from others of the same step."""
    return effect["effect"], effect.get("to"), effect.get("api"), effect.get("requestId")
