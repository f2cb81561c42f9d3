"""The decisions of the controller and of broker processes, as decision tables show them: the reference is
asked about every situation of a table (:mod:`kraftcheck.query.decision_table`).

A decision of the controller is the answer, what it then holds the broker to be, and what it writes; one of a
process is what it does and what is different in its memory. "It" is broker 1, which the tables are about.
"""

from __future__ import annotations

from typing import TypeAlias

from kraftcheck.query.broker_consistency import problems
from kraftcheck.query.broker_occurrence import fitted, occurs
from kraftcheck.query.broker_step import ask
from kraftcheck.query.decision_table import Decision
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.brokers.step import BrokerOutcome, ControllerOutcome
from kraftcheck.systems.brokers.text import (
    UNCHANGED,
    answer_of,
    broker_effects,
    controller_effects,
    held_broker,
    process_words,
    remembered_changes,
    written,
)

#: The controller and what happens to it, or a process and what happens to it.
Situation: TypeAlias = tuple[Controller | Broker, ControllerEvent | BrokerEvent]


def possible(protocol: BrokerProtocol, situation: Situation) -> Situation | None:
    """A situation as it is under ``protocol``; ``None`` if it cannot occur there."""
    state, event = situation
    state = fitted(protocol, state)
    return None if any(problems(protocol, state)) or not occurs(protocol, state) else (state, event)


def decision(protocol: BrokerProtocol, situation: Situation) -> Decision | None:
    """What is decided in a situation; ``None`` if it cannot occur under ``protocol``."""
    found = possible(protocol, situation)
    return None if found is None else describe(protocol, found[0], ask(protocol, *found))


def describe(
    protocol: BrokerProtocol, before: Controller | Broker, outcome: ControllerOutcome | BrokerOutcome
) -> Decision:
    """What an outcome decided, in words that do not depend on the numbers of the situation."""
    if isinstance(outcome, ControllerOutcome):
        assert isinstance(before, Controller)
        return _of_controller(before, outcome)
    assert isinstance(before, Broker)
    return _of_process(protocol, before, outcome)


def _of_controller(before: Controller, outcome: ControllerOutcome) -> Decision:
    results = {
        "answer": answer_of(before, outcome.effects),
        "broker afterwards": held_broker(before, outcome.state),
        "written": written(before.durable, outcome.state.durable),
        "other effects": controller_effects(outcome.effects),
    }
    answer, broker, writes, effects = results.values()
    told = "no answer" if answer == "none" else answer
    writes = "writes nothing" if writes == "nothing" else f"written: {writes}"
    rest = "" if effects == "none" else f"; {effects}"
    return Decision(tuple(results.items()), f"{told}; broker {broker}; {writes}{rest}", outcome.rules)


def _of_process(protocol: BrokerProtocol, before: Broker, outcome: BrokerOutcome) -> Decision:
    """A process writes nothing durably."""
    results = {
        "does": broker_effects(outcome.effects),
        "process afterwards": process_words(protocol, before, outcome.state),
        "in memory": remembered_changes(before, outcome.state),
    }
    does, process, memory = results.values()
    done = "does nothing" if does == "nothing" else does
    rest = "" if memory == UNCHANGED else f"; {memory}"
    return Decision(tuple(results.items()), f"{done}; process {process}{rest}", outcome.rules)
