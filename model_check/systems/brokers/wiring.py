"""What the steps of a scenario of brokers depend on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast, overload

from kraftcheck.reference.brokers import step as reference
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent
from kraftcheck.reference.brokers.protocol import BrokerLiveness, BrokerProtocol
from kraftcheck.reference.brokers.step import BrokerOutcome, ControllerOutcome
from kraftcheck.reference.frozen import Frozen
from kraftcheck.systems.brokers.scenario import EnvironmentChoice


class Name(Frozen):
    """The name of a partition."""

    topic: str
    index: int


#: The partition, where there is one; the only one that may have records.
PARTITION = Name("t", 0)


#: Receives every question to the reference: what the controller or broker was, what happened, the outcome.
Listener = Callable[
    [BrokerProtocol, Controller | Broker, ControllerEvent | BrokerEvent, ControllerOutcome | BrokerOutcome],
    None,
]


@dataclass(frozen=True, slots=True)
class Wiring:
    """What the steps of a scenario depend on.

    ``protocol``: the variant; ``nodes``: the controller nodes; ``places``: the names of the components, the
    controller first; ``ids``: the broker ids of the others; ``legacy``: the brokers that register with
    version 4; ``costs``: the budgets by name; ``replicas``: those of every partition; ``hand_over_survives``:
    B-20 is checked instead of B-13; ``listener`` receives every question to the reference.
    """

    protocol: BrokerProtocol
    nodes: tuple[int, ...]
    places: tuple[str, ...]
    ids: tuple[int, ...]
    legacy: frozenset[int]
    costs: Mapping[str, int]
    proposed_isrs: tuple[tuple[int, ...], ...]
    partitions: tuple[Name, ...]
    replicas: tuple[int, ...]
    environment: EnvironmentChoice
    hand_over_survives: bool
    unbounded: frozenset[str]
    listener: Listener | None = None

    @overload
    def ask(self, state: Controller, event: ControllerEvent) -> ControllerOutcome: ...

    @overload
    def ask(self, state: Broker, event: BrokerEvent) -> BrokerOutcome: ...

    def ask(
        self, state: Controller | Broker, event: ControllerEvent | BrokerEvent
    ) -> ControllerOutcome | BrokerOutcome:
        """The step of the reference; see :func:`kraftcheck.reference.brokers.step.step`."""
        outcome = reference.step(self.protocol, cast(Broker, state), cast(BrokerEvent, event))
        if self.listener is not None:
            self.listener(self.protocol, state, event, outcome)
        return outcome

    @property
    def is_draft(self) -> bool:
        return self.protocol.liveness is BrokerLiveness.KIP343

    @property
    def silent_only(self) -> bool:
        return self.environment.timeouts == "silent"

    @property
    def is_timed(self) -> bool:
        return self.protocol.controller_timeout is not None

    def named(self, partition: Name) -> str:
        """The name of a partition if there are several, else nothing."""
        return f"{partition.topic}-{partition.index}" if len(self.partitions) > 1 else ""

    def price(self, budget: str) -> tuple[int, ...] | None:
        """What one use of a budget costs; ``None``: it does not happen in this scenario."""
        if budget in self.unbounded:
            return ()
        return (self.costs[budget],) if budget in self.costs else None
