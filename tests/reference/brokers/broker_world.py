"""A controller, broker processes, and a network that delays, reorders and loses what they send each other.

A process has at most one request of a kind under way: an answer to one that it has given up is dropped, as
the effect ``ForgetRequest`` asks for. Everything else is delivered in any order. Every step is judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kraftcheck.reference.brokers import effects, events, messages
from kraftcheck.reference.brokers.broker import Api, Broker
from kraftcheck.reference.brokers.controller import Controller, FinalizedFeature, MetadataLog
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import BrokerLiveness, BrokerProtocol
from kraftcheck.reference.brokers.starting import running_cluster, starting
from kraftcheck.reference.brokers.step import BrokerOutcome, ControllerOutcome, step
from kraftcheck.reference.brokers.transitions import BrokerChange, taken
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_properties import Judge

PARTITIONS = (Partition("t", 0, (1, 2), (1, 2), leader=1), Partition("t", 1, (2, 1), (1, 2), leader=2))


FEATURES = (messages.FeatureRange("metadata.version", 1, 9),)


def api_of(request: Any) -> Api:
    """The kind of a request."""
    if isinstance(request, messages.IsrChangeRequest | messages.AlterPartitionRequest):
        return Api.ISR
    return Api.REGISTRATION if isinstance(request, messages.BrokerRegistrationRequest) else Api.HEARTBEAT


@dataclass(frozen=True)
class InFlight:
    """Something on its way: to a controller node, to the store, or to a process.

    ``number`` tells the requests of one process and kind apart; an answer has that of its request.
    """

    process: messages.Process
    content: Any
    node: int | None = None
    api: Api | None = None
    number: int = 0
    to_process: bool = False


@dataclass
class World:
    """The state of everything, the rules that decided so far, and which states of brokers changed."""

    protocol: BrokerProtocol
    legacy: tuple[int, ...] = ()
    removes: bool = False
    controller: Controller = field(init=False)
    processes: dict[messages.Process, Broker] = field(init=False)
    judge: Judge = field(init=False)
    network: list[InFlight] = field(default_factory=list)
    numbers: dict[tuple[messages.Process, Api], int] = field(default_factory=dict)
    rules: set[str] = field(default_factory=set)
    changes: set[tuple[BrokerChange, tuple[str, ...]]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.judge = Judge(self.protocol)
        self.controller, running = running_cluster(self.protocol, (1, 2), PARTITIONS, legacy=self.legacy)
        self.processes = {each.process: each for each in running}
        if isinstance(self.controller.durable, MetadataLog):
            log = replace(self.controller.durable, finalized=(FinalizedFeature("metadata.version", 7),))
            self.controller = replace(self.controller, durable=log)

    def on_controller(
        self, event: events.ControllerEvent, answers: InFlight | None = None
    ) -> ControllerOutcome:
        """Let the controller take an event; ``answers`` is the message that it came in."""
        outcome = step(self.protocol, self.controller, event)
        self._note(self.controller, event, outcome)
        self.judge.of_controller(self.controller, event, outcome)
        self.controller = outcome.state
        for effect in outcome.effects:
            if isinstance(effect, effects.Reply | effects.StoreReply):
                if answers is None:  # No process awaits it.
                    continue
                assert effect.to == answers.process
                content: Any = events.StoreAnswered(effect.response)  # type: ignore[arg-type]
                if isinstance(effect, effects.Reply):
                    content = events.ResponseReceived(effect.node, effect.response)
                self._put(InFlight(effect.to, content, None, answers.api, answers.number, True))
            elif isinstance(effect, effects.SendMetadata):
                self._put(InFlight(effect.to, events.MetadataReceived(effect.update), to_process=True))
        return outcome

    def _note(
        self,
        before: Controller | Broker,
        event: events.ControllerEvent | events.BrokerEvent,
        outcome: ControllerOutcome | BrokerOutcome,
    ) -> None:
        self.rules.update(outcome.rules)
        changes = taken(self.protocol, before, event, outcome.state)
        self.changes.update((change, outcome.rules) for change in changes)

    def on_process(self, process: messages.Process, event: events.BrokerEvent) -> BrokerOutcome:
        """Let a process take an event."""
        outcome = step(self.protocol, self.processes[process], event)
        self._note(self.processes[process], event, outcome)
        self.judge.of_process(self.processes[process], event, outcome)
        self.processes[process] = outcome.state
        for effect in outcome.effects:
            if isinstance(effect, effects.Send):
                api = api_of(effect.request)
                self._put(InFlight(process, effect.request, effect.to, api, self._next(process, api)))
            elif isinstance(effect, effects.WriteStore):
                number = self._number(process, Api.ISR)
                self._put(InFlight(process, effect.request, None, Api.ISR, number))
            elif isinstance(effect, effects.ForgetRequest):
                self._next(process, effect.api)
        return outcome

    def _number(self, process: messages.Process, api: Api) -> int:
        return self.numbers.get((process, api), 0)

    def _next(self, process: messages.Process, api: Api) -> int:
        number = self._number(process, api) + 1
        self.numbers[process, api] = number
        return number

    def _put(self, message: InFlight) -> None:
        self.network.append(message)
        del self.network[:-12]  # What waits for long is lost.

    def deliver(self, at: int) -> ControllerOutcome | BrokerOutcome | None:
        """Deliver a message; one that no process awaits has no effect."""
        message = self.network.pop(at % len(self.network))
        if message.to_process:
            awaited = message.api is None or self._number(message.process, message.api) == message.number
            known = message.process in self.processes
            return self.on_process(message.process, message.content) if awaited and known else None
        if message.node is None:
            return self.on_controller(events.StoreIsrReceived(message.process, message.content), message)
        return self.on_controller(
            events.RequestReceived(message.node, message.process, message.content), message
        )

    def start_process(self, broker: int, version: int) -> None:
        """One more process of a broker id; those that run already go on."""
        if self.protocol.liveness is BrokerLiveness.KIP343:
            outcome = self.on_controller(events.RegistrationWritten(broker, version))
            (process,) = (each.process for each in outcome.effects if isinstance(each, effects.Registered))
        else:
            process = messages.Process(broker, 1 + max(each.incarnation for each in self.processes))
        node = self.controller.active
        self.processes[process] = starting(
            self.protocol, process, controller=node, legacy=version == 4, features=FEATURES
        )
