"""States of brokers and their controller as states of ``tla/Brokers.tla``: see ``tla/README.md``.

What that module has no form for (legacy brokers, records of the partition, a form of the protocol that is
neither the draft nor what shipped) raises :class:`~kraftcheck.tlc.values.NoFormError`.
"""

from __future__ import annotations

from collections import Counter
from typing import cast

from kraftcheck.engine.system import GlobalState
from kraftcheck.reference.brokers.protocol import IsrChanges
from kraftcheck.systems.brokers.history import History
from kraftcheck.systems.brokers.network import InFlight
from kraftcheck.systems.brokers.places import Control, Machine, Time
from kraftcheck.systems.brokers.system import BrokerSystem, control_of
from kraftcheck.tlc import broker_messages, broker_values
from kraftcheck.tlc.values import NONE, NoFormError, State, Value, function, record, set_of

#: The budgets of the module and what the checker calls them. One that a scenario does not have is 0.
BUDGETS = {
    "timeouts": "timeouts",
    "contactLosses": "contact_losses",
    "requestTimeouts": "request_timeouts",
    "failovers": "failovers",
    "crashes": "crashes",
    "cuts": "cuts",
    "isrChanges": "isr_changes",
    "shutdowns": "shutdowns",
    "requests": "requests",
    "duplicates": "duplicates",
}


class BrokerForms:
    """The states of one system of brokers in TLA+; equal parts of states are translated once."""

    def __init__(self, system: BrokerSystem) -> None:
        wiring = system.wiring
        if wiring.legacy or wiring.data:
            raise NoFormError("the module has no legacy brokers, and no records of the partition")
        if wiring.restarts:
            raise NoFormError("the module starts no process where one has ended in order")
        if wiring.is_draft is not (wiring.protocol.isr_changes is IsrChanges.ISR_CHANGE):
            raise NoFormError("the module has IsrChange in the draft, and AlterPartition in what shipped")
        unknown = set(system.budget_names) - set(BUDGETS.values())
        if unknown:
            raise NoFormError(f"the module has no budget for {', '.join(sorted(unknown))}")
        self._system = system
        self._ids = tuple(sorted({*wiring.ids, *wiring.replicas}))
        self._known: dict[Control | Machine | InFlight, Value] = {}

    def state(self, state: GlobalState) -> State:
        """The values of the state variables. Raises NoFormError."""
        machines = zip(self._system.wiring.places[1:], state.locals[1:], strict=False)
        clocks = [local for local in state.locals if isinstance(local, Time)]
        return {
            "control": self._control(control_of(state)),
            "machine": function((place, self._machine(cast(Machine, local))) for place, local in machines),
            "time": record(ahead=clocks[0].ahead, left=clocks[0].left) if clocks else NONE,
            "network": self._network(cast(tuple[InFlight, ...], state.messages)),
            "history": _history(cast(History, state.history)),
            "budget": self._budget(state.budgets),
        }

    def _control(self, control: Control) -> Value:
        if control not in self._known:
            self._known[control] = record(
                controller=broker_values.controller(control.controller, self._ids),
                homes=function(control.homes),
                silent=set_of(control.silent),
                leaving=function(control.leaving),
                left=control.left,
                turn=control.turn,
                moves=control.moves,
            )
        return self._known[control]

    def _machine(self, machine: Machine) -> Value:
        if machine not in self._known:
            if machine.log or machine.ends or machine.sent or machine.committed:
                raise NoFormError("a machine has records")
            draft, running = self._system.wiring.is_draft, machine.broker
            self._known[machine] = record(
                broker=NONE if running is None else broker_values.process(running, draft=draft),
                registers=machine.registers,
                reads=machine.reads,
                cut=machine.cut,
                starts=machine.starts,
                left=machine.left,
                turn=machine.turn,
                moves=machine.moves,
            )
        return self._known[machine]

    def _network(self, messages: tuple[InFlight, ...]) -> Value:
        counted = Counter(messages)
        for message in counted:
            if message not in self._known:
                self._known[message] = broker_messages.in_flight(message, draft=self._system.wiring.is_draft)
        return function((self._known[message], count) for message, count in counted.items())

    def _budget(self, left: tuple[int, ...]) -> Value:
        given = dict(zip(self._system.budget_names, left, strict=True))
        unbounded = self._system.wiring.unbounded
        return function(
            (name, NONE if ours in unbounded else given.get(ours, 0)) for name, ours in BUDGETS.items()
        )


def _history(history: History) -> Value:
    if history.committed:
        raise NoFormError("records of the partition are committed")
    return record(
        lives=function(history.lives),
        unanswered=set_of(history.unanswered),
        serving=set_of(history.serving),
        since=function(history.since),
    )
