"""A quorum of members that follows the steps of a behaviour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from kraftcheck.engine.system import GlobalState, Outcome
from kraftcheck.evidence.adapters.asked import times_of
from kraftcheck.evidence.adapters.extract import stimuli_of
from kraftcheck.evidence.adapters.likeness import departures
from kraftcheck.evidence.adapters.stimuli import Stimulus
from kraftcheck.evidence.quorum.member import Member, NotTaken, Sent
from kraftcheck.evidence.quorum.network import Flight, Network, pick
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.wire import write_message
from kraftcheck.reference.events import BackoffExpired, Poll, RequestReceived, ResponseReceived, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import Request, Response, VoteRequest
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.step import Action
from kraftcheck.systems.kraft.step import Step as KRaftStep
from kraftcheck.systems.kraft.system import NOT_REACHED, KRaftSystem
from kraftcheck.traces.build import details
from kraftcheck.traces.walk import Taken

_MAX_POLLS = 8


class Quorum:
    """The members by component, and the messages in flight between them. ``overlooked``: the fields of states
    in which they are not held against the behaviour.
    """

    def __init__(self) -> None:
        self.members: dict[int, Member] = {}
        self.network = Network()
        self.overlooked: frozenset[str] = frozenset()

    @property
    def unshown(self) -> tuple[str, ...]:
        """What no adapter may hide in this behaviour, but one does: effects, state fields, addresses."""
        return tuple(sorted({name for member in self.members.values() for name in member.unshown}))

    def step(self, system: KRaftSystem, taken: Taken) -> None:
        """Take a step of the behaviour.

        Raises Differs where the adapter's replica does something else than the reference's, NotTaken where
        the step cannot be taken, and AdapterError.
        """
        path, after = taken.step.path, taken.step.target
        flight = None if path.message is None else self._arriving(path.message)
        if path.kind == "lose":
            assert flight is not None
            self.network.remove(flight)
            return
        detail = details(system, taken.before, path)
        outcome, component = taken.step.outcome, path.component
        assert detail is not None and outcome is not None
        node = cast(Node, taken.before.locals[component])
        self._let_time_pass(component, node, cast(Node, after.locals[component]), outcome)
        if node.clock is None and cast(Action, outcome.action).about == Timer.BEGIN_QUORUM_EPOCH.value:
            # Without clocks no voter has fetched in this interval (BEGIN-2).
            member = self.members[component]
            member.wait(times_of(system.protocols[component]).fetch_timeout)
        if cast(Action, outcome.action).kind == NOT_REACHED:
            sent = [_refused(cast(InFlight, each)) for each in outcome.sends]
        else:
            sent = self._act(component, stimuli_of(node, cast(KRaftStep, detail)), flight)
        if flight is not None and outcome.consumes and not path.duplicate:
            self.network.remove(flight)
        self.network.signal(system, outcome.signals)
        self._send(system, component, outcome, flight, sent)
        if missing := self.network.keep(after.messages):
            raise NotTaken(f"the replicas have not sent {_listed(missing)}")
        self.require(system, after, [component])

    def _arriving(self, message: object) -> Flight:
        flight = self.network.find(message)
        if flight is None:
            raise NotTaken(f"no replica has sent the {message}")
        return flight

    def _let_time_pass(self, component: int, before: Node, after: Node, outcome: Outcome) -> None:
        """Clocks of replicas that lead may run. The time of an adapter only grows."""
        if before.clock is None or after.clock is None or cast(Action, outcome.action).kind != "clock":
            return
        if after.clock.now < before.clock.now:
            raise NotTaken("the clock is set back, which the drive protocol has no step for")
        self.members[component].wait(after.clock.now - before.clock.now)

    def _act(self, component: int, stimuli: Iterator[Stimulus], flight: Flight | None) -> list[Sent]:
        """All ``stimuli`` at a replica, the first message among them being ``flight``; what it sends."""
        member, sent = self.members[component], list[Sent]()
        for stimulus in stimuli:
            data: Json = None
            if flight is not None and isinstance(stimulus, RequestReceived | ResponseReceived):
                stimulus, data, flight = _delivered(flight), flight.data, None
            sent += member.take(stimulus, data)
        return sent

    def _send(
        self, system: KRaftSystem, component: int, outcome: Outcome, flight: Flight | None, sent: list[Sent]
    ) -> None:
        """The messages that the step puts into flight, each with what was really sent."""
        here = system.identities[component].id
        for each in outcome.sends:
            model = cast(InFlight, each)
            if model.source == here:
                found = pick(model, sent)
                if found is None:
                    raise NotTaken(f"replica {here} has not sent the {model}")
                if model.address is not None:
                    self.members[component].rests_on_addresses()
                self.network.flights.append(_seen(Flight(model, found.message, found.data)))
            elif model.source != _source(flight) or not isinstance(model.payload, Request):
                # The network client of the sender answers in the place of an older peer.
                self.network.flights.append(
                    Flight(model, model.payload, cast(Json, write_message(model.payload)))
                )
            elif not model.answerable:
                assert flight is not None
                self.network.flights.append(flight._replace(model=model))
            else:
                self._ask_again(system, here, model, sent)

    def _ask_again(self, system: KRaftSystem, here: int, model: InFlight, sent: list[Sent]) -> None:
        """The model leaves out an answer without news and the same request after it: both happen here."""
        component = system.wiring.component(model.source)
        member = self.members[component]
        answer = next((each for each in sent if each.to == model.source), None)
        if answer is None:
            raise NotTaken(f"replica {here} has not answered the {model}")
        assert isinstance(answer.message, Response)
        arrived = ResponseReceived(here, answer.message)
        asked = [*member.take(arrived, answer.data), *_polls(member)]
        found = pick(model, asked)
        if found is None:
            asked = [*member.take(BackoffExpired(here)), *_polls(member)]
            found = pick(model, asked)
        if found is None:
            raise NotTaken(f"replica {model.source} does not send the {model} again")
        self.network.flights.append(Flight(model, found.message, found.data))

    def require(self, system: KRaftSystem, state: GlobalState, components: Sequence[int]) -> None:
        """Raises NotTaken if a replica of the reference is not in the state that the behaviour says."""
        for component in components:
            node = cast(Node, state.locals[component])
            member, addable = self.members[component], system.wiring.addable
            for change in departures(member.id, node, member.replica, member.disk, addable):
                if change.field in self.overlooked:
                    continue
                raise NotTaken(
                    f"replica {change.replica} has left the behaviour: {change.field} is {change.after}, and "
                    f"{change.before} in the behaviour"
                )


def _refused(answer: InFlight) -> Sent:
    """What the network client of a sender says of a request to an address at which no replica listens."""
    return Sent(answer.destination, answer.payload, cast(Json, write_message(answer.payload)))


def _polls(member: Member) -> list[Sent]:
    """Poll until nothing changes, as the model does after each event."""
    sent = list[Sent]()
    for _ in range(_MAX_POLLS):
        before = member.replica
        sent += member.take(Poll((Timer.LINGER,)))
        if member.replica == before:
            break
    return sent


def _delivered(flight: Flight) -> RequestReceived | ResponseReceived:
    if isinstance(flight.message, Request):
        return RequestReceived(flight.model.source, flight.message)
    assert isinstance(flight.message, Response)
    return ResponseReceived(flight.model.source, flight.message)


def _source(flight: Flight | None) -> int | None:
    return None if flight is None else flight.model.source


def _seen(flight: Flight) -> Flight:
    """``flight`` as its receiver sees it: a peer without pre-vote takes the request for a standard one."""
    wanted, message = flight.model.payload, flight.message
    if not isinstance(wanted, VoteRequest) or not isinstance(message, VoteRequest):
        return flight
    if wanted.pre_vote == message.pre_vote:
        return flight
    changed = replace(message, pre_vote=wanted.pre_vote)
    return Flight(flight.model, changed, cast(Json, write_message(changed)))


def _listed(messages: Mapping[object, int]) -> str:
    return ", ".join(map(str, messages))
