"""The decisions of the controller and of broker processes, as decision tables show them: the reference is
asked about every situation of a table (:mod:`kraftcheck.query.decision_table`).

A decision of the controller is the answer, what it then holds the broker to be, and what it writes; one of a
process is what it does and what is different in its memory. "It" is broker 1, which the tables are about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from kraftcheck.query.broker_consistency import problems
from kraftcheck.query.broker_occurrence import fitted, occurs
from kraftcheck.query.broker_step import ask
from kraftcheck.query.cover import Cell, Row
from kraftcheck.query.decision_table import Decision, DecisionTable, merged
from kraftcheck.query.decision_table import decide as decide_table
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
BrokerTable: TypeAlias = DecisionTable[Situation]


def situation_of(table: BrokerTable, protocol: BrokerProtocol, given: Mapping[str, str]) -> Situation | None:
    """What a combination of conditions stands for under ``protocol``; ``None`` if it cannot occur there."""
    found = table.situation(given)
    return None if found is None else _under(protocol, found)


def _under(protocol: BrokerProtocol, situation: Situation) -> Situation | None:
    state, event = situation
    state = fitted(protocol, state)
    return None if any(problems(protocol, state)) or not occurs(protocol, state) else (state, event)


def decide(table: BrokerTable, protocol: BrokerProtocol) -> Mapping[Cell, Decision]:
    """The decision on every combination of conditions that can occur under ``protocol``."""

    def decision(situation: Situation) -> Decision | None:
        found = _under(protocol, situation)
        if found is None:
            return None
        state, event = found
        return describe(protocol, state, ask(protocol, state, event))

    return decide_table(table, decision)


def rows(table: BrokerTable, protocol: BrokerProtocol) -> tuple[Row[Decision], ...]:
    """The merged rows of a table, in the order of its columns' values."""
    return merged(table, decide(table, protocol))


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
